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

// A time that there may not be.
Json time_json(const std::optional<Duration>& time) {
  return time ? Json(time->picoseconds()) : Json(nullptr);
}

// When it ran is known only of a job that has finished.
Json job_json(const Point& point) {
  const JobFacts& job = *point.job;
  const bool ran = point.time.has_value();
  return {{"name", job.name},
          {"start_ps", ran ? Json(job.start.picoseconds()) : Json(nullptr)},
          {"finish_ps", ran ? Json(job.finish.picoseconds()) : Json(nullptr)},
          {"alone_ps", time_json(job.alone)},
          {"slow_down", json_of(slow_down(point))}};
}

Json repeats_json(const Repeats& repeats) {
  return {{"count", repeats.count},
          {"min_ps", repeats.minimum.picoseconds()},
          {"p5_ps", repeats.percentile_5.picoseconds()},
          {"median_ps", repeats.median.picoseconds()},
          {"p95_ps", repeats.percentile_95.picoseconds()},
          {"max_ps", repeats.maximum.picoseconds()},
          {"median_seed", repeats.median_seed}};
}

Json conditions_json(const std::vector<FaultCost>& costs) {
  Json conditions = Json::array();
  for (const FaultCost& each : costs) {
    conditions.push_back({{"what", each.fault},
                          {"status", name_of(each.status)},
                          {"reason", each.reason},
                          {"time_ps", time_json(each.time)}});
  }
  return conditions;
}

Json packets_json(const Point& point) {
  const PacketFacts& facts = *point.packets;
  return {{"count", facts.packets},
          {"hops", facts.hops},
          {"marks", facts.marks},
          {"queue_max_bytes", facts.queue_max},
          {"queue_link", point.packet_queue_link.empty() ? Json(nullptr) : Json(point.packet_queue_link)},
          {"virtual_channels", facts.virtual_channels}};
}

// What only some experiments ask for; a field is there where there is something to say.
void add_circumstances(Json& json, const Point& point) {
  if (point.repeats) json["repeats"] = repeats_json(*point.repeats);
  if (point.healthy_time || !point.fault_costs.empty()) {
    json["healthy_time_ps"] = time_json(point.healthy_time);
    json["conditions"] = conditions_json(point.fault_costs);
  }
  if (point.packets) json["packets"] = packets_json(point);
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
  if (!point.routing.empty()) json["routing"] = point.routing;
  if (!point.placement.empty()) json["placement"] = point.placement;
  json["seed"] = point.seed;
  json["channels"] = point.channels;
  json["slices"] = point.slices;
  return json;
}

Json point_json(const Point& point) {
  Json json = question_json(point);
  if (point.job) json["job"] = job_json(point);
  json["chosen"] = point.chosen.empty() ? Json(nullptr) : Json(point.chosen);
  json["predicted_ps"] = point.predicted ? Json(point.predicted->picoseconds()) : Json(nullptr);
  json["time_ps"] = time_json(point.time);
  add_circumstances(json, point);
  json["algbw_gb_per_s"] = json_of(algorithm_bandwidth_gb(point));
  json["busbw_gb_per_s"] = json_of(bus_bandwidth_gb(point));
  json["lower_bound_ps"] = has_bound(point) ? Json(point.bound.time.picoseconds()) : Json(nullptr);
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

std::string number_cell(const std::optional<Ratio>& ratio) {
  return ratio ? shortest_text(ratio->value()) : "";
}

std::string time_cell(const std::optional<Duration>& time) {
  return time ? std::to_string(time->picoseconds()) : "";
}

// The columns of what only some experiments ask for.
void add_circumstances(std::vector<std::string>& row, const Point& point) {
  const auto& job = point.job;
  const auto& repeats = point.repeats;
  const auto& packets = point.packets;
  const bool ran = point.time.has_value();
  const std::vector<std::string> cells = {point.routing,
                                          point.placement,
                                          job ? job->name : "",
                                          job && ran ? std::to_string(job->start.picoseconds()) : "",
                                          job && ran ? std::to_string(job->finish.picoseconds()) : "",
                                          job ? time_cell(job->alone) : "",
                                          repeats ? std::to_string(repeats->count) : "",
                                          repeats ? std::to_string(repeats->percentile_5.picoseconds()) : "",
                                          repeats ? std::to_string(repeats->percentile_95.picoseconds()) : "",
                                          time_cell(point.healthy_time),
                                          packets ? std::to_string(packets->packets) : "",
                                          packets ? std::to_string(packets->hops) : "",
                                          packets ? std::to_string(packets->marks) : "",
                                          packets ? std::to_string(packets->queue_max) : "",
                                          point.packet_queue_link};
  row.insert(row.end(), cells.begin(), cells.end());
}

std::vector<std::string> csv_row(const Point& point) {
  const auto& bottleneck = point.bottleneck;
  const auto& method = point.method;
  std::vector<std::string> row = {
      std::string(name_of(point.collective.kind)),
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
      time_cell(point.time),
      number_cell(algorithm_bandwidth_gb(point)),
      number_cell(bus_bandwidth_gb(point)),
      has_bound(point) ? std::to_string(point.bound.time.picoseconds()) : "",
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
      time_cell(point.predicted)};
  add_circumstances(row, point);
  return row;
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

std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string quoted = "\"";
  for (const char each : cell) {
    if (each == '"') quoted += '"';
    quoted += each;
  }
  return quoted + '"';
}

std::string csv_text(const std::vector<Point>& points) {
  std::string text =
      "collective,algorithm,cluster,ranks,nodes,bytes,count,datatype,reduction,network,seed,channels,slices,"
      "time_ps,algbw_gb_per_s,busbw_gb_per_s,lower_bound_ps,bound_reason,optimality,bottleneck_link,"
      "bottleneck_utilization,messages,events,fingerprint,proven,status,reason,"
      "executor,streams,classes,root,options,chosen,predicted_ps,"
      "routing,placement,job,job_start_ps,job_finish_ps,job_alone_ps,repeats,p5_ps,p95_ps,healthy_time_ps,"
      "packets,packet_hops,packet_marks,packet_queue_max_bytes,packet_queue_link\n";
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
