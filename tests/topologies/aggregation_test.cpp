#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"

namespace collsim::testing {
namespace {

std::string reason_of(const Topology& topology, const AggregationGroup& group) {
  const auto result = topology.aggregation(group);
  const auto* impossible = std::get_if<Impossible>(&result);
  return impossible == nullptr ? "" : impossible->reason;
}

AggregationPath path_of(const Topology& topology, const AggregationGroup& group) {
  const auto result = topology.aggregation(group);
  REQUIRE(std::holds_alternative<AggregationPath>(result));
  return std::get<AggregationPath>(result);
}

std::vector<std::string> names_of(const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<std::string> names;
  for (const LinkId id : links) names.push_back(topology.link_name(id));
  std::sort(names.begin(), names.end());
  return names;
}

AggregationGroup over_fabric(std::vector<Rank> members, std::int32_t rail = 0) {
  return {AggregationScope::fabric, AggregationMode::all_reduce, std::move(members), 0, rail};
}

ClusterSpec reducing(ClusterSpec cluster) {
  cluster.fabric.reduction.enabled = true;
  return cluster;
}

// An all-reduce tree: as many links up as down, one way up from every vertex, all to one root that is no GPU,
// every member's latency that of its way up.
void check_tree(const Topology& topology, const AggregationGroup& group) {
  const AggregationPath path = path_of(topology, group);
  std::map<VertexId, Link> up_from;
  std::set<std::pair<VertexId, VertexId>> down;
  std::set<LinkId> distinct(path.links.begin(), path.links.end());
  REQUIRE(distinct.size() == path.links.size());
  const auto rises = [&](const Link& link) {
    const auto rank_of = [&](VertexId id) {
      const Vertex& vertex = topology.vertex(id);
      if (vertex.kind == VertexKind::fabric_switch) return 10 + vertex.level;
      return vertex.kind == VertexKind::gpu ? 0 : 1;
    };
    return rank_of(link.source) < rank_of(link.target);
  };
  for (const LinkId id : path.links) {
    const Link& link = topology.link(id);
    if (rises(link))
      REQUIRE(up_from.emplace(link.source, link).second);
    else
      down.insert({link.target, link.source});
  }
  REQUIRE(down.size() == up_from.size());
  for (const auto& [vertex, link] : up_from) REQUIRE(down.count({vertex, link.target}) == 1);
  std::set<VertexId> roots;
  std::set<VertexId> visited;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    VertexId place(group.members[i]);
    Duration latency;
    while (up_from.count(place) == 1) {
      visited.insert(place);
      latency += up_from[place].latency;
      place = up_from[place].target;
    }
    roots.insert(place);
    CHECK(path.up_latency[i] == latency);
    CHECK(path.down_latency[i] == latency);
  }
  CHECK(roots.size() == 1);
  CHECK(visited.size() == up_from.size());
}

TEST_SUITE("topologies") {
  TEST_CASE("Aggregation in a node takes every GPU's link up and down, by mode") {
    ClusterSpec cluster = node_of(InterconnectKind::nvswitch, 4);
    cluster.node.interconnect.reduction.enabled = true;
    cluster.node.interconnect.reduction.operations = 8;
    const Topology topology = built(cluster);
    AggregationGroup group{AggregationScope::node, AggregationMode::all_reduce, {0, 2, 3}, 1, 0};
    CHECK(names_of(topology, path_of(topology, group).links) ==
          std::vector<std::string>{"node0/gpu0 -> node0/nvswitch0", "node0/gpu2 -> node0/nvswitch0",
                                   "node0/gpu3 -> node0/nvswitch0", "node0/nvswitch0 -> node0/gpu0",
                                   "node0/nvswitch0 -> node0/gpu2", "node0/nvswitch0 -> node0/gpu3"});
    CHECK(path_of(topology, group).operations_max == 8);
    CHECK(path_of(topology, group).up_latency == std::vector<Duration>(3, Duration::nanoseconds(500)));
    group.mode = AggregationMode::reduce;
    CHECK(names_of(topology, path_of(topology, group).links) ==
          std::vector<std::string>{"node0/gpu0 -> node0/nvswitch0", "node0/gpu2 -> node0/nvswitch0",
                                   "node0/gpu3 -> node0/nvswitch0", "node0/nvswitch0 -> node0/gpu2"});
    group.mode = AggregationMode::multicast;
    CHECK(names_of(topology, path_of(topology, group).links) ==
          std::vector<std::string>{"node0/gpu2 -> node0/nvswitch0", "node0/nvswitch0 -> node0/gpu0",
                                   "node0/nvswitch0 -> node0/gpu2", "node0/nvswitch0 -> node0/gpu3"});
  }

  TEST_CASE("Aggregation over planes takes the plane of its rail") {
    ClusterSpec cluster = node_of(InterconnectKind::nvswitch, 2);
    cluster.node.interconnect.reduction.enabled = true;
    cluster.node.interconnect.planes = 2;
    const Topology topology = built(cluster);
    const AggregationGroup group{AggregationScope::node, AggregationMode::reduce, {0, 1}, 0, 3};
    CHECK(names_of(topology, path_of(topology, group).links) ==
          std::vector<std::string>{"node0/gpu0 -> node0/nvswitch1", "node0/gpu1 -> node0/nvswitch1",
                                   "node0/nvswitch1 -> node0/gpu0"});
  }

  TEST_CASE("Aggregation over a fat tree climbs by the digits of the rail to the lowest switch over all") {
    const Topology topology = built(reducing(tree_of(FabricKind::fat_tree, 3, 4, 16, 1, 0)));
    CHECK(names_of(topology, path_of(topology, over_fabric({0, 1}, 3)).links) ==
          std::vector<std::string>{"leaf0 -> node0/gpu0", "leaf0 -> node1/gpu0", "node0/gpu0 -> leaf0",
                                   "node1/gpu0 -> leaf0"});
    CHECK(path_of(topology, over_fabric({0, 3}, 3)).up_latency ==
          std::vector<Duration>(2, Duration::nanoseconds(500)));
    const auto names = names_of(topology, path_of(topology, over_fabric({0, 3, 5}, 1)).links);
    CHECK(names == std::vector<std::string>{
                       "core2 -> spine1", "core2 -> spine3", "leaf0 -> node0/gpu0", "leaf0 -> spine1",
                       "leaf1 -> node3/gpu0", "leaf1 -> spine1", "leaf2 -> node5/gpu0", "leaf2 -> spine3",
                       "node0/gpu0 -> leaf0", "node3/gpu0 -> leaf1", "node5/gpu0 -> leaf2", "spine1 -> core2",
                       "spine1 -> leaf0", "spine1 -> leaf1", "spine3 -> core2", "spine3 -> leaf2"});
    const auto other = names_of(topology, path_of(topology, over_fabric({0, 5}, 3)).links);
    CHECK(std::count(other.begin(), other.end(), "spine1 -> core3") == 1);
  }

  TEST_CASE("Aggregation over every small tree is a tree, rail by rail") {
    for (const ClusterSpec& shape : tree_shapes()) {
      if (shape.nodes == 1 || shape.routing.kind == RoutingKind::ecmp) continue;
      const std::string text = text_of(shape);
      CAPTURE(text);
      const Topology topology = built(reducing(shape));
      const std::int32_t nics = std::max(shape.node.nics.count, 1);
      for (std::int32_t rail = 0; rail < nics; ++rail) {
        std::int32_t gpu = 0;
        while (gpu * nics / shape.node.gpus < rail) ++gpu;
        std::vector<Rank> members;
        for (std::int32_t node = 0; node < shape.nodes; ++node)
          members.push_back(node * shape.node.gpus + gpu);
        check_tree(topology, over_fabric(members, rail));
        check_tree(topology, over_fabric({members.back(), members.front()}, rail + 5));
      }
    }
  }

  TEST_CASE("Aggregation says why it is impossible") {
    const Topology plain = built(cluster_of(FabricKind::single_switch, 2, 2, 1));
    CHECK(reason_of(plain, over_fabric({0, 2})) ==
          "the fabric's switches do not reduce (cluster.fabric.reduction is not set)");
    CHECK(reason_of(plain, {AggregationScope::node, AggregationMode::all_reduce, {0, 1}, 0, 0}) ==
          "the node's switches do not reduce (cluster.node.interconnect.reduction is not set)");
    CHECK(reason_of(built(node_of(InterconnectKind::nvswitch, 2)), over_fabric({0, 1})) ==
          "one node has no fabric to reduce in");
    ClusterSpec cluster = reducing(cluster_of(FabricKind::single_switch, 4, 2, 1));
    cluster.node.interconnect.reduction.enabled = true;
    cluster.fabric.reduction.radix = 3;
    const Topology topology = built(cluster);
    CHECK(reason_of(topology, over_fabric({0, 1})) ==
          "ranks 0 and 1 share a NIC; an aggregation over the fabric takes one rank of each NIC");
    CHECK(reason_of(topology, {AggregationScope::node, AggregationMode::all_reduce, {0, 2}, 0, 0}) ==
          "ranks 0 and 2 are in different nodes; a node's switches reduce among its own GPUs only");
    CHECK(reason_of(topology, over_fabric({0, 2, 4})) == "");
    CHECK(reason_of(topology, over_fabric({0, 2, 4, 6})) ==
          "a switch would have to reduce 4 children, its limit is 3 (cluster.fabric.reduction.radix)");
    // 2 members a leaf, 2 leaves a pod, 4 pods: the core is the widest.
    ClusterSpec tree = reducing(tree_of(FabricKind::fat_tree, 3, 4, 16, 1, 0));
    tree.fabric.reduction.radix = 3;
    CHECK(reason_of(built(tree), over_fabric({0, 4, 8, 12})) ==
          "a switch would have to reduce 4 children, its limit is 3 (cluster.fabric.reduction.radix)");
    CHECK(reason_of(built(tree), over_fabric({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})) == "");
    ClusterSpec torus = fabric_of(FabricKind::torus, 1);
    torus.fabric.dimensions = {2, 2};
    CHECK(reason_of(built(torus), over_fabric({0, 1})) ==
          "the fabric's switches do not reduce (cluster.fabric.reduction is not set)");
  }
}

}  // namespace
}  // namespace collsim::testing
