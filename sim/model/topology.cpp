#include "sim/model/topology.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

// Indices 0 .. count-1 in a stable order by key(index) < keys. Counting sort: O(count + keys).
template <class Key>
std::vector<std::uint32_t> sorted_by(const std::vector<std::uint32_t>& order, std::size_t keys, Key key) {
  std::vector<std::uint32_t> start(keys + 1, 0);
  for (const std::uint32_t index : order) ++start[key(index) + 1];
  for (std::size_t i = 0; i < keys; ++i) start[i + 1] += start[i];
  std::vector<std::uint32_t> result(order.size());
  for (const std::uint32_t index : order) result[start[key(index)]++] = index;
  return result;
}

}  // namespace

std::string node_switch_name(InterconnectKind kind, std::int32_t index) {
  if (kind == InterconnectKind::shared_memory) return index == 0 ? "memory_in" : "memory_out";
  if (kind != InterconnectKind::pcie) return "nvswitch" + std::to_string(index);
  // The builder numbers the root complex, where there is one, -1.
  return index < 0 ? "pcie_root" : "pcie_switch" + std::to_string(index);
}

Bytes SharedMemory::reduction(Bytes bytes) const {
  const Int128 reduced = reduce_total.bytes_per_second();
  const Int128 copied = (Int128{bytes.count()} * total.bytes_per_second() + reduced - 1) / reduced;
  COLLSIM_CHECK(copied <= Int128{1} << 62);
  return Bytes(static_cast<std::int64_t>(copied));
}

Bandwidth SharedMemory::reduction(Bandwidth rate) const {
  constexpr Int128 largest = Int128{1} << 62;
  const Int128 copied =
      Int128{rate.bytes_per_second()} * total.bytes_per_second() / reduce_total.bytes_per_second();
  return Bandwidth::bytes_per_second(static_cast<std::int64_t>(std::clamp<Int128>(copied, 1, largest)));
}

std::string fabric_switch_name(FabricKind kind, std::int8_t level, std::int32_t index) {
  const bool is_tree = kind == FabricKind::fat_tree || kind == FabricKind::rail_fat_tree;
  const char* prefix = kind == FabricKind::single_switch ? "switch"
                       : !is_tree                        ? "router"
                       : level == 1                      ? "leaf"
                       : level == 2                      ? "spine"
                                                         : "core";
  return prefix + std::to_string(index);
}

Topology::Topology(Parts parts) : parts_(std::move(parts)) {
  const std::size_t vertices = parts_.vertices.size();
  COLLSIM_CHECK(ranks() >= 1 && static_cast<std::size_t>(ranks()) <= vertices);
  COLLSIM_CHECK(parts_.vertex_names.empty() || parts_.vertex_names.size() == vertices);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks()); ++rank)
    COLLSIM_CHECK_MSG(parts_.vertices[rank].kind == VertexKind::gpu, "I2: vertex " + std::to_string(rank));
  COLLSIM_CHECK(parts_.node_memories.empty() ||
                parts_.node_memories.size() == static_cast<std::size_t>(parts_.placement.nodes));
  for (const SharedMemory& memory : parts_.node_memories)
    COLLSIM_CHECK(!memory.link.exists() || (memory.link.value < parts_.links.size() &&
                                            memory.total > Bandwidth() && memory.reduce_total > Bandwidth()));
  std::vector<std::uint32_t> order;
  order.reserve(parts_.links.size());
  for (const Link& link : parts_.links) {
    const bool joins =
        link.source.value < vertices && link.target.value < vertices && link.source != link.target;
    const bool carries = link.bandwidth > Bandwidth() && link.latency >= Duration();
    COLLSIM_CHECK_MSG(joins && carries, "I1: link " + std::to_string(order.size()));
    order.push_back(static_cast<std::uint32_t>(order.size()));
  }
  const auto& links = parts_.links;
  order = sorted_by(order, vertices, [&](std::uint32_t i) { return links[i].target.value; });
  order = sorted_by(order, vertices, [&](std::uint32_t i) { return links[i].source.value; });
  const auto same_ends = [&](std::size_t a, std::size_t b) {
    return b < order.size() && links[order[a]].source == links[order[b]].source &&
           links[order[a]].target == links[order[b]].target;
  };
  for (std::size_t first = 0, next = 0; first < order.size(); first = next) {
    for (next = first + 1; same_ends(first, next);) ++next;
    if (next == first + 1) continue;
    for (std::size_t i = first; i < next; ++i)
      parallel_.push_back({LinkId(order[i]), static_cast<std::int32_t>(i - first + 1)});
  }
  std::sort(parallel_.begin(), parallel_.end(),
            [](const Parallel& a, const Parallel& b) { return a.link < b.link; });
}

void Topology::route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const {
  COLLSIM_DCHECK(source != target && source >= 0 && target >= 0 && source < ranks() && target < ranks());
  parts_.routes->route(source, target, channel, links);
}

Topology Topology::with_routes(std::shared_ptr<const RouteRule> routes) const {
  Parts parts = parts_;
  parts.routes = std::move(routes);
  parts.translations.clear();
  return Topology(std::move(parts));
}

std::variant<AggregationPath, Impossible> Topology::aggregation(const AggregationGroup& group) const {
  if (parts_.aggregations == nullptr)
    return Impossible{
        "nothing in the cluster reduces (cluster.node.interconnect.reduction and "
        "cluster.fabric.reduction are not set)"};
  return parts_.aggregations->path(group);
}

std::string Topology::vertex_name(VertexId id) const {
  if (!parts_.vertex_names.empty() && !parts_.vertex_names[id.value].empty())
    return parts_.vertex_names[id.value];
  const Vertex& vertex = parts_.vertices[id.value];
  const std::string node = "node" + std::to_string(vertex.node) + "/";
  switch (vertex.kind) {
    case VertexKind::gpu:
      return node + "gpu" + std::to_string(vertex.index);
    case VertexKind::nic:
      return node + "nic" + std::to_string(vertex.index);
    case VertexKind::node_switch:
      return node + node_switch_name(parts_.placement.interconnect, vertex.index);
    case VertexKind::fabric_switch:
      return fabric_switch_name(parts_.placement.fabric, vertex.level, vertex.index);
  }
  check_failed(__FILE__, __LINE__, "vertex kind is named", "");
}

std::string Topology::link_name(LinkId id) const {
  const Link& link = parts_.links[id.value];
  std::string name = vertex_name(link.source) + " -> " + vertex_name(link.target);
  const auto entry = std::lower_bound(parallel_.begin(), parallel_.end(), id,
                                      [](const Parallel& a, LinkId b) { return a.link < b; });
  if (entry != parallel_.end() && entry->link == id) name += "#" + std::to_string(entry->number);
  return name;
}

bool Topology::has_translation(TranslationKind kind) const {
  return std::find(parts_.translations.begin(), parts_.translations.end(), kind) != parts_.translations.end();
}

}  // namespace collsim
