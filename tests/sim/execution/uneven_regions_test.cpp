// Blocks that are alike within a region and differ from region to region fold as equal blocks do.
#include <doctest/doctest.h>

#include <variant>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/support/conservation.hpp"
#include "topologies/build.hpp"

using namespace collsim;

TEST_SUITE("execution") {
  TEST_CASE("Copies of a torus bucket with unlike blocks fold, and run as all streams do") {
    ClusterSpec cluster;
    cluster.nodes = 16;
    cluster.fabric.kind = FabricKind::torus;
    cluster.fabric.dimensions = {4, 4};
    cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(50);
    cluster.fabric.latency = Duration::nanoseconds(500);
    const auto built = topologies::build(cluster);
    REQUIRE(std::holds_alternative<Topology>(built));
    const Topology& topology = std::get<Topology>(built);
    Simulator simulator(topology);
    for (const std::int64_t elements_a_block : {4'001, 8'002, 4'003}) {
      CAPTURE(elements_a_block);
      Collective collective;
      collective.bytes = Bytes(16 * elements_a_block * 4);
      const auto made = algorithms::make_schedule({"torus_bucket", {}}, collective, topology.placement());
      REQUIRE(std::holds_alternative<Schedule>(made));
      const Schedule& schedule = std::get<Schedule>(made);
      REQUIRE(schedule.layout.size(0, 0, 1) != schedule.layout.size(3, 0, 1));
      const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
      RunOptions options;
      options.shortcuts = Shortcuts::fold;
      const RunResult folded = simulator.run(jobs, options);
      CHECK(folded.method.streams == 64);
      CHECK(folded.method.classes <= 4);
      options.shortcuts = Shortcuts::plain;
      const RunResult plain = simulate(topology, jobs, options);
      CHECK(testing::conservation_fault(topology, jobs, plain) == "");
      CHECK(folded.time == plain.time);
      CHECK(folded.rank_finish == plain.rank_finish);
      CHECK(folded.link_bytes == plain.link_bytes);
      CHECK(folded.fingerprint == plain.fingerprint);
    }
  }
}
