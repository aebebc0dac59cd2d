#include "topologies/placements.hpp"

#include <algorithm>

#include "topologies/check.hpp"
#include "topologies/node_rings.hpp"

namespace collsim::topologies {
namespace {

std::string node_name(const NodeGroup& group) {
  if (!group.preset.empty()) return group.preset;
  const std::int32_t gpus = group.node.gpus;
  std::string name = gpus == 1 ? "1 GPU" : std::to_string(gpus) + " GPUs";
  if (gpus > 1 && group.node.interconnect.kind != InterconnectKind::none)
    name += std::string(" (") + name_of(group.node.interconnect.kind) + ")";
  return name;
}

template <class Limit>
void narrow(std::optional<Limit>& limit, const std::optional<Limit>& other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

// What both can do.
ReductionSpec both(const ReductionSpec& a, const ReductionSpec& b) {
  if (!a.enabled || !b.enabled) return {};
  ReductionSpec result = a;
  narrow(result.bandwidth, b.bandwidth);
  narrow(result.operations, b.operations);
  narrow(result.radix, b.radix);
  narrow(result.message_size_max, b.message_size_max);
  return result;
}

Bandwidth fabric_share(const NodeSpec& node, const FabricSpec& fabric) {
  const bool has_nics = node.nics.count > 0;
  const Bandwidth port = has_nics ? std::min(node.nics.bandwidth, fabric.bandwidth) : fabric.bandwidth;
  const std::int64_t ports = has_nics ? node.nics.count : node.gpus;
  return Bandwidth::bytes_per_second(port.bytes_per_second() * ports / node.gpus);
}

Bandwidth interior_bandwidth(const NodeSpec& node) {
  return node.interconnect.kind == InterconnectKind::none ? Bandwidth() : node.interconnect.bandwidth;
}

// The first ranks of nodes whose numbers of GPUs differ; else empty.
std::vector<std::int32_t> first_ranks(const std::vector<NodeGroup>& groups) {
  const bool even = std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
    return group.node.gpus == groups[0].node.gpus;
  });
  if (even) return {};
  std::vector<std::int32_t> result = {0};
  for (const NodeGroup& group : groups)
    for (std::int32_t node = 0; node < group.count; ++node) result.push_back(result.back() + group.node.gpus);
  return result;
}

// Takes another group's nodes into account.
void join(Placement& placement, const NodeSpec& node, const FabricSpec& fabric) {
  placement.gpus_per_node = std::max(placement.gpus_per_node, node.gpus);
  placement.nics_per_node = std::min(placement.nics_per_node, node.nics.count);
  placement.fabric_bandwidth = std::min(placement.fabric_bandwidth, fabric_share(node, fabric));
  placement.node_reduction = both(placement.node_reduction, node.interconnect.reduction);
  if (placement.node_rings != node_rings(node.interconnect.kind, node.gpus)) placement.node_rings.clear();
}

}  // namespace

Placement placement_of(const ClusterSpec& cluster) {
  const std::vector<NodeGroup> groups = node_groups(cluster);
  Placement placement;
  placement.nodes = cluster.nodes;
  placement.first_rank = first_ranks(groups);
  placement.fabric = cluster.fabric.kind;
  if (cluster.fabric.kind == FabricKind::torus || cluster.fabric.kind == FabricKind::mesh)
    placement.dimensions = cluster.fabric.dimensions;
  const NodeSpec& first = groups[0].node;
  placement.gpus_per_node = first.gpus;
  placement.nics_per_node = first.nics.count;
  placement.fabric_bandwidth = fabric_share(first, cluster.fabric);
  placement.node_reduction = first.interconnect.reduction;
  placement.node_rings = node_rings(first.interconnect.kind, first.gpus);
  for (const NodeGroup& group : groups) join(placement, group.node, cluster.fabric);
  if (cluster.fabric.kind == FabricKind::none) placement.fabric_bandwidth = Bandwidth();
  placement.fabric_reduction = cluster.fabric.reduction;
  // The interconnect that brings a GPU the least.
  const NodeSpec* slowest = nullptr;
  for (const NodeGroup& group : groups)
    if (group.node.gpus > 1 &&
        (slowest == nullptr || interior_bandwidth(group.node) < interior_bandwidth(*slowest)))
      slowest = &group.node;
  if (slowest != nullptr) {
    placement.interconnect = slowest->interconnect.kind;
    placement.node_bandwidth = interior_bandwidth(*slowest);
  }
  return placement;
}

std::string topology_name(const ClusterSpec& cluster) {
  std::string name;
  for (const NodeGroup& group : node_groups(cluster))
    name += (name.empty() ? "" : " + ") + std::to_string(group.count) + " x " + node_name(group);
  if (cluster.fabric.kind != FabricKind::none) name += std::string(" on ") + name_of(cluster.fabric.kind);
  if (cluster.sites.count > 1) name += ", " + std::to_string(cluster.sites.count) + " sites";
  return name;
}

namespace {

void name_node_switches(const ClusterSpec& cluster, const Wiring& wiring, std::vector<std::string>& names) {
  std::vector<InterconnectKind> kinds;  // [node]
  for (const NodeGroup& group : node_groups(cluster))
    kinds.insert(kinds.end(), static_cast<std::size_t>(group.count), group.node.interconnect.kind);
  for (std::size_t i = 0; i < wiring.vertices.size(); ++i) {
    const Vertex& vertex = wiring.vertices[i];
    if (vertex.kind == VertexKind::node_switch)
      names[i] = "node" + std::to_string(vertex.node) + "/" +
                 node_switch_name(kinds[static_cast<std::size_t>(vertex.node)], vertex.index);
  }
}

void name_site_switches(const ClusterSpec& cluster, const Wiring& wiring, const Sites& sites,
                        std::vector<std::string>& names) {
  for (std::int32_t site = 0; site < sites.count(); ++site) {
    const std::string prefix = "site" + std::to_string(site) + "/";
    for (std::size_t i = sites.first_switch(site).value; i < sites.first_switch(site + 1).value; ++i)
      names[i] = prefix +
                 fabric_switch_name(cluster.fabric.kind, wiring.vertices[i].level, wiring.vertices[i].index);
    names[sites.border(site).value] = prefix + "border";
  }
}

}  // namespace

std::vector<std::string> vertex_names(const ClusterSpec& cluster, const Wiring& wiring, const Sites* sites) {
  std::vector<std::string> names(wiring.vertices.size());
  const std::vector<NodeGroup> groups = node_groups(cluster);
  const InterconnectKind kind = placement_of(cluster).interconnect;
  const bool unlike = std::any_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
    return group.node.interconnect.kind != InterconnectKind::none && group.node.interconnect.kind != kind;
  });
  if (!unlike && sites == nullptr) return {};
  if (unlike) name_node_switches(cluster, wiring, names);
  if (sites != nullptr) name_site_switches(cluster, wiring, *sites, names);
  return names;
}

}  // namespace collsim::topologies
