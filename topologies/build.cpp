#include "topologies/build.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topologies/aggregation.hpp"
#include "topologies/attached_fabric.hpp"
#include "topologies/check.hpp"
#include "topologies/cuts.hpp"
#include "topologies/direct_networks.hpp"
#include "topologies/dragonfly.hpp"
#include "topologies/fat_tree.hpp"
#include "topologies/graph.hpp"
#include "topologies/grid.hpp"
#include "topologies/interior.hpp"
#include "topologies/latency.hpp"
#include "topologies/node_rings.hpp"
#include "topologies/translations.hpp"

namespace collsim::topologies {
namespace {

// Where the parts of a cluster begin. Vertices: GPUs, node switches, NICs, fabric switches. Cables: those
// inside nodes, one from every GPU to its NIC, those of the fabric.
struct Plan {
  std::int32_t gpus = 1;
  std::int32_t nics = 0;           // per node
  std::int64_t node_switches = 0;  // per node
  Cable interior_cables = 0;       // per node
  Cable first_nic_cable = 0;       // of rank 0
  Cable first_fabric_cable = 0;
  VertexId first_nic;
  VertexId first_fabric_switch;
  Endpoints endpoints;
};

class ComposedRoutes final : public RouteRule {
 public:
  ComposedRoutes(const Plan& plan, std::shared_ptr<const Interior> interior,
                 std::shared_ptr<const Fabric> fabric)
      : plan_(plan), interior_(std::move(interior)), fabric_(std::move(fabric)) {}

  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
    const Flow flow{source, target, channel};
    const std::int32_t source_node = source / plan_.gpus;
    const std::int32_t target_node = target / plan_.gpus;
    if (source_node == target_node && interior_ != nullptr) {
      const std::int32_t first_gpu = source_node * plan_.gpus;
      return interior_->route(source_node * plan_.interior_cables, source - first_gpu, target - first_gpu,
                              flow, links);
    }
    if (plan_.nics > 0) links.push_back(forward(plan_.first_nic_cable + source));
    const std::int64_t from = endpoint_of(source);
    const std::int64_t to = endpoint_of(target);
    if (from != to) fabric_->route(from, to, flow, links);
    if (plan_.nics > 0) links.push_back(backward(plan_.first_nic_cable + target));
  }

 private:
  std::int64_t endpoint_of(Rank rank) const {
    if (plan_.nics == 0) return rank;
    const std::int64_t gpu = rank % plan_.gpus;
    return std::int64_t{rank / plan_.gpus} * plan_.nics + gpu * plan_.nics / plan_.gpus;
  }

  Plan plan_;
  std::shared_ptr<const Interior> interior_;
  std::shared_ptr<const Fabric> fabric_;
};

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

// Builds one cluster, step by step; each step needs the ones before it.
class Builder {
 public:
  Builder(const ClusterSpec& cluster, std::uint64_t seed)
      : cluster_(cluster), choice_(seed, cluster.routing.kind) {}

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
    parts.routes = std::make_shared<const ComposedRoutes>(plan_, interior_, fabric());
    parts.aggregations = aggregations();
    parts.translations = translations_of(cluster_, tree_.get());
    parts.vertices = std::move(wiring_.vertices);
    parts.links = std::move(wiring_.links);
    return Topology(std::move(parts));
  }

 private:
  void add_vertices() {
    const NodeSpec& node = cluster_.node;
    plan_.gpus = node.gpus;
    plan_.nics = node.nics.count;
    if (node.interconnect.kind != InterconnectKind::none) interior_ = make_interior(node, choice_);
    std::vector<std::int32_t> switches;
    if (interior_ != nullptr) switches = interior_->switch_indices();
    plan_.node_switches = static_cast<std::int64_t>(switches.size());
    for (std::int32_t n = 0; n < cluster_.nodes; ++n)
      for (std::int32_t g = 0; g < node.gpus; ++g) wiring_.add_vertex(VertexKind::gpu, 0, n, g);
    for (std::int32_t n = 0; n < cluster_.nodes; ++n)
      for (const std::int32_t index : switches) wiring_.add_vertex(VertexKind::node_switch, 0, n, index);
    plan_.first_nic = wiring_.next_vertex();
    for (std::int32_t n = 0; n < cluster_.nodes; ++n)
      for (std::int32_t i = 0; i < plan_.nics; ++i) wiring_.add_vertex(VertexKind::nic, 0, n, i);
    plan_.first_fabric_switch = wiring_.next_vertex();
    plan_.endpoints = {plan_.nics > 0 ? plan_.first_nic : VertexId(0), cluster_.nodes,
                       endpoints_per_node(cluster_)};
  }

  void lay_interiors() {
    if (interior_ != nullptr) {
      const VertexId first_switch(cluster_.nodes * cluster_.node.gpus);
      for (std::int64_t n = 0; n < cluster_.nodes; ++n)
        interior_->lay(after(VertexId(0), n * plan_.gpus), after(first_switch, n * plan_.node_switches),
                       wiring_);
    }
    plan_.interior_cables = wiring_.next_cable() / cluster_.nodes;
  }

  void lay_nic_cables() {
    plan_.first_nic_cable = wiring_.next_cable();
    const CableSpec cable{cluster_.node.nics.bandwidth, cluster_.node.nics.latency};
    for (std::int64_t n = 0; n < cluster_.nodes && plan_.nics > 0; ++n)
      for (std::int64_t g = 0; g < plan_.gpus; ++g)
        wiring_.add_cable(after(VertexId(0), n * plan_.gpus + g),
                          after(plan_.first_nic, n * plan_.nics + g * plan_.nics / plan_.gpus), cable);
    plan_.first_fabric_cable = wiring_.next_cable();
  }

  void lay_fabric() {
    const FabricKind kind = cluster_.fabric.kind;
    if (kind == FabricKind::none) return;
    if (std::unique_ptr<const Network> network = make_network(cluster_, choice_)) {
      const bool is_dragonfly = kind == FabricKind::dragonfly;
      attached_ = std::make_shared<AttachedFabric>(std::move(network), plan_.endpoints, has_routers(),
                                                   is_dragonfly ? cluster_.fabric.dragonfly_nodes : 1);
      attached_->lay(fabric_cable(), wiring_);
    } else {
      tree_ = std::make_shared<FatTree>(tree_shape(cluster_.fabric, plan_.endpoints.count()), plan_.endpoints,
                                        choice_);
      tree_->lay(fabric_cable(), wiring_);
    }
  }

  CableSpec fabric_cable() const { return {cluster_.fabric.bandwidth, cluster_.fabric.latency}; }
  // A node that is one GPU, with or without a NIC, is a point of the network itself.
  bool has_routers() const {
    return cluster_.fabric.kind == FabricKind::dragonfly || plan_.gpus > 1 || plan_.nics > 1;
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
    input.gpus_per_node = plan_.gpus;
    input.nics_per_node = plan_.nics;
    input.switches_per_node = plan_.node_switches;
    input.first_fabric_switch = plan_.first_fabric_switch.value;
    input.nic_bandwidth = cluster_.node.nics.bandwidth;
    input.fabric_bandwidth = cluster_.fabric.bandwidth;
    input.interior_end = plan_.first_nic_cable;
    input.uses_fabric = uses_fabric();
    return cuts_of(input, has_fabric() ? fabric()->groupings() : std::vector<Grouping>());
  }

  // Messages between GPUs of one node with an interconnect never leave it.
  bool uses_fabric() const { return has_fabric() && (cluster_.nodes > 1 || interior_ == nullptr); }

  // From any GPU to its way into the fabric: over its own NIC, since no other is nearer.
  Duration to_fabric() const { return plan_.nics > 0 ? cluster_.node.nics.latency : Duration(); }

  Duration latency_max() const {
    const std::int32_t ranks = cluster_.nodes * plan_.gpus;
    if (ranks == 1) return Duration();
    if (attached_ != nullptr && cluster_.nodes > 1) {
      // Every way out of a node leads over its point, where two GPUs of one node can meet as well.
      const Duration to_point = to_fabric() + (has_routers() ? cluster_.fabric.latency : Duration());
      return to_point * 2 + attached_->point_latency_max(fabric_cable());
    }
    const std::size_t links =
        uses_fabric() ? wiring_.links.size() : static_cast<std::size_t>(2 * plan_.first_nic_cable);
    const Graph graph(wiring_.vertices.size(), std::span(wiring_.links).first(links));
    std::vector<std::int32_t> nodes = {0};
    if (tree_ != nullptr && cluster_.nodes > 1) nodes = tree_->unlike_nodes();
    std::vector<Rank> candidates;
    for (const std::int32_t node : nodes)
      for (std::int32_t gpu = 0; gpu < plan_.gpus; ++gpu) candidates.push_back(node * plan_.gpus + gpu);
    return largest_latency(graph, ranks, candidates, latency_range(graph));
  }

  // Where one node is alone, or the fabric is a tree.
  LatencyRange latency_range(const Graph& graph) const {
    if (!uses_fabric()) return {Duration(), interior_->latency_max()};
    if (attached_ != nullptr) return {Duration(), (to_fabric() + cluster_.fabric.latency) * 2};
    const std::int32_t ranks = cluster_.nodes * plan_.gpus;
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
    input.gpus_per_node = plan_.gpus;
    input.nics_per_node = plan_.nics;
    input.planes = cluster_.node.interconnect.planes;
    input.interior_cables = plan_.interior_cables;
    input.first_nic_cable = plan_.first_nic_cable;
    input.interior_latency = cluster_.node.interconnect.latency;
    input.nic_latency = cluster_.node.nics.latency;
    input.fabric_latency = cluster_.fabric.latency;
    input.node_reduction = cluster_.node.interconnect.reduction;
    input.fabric_reduction = cluster_.fabric.reduction;
    return make_aggregations(input, tree_);
  }

  ClusterSpec cluster_;
  Choice choice_;
  Plan plan_;
  Wiring wiring_;
  std::shared_ptr<const Interior> interior_;
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
