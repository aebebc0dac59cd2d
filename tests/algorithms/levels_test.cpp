// Cascade, torus buckets and hierarchical: what they compute, and their times in closed form.
#include <doctest/doctest.h>

#include <algorithm>

#include "algorithms/level_order.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/algorithms/level_support.hpp"

using namespace collsim;
using namespace collsim::testing;

namespace {

using Kinds = std::vector<CollectiveKind>;
const Kinds halves = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather};
constexpr std::int64_t mebi = 1 << 20;

// Sizes with empty, uneven and even parts, as far as the collective has them.
void check_sizes(const std::string& name, const AlgorithmOptions& options, const Kinds& kinds,
                 const Placement& placement, Rank root = 0) {
  for (const CollectiveKind kind : kinds)
    for (const std::int64_t elements : {0, 5, 12}) {
      CAPTURE(name);
      CAPTURE(options.form);
      CAPTURE(name_of(kind));
      CAPTURE(placement.nodes);
      CAPTURE(placement.gpus_per_node);
      const std::int64_t parts = in_parts(kind) ? placement.ranks() : 1;
      const Schedule schedule = make(name, options, bytes_of(kind, elements * parts * 4, root), placement);
      check_proven(schedule);
      if (!has_root(kind) && kind != CollectiveKind::all_to_all && elements == 12 && options.form != "leader")
        for (Rank rank = 0; rank < placement.ranks() && in_parts(kind); ++rank)
          CHECK(bytes_out(schedule, rank) == (parts - 1) * elements * 4);
    }
}

void check_options(const std::string& name, const std::string& form, const Kinds& kinds,
                   const Placement& placement) {
  AlgorithmOptions options;
  options.form = form;
  check_sizes(name, options, kinds, placement);
  for (const std::int32_t channels : {1, 3})
    for (const std::int32_t slices : {1, 3}) {
      options.channels = channels;
      options.slices = slices;
      options.slots = channels == 3 ? 1 : 8;
      check_sizes(name, options, kinds, placement);
    }
}

Placement grid(FabricKind fabric, std::vector<std::int32_t> sides, std::int32_t gpus) {
  Placement placement = torus_placement(sides);
  placement.fabric = fabric;
  placement.gpus_per_node = gpus;
  return placement;
}

ClusterSpec torus(std::vector<int> sides, int gpus = 1) {
  ClusterSpec cluster;
  cluster.nodes = 1;
  for (const int side : sides) cluster.nodes *= side;
  cluster.node.gpus = gpus;
  if (gpus > 1) {
    cluster.node.interconnect.kind = InterconnectKind::nvswitch;
    cluster.node.interconnect.bandwidth = rate_of(400'000'000'000);
  }
  cluster.fabric.kind = FabricKind::torus;
  cluster.fabric.dimensions = std::move(sides);
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(1'000'000);
  return cluster;
}

// Nodes of 8 GPUs and `nics` NICs under one switch.
ClusterSpec switched(int nodes, int gpus, int nics) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  cluster.node.interconnect.kind = gpus > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = rate_of(400'000'000'000);
  cluster.node.interconnect.latency = ps(500'000);
  cluster.node.nics.count = nics;
  cluster.node.nics.bandwidth = rate_of(50'000'000'000);
  cluster.node.nics.latency = ps(1'000'000);
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(1'500'000);
  return cluster;
}

Schedule all_reduce(const std::string& name, const AlgorithmOptions& options, std::int64_t bytes,
                    const Placement& placement) {
  return make(name, options, bytes_of(CollectiveKind::all_reduce, bytes), placement);
}

}  // namespace

TEST_CASE("Cascade, torus buckets and hierarchical are proven for 1 to 6 nodes of 1 to 6 GPUs") {
  for (std::int32_t nodes = 1; nodes <= 6; ++nodes)
    for (std::int32_t gpus = 1; gpus <= 6; ++gpus) {
      const Placement placement = ideal_placement(nodes, gpus, (gpus + 1) / 2);
      for (const char* form : {"fixed", "reversed", "themis"})
        check_options("cascade", form, halves, placement);
      check_options("torus_bucket", "", halves, placement);
      check_options("hierarchical", "rails", halves, placement);
      check_options("hierarchical", "leader", {CollectiveKind::all_reduce}, placement);
      for (const char* form : {"rails", "leader"}) {
        AlgorithmOptions options;
        options.form = form;
        check_proven(make("hierarchical", options, bytes_of(CollectiveKind::barrier, 0), placement));
      }
      check_sizes("hierarchical", {}, {CollectiveKind::all_to_all}, placement);
    }
}

TEST_CASE("Cascade and torus buckets are proven on every small torus and mesh") {
  for (const FabricKind fabric : {FabricKind::torus, FabricKind::mesh})
    for (const std::int32_t gpus : {1, 2})
      for (const std::vector<std::int32_t>& sides : std::vector<std::vector<std::int32_t>>{
               {12}, {3, 4}, {4, 3}, {2, 3, 2}, {1, 5}, {4, 1, 2}, {4, 4}}) {
        const Placement placement = grid(fabric, sides, gpus);
        for (const char* form : {"fixed", "reversed", "themis"})
          check_options("cascade", form, halves, placement);
        check_options("torus_bucket", "", halves, placement);
      }
}

TEST_CASE("Hierarchical by leaders broadcasts and reduces from every root") {
  for (const std::int32_t nodes : {1, 2, 3, 6})
    for (const std::int32_t gpus : {1, 2, 3, 5})
      for (const std::int32_t slices : {1, 4})
        for (Rank root = 0; root < nodes * gpus; ++root) {
          CAPTURE(root);
          AlgorithmOptions options;
          options.slices = slices;
          check_sizes("hierarchical", options, {CollectiveKind::broadcast, CollectiveKind::reduce},
                      ideal_placement(nodes, gpus), root);
        }
}

TEST_CASE("Hierarchical says which form does a collective") {
  const Placement placement = ideal_placement(2, 4);
  AlgorithmOptions options;
  options.form = "rails";
  CHECK(reason("hierarchical", options, bytes_of(CollectiveKind::reduce, 64), placement) ==
        "hierarchical does reduce in the form leader only");
  options.form = "leader";
  CHECK(reason("hierarchical", options, bytes_of(CollectiveKind::all_gather, 64), placement) ==
        "hierarchical does all_gather in the form rails only");
  options.channels = 2;
  CHECK(all_reduce("hierarchical", options, 64, placement).unused_options ==
        std::vector<std::string>{"channels"});
  options.form = "rails";
  CHECK(all_reduce("hierarchical", options, 64, placement).unused_options.empty());
}

TEST_CASE("Cascade says what is wrong with bandwidths of levels") {
  const Placement placement = ideal_placement(2, 4);
  AlgorithmOptions options;
  options.level_bandwidths = {rate_of(1)};
  const Collective collective = bytes_of(CollectiveKind::all_reduce, 64);
  CHECK(all_reduce("cascade", {}, 64, placement).unused_options.empty());
  options.form = "themis";
  CHECK(reason("cascade", options, collective, placement) == "level_bandwidths has 1 entries for 2 levels");
  options.level_bandwidths = {rate_of(1), rate_of(0)};
  CHECK(reason("cascade", options, collective, placement) ==
        "every one of level_bandwidths must be greater than 0");
  options.level_bandwidths = {rate_of(1), rate_of(2)};
  CHECK(all_reduce("cascade", options, 64, placement).unused_options.empty());
  options.form = "fixed";
  CHECK(all_reduce("cascade", options, 64, placement).unused_options ==
        std::vector<std::string>{"level_bandwidths"});
}

TEST_CASE("Rings at two and three levels take the sum of their rings") {
  const Topology two = pair_network(
      {{8, ps(1'000'000), rate_of(400'000'000'000)}, {4, ps(5'000'000), rate_of(50'000'000'000)}});
  AlgorithmOptions options;
  options.levels = {8, 4};
  // 2 * 7 * (1 us + S / (8 * 400 GB/s)) + 2 * 3 * (5 us + S / (32 * 50 GB/s)), S = 64 MiB.
  const Schedule cascade = all_reduce("cascade", options, 64 * mebi, two.placement());
  CHECK(time_of(two, cascade) == ps(589'259'520));
  Placement nodes = two.placement();
  nodes.nodes = 4;
  nodes.gpus_per_node = 8;
  CHECK(time_of(two, all_reduce("hierarchical", {}, 64 * mebi, nodes)) == ps(589'259'520));
  for (const CollectiveKind half : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather})
    CHECK(time_of(two, make("hierarchical", {}, bytes_of(half, 64 * mebi), nodes)) == ps(589'259'520 / 2));
  const Topology three = pair_network({{4, ps(1'000'000), rate_of(400'000'000'000)},
                                       {2, ps(2'000'000), rate_of(100'000'000'000)},
                                       {4, ps(5'000'000), rate_of(25'000'000'000)}});
  options.levels = {4, 2, 4};
  CHECK(time_of(three, all_reduce("cascade", options, 64 * mebi, three.placement())) == ps(962'746'880));
}

TEST_CASE("By leaders a node reduces, the leaders run a ring and broadcast") {
  const Topology two = pair_network(
      {{8, ps(1'000'000), rate_of(400'000'000'000)}, {4, ps(5'000'000), rate_of(50'000'000'000)}});
  Placement nodes = two.placement();
  nodes.nodes = 4;
  nodes.gpus_per_node = 8;
  AlgorithmOptions options;
  options.form = "leader";
  // 2 * 3 * (1 us + S / 400 GB/s) + 2 * 3 * (5 us + S / (4 * 50 GB/s)), S = 64 MiB.
  CHECK(time_of(two, all_reduce("hierarchical", options, 64 * mebi, nodes)) == ps(3'055'898'880));
  // Trees: three children deep inside a node, two between four.
  const std::int64_t tree =
      std::int64_t{3} * (1'000'000 + 167'772'160) + std::int64_t{2} * (5'000'000 + 1'342'177'280);
  for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce})
    for (const Rank root : {0, 13})
      CHECK(time_of(two, make("hierarchical", {}, bytes_of(kind, 64 * mebi, root), nodes)) == ps(tree));
}

TEST_CASE("One torus bucket is X, then Y, and four keep all links of a square torus at work") {
  const Topology topology = built(torus({4, 4}));
  AlgorithmOptions options;
  options.channels = 1;
  // 6 (1 us + S / (4 * 50 GB/s)) + 6 (1 us + S / (16 * 50 GB/s)), S = 16 MiB.
  CHECK(time_of(topology, all_reduce("torus_bucket", options, 16 * mebi, topology.placement())) ==
        ps(641'145'600));
  const Schedule four = all_reduce("torus_bucket", {}, 16 * mebi, topology.placement());
  CHECK(four.channels == 4);
  // 12 us + 2 * 15/16 * S / (4 * 50 GB/s)
  CHECK(time_of(topology, four) == ps(169'286'400));
  const RunResult result = run(topology, four);
  const std::int64_t each = 2 * 15 * mebi / 4;  // of a link: an equal part of what leaves a rank
  for (const Bytes bytes : result.link_bytes) CHECK(bytes.count() == each);
  for (const CollectiveKind half : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather})
    CHECK(time_of(topology, make("torus_bucket", {}, bytes_of(half, 16 * mebi), topology.placement())) ==
          ps(169'286'400 / 2));
}

TEST_CASE("Six torus buckets of a cube take the D-dimensional bound plus their latencies") {
  const Topology topology = built(torus({4, 4, 4}));
  // 2 * 9 us + 2 * 63/64 * S / (6 * 50 GB/s)
  const std::int64_t bytes = 64 * 6 * 50'000;
  CHECK(time_of(topology, all_reduce("torus_bucket", {}, bytes, topology.placement())) ==
        ps(18'000'000 + 2 * 63 * 1'000'000));
}

TEST_CASE("Copies of torus buckets cut every block alike, so that blocks of a copy are equal") {
  const Placement placement = torus_placement({4, 2, 2});
  const Layout layout = all_reduce("torus_bucket", {}, 16 * 7 * 4, placement).layout;  // 7 elements a block
  CHECK(layout.regions() == 6);
  for (std::int32_t region = 0; region < 6; ++region)
    for (std::int32_t block = 0; block < 16; ++block)
      CHECK(layout.size(region, block, 1) == Bytes(region == 0 ? 8 : 4));
  CHECK(layout.offset_bytes(5, 16) == 16 * 7 * 4);
  // Elsewhere an even cut of the vector comes first.
  const Layout uneven = all_reduce("torus_bucket", {}, (16 * 7 + 1) * 4, placement).layout;
  CHECK(uneven.offset_bytes(5, 16) == (16 * 7 + 1) * 4);
}

TEST_CASE("A torus of several GPUs a node does the node first") {
  const Topology topology = built(torus({4, 4}, 2));
  const Schedule schedule = all_reduce("torus_bucket", {}, 16 * mebi, topology.placement());
  CHECK(schedule.channels == 4);
  const Operation first = operation(schedule, 5, 2, 0);
  CHECK(first.peer.rank == 4);
  const RunResult result = run(topology, schedule);
  CHECK(result.status == RunStatus::ok);
  CHECK(time_of(topology, schedule) == result.time);
}

TEST_CASE("Folded hierarchical, torus buckets and cascade are the plain ones at 64 and 256 ranks") {
  for (const auto& [nodes, gpus, nics] : std::vector<std::tuple<int, int, int>>{{8, 8, 8}, {32, 8, 4}}) {
    const Topology topology = built(switched(nodes, gpus, nics));
    for (const char* form : {"fixed", "reversed", "themis"}) {
      AlgorithmOptions options;
      options.form = form;
      options.slices = 4;
      (void)time_of(topology, all_reduce("cascade", options, 3 * mebi, topology.placement()));
    }
    for (const char* form : {"rails", "leader"}) {
      AlgorithmOptions options;
      options.form = form;
      options.slices = 2;
      (void)time_of(topology, all_reduce("hierarchical", options, mebi, topology.placement()));
    }
  }
  const Topology grid_of_256 = built(torus({8, 8, 4}));
  (void)time_of(grid_of_256, all_reduce("torus_bucket", {}, 3 * mebi, grid_of_256.placement()));
}

TEST_CASE("Slices of a cascade overlap: the slowest level and one slice of the others") {
  const Topology two =
      pair_network({{4, ps(0), rate_of(100'000'000'000)}, {4, ps(0), rate_of(25'000'000'000)}});
  AlgorithmOptions options;
  options.levels = {4, 4};
  options.slices = 8;
  const std::int64_t bytes = 16 * 8 * 100'000;
  // A ring of a slice takes 3 us at either level each way: 3 * S / 8 / 4 / 100 GB/s = 3 * S / 8 / 16 / 25
  // GB/s.
  const std::int64_t ring = 3 * 4 * 1'000'000;
  // Slice k enters the inner level at k rings, is back there at 3 + k rings and done at 4 + k, if the ways do
  // not share links. They do here, in one direction; running the all-gathers backwards they do not.
  options.form = "reversed";
  const Duration reversed = time_of(two, all_reduce("cascade", options, bytes, two.placement()));
  CHECK(reversed == ps((8 + 3) * ring));
  options.form = "fixed";
  CHECK(time_of(two, all_reduce("cascade", options, bytes, two.placement())) > reversed);
}

TEST_CASE("Themis balances two equal levels by taking them in turn") {
  const algorithms::BalancedOrders plan = algorithms::balanced_orders({16, 16}, {1, 1}, 4);
  const std::vector<std::int32_t> inner_first = {0, 1};
  const std::vector<std::int32_t> outer_first = {1, 0};
  CHECK(plan.orders ==
        std::vector<std::vector<std::int32_t>>{inner_first, outer_first, inner_first, outer_first});
  CHECK(plan.carried[0] == plan.carried[1]);
  // Of S = 64 MiB at 100 GB/s, twice (both ways): carried / (4 chunks * 256) * S / B.
  const Int128 numerator = static_cast<Int128>(plan.carried[0]) * 2 * 64 * mebi * 10;  // ps a byte
  CHECK(static_cast<std::int64_t>(numerator / (4 * 256)) == 668'467'200);
  const algorithms::BalancedOrders one = algorithms::balanced_orders({16, 16}, {1, 1}, 1);
  CHECK(static_cast<std::int64_t>(static_cast<Int128>(one.carried[0]) * 2 * 64 * mebi * 10 / 256) ==
        1'258'291'200);
}

TEST_CASE("Themis leaves unequal levels in order as far as that balances them") {
  // 8 members at 400 GB/s, 4 at 50 GB/s; times in ps of S = 64 MiB, both ways.
  const auto time_at = [](const algorithms::BalancedOrders& plan, std::size_t level, std::int64_t chunks) {
    const std::int64_t rate = level == 0 ? 400 : 50;
    return static_cast<std::int64_t>(static_cast<Int128>(plan.carried[level]) * 2 * 64 * mebi * 1000 /
                                     (rate * 32 * chunks));
  };
  const auto one = algorithms::balanced_orders({8, 4}, {400, 50}, 1);
  CHECK(time_at(one, 0, 1) == 293'601'280);
  // The optimum gives 0.9788 of the vector to the order by number and takes 288.941 us.
  constexpr std::int32_t chunks = 47 * 64;
  const auto plan = algorithms::balanced_orders({8, 4}, {400, 50}, chunks);
  const auto reversed = std::count(plan.orders.begin(), plan.orders.end(), std::vector<std::int32_t>{1, 0});
  CHECK(reversed >= chunks * 20 / 1000);
  CHECK(reversed <= chunks * 22 / 1000);
  const std::int64_t slowest = std::max(time_at(plan, 0, chunks), time_at(plan, 1, chunks));
  CHECK(slowest >= 288'941'000);
  CHECK(slowest <= 288'941'000 * 1.001);
}

TEST_CASE("Themis orders take levels of one bandwidth ratio alike, whatever its unit") {
  const auto small = algorithms::balanced_orders({4, 3, 5}, {3, 2, 1}, 50);
  const std::int64_t unit = std::int64_t{1} << 45;
  const auto large = algorithms::balanced_orders({4, 3, 5}, {3 * unit, 2 * unit, unit}, 50);
  CHECK(small.orders == large.orders);
}

TEST_CASE("A Themis cascade of two chunks takes half the time of one level order on equal levels") {
  const Topology two = pair_network(
      {{16, ps(1'000'000), rate_of(100'000'000'000)}, {16, ps(1'000'000), rate_of(100'000'000'000)}});
  AlgorithmOptions options;
  options.levels = {16, 16};
  CHECK(run(two, all_reduce("cascade", options, 64 * mebi, two.placement())).time ==
        ps(60'000'000 + 1'258'291'200 + 1'258'291'200 / 16));
  options.form = "themis";
  options.slices = 2;
  CHECK(run(two, all_reduce("cascade", options, 64 * mebi, two.placement())).time ==
        ps(60'000'000 + 668'467'200));
}

TEST_CASE("Rail-aligned all-to-all sends one message a pair of nodes and rail") {
  const Topology topology = built(switched(4, 8, 8));
  const Placement& placement = topology.placement();
  const Schedule schedule =
      make("hierarchical", {}, bytes_of(CollectiveKind::all_to_all, 32 * 8192), placement);
  for (Rank rank = 0; rank < 32; ++rank) {
    std::int64_t between = 0;
    std::int64_t inside = 0;
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        if (item.kind != OperationKind::send) continue;
        const bool leaves = item.peer.rank / 8 != rank / 8;
        if (leaves) CHECK(item.peer.rank % 8 == rank % 8);
        CHECK(size_of(schedule.layout, item.chunk).count() == (leaves ? 8 * 8192 : 8192));
        ++(leaves ? between : inside);
      }
    CHECK(between == 3);
    CHECK(inside == 7 * 4);
  }
  (void)time_of(topology, schedule);
}
