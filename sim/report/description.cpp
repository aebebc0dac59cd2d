#include "sim/report/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/report/columns.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/ratio.hpp"

namespace collsim {

namespace {

// "node3/nvswitch0" -> "nvswitch", "leaf12" -> "leaf": what is left of a name without node and numbers.
std::string switch_kind(const std::string& name) {
  std::string kind = name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
  const std::size_t digits = kind.find_first_of("0123456789(");
  if (digits != std::string::npos && digits > 0) kind.erase(digits);
  return kind;
}

void count_vertices(const Topology& topology, Description& description) {
  for (std::size_t i = 0; i < topology.vertex_count(); ++i) {
    const VertexKind kind = topology.vertex(VertexId(i)).kind;
    if (kind == VertexKind::nic) ++description.nics;
    if (kind != VertexKind::node_switch && kind != VertexKind::fabric_switch) continue;
    const std::string name = switch_kind(topology.vertex_name(VertexId(i)));
    auto& switches = description.switches;
    const auto found = std::find_if(switches.begin(), switches.end(),
                                    [&](const SwitchCount& each) { return each.kind == name; });
    if (found == switches.end()) {
      switches.push_back({name, 1});
    } else {
      ++found->count;
    }
  }
}

std::string gigabytes_text(Int128 bytes_per_second) {
  return decimal_text({bytes_per_second, 1'000'000'000}, 2) + " GB/s";
}

using Json = nlohmann::ordered_json;

// An exact integer, or the nearest double where 64 bits are too few.
Json integer_json(Int128 value) {
  const auto narrow = static_cast<std::int64_t>(value);
  return narrow == value ? Json(narrow) : Json(static_cast<double>(value));
}

Json cuts_json(const std::vector<Cut>& cuts) {
  Json list = Json::array();
  for (const Cut& cut : cuts) {
    list.push_back({{"name", cut.name},
                    {"groups", cut.groups},
                    {"total_exit_bytes_per_s", integer_json(cut.total_exit)},
                    {"smallest_exit_bytes_per_s", integer_json(cut.smallest_exit)}});
  }
  return list;
}

Json bounds_json(const std::vector<SizeBound>& bounds) {
  Json list = Json::array();
  for (const SizeBound& each : bounds) {
    list.push_back({{"collective", name_of(each.collective.kind)},
                    {"bytes", each.collective.bytes.count()},
                    {"lower_bound_ps", each.bound.time.picoseconds()},
                    {"bound_reason", each.bound.reason}});
  }
  return list;
}

// Ranks are numbered node by node.
void count_memories(const Topology& topology, Description& description) {
  LinkId last;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    const SharedMemory* memory = topology.memory_of(rank);
    if (memory == nullptr || memory->link == last) continue;
    last = memory->link;
    ++description.memories;
  }
}

}  // namespace

Description describe(const Topology& topology) {
  Description description;
  description.name = topology.name();
  description.ranks = topology.ranks();
  description.nodes = topology.placement().nodes;
  description.links = static_cast<std::int64_t>(topology.link_count());
  description.cuts = topology.cuts();
  description.latency_max = topology.latency_max();
  count_vertices(topology, description);
  count_memories(topology, description);
  for (const Cut& cut : topology.cuts()) {
    if (cut.name == "bisection") description.bisection = cut.smallest_exit;
  }
  return description;
}

std::string description_text(const Description& description) {
  using enum Align;
  Columns facts({left, left});
  facts.add({"ranks", std::to_string(description.ranks)});
  facts.add({"nodes", std::to_string(description.nodes)});
  facts.add({"NICs", std::to_string(description.nics)});
  if (description.switches.empty()) facts.add({"switches", "0"});
  for (const SwitchCount& each : description.switches) {
    facts.add({"switches: " + each.kind, std::to_string(each.count)});
  }
  facts.add({"cables", fmt::format("{} ({} links)", description.cables(), description.links)});
  const auto& bisection = description.bisection;
  facts.add({"bisection bandwidth", bisection ? gigabytes_text(*bisection) + " each way" : "not known"});
  const auto& hops = description.diameter_links;
  facts.add({"diameter", (hops ? fmt::format("{} {}, ", *hops, *hops == 1 ? "link" : "links") : "") +
                             microseconds_text(description.latency_max) + " us between the farthest ranks"});
  std::string text = "# " + description.name + "\n" + facts.text("", report_width);

  if (!description.cuts.empty()) {
    Columns cuts({left, right, right, right});
    cuts.add({"cut", "groups", "exit of all", "exit of the weakest"});
    for (const Cut& cut : description.cuts) {
      cuts.add({cut.name, std::to_string(cut.groups), gigabytes_text(cut.total_exit),
                gigabytes_text(cut.smallest_exit)});
    }
    text += "\n" + cuts.text("", report_width);
  }
  if (!description.bounds.empty()) {
    Columns bounds({right, right, left});
    const std::string_view name = name_of(description.bounds.front().collective.kind);
    bounds.add({"size (B)", fmt::format("lower bound of {} (us)", name), "because of"});
    for (const SizeBound& each : description.bounds) {
      bounds.add({std::to_string(each.collective.bytes.count()), microseconds_text(each.bound.time),
                  each.bound.reason});
    }
    text += "\n" + bounds.text("", report_width);
  }
  return text;
}

std::string description_json(const Description& description, std::string_view version) {
  Json json;
  json["collsim"] = version;
  json["cluster"] = description.name;
  json["ranks"] = description.ranks;
  json["nodes"] = description.nodes;
  json["nics"] = description.nics;
  json["switches"] = Json::object();
  for (const SwitchCount& each : description.switches) json["switches"][each.kind] = each.count;
  json["cables"] = description.cables();
  json["links"] = description.links;
  const auto& bisection = description.bisection;
  json["bisection_bytes_per_s"] = bisection ? integer_json(*bisection) : Json(nullptr);
  json["diameter_links"] = description.diameter_links ? Json(*description.diameter_links) : Json(nullptr);
  json["latency_max_ps"] = description.latency_max.picoseconds();
  json["cuts"] = cuts_json(description.cuts);
  json["bounds"] = bounds_json(description.bounds);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace collsim
