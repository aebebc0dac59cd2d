// The exact shape of trees, levels and groups.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "algorithms/registry.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using collsim::testing::ideal_placement;

namespace {

Schedule make(const AlgorithmRequest& request, const Placement& placement, std::int64_t bytes = 4096) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  return std::get<Schedule>(algorithms::make_schedule(request, collective, placement));
}

// Per channel number of connections: rank -> the rank to which its first-phase sum goes up.
std::map<std::int32_t, std::map<Rank, Rank>> parents_of(const Schedule& schedule) {
  std::map<std::int32_t, std::map<Rank, Rank>> parents;
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
      const Operation first = operation(schedule, rank, stream, 0);
      if (first.kind != OperationKind::receive_reduce) continue;
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        if (item.kind == OperationKind::receive_reduce) parents[item.peer.channel][item.peer.rank] = rank;
      }
    }
  return parents;
}

Schedule tree(std::int32_t nodes, std::int32_t gpus, std::int32_t nics, std::int32_t channels) {
  AlgorithmRequest request{"tree", {}};
  request.options.channels = channels;
  return make(request, ideal_placement(nodes, gpus, nics));
}

}  // namespace

TEST_CASE("The double binary tree is NCCL's for 14 ranks, mirrored") {
  // The picture in NCCL src/graph/trees.cc.
  const std::map<Rank, Rank> first = {{8, 0}, {4, 8}, {12, 8}, {2, 4}, {6, 4},  {10, 12}, {13, 12},
                                      {1, 2}, {3, 2}, {5, 6},  {7, 6}, {9, 10}, {11, 10}};
  std::map<Rank, Rank> second;
  for (const auto& [child, parent] : first) second[13 - child] = 13 - parent;
  const auto parents = parents_of(tree(1, 14, 0, 1));
  CHECK(parents.at(0) == first);
  CHECK(parents.at(1) == second);
}

TEST_CASE("The double binary tree shifts the second tree for odd counts") {
  const auto parents = parents_of(tree(7, 1, 1, 1));
  const std::map<Rank, Rank> first = {{4, 0}, {2, 4}, {6, 4}, {1, 2}, {3, 2}, {5, 6}};
  std::map<Rank, Rank> second;
  for (const auto& [child, parent] : first) second[(child + 1) % 7] = (parent + 1) % 7;
  CHECK(parents.at(0) == first);
  CHECK(parents.at(1) == second);
}

TEST_CASE("Every rank of an even double binary tree is a leaf in one of the two") {
  for (std::int32_t ranks = 2; ranks <= 64; ranks += 2) {
    const auto parents = parents_of(tree(1, ranks, 0, 1));
    std::vector<std::set<Rank>> inner(2);
    for (const auto& [channel, edges] : parents) {
      CHECK(edges.size() == static_cast<std::size_t>(ranks) - 1);
      for (const auto& [child, parent] : edges) inner[static_cast<std::size_t>(channel)].insert(parent);
    }
    for (const Rank rank : inner[0]) CHECK(inner[1].count(rank) == 0);
  }
}

TEST_CASE("Over nodes of several GPUs the tree joins heads, and chains lead to them") {
  // 2 nodes of 4 GPUs and 2 NICs: channel 0 has heads 0 and 4, channel 1 heads 2 and 6.
  const auto parents = parents_of(tree(2, 4, 2, 2));
  CHECK(parents.at(0) == std::map<Rank, Rank>{{1, 0}, {2, 1}, {3, 2}, {4, 0}, {5, 4}, {6, 5}, {7, 6}});
  CHECK(parents.at(1) == std::map<Rank, Rank>{{1, 0}, {2, 1}, {3, 2}, {0, 4}, {5, 4}, {6, 5}, {7, 6}});
  CHECK(parents.at(2) == std::map<Rank, Rank>{{3, 2}, {0, 3}, {1, 0}, {6, 2}, {7, 6}, {4, 7}, {5, 4}});
  CHECK(parents.at(3) == std::map<Rank, Rank>{{3, 2}, {0, 3}, {1, 0}, {2, 6}, {7, 6}, {4, 7}, {5, 4}});
}

TEST_CASE("Channels are one for each NIC over nodes, and follow the rings inside one") {
  CHECK(make({"ring", {}}, ideal_placement(4, 8, 8)).channels == 8);
  CHECK(make({"ring", {}}, ideal_placement(4, 8, 0)).channels == 1);
  CHECK(make({"ring", {}}, ideal_placement(1, 8, 8)).channels == 1);
  CHECK(make({"tree", {}}, ideal_placement(4, 8, 4)).channels == 4);
  CHECK(make({"tree", {}}, ideal_placement(1, 8, 4)).channels == 1);
  CHECK(make({"cascade", {}}, ideal_placement(4, 8, 8)).channels == 1);
  Placement mesh = ideal_placement(1, 3);
  mesh.node_rings = {{0, 1, 2}, {0, 2, 1}};
  CHECK(make({"ring", {}}, mesh).channels == 2);
}

TEST_CASE("A binomial tree of 13 ranks has the parent r minus its lowest bit") {
  const auto parents = parents_of(make({"binomial_tree", {}}, ideal_placement(1, 13)));
  for (Rank rank = 1; rank < 13; ++rank) CHECK(parents.at(0).at(rank) == (rank & (rank - 1)));
  const Schedule schedule = make({"binomial_tree", {}}, ideal_placement(1, 13));
  // Rank 0: adds 1, 2, 4, 8; sends to 8, 4, 2, 1.
  const std::vector<Rank> order = {1, 2, 4, 8, 8, 4, 2, 1};
  REQUIRE(operation_count(schedule, 0, 0) == 8);
  for (std::int64_t i = 0; i < 8; ++i)
    CHECK(operation(schedule, 0, 0, i).peer.rank == order[static_cast<std::size_t>(i)]);
}

TEST_CASE("Cascade talks along one level at a time, the node first") {
  const Schedule schedule = make({"cascade", {}}, ideal_placement(4, 8));
  REQUIRE(operation_count(schedule, 13, 0) == 2 * (7 + 3 + 3 + 7));
  const Operation inner = operation(schedule, 13, 0, 0);
  CHECK(inner.peer.rank == 14);
  CHECK(inner.chunk == Chunk{Buffer::output, 0, 16, 4});  // digit 5 sends super-block 4 of 4 blocks
  const Operation outer = operation(schedule, 13, 0, 14);
  CHECK(outer.peer.rank == 21);
  CHECK(outer.chunk == Chunk{Buffer::output, 0, 20, 1});  // of its super-block 5, node 1 sends block 0
}

TEST_CASE("SHARP has one group for each GPU on the rail of its NIC") {
  Placement placement = ideal_placement(3, 4, 2);
  Schedule schedule = make({"sharp", {}}, placement);
  CHECK(schedule.group_count == 4 + 2 * 3 * 4);
  for (std::int32_t gpu = 0; gpu < 4; ++gpu) {
    const AggregationGroup group = schedule.group(gpu);
    CHECK(group.scope == AggregationScope::fabric);
    CHECK(group.mode == AggregationMode::all_reduce);
    CHECK(group.rail == gpu / 2);
    CHECK(group.members == std::vector<Rank>{gpu, gpu + 4, gpu + 8});
  }
  const AggregationGroup reduce = schedule.group(4 + 1 * 4 + 3);
  CHECK(reduce.scope == AggregationScope::node);
  CHECK(reduce.mode == AggregationMode::reduce);
  CHECK(reduce.root == 3);
  CHECK(reduce.members == std::vector<Rank>{4, 5, 6, 7});
  const AggregationGroup multicast = schedule.group(4 + 3 * 4 + 2 * 4 + 1);
  CHECK(multicast.mode == AggregationMode::multicast);
  CHECK(multicast.root == 1);
  CHECK(multicast.members == std::vector<Rank>{8, 9, 10, 11});
  CHECK(schedule.aggregated_bytes(0, Bytes(1000)) == Bytes(1000));
  placement.node_reduction.enabled = false;
  CHECK(make({"sharp", {}}, placement).group_count == 4);
}

TEST_CASE("NVLS carries (N+1)/N of the bytes, rounded up") {
  const Schedule schedule = make({"nvls", {}}, ideal_placement(1, 8));
  CHECK(schedule.aggregated_bytes(0, Bytes(8000)) == Bytes(9000));
  CHECK(schedule.aggregated_bytes(0, Bytes(1)) == Bytes(2));
  CHECK(schedule.aggregated_bytes(0, Bytes(0)) == Bytes(0));
  CHECK(schedule.aggregated_bytes(0, Bytes(std::int64_t{1} << 60)) ==
        Bytes((std::int64_t{1} << 60) + (std::int64_t{1} << 57)));
}
