#include "topologies/build.hpp"

#include <algorithm>
#include <limits>
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
#include "topologies/placements.hpp"
#include "topologies/sites.hpp"
#include "topologies/translations.hpp"

namespace collsim::topologies {
namespace {

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

bool is_same(const GpuSpec& a, const GpuSpec& b) {
  return a.reduce_bandwidth == b.reduce_bandwidth && a.copy_bandwidth == b.copy_bandwidth &&
         a.send_overhead == b.send_overhead && a.receive_overhead == b.receive_overhead;
}

// The GPU of every node where they differ; else empty.
std::vector<GpuSpec> unlike_gpus(const std::vector<NodeGroup>& groups) {
  const bool alike = std::all_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
    return is_same(group.node.gpu, groups[0].node.gpu);
  });
  std::vector<GpuSpec> result;
  for (const NodeGroup& group : groups)
    if (!alike) result.insert(result.end(), static_cast<std::size_t>(group.count), group.node.gpu);
  return result;
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
    lay_memories();
    Topology::Parts parts;
    parts.name = topology_name(cluster_);
    parts.placement = placement_of(cluster_);
    parts.gpu = groups_[0].node.gpu;
    parts.node_gpus = unlike_gpus(groups_);
    parts.node_memories = memories_;
    parts.some_nodes_reduce = std::any_of(groups_.begin(), groups_.end(), [](const NodeGroup& group) {
      return group.node.interconnect.reduction.enabled;
    });
    parts.has_sites = sites_ != nullptr;
    parts.vertex_names = vertex_names(cluster_, wiring_, sites_.get());
    parts.cuts = cuts();
    parts.latency_max = latency_max();
    parts.routes = std::make_shared<const ComposedRoutes>(layout_, interiors_, fabric(), cluster_.routing,
                                                          memory_links());
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
    if (cluster_.sites.count > 1) return lay_sites();
    const Endpoints endpoints(layout_, 0, layout_.nodes());
    if (std::unique_ptr<const Network> network = make_network(cluster_, choice_)) {
      const bool is_dragonfly = kind == FabricKind::dragonfly;
      attached_ = std::make_shared<AttachedFabric>(std::move(network), endpoints, has_routers(),
                                                   is_dragonfly ? cluster_.fabric.dragonfly_nodes : 1);
      attached_->lay(fabric_cable(), wiring_);
    } else {
      tree_ = make_tree(endpoints);
      tree_->lay(fabric_cable(), wiring_);
    }
  }
  void lay_sites() {
    std::vector<Sites::Site> sites;
    std::int32_t first = 0;
    for (const std::int32_t nodes : nodes_of_sites(cluster_)) {
      const Endpoints endpoints(layout_, first, nodes);
      sites.push_back({make_tree(endpoints), nodes, endpoints.count()});
      first += nodes;
    }
    sites_ =
        std::make_shared<Sites>(std::move(sites), CableSpec{cluster_.sites.bandwidth, cluster_.sites.latency},
                                cluster_.sites.links, choice_);
    sites_->lay(fabric_cable(), wiring_);
  }
  std::shared_ptr<FatTree> make_tree(const Endpoints& endpoints) const {
    return std::make_shared<FatTree>(tree_shape(cluster_.fabric, endpoints.count()), endpoints, choice_);
  }

  void lay_memories() {
    const bool any = std::any_of(interiors_.begin(), interiors_.end(), [](const auto& interior) {
      return interior != nullptr && interior->has_memory();
    });
    if (!any) return;
    memories_.resize(static_cast<std::size_t>(layout_.nodes()));
    for (std::int32_t n = 0; n < layout_.nodes(); ++n) {
      const std::size_t group = layout_.group_of_node(n);
      if (interiors_[group] == nullptr || !interiors_[group]->has_memory()) continue;
      const InterconnectSpec& spec = groups_[group].node.interconnect;
      const VertexId in = layout_.first_switch(n);
      memories_[static_cast<std::size_t>(n)] = {wiring_.add_link(in, after(in, 1), {*spec.total, Duration()}),
                                                *spec.total, spec.reduce_total.value_or(*spec.total)};
    }
  }
  std::vector<LinkId> memory_links() const {
    std::vector<LinkId> links;
    for (const SharedMemory& memory : memories_) links.push_back(memory.link);
    return links;
  }

  CableSpec fabric_cable() const { return {cluster_.fabric.bandwidth, cluster_.fabric.latency}; }
  // Nodes that are one GPU, all of them without or all of them with one NIC, are points of the network.
  bool has_routers() const {
    if (cluster_.fabric.kind == FabricKind::dragonfly) return true;
    const NodeParts& first = layout_.parts_of(0);
    return std::any_of(layout_.groups().begin(), layout_.groups().end(), [&](const NodeLayout::Group& group) {
      return group.each.gpus > 1 || group.each.nics != first.nics;
    });
  }
  bool has_fabric() const { return cluster_.fabric.kind != FabricKind::none; }
  std::shared_ptr<const Fabric> fabric() const {
    if (attached_ != nullptr) return attached_;
    if (sites_ != nullptr) return sites_;
    return tree_;
  }

  std::vector<Cut> cuts() const {
    CutInput input;
    input.wiring = &wiring_;
    input.layout = &layout_;
    for (const NodeGroup& group : groups_) input.nic_bandwidth.push_back(group.node.nics.bandwidth);
    input.fabric_bandwidth = cluster_.fabric.bandwidth;
    input.uses_fabric = uses_fabric();
    input.memories = &memories_;
    return cuts_of(input, has_fabric() ? fabric()->groupings() : std::vector<Grouping>());
  }

  // Messages between GPUs of one node with an interconnect never leave it.
  bool uses_fabric() const { return has_fabric() && (layout_.nodes() > 1 || interiors_[0] == nullptr); }

  // From any GPU to its way into the fabric: over its own NIC, since no other is nearer. The longest.
  Duration to_fabric() const {
    Duration longest;
    for (const NodeGroup& group : groups_)
      if (group.node.nics.count > 0) longest = std::max(longest, group.node.nics.latency);
    return longest;
  }

  Duration latency_max() const {
    if (layout_.ranks() == 1) return Duration();
    if (!layout_.is_even() || sites_ != nullptr) return latency_max_of_unlike();
    if (attached_ != nullptr && layout_.nodes() > 1) {
      // Every way out of a node leads over its point, where two GPUs of one node can meet as well.
      const Duration to_point = to_fabric() + (has_routers() ? cluster_.fabric.latency : Duration());
      return to_point * 2 + attached_->point_latency_max(fabric_cable());
    }
    if (!uses_fabric() && !memories_.empty()) return interiors_[0]->latency_max();
    const std::size_t links =
        uses_fabric() ? wiring_.links.size() : static_cast<std::size_t>(2 * layout_.interior_cables());
    const Graph graph(wiring_.vertices.size(), std::span(wiring_.links).first(links));
    std::vector<std::int32_t> nodes = {0};
    if (tree_ != nullptr && layout_.nodes() > 1) nodes = tree_->unlike_nodes();
    return largest_latency(graph, layout_.ranks(), ranks_of(nodes), latency_range(graph));
  }

  std::vector<Rank> ranks_of(const std::vector<std::int32_t>& nodes) const {
    std::vector<Rank> result;
    for (const std::int32_t node : nodes)
      for (std::int32_t gpu = 0; gpu < layout_.parts_of(node).gpus; ++gpu)
        result.push_back(layout_.first_rank(node) + gpu);
    return result;
  }

  // Nodes of different groups, or on several sites: by search alone.
  Duration latency_max_of_unlike() const {
    const Graph graph(wiring_.vertices.size(), wiring_.links);
    // No shortest way is longer than that over every link.
    LatencyRange range{Duration(), Duration::picoseconds(std::numeric_limits<std::int64_t>::max() / 4)};
    if (tree_ != nullptr) range.at_most = (to_fabric() + cluster_.fabric.latency * tree_->shape().levels) * 2;
    if (sites_ != nullptr)
      range.at_most = (to_fabric() + cluster_.fabric.latency * 4) * 2 + cluster_.sites.latency;
    return largest_latency(graph, layout_.ranks(), ranks_of(unlike_nodes()), range);
  }

  // One node of each set of interchangeable ones; all nodes where no tree says which are.
  std::vector<std::int32_t> unlike_nodes() const {
    std::vector<std::int32_t> result = numbers(layout_.nodes());
    if (attached_ != nullptr) return result;
    result.clear();
    if (tree_ != nullptr) result = tree_->unlike_nodes();
    std::int32_t first = 0;
    for (std::int32_t site = 0; sites_ != nullptr && site < sites_->count(); ++site) {
      for (const std::int32_t node : sites_->tree(site).unlike_nodes()) result.push_back(first + node);
      first += nodes_of_sites(cluster_)[static_cast<std::size_t>(site)];
    }
    for (const NodeLayout::Group& group : layout_.groups()) result.push_back(group.first_node);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  // Where one node is alone, or the fabric is a tree.
  LatencyRange latency_range(const Graph& graph) const {
    if (!uses_fabric()) return {Duration(), interiors_[0]->latency_max()};
    if (attached_ != nullptr) return {Duration(), (to_fabric() + cluster_.fabric.latency) * 2};
    const std::int32_t ranks = layout_.ranks();
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
    input.layout = layout_;
    for (const NodeGroup& group : groups_) input.nodes.push_back(group.node);
    input.fabric_latency = cluster_.fabric.latency;
    input.fabric_reduction = cluster_.fabric.reduction;
    std::vector<AggregationTree> trees;
    if (tree_ != nullptr) trees.push_back({tree_, 0});
    for (std::int32_t site = 0; sites_ != nullptr && site < sites_->count(); ++site)
      trees.push_back({sites_->shared_tree(site), sites_->first_endpoint(site)});
    return make_aggregations(input, std::move(trees));
  }

  ClusterSpec cluster_;
  std::vector<NodeGroup> groups_;
  Choice choice_;
  NodeLayout layout_;
  Wiring wiring_;
  std::vector<std::shared_ptr<const Interior>> interiors_;  // [group]; null: no interconnect
  std::vector<SharedMemory> memories_;                      // [node]; empty: none has one
  std::shared_ptr<AttachedFabric> attached_;
  std::shared_ptr<FatTree> tree_;  // of the only site
  std::shared_ptr<Sites> sites_;
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
