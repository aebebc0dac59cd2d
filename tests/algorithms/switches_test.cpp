// NVLS, NVLS tree, CollNet and SHARP: what they compute, what they put on links, and their times.
#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "tests/algorithms/ideal_placement.hpp"
#include "tests/algorithms/level_support.hpp"

using namespace collsim;
using namespace collsim::testing;

namespace {

constexpr std::int64_t mebi = 1 << 20;
const std::vector<CollectiveKind> with_switches = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                                   CollectiveKind::all_gather, CollectiveKind::broadcast,
                                                   CollectiveKind::reduce,     CollectiveKind::barrier};

void check(const std::string& name, const AlgorithmOptions& options, CollectiveKind kind,
           const Placement& placement, Rank root = 0) {
  CAPTURE(name);
  CAPTURE(name_of(kind));
  CAPTURE(placement.nodes);
  CAPTURE(placement.gpus_per_node);
  CAPTURE(placement.nics_per_node);
  CAPTURE(root);
  for (const std::int64_t elements : {0, 7, 12}) {
    if (kind == CollectiveKind::barrier && elements > 0) continue;
    const std::int64_t parts = in_parts(kind) ? placement.ranks() : 1;
    const Schedule schedule = make(name, options, bytes_of(kind, elements * parts * 4, root), placement);
    check_proven(schedule);
  }
}

void check_kinds(const std::string& name, const Placement& placement,
                 const std::vector<CollectiveKind>& kinds) {
  for (const CollectiveKind kind : kinds)
    for (const std::int32_t slices : {1, 3}) {
      AlgorithmOptions options;
      options.slices = slices;
      options.slots = slices;
      for (Rank root = 0; root < (has_root(kind) ? placement.ranks() : 1); ++root)
        check(name, options, kind, placement, root);
    }
}

// GPUs of 400 GB/s on NVSwitch, NICs of 50 GB/s, one level of switches.
ClusterSpec cluster_of(int nodes, int gpus, int nics, bool node_reduces) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  cluster.node.interconnect.kind = gpus > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = rate_of(400'000'000'000);
  cluster.node.interconnect.latency = ps(500'000);
  cluster.node.interconnect.reduction.enabled = node_reduces && gpus > 1;
  cluster.node.nics.count = nics;
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

std::int64_t time_of_kind(const Topology& topology, const std::string& name, CollectiveKind kind,
                          std::int64_t bytes, std::int32_t slices = 1, Rank root = 0) {
  AlgorithmOptions options;
  options.slices = slices;
  return time_of(topology, make(name, options, bytes_of(kind, bytes, root), topology.placement()))
      .picoseconds();
}

// A share of a link is a whole number of microbytes a second, so that a seventh of one costs a picosecond
// more.
void check_time(std::int64_t time, std::int64_t closed_form, std::int64_t phases) {
  CHECK(time >= closed_form);
  CHECK(time <= closed_form + phases);
}

}  // namespace

TEST_CASE("CollNet, SHARP and NVLS tree are proven for 1 to 6 nodes of 1 to 6 GPUs and fewer NICs") {
  for (std::int32_t nodes = 1; nodes <= 6; ++nodes)
    for (std::int32_t gpus = 1; gpus <= 6; ++gpus) {
      if (nodes * gpus > 20) continue;
      check_kinds("nvls_tree", ideal_placement(nodes, gpus),
                  {CollectiveKind::all_reduce, CollectiveKind::barrier});
      for (std::int32_t nics = 0; nics <= gpus; ++nics) {
        const Placement placement = ideal_placement(nodes, gpus, nics);
        check_kinds("collnet_direct", placement, with_switches);
        check_kinds("collnet_chain", placement, {CollectiveKind::all_reduce, CollectiveKind::barrier});
      }
      if (nodes == 1) continue;
      for (const bool node_reduces : {true, false}) {
        Placement placement = ideal_placement(nodes, gpus, gpus);
        placement.node_reduction.enabled = node_reduces;
        check_kinds("sharp", placement, with_switches);
      }
    }
}

TEST_CASE("NVLS is proven for 1 to 9 GPUs, with channels and slices") {
  for (std::int32_t gpus = 1; gpus <= 9; ++gpus)
    for (const CollectiveKind kind : with_switches)
      for (const std::int32_t channels : {1, 2})
        for (const std::int32_t slices : {1, 3})
          for (const Rank root : {0, gpus - 1}) {
            AlgorithmOptions options;
            options.channels = channels;
            options.slices = slices;
            check("nvls", options, kind, ideal_placement(1, gpus), root);
          }
}

TEST_CASE("Switch algorithms are proven at 64 to 256 ranks") {
  for (const auto& [nodes, gpus] : std::vector<std::pair<std::int32_t, std::int32_t>>{{8, 8}, {32, 8}})
    for (const char* name : {"nvls_tree", "collnet_direct", "collnet_chain", "sharp"})
      check_proven(
          make(name, {}, bytes_of(CollectiveKind::all_reduce, 8 * mebi), ideal_placement(nodes, gpus, gpus)));
  for (const char* name : {"collnet_direct", "sharp"})
    for (const CollectiveKind kind : with_switches)
      check_proof(prove(make(name, {}, bytes_of(kind, kind == CollectiveKind::barrier ? 0 : 4096, 9),
                             ideal_placement(8, 8, 4 + 4 * (name == std::string("sharp"))))));
}

TEST_CASE("NVLS takes S (N + 1) / N for an all-reduce and S for every other collective") {
  const std::int64_t bytes = 64 * mebi;
  const Topology topology = port_network(8, ps(4'000'000), rate_of(370'000'000'000));
  // 4 us + 64 MiB * 9 / 8 / 370 GB/s = 208047.2216 ns, to the next picosecond.
  CHECK(time_of_kind(topology, "nvls", CollectiveKind::all_reduce, bytes) == 208'047'222);
  const std::int64_t once = 4'000'000 + (bytes * 100 + 36) / 37;
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                                    CollectiveKind::broadcast, CollectiveKind::reduce}) {
    CAPTURE(name_of(kind));
    const std::int64_t time = time_of_kind(topology, "nvls", kind, bytes, 1, 3);
    CHECK(time >= once);
    CHECK(time <= once + 8);  // shares of a link are whole microbytes a second
  }
  CHECK(time_of_kind(topology, "nvls", CollectiveKind::barrier, 0) == 4'000'000);
}

TEST_CASE("NVLS puts on every link what the switches move") {
  const Topology topology = port_network(4, ps(0), rate_of(100'000'000'000));
  const std::int64_t bytes = 4 * 1000;
  const auto out_and_in = [&](CollectiveKind kind, Rank rank) {
    const RunResult result = run(topology, make("nvls", {}, bytes_of(kind, bytes, 1), topology.placement()));
    return std::pair(result.link_bytes[static_cast<std::size_t>(2 * rank)].count(),
                     result.link_bytes[static_cast<std::size_t>(2 * rank + 1)].count());
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  for (Rank rank = 0; rank < 4; ++rank) {
    CHECK(out_and_in(CollectiveKind::all_reduce, rank) == Pair(5000, 5000));
    CHECK(out_and_in(CollectiveKind::reduce_scatter, rank) == Pair(4000, 1000));
    CHECK(out_and_in(CollectiveKind::all_gather, rank) == Pair(1000, 4000));
    CHECK(out_and_in(CollectiveKind::broadcast, rank) == Pair(rank == 1 ? 4000 : 0, 4000));
    CHECK(out_and_in(CollectiveKind::reduce, rank) == Pair(4000, rank == 1 ? 4000 : 0));
  }
}

TEST_CASE("SHARP in parts takes its way through the node and S / G through the fabric") {
  const std::int64_t bytes = 64 * mebi;
  for (const int nodes : {2, 4})
    for (const int gpus : {1, 4, 8}) {
      CAPTURE(nodes);
      CAPTURE(gpus);
      const Topology topology = built(cluster_of(nodes, gpus, gpus, true));
      const std::int64_t inside = gpus > 1 ? bytes * 1000 / 400 + 2 * 500'000 : 0;
      const std::int64_t fabric = bytes / gpus * 1000 / 50 + 2 * (1'000'000 + 250'000);
      CHECK(time_of_kind(topology, "sharp", CollectiveKind::reduce_scatter, bytes) == inside + fabric);
      CHECK(time_of_kind(topology, "sharp", CollectiveKind::all_gather, bytes) == inside + fabric);
    }
}

TEST_CASE("SHARP broadcasts and reduces over all rails") {
  const std::int64_t bytes = 64 * mebi;
  const Topology topology = built(cluster_of(4, 8, 8, true));
  const std::int64_t scatter = bytes / 8 * 7 * 1000 / 400 + 2 * 500'000;  // from or to the root
  const std::int64_t inside = bytes * 1000 / 400 + 2 * 500'000;
  const std::int64_t fabric = bytes / 8 * 1000 / 50 + 2 * (1'000'000 + 250'000);
  check_time(time_of_kind(topology, "sharp", CollectiveKind::broadcast, bytes, 1, 11),
             scatter + fabric + inside, 2);
  check_time(time_of_kind(topology, "sharp", CollectiveKind::reduce, bytes, 1, 11), inside + fabric + scatter,
             2);
}

TEST_CASE("A barrier through switches takes the latencies") {
  const Topology topology = built(cluster_of(4, 8, 8, true));
  CHECK(time_of_kind(topology, "sharp", CollectiveKind::barrier, 0) == 2 * 1'000'000 + 2 * 1'250'000);
  // Inside a node a message passes two links.
  CHECK(time_of_kind(topology, "collnet_direct", CollectiveKind::barrier, 0) ==
        2 * 1'000'000 + 2 * 1'250'000);
  CHECK(time_of_kind(topology, "collnet_chain", CollectiveKind::barrier, 0) ==
        2 * 7 * 1'000'000 + 2 * 1'250'000);
}

TEST_CASE("CollNet direct moves S (G - 1) / G inside, each way, and S / heads through the fabric") {
  const std::int64_t bytes = 64 * mebi;
  const Topology eight = built(cluster_of(4, 8, 8, false));
  const std::int64_t inside = bytes / 8 * 7 * 1000 / 400 + 2 * 500'000;
  const std::int64_t fabric = bytes / 8 * 1000 / 50 + 2 * (1'000'000 + 250'000);
  check_time(time_of_kind(eight, "collnet_direct", CollectiveKind::all_reduce, bytes), 2 * inside + fabric,
             2);
  check_time(time_of_kind(eight, "collnet_direct", CollectiveKind::reduce_scatter, bytes), inside + fabric,
             2);
  check_time(time_of_kind(eight, "collnet_direct", CollectiveKind::all_gather, bytes), inside + fabric, 2);
  CHECK(time_of_kind(eight, "collnet_direct", CollectiveKind::all_reduce, bytes) ==
        time_of_kind(eight, "sharp", CollectiveKind::all_reduce, bytes));
  // Two NICs: two heads, each receives S / 2 from seven GPUs.
  const Topology two = built(cluster_of(4, 8, 2, false));
  const std::int64_t to_heads = bytes / 2 * 7 * 1000 / 400 + 2 * 500'000;
  const std::int64_t rails = bytes / 2 * 1000 / 50 + 2 * (1'000'000 + 250'000);
  check_time(time_of_kind(two, "collnet_direct", CollectiveKind::all_reduce, bytes), 2 * to_heads + rails, 2);
}

TEST_CASE("CollNet chain is a pipeline of slices through chain, fabric and chain") {
  // One NIC: one head, so nothing shares a link. c slices of tau_n inside and tau_f through the fabric.
  const std::int64_t bytes = 64 * mebi;
  const Topology topology = built(cluster_of(4, 4, 1, false));
  for (const std::int32_t slices : {1, 16}) {
    const std::int64_t slice = bytes / slices;
    const std::int64_t chain = 3 * (slice * 1000 / 400 + 2 * 500'000);
    const std::int64_t fabric = slices * (slice * 1000 / 50) + 2 * (1'000'000 + 250'000);
    CHECK(time_of_kind(topology, "collnet_chain", CollectiveKind::all_reduce, bytes, slices) ==
          2 * chain + fabric);
  }
  const Schedule automatic =
      make("collnet_chain", {}, bytes_of(CollectiveKind::all_reduce, 64 * mebi), ideal_placement(4, 8, 8));
  CHECK(automatic.channels == 8);
  CHECK(automatic.slices == 16);  // 8 MiB a head in pieces of 512 KiB
}

TEST_CASE("NVLS tree on one node is reduce and multicast, with one GPU a node the double tree") {
  const Topology node = built(cluster_of(1, 8, 8, true));
  CHECK(time_of_kind(node, "nvls_tree", CollectiveKind::barrier, 0) == 2 * 2 * 500'000);
  const RunResult result =
      run(node, make("nvls_tree", {}, bytes_of(CollectiveKind::all_reduce, 64 * mebi), node.placement()));
  for (std::size_t link = 0; link < result.link_bytes.size(); ++link)
    if (node.link(LinkId(static_cast<std::uint32_t>(link))).bandwidth == rate_of(400'000'000'000))
      CHECK(result.link_bytes[link].count() == 72 * mebi);  // S (N + 1) / N each way
  // Trees of 8 vertices as of the double binary tree: per half and head one connection a parent and child.
  const Schedule tree =
      make("nvls_tree", {}, bytes_of(CollectiveKind::all_reduce, 64), ideal_placement(8, 1));
  CHECK(prove(tree).messages == 2 * 2 * 7);
  CHECK(tree.group_count == 0);
  const Schedule heads =
      make("nvls_tree", {}, bytes_of(CollectiveKind::all_reduce, 64), ideal_placement(8, 4));
  CHECK(prove(heads).messages == 4 * 2 * 2 * 7);
}

TEST_CASE("The trees of NVLS tree are NCCL's for 14 nodes, mirrored, on every rail") {
  // The picture in NCCL src/graph/trees.cc.
  const std::map<Rank, Rank> first = {{8, 0}, {4, 8}, {12, 8}, {2, 4}, {6, 4},  {10, 12}, {13, 12},
                                      {1, 2}, {3, 2}, {5, 6},  {7, 6}, {9, 10}, {11, 10}};
  const Schedule schedule =
      make("nvls_tree", {}, bytes_of(CollectiveKind::all_reduce, 4), ideal_placement(14, 2));
  std::map<std::pair<std::int32_t, Rank>, Rank> parents;  // (tree, rank): to whom its first message goes
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        if (item.kind == OperationKind::receive_reduce) parents[{item.peer.channel, item.peer.rank}] = rank;
      }
  CHECK(parents.size() == 2 * 2 * first.size());
  for (const auto& edge : first)
    for (Rank gpu = 0; gpu < 2; ++gpu) {
      CHECK(parents.at({0, edge.first * 2 + gpu}) == edge.second * 2 + gpu);
      CHECK(parents.at({1, (13 - edge.first) * 2 + gpu}) == (13 - edge.second) * 2 + gpu);
    }
}

TEST_CASE("Folded switch algorithms are the plain ones at 64 ranks, with slices") {
  const Topology topology = built(cluster_of(8, 8, 4, true));
  for (const char* name : {"nvls_tree", "collnet_direct", "collnet_chain"})
    (void)time_of_kind(topology, name, CollectiveKind::all_reduce, mebi, 4);
  const Topology rails = built(cluster_of(8, 8, 8, true));
  for (const CollectiveKind kind : with_switches)
    (void)time_of_kind(rails, "sharp", kind, kind == CollectiveKind::barrier ? 0 : mebi, 2, 5);
}

TEST_CASE("Switch algorithms say why a cluster cannot run them, and which options have no effect") {
  Placement placement = ideal_placement(4, 8);
  const Collective collective = bytes_of(CollectiveKind::all_reduce, 4096);
  placement.fabric_reduction.enabled = false;
  CHECK(reason("collnet_direct", {}, collective, placement) == "no switch of the fabric reduces");
  CHECK(reason("collnet_chain", {}, collective, placement) == "no switch of the fabric reduces");
  CHECK(reason("nvls_tree", {}, collective, placement) == "possible");
  placement.node_reduction.enabled = false;
  CHECK(reason("nvls_tree", {}, collective, placement) == "no switch of the node reduces");
  placement.fabric_reduction.enabled = true;
  placement.fabric_reduction.message_size_max = Bytes(100);
  AlgorithmOptions options;
  options.slices = 1;
  CHECK(reason("collnet_direct", options, collective, placement) ==
        "an aggregation of 4096 bytes is above the 100 bytes that the switches take; more slices make it "
        "smaller");
  CHECK(make("collnet_direct", {}, collective, placement).slices == 41);
  options = {};
  options.slots = 4;
  options.channel_bandwidth = rate_of(1'000'000);
  const std::vector<std::string> both = {"slots", "channel_bandwidth"};
  placement = ideal_placement(4, 8, 8);
  CHECK(make("sharp", options, collective, placement).unused_options == both);
  CHECK(make("sharp", {}, collective, placement).unused_options.empty());
  CHECK(make("sharp", options, bytes_of(CollectiveKind::reduce, 4096), placement).unused_options.empty());
  placement.node_reduction.enabled = false;
  CHECK(make("sharp", options, collective, placement).unused_options.empty());
  CHECK(make("sharp", options, collective, ideal_placement(4, 1)).unused_options == both);
  CHECK(make("nvls_tree", options, collective, ideal_placement(1, 4)).unused_options == both);
}
