// Aggregations as packets: segment by segment through the switches of a tree.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/sim/network/packet_support.hpp"

namespace {

using namespace collsim;
using collsim::testing::PacketRun;
using TreeVertex = PacketNetwork::TreeVertex;

constexpr std::int64_t ns = 1000;
constexpr std::int64_t us = 1000 * ns;

std::int64_t ceil_time(std::int64_t bytes, std::int64_t rate) {
  return transfer_time(Bytes(bytes), Bandwidth::bytes_per_second(rate)).picoseconds();
}

// Four members, two at each of two switches, which a third one joins. Every cable 50 GB/s and 500 ns.
enum class Ways { both, up_to_first, down_from_first };
std::vector<TreeVertex> two_levels(PacketRun& run, Ways ways) {
  const auto link = [&](std::uint32_t source, std::uint32_t target) {
    return run.network.add_link(Bandwidth::gigabytes_per_second(50), Duration::nanoseconds(500), source,
                                target);
  };
  std::vector<TreeVertex> tree(1);
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    TreeVertex vertex;
    vertex.parent = 0;
    if (ways != Ways::down_from_first || leaf == 0) vertex.up = link(10 + leaf, 20);
    if (ways != Ways::up_to_first || leaf == 0) vertex.down = link(20, 10 + leaf);
    tree.push_back(vertex);
  }
  for (std::uint32_t member = 0; member < 4; ++member) {
    TreeVertex vertex;
    vertex.parent = 1 + member / 2;
    vertex.member = static_cast<std::int32_t>(member);
    if (ways != Ways::down_from_first || member == 0) vertex.up = link(member, 10 + member / 2);
    if (ways != Ways::up_to_first || member == 0) vertex.down = link(10 + member / 2, member);
    tree.push_back(vertex);
  }
  return tree;
}

TEST_CASE("An aggregation alone takes m/B and the latency up and down, in all three ways") {
  for (const Ways ways : {Ways::both, Ways::up_to_first, Ways::down_from_first})
    for (const std::int64_t bytes : {0, 1, 4096, 1'000'003}) {
      PacketRun run;
      const auto tree = two_levels(run, ways);
      const auto flow = run.network.add_aggregation(tree, std::nullopt);
      run.network.freeze();
      run.send(flow, bytes);
      REQUIRE(run.run());
      const std::int64_t drained = ceil_time(bytes, 50'000'000'000);
      CHECK(run.sent[flow] == std::vector<std::int64_t>{drained});
      CHECK(std::abs(run.delivered[flow].front() - (drained + 4 * 500 * ns)) <= 4);
      CHECK(run.network.alone(flow, Bytes(bytes)).picoseconds() == drained);
      CHECK(run.results.size() == (ways == Ways::both ? 4 : ways == Ways::up_to_first ? 1 : 3 + 1));
      for (const TreeVertex& vertex : tree) {
        if (vertex.up != TreeVertex::none) CHECK(run.network.facts(vertex.up).payload == bytes);
        if (vertex.down != TreeVertex::none) CHECK(run.network.facts(vertex.down).payload == bytes);
      }
    }
}

TEST_CASE("Reduction buffers throttle an aggregation to what fits into a round trip") {
  for (const std::int64_t segments : {1, 2, 4}) {
    PacketSpec spec;
    spec.reduction_buffer = Bytes(segments * 4096);
    PacketRun run(spec);
    const auto flow = run.network.add_aggregation(two_levels(run, Ways::both), std::nullopt);
    run.network.freeze();
    const std::int64_t count = 120;
    run.send(flow, count * 4096);
    REQUIRE(run.run());
    // A segment leaves a switch at once when it is whole, and its room is seen 2 latencies after it began.
    const std::int64_t packet = ceil_time(4096, 50'000'000'000);
    const std::int64_t rounds = count / segments - 1;
    CAPTURE(segments);
    CHECK(std::abs(run.delivered[flow].front() - (rounds * us + segments * packet + 2 * us)) <= 4);
  }
}

TEST_CASE("Operations of a tree follow each other without a gap, and end in order") {
  PacketRun run;
  const auto flow = run.network.add_aggregation(two_levels(run, Ways::both), std::nullopt);
  run.network.freeze();
  for (int slice = 0; slice < 8; ++slice) run.send(flow, 100'000);
  REQUIRE(run.run());
  REQUIRE(run.delivered[flow].size() == 8);
  for (std::size_t slice = 0; slice < 8; ++slice) {
    const std::int64_t drained = static_cast<std::int64_t>(slice + 1) * 2 * us;
    CHECK(std::abs(run.delivered[flow][slice] - (drained + 2 * us)) <= 8);
    CHECK(run.results[{flow, 3}][slice] == run.delivered[flow][slice]);
  }
}

TEST_CASE("The rate of its switches bounds an aggregation") {
  PacketRun run;
  const auto flow =
      run.network.add_aggregation(two_levels(run, Ways::both), Bandwidth::gigabytes_per_second(20));
  run.network.freeze();
  run.send(flow, 1'000'000);
  REQUIRE(run.run());
  CHECK(std::abs(run.delivered[flow].front() - (50 * us + 2 * us)) <= 8);
}

TEST_CASE("Two trees over the same links share them, and a connection takes its turns") {
  PacketRun run;
  const auto tree = two_levels(run, Ways::both);
  const auto first = run.network.add_aggregation(tree, std::nullopt);
  const auto second = run.network.add_aggregation(tree, std::nullopt);
  run.network.freeze();
  run.send(first, 1'000'000);
  run.send(second, 1'000'000);
  REQUIRE(run.run());
  CHECK(std::abs(run.delivered[first].front() - (40 * us + 2 * us)) < us);
  CHECK(std::abs(run.delivered[second].front() - (40 * us + 2 * us)) < us);
}

TEST_CASE("A link of a tree that is down stops it, and is named") {
  PacketRun run;
  const auto tree = two_levels(run, Ways::both);
  const auto flow = run.network.add_aggregation(tree, std::nullopt);
  run.network.freeze();
  run.send(flow, 10'000'000);
  run.run(20 * us);
  run.network.set_link(tree[2].up, Bandwidth(), Duration::nanoseconds(500), Instant::picoseconds(20 * us));
  CHECK_FALSE(run.run());
  const auto blocked = run.network.blocked();
  CHECK(std::count(blocked.begin(), blocked.end(), std::pair(tree[2].up, tree[2].up)) == 1);
  CHECK(std::count(blocked.begin(), blocked.end(), std::pair(tree[5].up, tree[2].up)) == 1);
  run.network.set_link(tree[2].up, Bandwidth::gigabytes_per_second(50), Duration::nanoseconds(500),
                       Instant::picoseconds(300 * us));
  CHECK(run.run());
}

}  // namespace
