#include "topologies/build.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/check.hpp"
#include "topologies/aggregation.hpp"
#include "topologies/attached_fabric.hpp"
#include "topologies/check.hpp"
#include "topologies/composed_routes.hpp"
#include "topologies/cuts.hpp"
#include "topologies/direct_networks.hpp"
#include "topologies/dragonfly.hpp"
#include "topologies/fat_tree.hpp"
#include "topologies/graph.hpp"
#include "topologies/grid.hpp"
#include "topologies/interior.hpp"
#include "topologies/latency.hpp"
#include "topologies/node_layout.hpp"
#include "topologies/node_rings.hpp"
#include "topologies/translations.hpp"

namespace collsim::topologies {
namespace {

std::string topology_name(const ClusterSpec& cluster) {
  const std::int32_t gpus = cluster.node.gpus;
  std::string node = gpus == 1 ? "1 GPU" : std::to_string(gpus) + " GPUs";
  if (gpus > 1 && cluster.node.interconnect.kind != InterconnectKind::none)
    node += std::string(" (") + name_of(cluster.node.interconnect.kind) + ")";
  if (!cluster.preset.empty()) node = cluster.preset;
  std::string name = std::to_string(cluster.nodes) + " x " + node;
  if (cluster.fabric.kind != FabricKind::none) name += std::string(" on ") + name_of(cluster.fabric.kind);
  return name;
}

Placement placement_of(const ClusterSpec& cluster) {
  Placement placement;
  placement.nodes = cluster.nodes;
  placement.gpus_per_node = cluster.node.gpus;
  placement.nics_per_node = cluster.node.nics.count;
  placement.interconnect = cluster.node.interconnect.kind;
  placement.fabric = cluster.fabric.kind;
  if (cluster.fabric.kind == FabricKind::torus || cluster.fabric.kind == FabricKind::mesh)
    placement.dimensions = cluster.fabric.dimensions;
  if (cluster.node.interconnect.kind != InterconnectKind::none)
    placement.node_bandwidth = cluster.node.interconnect.bandwidth;
  if (cluster.fabric.kind != FabricKind::none) {
    const NicSpec& nics = cluster.node.nics;
    const Bandwidth port =
        nics.count > 0 ? std::min(nics.bandwidth, cluster.fabric.bandwidth) : cluster.fabric.bandwidth;
    const std::int64_t ports = nics.count > 0 ? nics.count : cluster.node.gpus;
    placement.fabric_bandwidth =
        Bandwidth::bytes_per_second(port.bytes_per_second() * ports / cluster.node.gpus);
  }
  placement.node_reduction = cluster.node.interconnect.reduction;
  placement.fabric_reduction = cluster.fabric.reduction;
  placement.node_rings = node_rings(cluster.node.interconnect.kind, cluster.node.gpus);
  return placement;
}

std::unique_ptr<const Network> make_network(const ClusterSpec& cluster, const Choice& choice) {
  const FabricSpec& fabric = cluster.fabric;
  switch (fabric.kind) {
    case FabricKind::torus:
      return std::make_unique<Grid>(fabric.dimensions, GridKind::torus, choice);
    case FabricKind::mesh:
      return std::make_unique<Grid>(fabric.dimensions, GridKind::mesh, choice);
    case FabricKind::ring:
      return std::make_unique<Grid>(std::vector<std::int32_t>{cluster.nodes}, GridKind::torus, choice);
    case FabricKind::full_mesh:
      return std::make_unique<FullMeshNetwork>(cluster.nodes);
    case FabricKind::hypercube:
      return std::make_unique<Hypercube>(cluster.nodes, choice);
    case FabricKind::custom:
      return std::make_unique<CustomNetwork>(cluster.nodes, fabric.links, choice);
    case FabricKind::dragonfly: {
      const std::int64_t routers = fabric.dragonfly_routers;
      const std::int64_t nodes_per_group = routers * fabric.dragonfly_nodes;
      const std::int64_t groups = (cluster.nodes + nodes_per_group - 1) / nodes_per_group;
      return std::make_unique<Dragonfly>(groups, routers, fabric.dragonfly_global_links, choice);
    }
    case FabricKind::none:
    case FabricKind::single_switch:
    case FabricKind::fat_tree:
    case FabricKind::rail_fat_tree:
      break;
  }
  return nullptr;
}

// Groups of alike nodes; one where all are.
std::vector<NodeGroup> node_groups(const ClusterSpec& cluster) {
  if (!cluster.groups.empty()) return cluster.groups;
  return {{cluster.nodes, cluster.preset, cluster.node}};
}

// Builds one cluster, step by step; each step needs the ones before it.
class Builder {
 public:
  Builder(const ClusterSpec& cluster, std::uint64_t seed)
      : cluster_(cluster), groups_(node_groups(cluster)), choice_(seed, cluster.routing) {}

  Topology build() {
    add_vertices();
    lay_interiors();
    lay_nic_cables();
    lay_fabric();
    Topology::Parts parts;
    parts.name = topology_name(cluster_);
    parts.placement = placement_of(cluster_);
    parts.gpu = cluster_.node.gpu;
    parts.cuts = cuts();
    parts.latency_max = latency_max();
    parts.routes = std::make_shared<const ComposedRoutes>(layout_, interiors_, fabric(), cluster_.routing);
    parts.aggregations = aggregations();
    parts.translations = translations_of(cluster_, tree_.get());
    parts.vertices = std::move(wiring_.vertices);
    parts.links = std::move(wiring_.links);
    return Topology(std::move(parts));
  }

 private:
  void add_vertices() {
    lay_out();
    add_vertices(VertexKind::gpu, [](const NodeParts& parts, std::size_t) { return numbers(parts.gpus); });
    add_vertices(VertexKind::node_switch, [&](const NodeParts&, std::size_t group) {
      return interiors_[group] == nullptr ? std::vector<std::int32_t>() : interiors_[group]->switch_indices();
    });
    add_vertices(VertexKind::nic, [](const NodeParts& parts, std::size_t) { return numbers(parts.nics); });
  }

  void lay_out() {
    std::vector<NodeLayout::Group> groups;
    for (const NodeGroup& group : groups_) {
      const NodeSpec& node = group.node;
      NodeLayout::Group& laid = groups.emplace_back();
      laid.nodes = group.count;
      laid.each = {node.gpus, node.nics.count, 0, 0};
      interiors_.push_back(nullptr);
      if (node.interconnect.kind == InterconnectKind::none) continue;
      interiors_.back() = make_interior(node, choice_);
      laid.each.switches = static_cast<std::int32_t>(interiors_.back()->switch_indices().size());
      Wiring one;
      interiors_.back()->lay(VertexId(0), VertexId(node.gpus), one);
      laid.each.cables = one.next_cable();
    }
    layout_ = NodeLayout(std::move(groups));
  }

  static std::vector<std::int32_t> numbers(std::int32_t count) {
    std::vector<std::int32_t> result(static_cast<std::size_t>(count));
    std::iota(result.begin(), result.end(), 0);
    return result;
  }
  // For every node the vertices of one kind, with the indices that its group has.
  template <class Indices>
  void add_vertices(VertexKind kind, Indices&& indices_of) {
    for (std::size_t number = 0; number < layout_.groups().size(); ++number) {
      const NodeLayout::Group& group = layout_.groups()[number];
      const std::vector<std::int32_t> indices = indices_of(group.each, number);
      for (std::int32_t n = 0; n < group.nodes; ++n)
        for (const std::int32_t index : indices) wiring_.add_vertex(kind, 0, group.first_node + n, index);
    }
  }

  void lay_interiors() {
    for (std::int32_t n = 0; n < layout_.nodes(); ++n)
      if (const Interior* interior = interiors_[layout_.group_of_node(n)].get())
        interior->lay(VertexId(layout_.first_rank(n)), layout_.first_switch(n), wiring_);
    COLLSIM_CHECK(wiring_.next_cable() == layout_.interior_cables());
  }

  void lay_nic_cables() {
    for (std::int32_t n = 0; n < layout_.nodes(); ++n) {
      const std::size_t group = layout_.group_of_node(n);
      const NodeParts& parts = layout_.groups()[group].each;
      const NicSpec& nics = groups_[group].node.nics;
      for (std::int64_t g = 0; g < parts.gpus && parts.nics > 0; ++g)
        wiring_.add_cable(VertexId(layout_.first_rank(n) + static_cast<Rank>(g)),
                          after(layout_.first_nic(n), parts.endpoint_of(g)), {nics.bandwidth, nics.latency});
    }
    COLLSIM_CHECK(wiring_.next_cable() == layout_.node_cables());
  }

  void lay_fabric() {
    const FabricKind kind = cluster_.fabric.kind;
    if (kind == FabricKind::none) return;
    const Endpoints endpoints(layout_, 0, layout_.nodes());
    if (std::unique_ptr<const Network> network = make_network(cluster_, choice_)) {
      const bool is_dragonfly = kind == FabricKind::dragonfly;
      attached_ = std::make_shared<AttachedFabric>(std::move(network), endpoints, has_routers(),
                                                   is_dragonfly ? cluster_.fabric.dragonfly_nodes : 1);
      attached_->lay(fabric_cable(), wiring_);
    } else {
      tree_ = std::make_shared<FatTree>(tree_shape(cluster_.fabric, endpoints.count()), endpoints, choice_);
      tree_->lay(fabric_cable(), wiring_);
    }
  }

  CableSpec fabric_cable() const { return {cluster_.fabric.bandwidth, cluster_.fabric.latency}; }
  // A node that is one GPU, with or without a NIC, is a point of the network itself.
  bool has_routers() const {
    return cluster_.fabric.kind == FabricKind::dragonfly || cluster_.node.gpus > 1 ||
           cluster_.node.nics.count > 1;
  }
  bool has_fabric() const { return cluster_.fabric.kind != FabricKind::none; }
  std::shared_ptr<const Fabric> fabric() const {
    if (attached_ != nullptr) return attached_;
    return tree_;
  }

  std::vector<Cut> cuts() const {
    CutInput input;
    input.wiring = &wiring_;
    input.nodes = cluster_.nodes;
    input.gpus_per_node = cluster_.node.gpus;
    input.nics_per_node = cluster_.node.nics.count;
    input.switches_per_node = layout_.parts_of(0).switches;
    input.first_fabric_switch = layout_.first_fabric_switch().value;
    input.nic_bandwidth = cluster_.node.nics.bandwidth;
    input.fabric_bandwidth = cluster_.fabric.bandwidth;
    input.interior_end = layout_.interior_cables();
    input.uses_fabric = uses_fabric();
    return cuts_of(input, has_fabric() ? fabric()->groupings() : std::vector<Grouping>());
  }

  // Messages between GPUs of one node with an interconnect never leave it.
  bool uses_fabric() const { return has_fabric() && (cluster_.nodes > 1 || interiors_[0] == nullptr); }

  // From any GPU to its way into the fabric: over its own NIC, since no other is nearer.
  Duration to_fabric() const {
    return cluster_.node.nics.count > 0 ? cluster_.node.nics.latency : Duration();
  }

  Duration latency_max() const {
    const std::int32_t ranks = cluster_.nodes * cluster_.node.gpus;
    if (ranks == 1) return Duration();
    if (attached_ != nullptr && cluster_.nodes > 1) {
      // Every way out of a node leads over its point, where two GPUs of one node can meet as well.
      const Duration to_point = to_fabric() + (has_routers() ? cluster_.fabric.latency : Duration());
      return to_point * 2 + attached_->point_latency_max(fabric_cable());
    }
    const std::size_t links =
        uses_fabric() ? wiring_.links.size() : static_cast<std::size_t>(2 * layout_.interior_cables());
    const Graph graph(wiring_.vertices.size(), std::span(wiring_.links).first(links));
    std::vector<std::int32_t> nodes = {0};
    if (tree_ != nullptr && cluster_.nodes > 1) nodes = tree_->unlike_nodes();
    std::vector<Rank> candidates;
    for (const std::int32_t node : nodes)
      for (std::int32_t gpu = 0; gpu < cluster_.node.gpus; ++gpu)
        candidates.push_back(node * cluster_.node.gpus + gpu);
    return largest_latency(graph, ranks, candidates, latency_range(graph));
  }

  // Where one node is alone, or the fabric is a tree.
  LatencyRange latency_range(const Graph& graph) const {
    if (!uses_fabric()) return {Duration(), interiors_[0]->latency_max()};
    if (attached_ != nullptr) return {Duration(), (to_fabric() + cluster_.fabric.latency) * 2};
    const std::int32_t ranks = cluster_.nodes * cluster_.node.gpus;
    const auto farthest = [&](VertexId from) {
      const std::vector<Duration> distance = graph.latencies(from);
      return *std::max_element(distance.begin(), distance.begin() + ranks);
    };
    // Any two ranks can meet at any switch of the highest level; often rank 0 has to.
    const Duration over_the_top = (to_fabric() + cluster_.fabric.latency * tree_->shape().levels) * 2;
    LatencyRange range{farthest(VertexId(0)), over_the_top};
    if (range.at_least == range.at_most) return range;
    for (const VertexId meeting_switch : tree_->lower_switches_above_first())
      range.at_most = std::min(range.at_most, farthest(meeting_switch) * 2);
    return range;
  }

  std::shared_ptr<const AggregationRule> aggregations() const {
    AggregationInput input;
    input.nodes = cluster_.nodes;
    input.gpus_per_node = cluster_.node.gpus;
    input.nics_per_node = cluster_.node.nics.count;
    input.planes = cluster_.node.interconnect.planes;
    input.interior_cables = layout_.parts_of(0).cables;
    input.first_nic_cable = layout_.interior_cables();
    input.interior_latency = cluster_.node.interconnect.latency;
    input.nic_latency = cluster_.node.nics.latency;
    input.fabric_latency = cluster_.fabric.latency;
    input.node_reduction = cluster_.node.interconnect.reduction;
    input.fabric_reduction = cluster_.fabric.reduction;
    return make_aggregations(input, tree_);
  }

  ClusterSpec cluster_;
  std::vector<NodeGroup> groups_;
  Choice choice_;
  NodeLayout layout_;
  Wiring wiring_;
  std::vector<std::shared_ptr<const Interior>> interiors_;  // [group]; null: no interconnect
  std::shared_ptr<AttachedFabric> attached_;
  std::shared_ptr<FatTree> tree_;
};

// One node with an interconnect, or one GPU, never uses its fabric, so it is checked but not built.
ClusterSpec without_idle_fabric(const ClusterSpec& cluster) {
  ClusterSpec result = cluster;
  const bool alone = cluster.nodes == 1 &&
                     (cluster.node.gpus == 1 || cluster.node.interconnect.kind != InterconnectKind::none);
  if (alone) result.fabric = FabricSpec();
  return result;
}

}  // namespace

std::variant<Topology, BuildError> build(const ClusterSpec& cluster, std::uint64_t seed) {
  const ClusterSpec complete = completed(cluster);
  if (std::optional<BuildError> error = check(complete)) return *error;
  return Builder(without_idle_fabric(complete), seed).build();
}

}  // namespace collsim::topologies
