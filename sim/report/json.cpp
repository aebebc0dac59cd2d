#include "sim/report/json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace collsim {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<Ratio>& ratio) { return ratio ? Json(ratio->value()) : Json(nullptr); }

Json links_json(const Point& point) {
  Json links = Json::array();
  for (const LinkUse& link : *point.links) {
    links.push_back({{"name", link.name},
                     {"bytes", link.bytes.count()},
                     {"utilization", json_of(utilization(point, link))}});
  }
  return links;
}

Json critical_path_json(const CriticalPath& path) {
  return {{"launch_ps", path.launch.picoseconds()},
          {"overhead_ps", path.overhead.picoseconds()},
          {"bandwidth_ps", path.bandwidth.picoseconds()},
          {"contention_ps", path.contention.picoseconds()},
          {"latency_ps", path.latency.picoseconds()},
          {"reduction_ps", path.reduction.picoseconds()},
          {"waiting_ps", path.waiting.picoseconds()},
          {"messages", path.messages},
          {"last_rank", path.last_rank}};
}

Json blocked_json(const std::vector<BlockedStream>& blocked) {
  Json streams = Json::array();
  for (const BlockedStream& each : blocked) {
    streams.push_back({{"rank", each.rank},
                       {"stream", each.stream},
                       {"operation", each.operation},
                       {"waits_for", each.waits_for}});
  }
  return streams;
}

Json failures_json(const std::vector<ProofFailure>& failures) {
  Json findings = Json::array();
  for (const ProofFailure& each : failures) {
    findings.push_back(
        {{"rank", each.rank}, {"stream", each.stream}, {"step", each.step}, {"text", each.text}});
  }
  return findings;
}

// Null where nothing is added, or where it is not known.
Json numerics_json(const Point& point) {
  const Collective& collective = point.collective;
  if (!reduces(collective.kind) || (!point.numerics.known && !is_exact(collective))) return nullptr;
  const std::optional<double> bound = error_bound(point.numerics, collective, point.ranks);
  return {{"exact", is_exact(collective)},
          {"same_on_all_ranks", same_on_all_ranks(point.numerics, collective)},
          {"repeats", repeats(point.numerics, collective)},
          {"error_bound", bound ? Json(*bound) : Json(nullptr)}};
}

// What the point is; then what came out of it.
Json question_json(const Point& point) {
  const CollectiveKind kind = point.collective.kind;
  Json json;
  json["collective"] = name_of(kind);
  json["algorithm"] = point.algorithm;
  json["options"] = point.options;
  json["cluster"] = point.cluster;
  json["ranks"] = point.ranks;
  json["nodes"] = point.nodes;
  json["bytes"] = point.collective.bytes.count();
  json["datatype"] = name_of(point.collective.datatype);
  json["reduction"] = reduces(kind) ? Json(name_of(point.collective.reduction)) : Json(nullptr);
  json["root"] = has_root(kind) ? Json(point.collective.root) : Json(nullptr);
  json["network"] = point.network;
  json["seed"] = point.seed;
  json["channels"] = point.channels;
  json["slices"] = point.slices;
  return json;
}

Json point_json(const Point& point) {
  Json json = question_json(point);
  json["chosen"] = point.chosen.empty() ? Json(nullptr) : Json(point.chosen);
  json["predicted_ps"] = point.predicted ? Json(point.predicted->picoseconds()) : Json(nullptr);
  json["time_ps"] = point.time ? Json(point.time->picoseconds()) : Json(nullptr);
  json["algbw_gb_per_s"] = json_of(algorithm_bandwidth_gb(point));
  json["busbw_gb_per_s"] = json_of(bus_bandwidth_gb(point));
  json["lower_bound_ps"] = point.bound.time.picoseconds();
  json["bound_reason"] = point.bound.reason;
  json["optimality"] = json_of(optimality(point));
  json["bottleneck"] = nullptr;
  if (point.bottleneck) {
    json["bottleneck"] = {{"link", point.bottleneck->name},
                          {"utilization", json_of(utilization(point, *point.bottleneck))}};
  }
  if (point.links) json["links"] = links_json(point);
  if (point.critical_path) json["critical_path"] = critical_path_json(*point.critical_path);
  json["messages"] = point.messages;
  json["events"] = point.events;
  json["executor"] = point.method ? Json(executor_name(*point.method)) : Json(nullptr);
  json["streams"] = point.method ? Json(point.method->streams) : Json(nullptr);
  json["classes"] = point.method ? Json(point.method->classes) : Json(nullptr);
  json["fingerprint"] = point.fingerprint ? Json(fmt::format("{:016x}", *point.fingerprint)) : Json(nullptr);
  json["proven"] = point.proven;
  json["numerics"] = point.proven ? numerics_json(point) : Json(nullptr);
  json["status"] = name_of(point.status);
  json["reason"] = point.reason;
  json["warnings"] = point.warnings;
  if (!point.blocked.empty()) json["blocked"] = blocked_json(point.blocked);
  if (!point.proof_failures.empty()) json["proof_failures"] = failures_json(point.proof_failures);
  return json;
}

// A cell with a comma, a quote or a line break is quoted, and its quotes are doubled.
std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string quoted = "\"";
  for (const char each : cell) {
    if (each == '"') quoted += '"';
    quoted += each;
  }
  return quoted + '"';
}

std::string number_cell(const std::optional<Ratio>& ratio) {
  return ratio ? shortest_text(ratio->value()) : "";
}

std::vector<std::string> csv_row(const Point& point) {
  const auto& bottleneck = point.bottleneck;
  const auto& method = point.method;
  return {std::string(name_of(point.collective.kind)),
          point.algorithm,
          point.cluster,
          std::to_string(point.ranks),
          std::to_string(point.nodes),
          std::to_string(point.collective.bytes.count()),
          std::to_string(point.collective.elements()),
          std::string(name_of(point.collective.datatype)),
          reduces(point.collective.kind) ? std::string(name_of(point.collective.reduction)) : "",
          point.network,
          std::to_string(point.seed),
          std::to_string(point.channels),
          std::to_string(point.slices),
          point.time ? std::to_string(point.time->picoseconds()) : "",
          number_cell(algorithm_bandwidth_gb(point)),
          number_cell(bus_bandwidth_gb(point)),
          std::to_string(point.bound.time.picoseconds()),
          point.bound.reason,
          number_cell(optimality(point)),
          bottleneck ? bottleneck->name : "",
          bottleneck ? number_cell(utilization(point, *bottleneck)) : "",
          std::to_string(point.messages),
          std::to_string(point.events),
          point.fingerprint ? fmt::format("{:016x}", *point.fingerprint) : "",
          point.proven ? "true" : "false",
          name_of(point.status),
          point.reason,
          method ? executor_name(*method) : "",
          method ? std::to_string(method->streams) : "",
          method ? std::to_string(method->classes) : "",
          has_root(point.collective.kind) ? std::to_string(point.collective.root) : "",
          point.options,
          point.chosen,
          point.predicted ? std::to_string(point.predicted->picoseconds()) : ""};
}

}  // namespace

std::string json_text(const std::vector<Point>& points, std::string_view version) {
  Json json;
  json["collsim"] = version;
  json["seed"] = points.empty() ? Json(nullptr) : Json(points.front().seed);
  json["points"] = Json::array();
  for (const Point& point : points) json["points"].push_back(point_json(point));
  // A name in a message may hold bytes that are no UTF-8; they are replaced rather than an error of ours.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_text(const std::vector<Point>& points) {
  std::string text =
      "collective,algorithm,cluster,ranks,nodes,bytes,count,datatype,reduction,network,seed,channels,slices,"
      "time_ps,algbw_gb_per_s,busbw_gb_per_s,lower_bound_ps,bound_reason,optimality,bottleneck_link,"
      "bottleneck_utilization,messages,events,fingerprint,proven,status,reason,"
      "executor,streams,classes,root,options,chosen,predicted_ps\n";
  for (const Point& point : points) {
    char separator = '\0';
    for (const std::string& cell : csv_row(point)) {
      if (separator != '\0') text += separator;
      text += csv_cell(cell);
      separator = ',';
    }
    text += '\n';
  }
  return text;
}

}  // namespace collsim
