// SHARP with one slice: the time of its three phases, and streams joined for a block change no time.
#include <doctest/doctest.h>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"
#include "tests/support/networks.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using collsim::testing::ps;
using collsim::testing::rate_of;
using collsim::testing::roll;
using collsim::testing::Streams;
using collsim::testing::unroll;

namespace {

// One level of switches, GPU g at NIC g.
ClusterSpec cluster_of(int nodes, int gpus, Duration send_overhead) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  cluster.node.gpu.send_overhead = send_overhead;
  cluster.node.interconnect.kind = gpus > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = rate_of(400'000'000'000);
  cluster.node.interconnect.latency = ps(500'000);
  cluster.node.interconnect.reduction.enabled = gpus > 1;
  cluster.node.nics.count = gpus;
  cluster.node.nics.bandwidth = rate_of(50'000'000'000);
  cluster.node.nics.latency = ps(1'000'000);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.levels = 1;
  cluster.fabric.radix = 128;
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(250'000);
  cluster.fabric.reduction.enabled = true;
  return cluster;
}

Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

Schedule one_slice(const Topology& topology, std::int64_t bytes) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  AlgorithmOptions options;
  options.slices = 1;
  return std::get<Schedule>(algorithms::make_schedule({"sharp", options}, collective, topology.placement()));
}

RunResult run(const Topology& topology, const Schedule& schedule) {
  return simulate(topology, {Job{&schedule, {}, {}, -1}}, {}, {});
}

// A stream for each operation. What gives something waits for the operation before it in its stream.
Schedule taken_apart(const Schedule& schedule) {
  Streams apart(static_cast<std::size_t>(schedule.ranks));
  const Streams streams = unroll(schedule);
  for (std::size_t rank = 0; rank < streams.size(); ++rank)
    for (const std::vector<Operation>& stream : streams[rank])
      for (std::size_t i = 0; i < stream.size(); ++i) {
        Operation item = stream[i];
        const bool gives =
            i > 0 && item.kind == OperationKind::aggregate && stream[i - 1].kind == OperationKind::collect;
        item.waits.clear();
        if (gives) item.waits.push_back({static_cast<std::int32_t>(apart[rank].size()) - 1, 0});
        apart[rank].push_back({item});
      }
  return roll(schedule, apart);
}

}  // namespace

TEST_CASE("SHARP with one slice takes reduce, tree and multicast one after the other") {
  for (const int nodes : {2, 5, 16})
    for (const int gpus : {2, 4, 8})
      for (const std::int64_t overhead : {0, 300'000}) {
        CAPTURE(nodes);
        CAPTURE(gpus);
        const Topology topology = built(cluster_of(nodes, gpus, ps(overhead)));
        const std::int64_t bytes = std::int64_t{64} << 20;
        // The vector goes once over every GPU's link in each phase inside: S / 400 GB/s, there and back.
        const std::int64_t inside = bytes * 1000 / 400 + 2 * 500'000;
        const std::int64_t tree = bytes / gpus * 1000 / 50 + 2 * (1'000'000 + 250'000);
        const RunResult result = run(topology, one_slice(topology, bytes));
        CHECK(result.time == ps(3 * overhead + 2 * inside + tree));
      }
}

TEST_CASE("SHARP with one slice has a stream for each block, and the time of one for each operation") {
  for (const int nodes : {2, 3})
    for (const int gpus : {1, 2, 3, 8})
      for (const std::int64_t overhead : {0, 300'000})
        for (const std::int64_t elements : {0, 1, 7, 250'003}) {
          CAPTURE(nodes);
          CAPTURE(gpus);
          CAPTURE(elements);
          const Topology topology = built(cluster_of(nodes, gpus, ps(overhead)));
          const Schedule schedule = one_slice(topology, 4 * elements);
          CHECK(schedule.stream_count(0) == gpus);
          const Schedule apart = taken_apart(schedule);
          CHECK(prove(schedule).proven);
          CHECK(prove(apart).proven);
          const RunResult joined = run(topology, schedule);
          const RunResult reference = run(topology, apart);
          CHECK(joined.time == reference.time);
          CHECK(joined.rank_finish == reference.rank_finish);
          CHECK(joined.link_bytes == reference.link_bytes);
          CHECK(joined.messages == reference.messages);
        }
}
