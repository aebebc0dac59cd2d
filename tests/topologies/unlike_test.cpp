// Clusters of unlike nodes and of several sites: routes, cuts, latencies and placements of every small shape.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "tests/topologies/reference.hpp"
#include "topologies/flow_bounds.hpp"

namespace collsim::testing {
namespace {

NodeGroup group_of(std::int32_t count, std::int32_t gpus, std::int32_t nics,
                   InterconnectKind inside = InterconnectKind::nvswitch) {
  NodeGroup group;
  group.count = count;
  group.node = cluster_of(FabricKind::single_switch, 1, gpus, nics, inside).node;
  group.node.nics.latency = Duration::nanoseconds(300 + 100 * gpus);
  group.node.nics.bandwidth = Bandwidth::gigabytes_per_second(10 + 30 * gpus);
  return group;
}

std::vector<std::vector<NodeGroup>> node_lists() {
  using enum InterconnectKind;
  return {{group_of(2, 4, 2), group_of(1, 2, 2)},
          {group_of(1, 1, 1), group_of(2, 3, 3)},
          {group_of(1, 2, 0), group_of(2, 4, 2, full_mesh)},  // the first are endpoints themselves
          {group_of(1, 4, 4, pcie), group_of(1, 1, 0), group_of(2, 5, 3, ring)},
          {group_of(1, 1, 0), group_of(2, 1, 1)},
          {group_of(2, 2, 1, none), group_of(1, 2, 2, none)}};
}

ClusterSpec with_groups(ClusterSpec cluster, const std::vector<NodeGroup>& groups) {
  cluster.groups = groups;
  cluster.nodes = 0;
  for (const NodeGroup& group : groups) cluster.nodes += group.count;
  cluster.node = groups[0].node;
  return cluster;
}

ClusterSpec with_sites(ClusterSpec cluster, int count, int links, std::vector<int> nodes = {}) {
  cluster.sites.count = count;
  cluster.sites.nodes = std::move(nodes);
  cluster.sites.links = links;
  cluster.sites.bandwidth = Bandwidth::gigabytes_per_second(7);
  cluster.sites.latency = Duration::microseconds(900);
  return cluster;
}

ClusterSpec fabric_for(FabricKind kind, std::int32_t nodes) {
  ClusterSpec cluster = fabric_of(kind, kind == FabricKind::torus || kind == FabricKind::mesh ? 1 : nodes);
  cluster.fabric.dimensions = {nodes};
  cluster.fabric.radix = 8;
  cluster.fabric.dragonfly_routers = 2;
  cluster.fabric.dragonfly_nodes = 1;
  cluster.fabric.dragonfly_global_links = 1;
  for (int node = 1; node < nodes; ++node) cluster.fabric.links.push_back({node - 1, node, {}, {}});
  return cluster;
}

std::vector<ClusterSpec> unlike_shapes() {
  using enum FabricKind;
  std::vector<ClusterSpec> shapes;
  for (const std::vector<NodeGroup>& groups : node_lists()) {
    std::int32_t nodes = 0;
    for (const NodeGroup& group : groups) nodes += group.count;
    for (const FabricKind kind :
         {single_switch, fat_tree, rail_fat_tree, torus, mesh, ring, full_mesh, dragonfly, custom}) {
      ClusterSpec cluster = with_groups(fabric_for(kind, nodes), groups);
      shapes.push_back(cluster);
      cluster.routing.kind = RoutingKind::ecmp;
      shapes.push_back(cluster);
      if (kind != fat_tree && kind != rail_fat_tree) continue;
      cluster.fabric.levels = 3;
      cluster.fabric.radix = 4;
      shapes.push_back(cluster);
    }
  }
  return shapes;
}

std::vector<ClusterSpec> site_shapes() {
  std::vector<ClusterSpec> shapes;
  using enum FabricKind;
  for (const FabricKind kind : {single_switch, fat_tree, rail_fat_tree})
    for (const auto& [levels, radix] : {std::pair{2, 6}, {2, 4}, {3, 4}})
      for (const auto& [gpus, nics] : {std::pair{1, 0}, {2, 2}, {4, 1}}) {
        const ClusterSpec cluster = tree_of(kind, levels, radix, 7, gpus, nics);
        for (const ClusterSpec& shape :
             {with_sites(cluster, 2, 1), with_sites(cluster, 3, 2), with_sites(cluster, 2, 3, {1, 6})}) {
          if (!std::holds_alternative<Topology>(topologies::build(shape))) continue;
          shapes.push_back(shape);
          shapes.push_back(shape);
          shapes.back().routing.kind = RoutingKind::ecmp;
        }
      }
  for (const std::vector<NodeGroup>& groups : node_lists())
    shapes.push_back(with_sites(with_groups(fabric_for(fat_tree, 4), groups), 2, 2));
  return shapes;
}

// Where a GPU meets the fabric: its NIC, or itself.
VertexId endpoint_of(const Topology& topology, Rank rank) {
  for (const Link& link : topology.links())
    if (link.source == VertexId(rank) && topology.vertex(link.target).kind == VertexKind::nic)
      return link.target;
  return VertexId(rank);
}

void check_pair(const Topology& topology, Rank source, Rank target, std::int32_t channel, bool is_shortest) {
  CAPTURE(source);
  CAPTURE(target);
  const std::vector<LinkId> route = route_of(topology, source, target, channel);
  REQUIRE(path_fault(topology, source, target, route) == "");
  const Placement& placement = topology.placement();
  const bool same_node = placement.node_of(source) == placement.node_of(target);
  const bool inside = std::all_of(route.begin(), route.end(),
                                  [&](LinkId id) { return inside_node(topology, topology.link(id)); });
  if (same_node && inside) return;
  const VertexId from = endpoint_of(topology, source);
  const VertexId to = endpoint_of(topology, target);
  const auto hops = hops_from(topology, from, outside_nodes);
  const auto nics = static_cast<std::int32_t>((from != VertexId(source)) + (to != VertexId(target)));
  const std::int32_t least = hops[to.value] + nics;
  CHECK(static_cast<std::int32_t>(route.size()) >= least);
  if (is_shortest) CHECK(static_cast<std::int32_t>(route.size()) == least);
}

void check_shape(const ClusterSpec& cluster) {
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  const Topology topology = built(cluster);
  for (Rank source = 0; source < topology.ranks(); ++source) {
    CHECK(topology.vertex(VertexId(source)).kind == VertexKind::gpu);
    CHECK(topology.vertex(VertexId(source)).node == topology.placement().node_of(source));
    for (Rank target = 0; target < topology.ranks(); ++target)
      for (std::int32_t channel = 0; channel < 2 && source != target; ++channel)
        check_pair(topology, source, target, channel, cluster.fabric.kind != FabricKind::dragonfly);
  }
  std::int64_t largest = 0;
  for (Rank source = 0; source < topology.ranks(); ++source) {
    const auto latency = latencies_from(topology, VertexId(source), any_link);
    largest = std::max(largest, *std::max_element(latency.begin(), latency.begin() + topology.ranks()));
  }
  CHECK(topology.latency_max() == Duration::picoseconds(largest));
  std::map<std::string, int> names;
  for (std::uint32_t i = 0; i < topology.vertex_count(); ++i) ++names[topology.vertex_name(VertexId(i))];
  CHECK(names.size() == topology.vertex_count());
}

// The least bandwidth around the ranks of a group, whichever other vertices are inside: by brute force.
std::int64_t least_exit(const Topology& topology, const std::function<bool(Rank)>& in_group) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const std::size_t others = topology.vertex_count() - ranks;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t choice = 0; choice < (1U << others); ++choice) {
    const auto inside = [&](VertexId id) {
      if (id.value < ranks) return in_group(static_cast<Rank>(id.value));
      return (choice >> (id.value - ranks) & 1U) != 0;
    };
    std::int64_t exit = 0;
    for (const Link& link : topology.links())
      if (inside(link.source) && !inside(link.target)) exit += link.bandwidth.bytes_per_second();
    least = std::min(least, exit);
  }
  return least;
}

void check_cuts(const ClusterSpec& cluster, const std::string& name,
                const std::function<std::int32_t(Rank)>& group_of_rank) {
  const Topology topology = built(cluster);
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  CAPTURE(name);
  std::map<std::int32_t, std::int64_t> exits;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    const std::int32_t own = group_of_rank(rank);
    if (exits.count(own) == 0)
      exits[own] = least_exit(topology, [&](Rank other) { return group_of_rank(other) == own; });
  }
  std::int64_t total = 0;
  std::int64_t smallest = exits.begin()->second;
  for (const auto& [group, exit] : exits) total += exit, smallest = std::min(smallest, exit);
  const auto cut = std::find_if(topology.cuts().begin(), topology.cuts().end(),
                                [&](const Cut& each) { return each.name == name; });
  REQUIRE(cut != topology.cuts().end());
  CHECK(cut->groups == static_cast<std::int64_t>(exits.size()));
  CHECK(static_cast<std::int64_t>(cut->total_exit) == total);
  CHECK(static_cast<std::int64_t>(cut->smallest_exit) == smallest);
}

std::string error_of(const ClusterSpec& cluster) {
  const auto result = topologies::build(cluster);
  const auto* error = std::get_if<topologies::BuildError>(&result);
  return error == nullptr ? "" : error->key + ": " + error->message + "; expected " + error->expected;
}

TEST_SUITE("topologies") {
  TEST_CASE("Unlike nodes: routes are shortest paths over the own NICs, the largest latency is Dijkstra's") {
    for (const ClusterSpec& cluster : unlike_shapes()) check_shape(cluster);
  }

  TEST_CASE("Sites: routes are shortest paths over the own NICs, the largest latency is Dijkstra's") {
    for (const ClusterSpec& cluster : site_shapes()) check_shape(cluster);
  }

  TEST_CASE("Unlike nodes: cuts are the minimum cuts that brute force finds") {
    for (const std::vector<NodeGroup>& groups : node_lists()) {
      std::int32_t nodes = 0;
      for (const NodeGroup& group : groups) nodes += group.count;
      const ClusterSpec cluster = with_groups(fabric_for(FabricKind::single_switch, nodes), groups);
      const Topology topology = built(cluster);
      if (topology.vertex_count() - static_cast<std::size_t>(topology.ranks()) > 15) continue;
      check_cuts(cluster, "node", [&](Rank rank) { return topology.placement().node_of(rank); });
    }
  }

  TEST_CASE("Sites are cut at their long links, or at the cables to their borders") {
    for (const std::int64_t gigabytes : {7, 700}) {
      ClusterSpec cluster = with_sites(tree_of(FabricKind::fat_tree, 2, 6, 8, 1, 0), 2, 2, {5, 3});
      cluster.sites.bandwidth = Bandwidth::gigabytes_per_second(gigabytes);
      check_cuts(cluster, "site", [](Rank rank) { return rank < 5 ? 0 : 1; });
      check_cuts(with_sites(cluster, 3, 1, {2, 3, 3}), "site", [](Rank rank) {
        return rank < 2 ? 0 : rank < 5 ? 1 : 2;
      });
    }
  }

  TEST_CASE("A placement of unlike nodes states the largest node, the fewest NICs, the least bandwidths") {
    const std::vector<NodeGroup> groups = {group_of(2, 4, 2), group_of(1, 2, 2)};
    ClusterSpec cluster = with_groups(fabric_for(FabricKind::single_switch, 3), groups);
    for (NodeGroup& group : cluster.groups) group.node.interconnect.reduction.enabled = true;
    cluster.groups[0].node.interconnect.reduction.radix = 4;
    cluster.groups[1].node.gpu.reduce_bandwidth = Bandwidth::gigabytes_per_second(9);
    cluster.groups[1].node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(30);
    const Topology topology = built(cluster);
    const Placement& placement = topology.placement();
    CHECK(placement.ranks() == 10);
    CHECK(placement.first_rank == std::vector<std::int32_t>{0, 4, 8, 10});
    CHECK(placement.gpus_per_node == 4);
    CHECK(placement.nics_per_node == 2);
    CHECK(placement.node_bandwidth == Bandwidth::gigabytes_per_second(30));
    CHECK(placement.fabric_bandwidth == Bandwidth::gigabytes_per_second(25));
    CHECK(placement.node_reduction.enabled);
    CHECK(placement.node_reduction.radix == 4);
    CHECK(!topology.gpu(7).reduce_bandwidth);
    CHECK(topology.gpu(8).reduce_bandwidth == Bandwidth::gigabytes_per_second(9));
    cluster.groups[1].node.interconnect.reduction.enabled = false;
    const Topology partly = built(cluster);
    CHECK(!partly.placement().node_reduction.enabled);
    CHECK(partly.has_node_reduction());
    AggregationGroup inside;
    inside.members = {4, 5, 7};
    const auto path = partly.aggregation(inside);
    REQUIRE(std::holds_alternative<AggregationPath>(path));
    CHECK(partly.vertex_name(std::get<AggregationPath>(path).root) == "node1/nvswitch0");
    inside.members = {8, 9};
    REQUIRE(std::holds_alternative<Impossible>(partly.aggregation(inside)));
  }

  TEST_CASE("The same nodes in two groups are the cluster of one group") {
    for (const FabricKind kind : {FabricKind::fat_tree, FabricKind::rail_fat_tree, FabricKind::torus}) {
      ClusterSpec one = fabric_for(kind, 5);
      one.node = group_of(1, 4, 2).node;
      const Topology plain = built(one);
      const Topology split = built(with_groups(fabric_for(kind, 5), {group_of(2, 4, 2), group_of(3, 4, 2)}));
      REQUIRE(plain.link_count() == split.link_count());
      CHECK(split.placement().is_even());
      CHECK(!split.has_unlike_gpus());
      CHECK(plain.latency_max() == split.latency_max());
      for (Rank source = 0; source < plain.ranks(); ++source)
        for (Rank target = 0; target < plain.ranks(); ++target)
          if (source != target) CHECK(route_of(plain, source, target) == route_of(split, source, target));
      REQUIRE(plain.cuts().size() == split.cuts().size());
      for (std::size_t i = 0; i < plain.cuts().size(); ++i)
        CHECK(plain.cuts()[i].total_exit == split.cuts()[i].total_exit);
    }
  }

  TEST_CASE("Sites have switches of their own, a border each, and long links by channel") {
    const Topology topology = built(with_sites(tree_of(FabricKind::fat_tree, 2, 4, 8, 1, 0), 2, 3));
    CHECK(topology.has_sites());
    CHECK(topology.name() == "8 x 1 GPU on fat_tree, 2 sites");
    CHECK(names_of(topology, route_of(topology, 0, 6)) ==
          std::vector<std::string>{"site0/leaf0", "site0/spine0", "site0/border", "site1/border",
                                   "site1/spine0", "site1/leaf1", "node6/gpu0"});
    std::map<LinkId, int> used;
    for (std::int32_t channel = 0; channel < 6; ++channel) ++used[route_of(topology, 1, 7, channel)[3]];
    CHECK(used.size() == 3);
    CHECK(topology.link_name(used.begin()->first) == "site0/border -> site1/border#1");
    ClusterSpec reducing = with_sites(tree_of(FabricKind::fat_tree, 2, 4, 8, 1, 0), 2, 3);
    reducing.fabric.reduction.enabled = true;
    const Topology trees = built(reducing);
    AggregationGroup across{AggregationScope::fabric, AggregationMode::all_reduce, {0, 1, 5}, 0, 0};
    const auto refused = trees.aggregation(across);
    REQUIRE(std::holds_alternative<Impossible>(refused));
    CHECK(std::get<Impossible>(refused).reason ==
          "ranks 0 and 5 are on different sites; switches reduce within a site only");
    across.members = {4, 5, 7};
    const auto within = trees.aggregation(across);
    REQUIRE(std::holds_alternative<AggregationPath>(within));
    CHECK(trees.vertex_name(std::get<AggregationPath>(within).root) == "site1/spine0");
  }

  TEST_CASE("Unlike nodes and sites that cannot be are refused at their keys") {
    ClusterSpec cluster =
        with_groups(fabric_for(FabricKind::fat_tree, 3), {group_of(2, 4, 2), group_of(1, 2, 2)});
    cluster.groups[1].node.nics.count = 3;
    CHECK(
        error_of(cluster) ==
        "cluster.nodes[1].node.nics.count: 3 NICs for 2 GPUs leave some without a GPU, since every GPU uses "
        "one; expected at most 2");
    cluster.groups[1].count = 0;
    CHECK(
        error_of(cluster) ==
        "cluster.nodes[1].count: the number of nodes in a group is 0; expected a whole number of at least 1");
    const ClusterSpec tree = tree_of(FabricKind::fat_tree, 2, 4, 8, 1, 0);
    CHECK(
        error_of(with_sites(fabric_for(FabricKind::ring, 4), 2, 1)) ==
        "cluster.sites: a fabric of kind ring has no highest switches to join sites by; expected sites only "
        "with a fabric of kind switch, fat_tree or rail_fat_tree");
    CHECK(error_of(with_sites(tree, 9, 1)) ==
          "cluster.sites.count: 9 sites for 8 nodes leave some without a node; expected at most 8");
    CHECK(
        error_of(with_sites(tree, 2, 1, {4, 3})) ==
        "cluster.sites.nodes: the sites have 7 nodes together, the cluster has 8; expected numbers that sum "
        "to 8");
    CHECK(
        error_of(with_sites(tree, 2, 0)) ==
        "cluster.sites.links: the number of links between sites is 0; expected a whole number of at least 1");
    CHECK(
        error_of(with_sites(tree_of(FabricKind::fat_tree, 2, 4, 19, 1, 0), 2, 1)) ==
        "cluster.fabric.radix: site 0: 10 nodes need 10 ports, a 2-level fat_tree of radix 4 has 8; expected "
        "a radix of at least 6");
  }

  TEST_CASE("Bounds by flow hold on unlike nodes: never below the closed form, all-gather by hand") {
    // Two nodes of 4 and 2 GPUs with one NIC each of 50 GB/s: 4/6 of the bytes enter the second one.
    ClusterSpec cluster =
        with_groups(fabric_for(FabricKind::single_switch, 2), {group_of(1, 4, 1), group_of(1, 2, 1)});
    const Topology topology = built(cluster);
    const topologies::FlowBounds bounds(topology);
    Collective collective;
    collective.kind = CollectiveKind::all_gather;
    collective.bytes = Bytes(6'000'000'000);
    CHECK(bounds.of(collective).time == Duration::microseconds(80'000));
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_to_all,
                                      CollectiveKind::broadcast, CollectiveKind::reduce_scatter}) {
      collective.kind = kind;
      CHECK(bounds.of(collective).time >= lower_bound(collective, topology).time);
    }
  }
}

}  // namespace
}  // namespace collsim::testing
