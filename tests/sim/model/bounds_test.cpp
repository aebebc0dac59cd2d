#include "sim/model/bounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace collsim {
namespace {

// A cluster known by its cuts alone: `nodes` of `gpus`.
Topology topology_of(std::int32_t nodes, std::int32_t gpus, std::vector<Cut> cuts, Duration latency = {},
                     bool node_reduces = false, bool fabric_reduces = false) {
  Topology::Parts parts;
  parts.placement.nodes = nodes;
  parts.placement.gpus_per_node = gpus;
  parts.placement.node_reduction.enabled = node_reduces;
  parts.placement.fabric_reduction.enabled = fabric_reduces;
  for (std::int32_t rank = 0; rank < nodes * gpus; ++rank)
    parts.vertices.push_back({VertexKind::gpu, 0, rank / gpus, rank % gpus});
  parts.cuts = std::move(cuts);
  parts.latency_max = latency;
  return Topology(std::move(parts));
}

Topology topology_of_nodes(const std::vector<std::int32_t>& gpus, std::vector<Cut> cuts) {
  Topology::Parts parts;
  parts.placement.nodes = static_cast<std::int32_t>(gpus.size());
  parts.placement.gpus_per_node = *std::max_element(gpus.begin(), gpus.end());
  parts.placement.first_rank = {0};
  for (std::int32_t node = 0; node < parts.placement.nodes; ++node) {
    const std::int32_t count = gpus[static_cast<std::size_t>(node)];
    parts.placement.first_rank.push_back(parts.placement.first_rank.back() + count);
    for (std::int32_t gpu = 0; gpu < count; ++gpu) parts.vertices.push_back({VertexKind::gpu, 0, node, gpu});
  }
  parts.cuts = std::move(cuts);
  return Topology(std::move(parts));
}

// The bound in units of S / B for links of B = 1 GB/s and S = 720 kB.
void check_bound(const Topology& topology, std::int64_t numerator, std::int64_t denominator,
                 const std::string& reason, CollectiveKind kind = CollectiveKind::all_reduce, Rank root = 0) {
  Collective collective;
  collective.kind = kind;
  collective.root = root;
  collective.bytes = Bytes(720'000);
  const LowerBound bound = lower_bound(collective, topology);
  CHECK(bound.time.picoseconds() == 720'000'000 * numerator / denominator);
  CHECK(bound.reason == reason);
}

constexpr std::int64_t giga = 1'000'000'000;

TEST_SUITE("sim/model") {
  TEST_CASE("Bounds are the known cut bounds of small networks") {
    // Ring of 8: 7/8. Star of 8: 7/4. Torus 3 x 3: 4/9.
    check_bound(topology_of(8, 1, {{"rank", 8, 16 * giga, 2 * giga}}), 7, 8, "rank");
    check_bound(topology_of(8, 1, {{"rank", 8, 8 * giga, giga}}), 7, 4, "rank");
    check_bound(topology_of(9, 1, {{"rank", 9, 36 * giga, 4 * giga}}), 4, 9, "rank");
    // Two boxes of four GPUs, NVSwitch 8, one NIC a GPU: 1/4, from the NICs.
    check_bound(topology_of(2, 4, {{"rank", 8, 8 * 9 * giga, 9 * giga}, {"node", 2, 8 * giga, 4 * giga}}), 1,
                4, "node");
    // Two leaves of four with uplink 2: the oversubscription does not bind an all-reduce.
    check_bound(topology_of(8, 1, {{"rank", 8, 8 * giga, giga}, {"leaf", 2, 4 * giga, 2 * giga}}), 7, 4,
                "rank");
    // Mesh 3 x 3: all ranks together send 16 S over 24 links; a corner alone would allow 1/2.
    check_bound(topology_of(9, 1, {{"rank", 9, 24 * giga, 2 * giga}}), 2, 3, "rank");
  }

  TEST_CASE("Bounds follow the worst-connected group where that is slower") {
    check_bound(topology_of(4, 1, {{"rank", 4, 31 * giga, giga}}), 1, 1, "rank");
  }

  TEST_CASE("Bounds of reducing switches are S / B on what they can replace, and no more") {
    const std::vector<Cut> cuts = {{"rank", 8, 8 * 9 * giga, 9 * giga}, {"node", 2, 8 * giga, 4 * giga}};
    // NVSwitch reduces: ranks send S each, nodes still 2 (m - 1) S together.
    check_bound(topology_of(2, 4, cuts, {}, true, false), 1, 4, "node");
    check_bound(topology_of(1, 8, {{"rank", 8, 8 * giga, giga}}, {}, true, false), 1, 1, "rank");
    const std::vector<Cut> three = {{"rank", 6, 6 * 9 * giga, 9 * giga}, {"node", 3, 6 * giga, 2 * giga}};
    check_bound(topology_of(3, 2, three, {}, true, false), 2, 3, "node");
    check_bound(topology_of(3, 2, three, {}, false, true), 1, 2, "node");
  }

  TEST_CASE("Bounds of an all-reduce of 8 MiB on 8 ports of 100 GB/s are B1, and B2 where switches reduce") {
    Collective collective;
    collective.bytes = Bytes(8 << 20);
    const std::vector<Cut> ports = {{"rank", 8, 800 * giga, 100 * giga}};
    CHECK(lower_bound(collective, topology_of(8, 1, ports)).time ==
          Duration::nanoseconds(146'800) + Duration::picoseconds(640));
    CHECK(lower_bound(collective, topology_of(8, 1, ports, {}, false, true)).time ==
          Duration::nanoseconds(83'886) + Duration::picoseconds(80));
  }

  TEST_CASE("Bounds of every collective on one switch are what a port must carry") {
    const Topology star = topology_of(8, 1, {{"rank", 8, 8 * giga, giga, 56}});
    using enum CollectiveKind;
    check_bound(star, 7, 8, "rank", all_gather);
    check_bound(star, 7, 8, "rank", reduce_scatter);
    check_bound(star, 7, 8, "rank", all_to_all);
    check_bound(star, 7, 8, "rank", scatter, 3);
    check_bound(star, 7, 8, "rank", gather, 3);
    check_bound(star, 1, 1, "rank", broadcast, 3);
    check_bound(star, 1, 1, "rank", reduce, 3);
    check_bound(star, 1, 1, "rank", send_recv);
    // Switches that copy and reduce change none of them.
    const Topology reducing = topology_of(8, 1, {{"rank", 8, 8 * giga, giga, 56}}, {}, true, true);
    for (const CollectiveKind kind : {all_gather, reduce_scatter, all_to_all, scatter, gather})
      check_bound(reducing, 7, 8, "rank", kind);
    for (const CollectiveKind kind : {broadcast, reduce, send_recv})
      check_bound(reducing, 1, 1, "rank", kind);
  }

  TEST_CASE("Bounds of every collective across narrow nodes are what crosses them") {
    // Four nodes of two; ranks of 9 GB/s, nodes of 1 GB/s.
    const Topology nodes =
        topology_of(4, 2, {{"rank", 8, 72 * giga, 9 * giga, 56}, {"node", 4, 4 * giga, giga, 48}});
    using enum CollectiveKind;
    check_bound(nodes, 3, 4, "node", all_gather);
    check_bound(nodes, 3, 4, "node", reduce_scatter);
    check_bound(nodes, 3, 2, "node", all_to_all);  // 2 * 6 eighths of S out of a node
    check_bound(nodes, 3, 4, "node", scatter);
    check_bound(nodes, 3, 4, "node", gather);
    check_bound(nodes, 1, 1, "node", broadcast);
    check_bound(nodes, 1, 1, "node", reduce);
    check_bound(nodes, 1, 1, "node", send_recv);
    // Leaves that were not counted: at least the pairs of one rank with the seven others.
    check_bound(topology_of(8, 1, {{"leaf", 2, 2 * giga, giga}}), 7, 8, "leaf", all_to_all);
    check_bound(topology_of(8, 1, {{"leaf", 2, 2 * giga, giga, 32}}), 2, 1, "leaf", all_to_all);
  }

  TEST_CASE("Bounds across nodes of unequal numbers of GPUs ask no more of a node than the least can be") {
    // Nodes of 1, 2 and 5 GPUs; ranks of 9 GB/s; nodes of 1, 1 and 2 GB/s.
    const Cut rank{"rank", 8, 72 * giga, 9 * giga, 56};
    const Topology unlike =
        topology_of_nodes({1, 2, 5}, {rank, {"node", 3, 4 * giga, giga, 64 - 1 - 4 - 25}});
    using enum CollectiveKind;
    check_bound(unlike, 1, 1, "node", all_reduce);      // 4 S over 4 GB/s
    check_bound(unlike, 2, 4, "node", all_gather);      // together 2 S; alone 3/8 at least
    check_bound(unlike, 2, 4, "node", reduce_scatter);  // nodes * gpus_per_node would ask for more
    check_bound(unlike, 34, 32, "node", all_to_all);    // 34 pairs of S / 8 over 4 GB/s
    check_bound(unlike, 1, 8, "node", scatter, 7);      // of the worst node perhaps one part
    check_bound(unlike, 1, 1, "node", broadcast);
    check_bound(unlike, 1, 1, "node", send_recv);
    // The same where nobody counted the pairs.
    const Topology uncounted = topology_of_nodes({1, 2, 5}, {rank, {"node", 3, 4 * giga, giga}});
    check_bound(uncounted, 34, 32, "node", all_to_all);
    // All nodes with 1 GB/s: the root's exchanges the parts of all ranks outside.
    const Topology alike = topology_of_nodes({1, 2, 5}, {rank, {"node", 3, 3 * giga, giga}});
    check_bound(alike, 7, 8, "node", scatter, 0);
    check_bound(alike, 6, 8, "node", gather, 2);
    check_bound(alike, 3, 8, "node", scatter, 7);
    check_bound(alike, 2, 3, "node", all_gather);
  }

  TEST_CASE("Bounds of a scatter and a gather are the links of the root") {
    Topology::Parts parts;
    parts.placement.nodes = 3;
    for (Rank rank = 0; rank < 3; ++rank) parts.vertices.push_back({VertexKind::gpu, 0, rank, 0});
    const auto add = [&](int from, int to, std::int64_t speed) {
      parts.links.push_back(
          {VertexId(from), VertexId(to), Bandwidth::bytes_per_second(speed * giga), Duration()});
    };
    add(0, 1, 1), add(1, 2, 2), add(2, 0, 4);
    const Topology ring(std::move(parts));
    check_bound(ring, 2, 3, "root", CollectiveKind::scatter, 0);
    check_bound(ring, 1, 3, "root", CollectiveKind::scatter, 1);
    check_bound(ring, 1, 6, "root", CollectiveKind::gather, 0);
    check_bound(ring, 2, 3, "root", CollectiveKind::gather, 1);
  }

  TEST_CASE("Bounds of a barrier are the latency") {
    Collective barrier;
    barrier.kind = CollectiveKind::barrier;
    const Duration latency = Duration::microseconds(3);
    const LowerBound bound = lower_bound(barrier, topology_of(8, 1, {{"rank", 8, 8 * giga, giga}}, latency));
    CHECK(bound.time == latency);
    CHECK(bound.reason == "latency");
  }

  TEST_CASE("Bounds are the latency for small vectors and zero where nothing moves") {
    const Duration latency = Duration::microseconds(3);
    const Topology topology = topology_of(8, 1, {{"rank", 8, 8 * giga, giga}}, latency);
    Collective collective;
    collective.bytes = Bytes(4);
    CHECK(lower_bound(collective, topology).time == latency);
    CHECK(lower_bound(collective, topology).reason == "latency");
    collective.bytes = Bytes(0);
    CHECK(lower_bound(collective, topology).time == Duration());
    collective.bytes = Bytes(1024);
    CHECK(lower_bound(collective, topology_of(1, 1, {})).time == Duration());
  }

  TEST_CASE("Bounds round down and hold the largest vectors") {
    Collective collective;
    collective.bytes = Bytes(10);
    CHECK(lower_bound(collective, topology_of(2, 1, {{"rank", 2, 6, 3}})).time ==
          Duration::picoseconds(3'333'333'333'333));
    collective.bytes = Bytes(std::int64_t{1} << 56);
    const Topology wide =
        topology_of(1 << 17, 1, {{"rank", 1 << 17, Int128{1 << 17} * 50 * giga, 50 * giga}});
    const double seconds = 2.0 * static_cast<double>(std::int64_t{1} << 56) / 5e10;
    CHECK(static_cast<double>(lower_bound(collective, wide).time.picoseconds()) ==
          doctest::Approx(seconds * 1e12).epsilon(1e-4));
  }
}

}  // namespace
}  // namespace collsim
