// ECMP against the exact figures of n equal flows that are hashed evenly onto m equal ways.
//
// The flows take as much longer than if they were split perfectly as the fullest way has more than n / m of
// them. What is expected is exact (balls into bins), rounded to the last digit shown. Here the flows are
// simulated between two leaves joined by m spines, each with a source and a target of its own, over 1,000
// seeds; the mean must lie within three standard errors of what is expected.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <vector>

#include "sim/execution/simulation.hpp"
#include "topologies/build.hpp"

using namespace collsim;

namespace {

constexpr std::uint64_t seeds = 1000;
// 50 MB over 50 GB/s: 10^9 ps for a flow alone.
constexpr std::int64_t flow_ps = 1'000'000'000;

struct Mean {
  double sum = 0;
  double squares = 0;
  double count = 0;
  void add(double value) {
    sum += value;
    squares += value * value;
    count += 1;
  }
  double value() const { return sum / count; }
  double standard_error() const { return std::sqrt((squares / count - value() * value()) / count); }
  bool is_near(double expected, double rounding) const {
    return std::abs(value() - expected) <= 3 * standard_error() + rounding;
  }
};

ClusterSpec tree(int levels, int down, int up, int nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.levels = levels;
  cluster.fabric.radix = down + up;
  cluster.fabric.oversubscription_numerator = down;
  cluster.fabric.oversubscription_denominator = up;
  cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(50);
  cluster.routing.kind = RoutingKind::ecmp;
  return cluster;
}

Topology built(const ClusterSpec& cluster, std::uint64_t seed) {
  auto result = topologies::build(cluster, seed);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

// Rank i of the first half sends to rank i of the second half.
Schedule flows(std::int32_t count) {
  Collective collective;
  collective.bytes = Bytes(50'000'000);
  Schedule schedule = empty_schedule("flows", collective, 2 * count);
  schedule.layout = Layout(50'000'000 / 4, 4, {}, 1);
  for (const OperationKind kind : {OperationKind::send, OperationKind::receive}) {
    OperationTemplate operation;
    operation.kind = kind;
    operation.peer = 0;
    schedule.programs.push_back(Program{{Loop{1, {operation}}}});
  }
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [count](Rank rank, std::int32_t, Binding& binding) {
    binding.program = rank < count ? 0 : 1;
    binding.peers = {{rank < count ? rank + count : rank - count, 0}};
  };
  return schedule;
}

double time_of(const Topology& topology, std::int32_t count) {
  const Schedule schedule = flows(count);
  const RunResult result = simulate(topology, {{&schedule, {}, {}, -1}}, {});
  REQUIRE(result.status == RunStatus::ok);
  return static_cast<double>(result.time.picoseconds()) / flow_ps;
}

// Different links among those that the flows take as number `hop` of their routes.
std::size_t ways_used(const Topology& topology, std::int32_t count, std::int32_t channel, std::size_t hop) {
  std::set<LinkId> used;
  std::vector<LinkId> route;
  for (Rank rank = 0; rank < count; ++rank) {
    route.clear();
    topology.route(rank, rank + count, channel, route);
    used.insert(route[hop]);
  }
  return used.size();
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("Flows hashed onto equal ways take as much longer than a perfect split as is expected") {
    struct Case {
      int flows;
      int paths;
      double slow_down;
    };
    for (const Case& test :
         {Case{2, 2, 1.50}, Case{4, 4, 2.13}, Case{8, 8, 2.60}, Case{16, 16, 3.08}, Case{32, 32, 3.53},
          Case{64, 64, 3.96}, Case{16, 8, 2.10}, Case{32, 8, 1.76}, Case{64, 8, 1.53}}) {
      CAPTURE(test.flows);
      CAPTURE(test.paths);
      const ClusterSpec cluster = tree(2, test.flows, test.paths, 2 * test.flows);
      Mean slow_down;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        slow_down.add(time_of(built(cluster, seed), test.flows) * test.paths / test.flows);
      CAPTURE(slow_down.value());
      CAPTURE(slow_down.standard_error());
      CHECK(slow_down.is_near(test.slow_down, 0.005));
      CHECK(slow_down.standard_error() < 0.03);
    }
  }

  TEST_CASE("Eight flows on eight ways use 5.25 of them, and all only in 0.24 % of the cases") {
    Mean ways;
    Mean without_collision;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const Topology topology = built(tree(2, 8, 8, 16), seed);
      for (std::int32_t channel = 0; channel < 200; ++channel) {
        const std::size_t used = ways_used(topology, 8, channel, 1);
        ways.add(static_cast<double>(used));
        without_collision.add(used == 8 ? 1 : 0);
      }
    }
    CAPTURE(ways.value());
    CAPTURE(without_collision.value());
    CHECK(ways.is_near(5.25, 0.005));
    CHECK(without_collision.is_near(0.0024, 0.00005));
    CHECK(without_collision.standard_error() < 0.0004);
  }

  TEST_CASE("Polarised hashes use a way up for each port of a leaf, not one for each core, and are slower") {
    // Pods of 4 leaves of 4 nodes, 16 cores: 16 flows from one pod to the next.
    ClusterSpec cluster = tree(3, 4, 4, 32);
    Mean cores;
    Mean time;
    Mean polarised_time;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      cluster.routing.polarised = false;
      const Topology each = built(cluster, seed);
      cores.add(static_cast<double>(ways_used(each, 16, 0, 2)));
      time.add(time_of(each, 16));
      cluster.routing.polarised = true;
      const Topology alike = built(cluster, seed);
      REQUIRE(ways_used(alike, 16, 0, 2) <= 4);
      polarised_time.add(time_of(alike, 16));
    }
    CAPTURE(cores.value());
    CAPTURE(time.value());
    CAPTURE(polarised_time.value());
    // 16 (1 - (15/16)^16) different ones of 16.
    CHECK(cores.is_near(10.303, 0.0005));
    CHECK(polarised_time.value() > 1.8 * time.value());
  }
}
