// Lower bounds by maximum flow, against brute force over all cuts and all partitions of small graphs.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "sim/core/random.hpp"
#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/flow_bounds.hpp"

namespace collsim::testing {
namespace {

constexpr std::int64_t giga = 1'000'000'000;

// Ranks, then switches; links with ends and bandwidths at random, not symmetric; a ring joins all.
Topology random_graph(std::uint64_t seed, std::int32_t ranks, std::int32_t switches) {
  Random random(seed);
  Topology::Parts parts;
  parts.placement.nodes = ranks;
  for (Rank rank = 0; rank < ranks; ++rank) parts.vertices.push_back({VertexKind::gpu, 0, rank, 0});
  for (std::int32_t i = 0; i < switches; ++i) parts.vertices.push_back({VertexKind::fabric_switch, 1, -1, i});
  const auto vertices = static_cast<std::uint64_t>(ranks + switches);
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    if (from == to) return;
    const auto speed = static_cast<std::int64_t>(1 + random.below(8)) * giga;
    parts.links.push_back({VertexId(from), VertexId(to), Bandwidth::bytes_per_second(speed), Duration()});
  };
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) add(vertex, (vertex + 1) % vertices);
  for (std::uint64_t more = random.below(3 * vertices); more > 0; --more)
    add(random.below(vertices), random.below(vertices));
  return Topology(std::move(parts));
}

struct Side {
  std::uint32_t set = 0;  // of vertices
  bool holds(VertexId id) const { return (set >> id.value & 1U) != 0; }
  bool holds(Rank rank) const { return holds(VertexId(rank)); }
};

Int128 exit_of(const Topology& topology, Side side) {
  Int128 exit = 0;
  for (const Link& link : topology.links())
    if (side.holds(link.source) && !side.holds(link.target)) exit += link.bandwidth.bytes_per_second();
  return exit;
}

std::int64_t ranks_in(const Topology& topology, Side side) {
  std::int64_t count = 0;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) count += side.holds(rank);
  return count;
}

// The N-th parts of the bytes that must leave `side`.
std::int64_t parts_leaving(const Topology& topology, const Collective& collective, Side side) {
  const std::int64_t ranks = topology.ranks();
  const std::int64_t inside = ranks_in(topology, side);
  const std::int64_t outside = ranks - inside;
  const bool root_inside = side.holds(collective.root);
  if (inside == 0 || outside == 0) return 0;
  switch (collective.kind) {
    case CollectiveKind::all_gather:
      return inside;
    case CollectiveKind::reduce_scatter:
      return outside;
    case CollectiveKind::broadcast:
      return root_inside ? ranks : 0;
    case CollectiveKind::reduce:
      return root_inside ? 0 : ranks;
    case CollectiveKind::scatter:
      return root_inside ? outside : 0;
    case CollectiveKind::gather:
      return root_inside ? 0 : inside;
    case CollectiveKind::all_to_all:
      return inside * outside;
    case CollectiveKind::all_reduce:
      return ranks;
    case CollectiveKind::send_recv:
    case CollectiveKind::barrier:
      break;
  }
  return 0;
}

Duration brute_force(const Topology& topology, const Collective& collective) {
  Duration longest;
  for (std::uint32_t set = 1; set + 1 < 1U << topology.vertex_count(); ++set) {
    const std::int64_t parts = parts_leaving(topology, collective, Side{set});
    if (parts == 0) continue;
    longest = std::max(longest, time_at(Int128{collective.bytes.count()} * parts,
                                        exit_of(topology, Side{set}) * topology.ranks()));
  }
  return longest;
}

// The least exit of a set of ranks over all choices of switches, by sets of ranks.
std::vector<Int128> least_exits(const Topology& topology) {
  const std::uint32_t ranks_mask = (1U << topology.ranks()) - 1;
  std::vector<Int128> least(ranks_mask + 1, -1);
  for (std::uint32_t set = 0; set < 1U << topology.vertex_count(); ++set) {
    Int128& entry = least[set & ranks_mask];
    const Int128 exit = exit_of(topology, Side{set});
    if (entry < 0 || exit < entry) entry = exit;
  }
  return least;
}

// The largest 2 (m - 1) / (sum of exits) over all partitions of the ranks.
Duration brute_force_partitions(const Topology& topology, Bytes bytes) {
  const std::vector<Int128> exits = least_exits(topology);
  Duration longest;
  std::vector<std::uint32_t> groups;
  const std::function<void(Rank)> place = [&](Rank rank) {
    if (rank == topology.ranks()) {
      Int128 sum = 0;
      for (const std::uint32_t group : groups) sum += exits[group];
      const auto count = static_cast<std::int64_t>(groups.size());
      if (count > 1) longest = std::max(longest, time_at(Int128{bytes.count()} * 2 * (count - 1), sum));
      return;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i] |= 1U << rank;
      place(rank + 1);
      groups[i] &= ~(1U << rank);
    }
    groups.push_back(1U << rank);
    place(rank + 1);
    groups.pop_back();
  };
  place(0);
  return longest;
}

std::string bound_text(const Topology& topology, CollectiveKind kind, std::int64_t bytes) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(bytes);
  const LowerBound bound = topologies::FlowBounds(topology).of(collective);
  return std::to_string(bound.time.picoseconds()) + " " + bound.reason;
}

TEST_SUITE("topologies") {
  TEST_CASE("Bounds by maximum flow are the tightest cut of every random graph, for every collective") {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      CAPTURE(seed);
      const auto ranks = static_cast<std::int32_t>(2 + seed % 5);
      const auto switches = static_cast<std::int32_t>(seed / 5 % 4);
      const Topology topology = random_graph(seed, ranks, switches);
      const topologies::FlowBounds bounds(topology);
      for (const CollectiveKind kind : collective_kinds()) {
        if (kind == CollectiveKind::send_recv || kind == CollectiveKind::barrier) continue;
        Collective collective;
        collective.kind = kind;
        collective.bytes = Bytes(1'000'000'007);
        collective.root = has_root(kind) ? static_cast<Rank>(seed / 20 % 2) : 0;
        CAPTURE(name_of(kind));
        Duration expected = brute_force(topology, collective);
        if (kind == CollectiveKind::all_reduce)
          expected = std::max(expected, brute_force_partitions(topology, collective.bytes));
        // What all links together carry can bind an all-to-all more than any cut.
        if (kind == CollectiveKind::all_to_all)
          CHECK(bounds.of(collective).time >= expected);
        else
          CHECK(bounds.of(collective).time == expected);
      }
    }
  }

  TEST_CASE("Bounds by maximum flow know that switches reduce, and which") {
    // Random graphs whose fabric reduces: an all-reduce is a cut of the whole vector, no partition.
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      CAPTURE(seed);
      const Topology plain = random_graph(seed, 5, 2);
      Topology::Parts parts;
      parts.placement = plain.placement();
      parts.placement.fabric_reduction.enabled = true;
      for (std::size_t i = 0; i < plain.vertex_count(); ++i)
        parts.vertices.push_back(plain.vertex(VertexId(i)));
      parts.links = plain.links();
      const Topology topology(std::move(parts));
      Collective collective;
      collective.bytes = Bytes(1'000'000'007);
      CHECK(topologies::FlowBounds(topology).of(collective).time == brute_force(topology, collective));
    }
    ClusterSpec node = node_of(InterconnectKind::nvswitch, 8);  // 100 GB/s
    CHECK(bound_text(built(node), CollectiveKind::all_reduce, 8 * giga) == "140000000000 rank");
    node.node.interconnect.reduction.enabled = true;
    CHECK(bound_text(built(node), CollectiveKind::all_reduce, 8 * giga) == "80000000000 rank");
    CHECK(bound_text(built(node), CollectiveKind::all_gather, 8 * giga) == "70000000000 rank");
    CHECK(bound_text(built(node), CollectiveKind::reduce_scatter, 8 * giga) == "70000000000 rank");
    // Three nodes of two NVSwitch GPUs that reduce, one NIC of 50 GB/s each: nodes together send 4 S.
    ClusterSpec cluster = cluster_of(FabricKind::single_switch, 3, 2, 1);
    cluster.node.interconnect.reduction.enabled = true;
    CHECK(bound_text(built(cluster), CollectiveKind::all_reduce, 3 * giga) == "80000000000 node");
    cluster.fabric.reduction.enabled = true;
    CHECK(bound_text(built(cluster), CollectiveKind::all_reduce, 3 * giga) == "60000000000 node");
  }

  TEST_CASE("Bounds are the known cut bounds of small networks") {
    const std::int64_t size = 720 * 50 * giga / 1000;  // S / B is 0.72 s on links of 50 GB/s
    const auto all_gather = [&](const ClusterSpec& cluster) {
      return bound_text(built(cluster), CollectiveKind::all_gather, size);
    };
    const auto all_reduce = [&](const ClusterSpec& cluster) {
      return bound_text(built(cluster), CollectiveKind::all_reduce, size);
    };
    // Ring 8: 7/16. Star 8: 7/8. Torus 3 x 3: 2/9. Mesh 3 x 3: 4/9, from a corner.
    CHECK(all_gather(fabric_of(FabricKind::ring, 8)) == "315000000000 rank");
    CHECK(all_gather(fabric_of(FabricKind::single_switch, 8)) == "630000000000 rank");
    ClusterSpec torus = fabric_of(FabricKind::torus, 1);
    torus.fabric.dimensions = {3, 3};
    CHECK(all_gather(torus) == "160000000000 rank");
    ClusterSpec mesh = fabric_of(FabricKind::mesh, 1);
    mesh.fabric.dimensions = {3, 3};
    CHECK(all_gather(mesh) == "320000000000 rank");
    // All-reduce: twice that, but for the mesh, whose ranks together send 16 S over 24 links.
    CHECK(all_reduce(fabric_of(FabricKind::ring, 8)) == "630000000000 rank");
    CHECK(all_reduce(fabric_of(FabricKind::single_switch, 8)) == "1260000000000 rank");
    CHECK(all_reduce(torus) == "320000000000 rank");
    CHECK(all_reduce(mesh) == "480000000000 rank");
    // Two leaves of four hosts with two uplinks: 7/8 and 7/4, but an all-to-all is bound by the uplinks: 16
    // eighths of S over two links.
    ClusterSpec leaves = tree_of(FabricKind::fat_tree, 2, 6, 8, 1, 0);
    leaves.fabric.oversubscription_numerator = 2;
    CHECK(all_gather(leaves) == "630000000000 rank");
    CHECK(all_reduce(leaves) == "1260000000000 rank");
    CHECK(bound_text(built(leaves), CollectiveKind::all_to_all, size) == "720000000000 leaf");
    // Two boxes of four GPUs, NVSwitch of 400 GB/s, a NIC of 50 GB/s a GPU: 1/8 and 1/4.
    ClusterSpec boxes = cluster_of(FabricKind::single_switch, 2, 4, 4);
    boxes.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(400);
    CHECK(all_gather(boxes) == "90000000000 node");
    CHECK(all_reduce(boxes) == "180000000000 node");
  }

  TEST_CASE("Bounds by maximum flow are never below those of the cuts, for every small shape") {
    for (const ClusterSpec& cluster : all_shapes()) {
      const std::string shape = text_of(cluster);
      if (cluster.routing.kind == RoutingKind::ecmp) continue;
      CAPTURE(shape);
      const Topology topology = built(cluster);
      if (topology.ranks() > 12) continue;
      const topologies::FlowBounds bounds(topology);
      for (const CollectiveKind kind : collective_kinds()) {
        CAPTURE(name_of(kind));
        Collective collective;
        collective.kind = kind;
        collective.bytes = Bytes(kind == CollectiveKind::barrier ? 0 : 1'000'000'000);
        collective.root = has_root(kind) ? topology.ranks() - 1 : 0;
        const LowerBound cuts = lower_bound(collective, topology);
        CHECK(bounds.of(collective).time >= cuts.time);
        // The cuts of a switch or a torus are all there is to know.
        if (cluster.fabric.kind == FabricKind::single_switch && cluster.node.gpus == 1 && !in_parts(kind))
          CHECK(bounds.of(collective).time == cuts.time);
      }
    }
  }

  TEST_CASE("Bounds name the cut that binds, and are the latency for small vectors") {
    // A line of five with a slow cable after the third.
    ClusterSpec line = fabric_of(FabricKind::custom, 5);
    line.fabric.links = {
        {0, 1, {}, {}}, {1, 2, {}, {}}, {2, 3, Bandwidth::gigabytes_per_second(5), {}}, {3, 4, {}, {}}};
    const Topology topology = built(line);
    const std::int64_t size = 5 * giga;
    CHECK(bound_text(topology, CollectiveKind::all_gather, size) == "600000000000 max-flow to rank 3");
    CHECK(bound_text(topology, CollectiveKind::reduce_scatter, size) == "600000000000 max-flow from rank 3");
    CHECK(bound_text(topology, CollectiveKind::broadcast, size) == "1000000000000 max-flow to rank 3");
    CHECK(bound_text(topology, CollectiveKind::reduce, size) == "1000000000000 max-flow from rank 3");
    CHECK(bound_text(topology, CollectiveKind::scatter, size) == "400000000000 max-flow from rank 0");
    CHECK(bound_text(topology, CollectiveKind::gather, size) == "400000000000 max-flow to rank 0");
    CHECK(bound_text(topology, CollectiveKind::all_reduce, size) == "1000000000000 max-flow to rank 3");
    CHECK(bound_text(topology, CollectiveKind::send_recv, size) == "1000000000000 max-flow to rank 3");
    CHECK(bound_text(topology, CollectiveKind::all_to_all, size) ==
          "1200000000000 max-flow between two groups");
    CHECK(bound_text(topology, CollectiveKind::all_gather, 4) == "1000000 latency");
    CHECK(bound_text(topology, CollectiveKind::barrier, 0) == "1000000 latency");
    CHECK(bound_text(topology, CollectiveKind::all_gather, 0) == "0 nothing to move");
  }

  TEST_CASE("Bounds of an all-to-all are its links together where that is more than any cut") {
    // The complete bipartite graph of three and three: from a rank 3 others are one cable away and 2 are two,
    // so six sixths of S cross 7 links each; there are 18. No cut binds more than 1/3.
    ClusterSpec utility = fabric_of(FabricKind::custom, 6);
    for (int left = 0; left < 3; ++left)
      for (int right = 3; right < 6; ++right) utility.fabric.links.push_back({left, right, {}, {}});
    CHECK(bound_text(built(utility), CollectiveKind::all_to_all, 900 * giga) ==
          "7000000000000 all links together");
  }

  TEST_CASE("Partition bounds of an all-reduce are reached by no single cut") {
    // Three groups of four, each fully meshed, in a ring of single cables.
    ClusterSpec chain = fabric_of(FabricKind::custom, 12);
    for (const int first : {0, 4, 8}) {
      for (int from = first; from < first + 4; ++from)
        for (int to = from + 1; to < first + 4; ++to) chain.fabric.links.push_back({from, to, {}, {}});
      chain.fabric.links.push_back({first + 3, (first + 4) % 12, {}, {}});
    }
    // Together the three send 4 S over 6 links.
    CHECK(bound_text(built(chain), CollectiveKind::all_reduce, 300 * giga) ==
          "4000000000000 partition into 3 groups");
  }
}

}  // namespace
}  // namespace collsim::testing
