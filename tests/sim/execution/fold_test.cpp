// Folded and swept runs against plain ones: equal to the picosecond, in everything that a result says of
// ranks and links.
#include "sim/execution/fold.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::ps;
using testing::rate_of;
using testing::Variant;
using testing::variants;

namespace {

struct Shape {
  std::string name;
  ClusterSpec cluster;
};

ClusterSpec nodes_of(int nodes, int gpus, int nics) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = gpus;
  cluster.node.interconnect.kind = gpus > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = rate_of(450'000'000'000);
  cluster.node.interconnect.latency = ps(500'000);
  cluster.node.interconnect.reduction.enabled = gpus > 1;
  cluster.node.nics.count = nics;
  cluster.node.nics.bandwidth = rate_of(50'000'000'000);
  cluster.node.nics.latency = ps(1'000'000);
  return cluster;
}

ClusterSpec fat_tree(int nodes, int gpus, int nics, int levels, int radix,
                     FabricKind kind = FabricKind::fat_tree) {
  ClusterSpec cluster = nodes_of(nodes, gpus, nics);
  cluster.fabric.kind = kind;
  cluster.fabric.levels = levels;
  cluster.fabric.radix = radix;
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(500'000);
  cluster.fabric.reduction.enabled = true;
  return cluster;
}

ClusterSpec grid(std::vector<int> dimensions, FabricKind kind = FabricKind::torus) {
  ClusterSpec cluster = nodes_of(1, 1, 0);
  for (const int side : dimensions) cluster.nodes *= side;
  cluster.fabric.kind = kind;
  cluster.fabric.dimensions = std::move(dimensions);
  cluster.fabric.bandwidth = rate_of(45'000'000'000);
  cluster.fabric.latency = ps(700'000);
  return cluster;
}

ClusterSpec one_node(int gpus, InterconnectKind kind) {
  ClusterSpec cluster = nodes_of(1, gpus, 0);
  cluster.node.interconnect.kind = kind;
  cluster.node.interconnect.reduction.enabled = false;
  return cluster;
}

// All links together carry more than the memory, and reductions take of it.
ClusterSpec shared_memory(int nodes, int gpus) {
  ClusterSpec cluster =
      nodes == 1 ? one_node(gpus, InterconnectKind::shared_memory) : fat_tree(nodes, gpus, gpus / 2, 1, 64);
  cluster.node.interconnect.kind = InterconnectKind::shared_memory;
  cluster.node.interconnect.reduction.enabled = false;
  cluster.node.interconnect.total = rate_of(1'000'000'000'007);
  cluster.node.interconnect.reduce_total = rate_of(300'000'000'001);
  cluster.node.gpu.reduce_bandwidth = rate_of(200'000'000'003);
  return cluster;
}

ClusterSpec fabric_of(int nodes, FabricKind kind) {
  ClusterSpec cluster = grid({nodes}, kind);
  cluster.fabric.dimensions.clear();
  return cluster;
}

ClusterSpec dragonfly() {
  ClusterSpec cluster = fabric_of(24, FabricKind::dragonfly);
  cluster.fabric.dragonfly_routers = 4;
  cluster.fabric.dragonfly_nodes = 2;
  cluster.fabric.dragonfly_global_links = 1;
  return cluster;
}

ClusterSpec cube_mesh_nodes() {
  ClusterSpec cluster = fat_tree(3, 8, 4, 2, 8);
  cluster.node.interconnect.kind = InterconnectKind::hybrid_cube_mesh;
  cluster.node.interconnect.reduction.enabled = false;
  return cluster;
}

ClusterSpec oversubscribed() {
  ClusterSpec cluster = fat_tree(8, 4, 4, 2, 12);
  cluster.fabric.oversubscription_numerator = 2;
  return cluster;
}

ClusterSpec hashed() {
  ClusterSpec cluster = fat_tree(8, 4, 4, 2, 8);
  cluster.routing.kind = RoutingKind::ecmp;
  return cluster;
}

ClusterSpec two_planes() {
  ClusterSpec cluster = nodes_of(1, 8, 0);
  cluster.node.interconnect.planes = 2;
  return cluster;
}

std::vector<Shape> shapes() {
  return {
      {"one node of 8", nodes_of(1, 8, 0)},
      {"one node of 72", nodes_of(1, 72, 0)},
      {"2 x 8, fat tree", fat_tree(2, 8, 8, 2, 8)},
      {"5 x 4, last leaf part-filled", fat_tree(5, 4, 4, 2, 8)},
      {"12 x 8 = 96 ranks, uneven last leaf", fat_tree(12, 8, 8, 2, 20)},
      {"8 x 4 with 2 NICs, three levels", fat_tree(8, 4, 2, 3, 4)},
      {"16 x 4, three levels", fat_tree(16, 4, 4, 3, 8)},
      {"16 x 8, rails", fat_tree(16, 8, 8, 2, 16, FabricKind::rail_fat_tree)},
      {"17 single GPUs, fat tree", fat_tree(17, 1, 0, 2, 12)},
      {"torus 4 x 4", grid({4, 4})},
      {"torus 3 x 5 x 7", grid({3, 5, 7})},
      {"mesh 4 x 6", grid({4, 6}, FabricKind::mesh)},
      {"torus 8 x 8 x 2", grid({8, 8, 2})},
      {"torus 5, mesh of one row", grid({5}, FabricKind::mesh)},
      {"full mesh of 8 GPUs", one_node(8, InterconnectKind::full_mesh)},
      {"cube mesh of 8 GPUs", one_node(8, InterconnectKind::hybrid_cube_mesh)},
      {"ring of 6 GPUs", one_node(6, InterconnectKind::ring)},
      {"PCIe tree of 8 GPUs", one_node(8, InterconnectKind::pcie)},
      {"3 x 8 cube meshes with 4 NICs", cube_mesh_nodes()},
      {"hypercube of 16", fabric_of(16, FabricKind::hypercube)},
      {"dragonfly of 24", dragonfly()},
      {"8 x 4, oversubscribed 2:1", oversubscribed()},
      {"8 x 4, hashed routes", hashed()},
      {"8 GPUs on two planes", two_planes()},
      {"8 ranks that share a memory", shared_memory(1, 8)},
      {"6 x 4 ranks that share memories", shared_memory(6, 4)},
  };
}

// Up to 512 ranks: what two_shot, with a connection a pair, would take too long for.
std::vector<Shape> large_shapes() {
  return {
      {"32 x 8 = 256, fat tree", fat_tree(32, 8, 8, 2, 32)},
      {"64 x 8 = 512, three levels", fat_tree(64, 8, 8, 3, 16)},
      {"61 x 8 = 488, three levels, part-filled", fat_tree(61, 8, 8, 3, 16)},
      {"64 x 8 = 512, rails", fat_tree(64, 8, 8, 2, 64, FabricKind::rail_fat_tree)},
      {"torus 8 x 8 x 8", grid({8, 8, 8})},
      {"torus 7 x 11 x 3", grid({7, 11, 3})},
      {"mesh 16 x 16", grid({16, 16}, FabricKind::mesh)},
  };
}

RunResult run(const Topology& topology, const Schedule& schedule, Shortcuts shortcuts,
              const Conditions& changes = {}) {
  RunOptions options;
  options.shortcuts = shortcuts;
  options.launch_overhead = ps(6'600'000);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunResult result = simulate(topology, jobs, options, changes);
  CHECK(testing::conservation_fault(topology, jobs, result, changes) == "");
  return result;
}

void require_same(const RunResult& one, const RunResult& other) {
  REQUIRE(one.status == other.status);
  REQUIRE(one.time == other.time);
  REQUIRE(one.messages == other.messages);
  REQUIRE(one.fingerprint == other.fingerprint);
  REQUIRE(one.rank_finish == other.rank_finish);
  REQUIRE(one.link_bytes == other.link_bytes);
  REQUIRE(one.job_finish == other.job_finish);
}

// Goes on where they differ, so that every case that does is named.
void check_same(const std::string& text, const RunResult& one, const RunResult& other) {
  std::string differences;
  const auto compare = [&](const char* name, bool same) {
    differences += same ? "" : std::string(" ") + name;
  };
  compare("status", one.status == other.status);
  compare("time", one.time == other.time);
  compare("messages", one.messages == other.messages);
  compare("fingerprint", one.fingerprint == other.fingerprint);
  compare("finishes", one.rank_finish == other.rank_finish && one.job_finish == other.job_finish);
  compare("link_bytes", one.link_bytes == other.link_bytes);
  const std::string message = text + " differs in" + differences;
  CHECK_MESSAGE(differences.empty(), message);
}

std::optional<Schedule> schedule_of(const std::string& name, std::int64_t bytes, const Topology& topology,
                                    const AlgorithmOptions& options) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, options}, collective, topology.placement());
  if (!std::holds_alternative<Schedule>(made)) return std::nullopt;
  if (impossible_reason(topology, std::get<Schedule>(made))) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

// With two slices where it takes some and the size leaves remainders. A root in the middle.
std::optional<Schedule> schedule_of(const Variant& variant, std::int64_t bytes, const Topology& topology) {
  AlgorithmOptions options;
  const std::int64_t elements = bytes / 4;
  if (variant.takes("slices") && elements % (64 * 24) != 0) options.slices = 2;
  const Collective collective =
      testing::collective_of(variant.kind, elements, topology.ranks(), topology.ranks() / 2);
  auto made = algorithms::make_schedule(variant.request(options), collective, topology.placement());
  if (!std::holds_alternative<Schedule>(made)) return std::nullopt;
  if (impossible_reason(topology, std::get<Schedule>(made))) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

std::int64_t messages_of(const Schedule& schedule) {
  std::int64_t messages = 0;
  Binding binding;
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      for (const Loop& loop : schedule.programs[static_cast<std::size_t>(binding.program)].loops)
        for (const OperationTemplate& item : loop.body)
          messages += item.kind == OperationKind::send ? loop.trips : 0;
    }
  return messages;
}

Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE("Folded and swept runs equal the plain one for every collective of every algorithm") {
    int folded_runs = 0;
    int swept_runs = 0;
    std::map<std::string, int> runs;
    std::size_t turn = 0;
    const std::vector<Variant> all = variants();
    for (const Shape& shape : shapes()) {
      const Topology topology = built(shape.cluster);
      const std::int64_t even = std::int64_t{topology.ranks()} * 4 * 64 * 24;
      for (const Variant& variant : all) {
        // Each on every other shape, in turn at a size that divides by everything, at one that leaves
        // remainders and at one that is smaller than the number of ranks.
        const std::int64_t sizes[] = {even, even + 4 * topology.ranks() + 4, 20};
        if (++turn % 2 != 0) continue;
        const std::int64_t bytes = sizes[turn / 2 % 3];
        const auto schedule = schedule_of(variant, bytes, topology);
        if (!schedule) continue;
        const std::string text =
            variant.text() + " of about " + std::to_string(bytes) + " bytes on " + shape.name + ": ";
        const RunResult plain = run(topology, *schedule, Shortcuts::plain);
        const RunResult folded = run(topology, *schedule, Shortcuts::fold);
        check_same(text + "folded", plain, folded);
        const RunResult swept = run(topology, *schedule, Shortcuts::sweep);
        check_same(text + "swept", plain, swept);
        check_same(text + "automatic", plain, run(topology, *schedule, Shortcuts::automatic));
        swept_runs += swept.method.sweeps;
        CHECK(plain.method.classes == plain.method.streams);
        folded_runs += folded.method.classes < folded.method.streams;
        ++runs[std::string(variant.info->name) + " " + std::string(name_of(variant.kind))];
      }
      ++turn;
    }
    CHECK(folded_runs > 200);
    CHECK(swept_runs > 100);
    for (const algorithms::AlgorithmInfo& info : algorithms::all())
      for (const CollectiveKind kind : info.collectives) {
        const std::string text = std::string(info.name) + " " + std::string(name_of(kind));
        CHECK_MESSAGE(runs[text] > 0, text);
      }
  }

  TEST_CASE("Folded and swept runs equal the plain one up to 512 ranks") {
    constexpr std::int64_t messages_max = 40'000;
    std::size_t turn = 0;
    for (const Shape& shape : large_shapes()) {
      const Topology topology = built(shape.cluster);
      const std::int64_t even = std::int64_t{topology.ranks()} * 4 * 64;
      for (const Variant& variant : variants()) {
        const std::int64_t bytes = ++turn % 2 == 0 ? even : even + 4;
        if (turn % 3 != 0) continue;
        const auto schedule = schedule_of(variant, bytes, topology);
        if (!schedule || messages_of(*schedule) > messages_max) continue;
        const std::string text =
            variant.text() + " of about " + std::to_string(bytes) + " bytes on " + shape.name + ": ";
        const RunResult plain = run(topology, *schedule, Shortcuts::plain);
        check_same(text + "folded", plain, run(topology, *schedule, Shortcuts::fold));
        check_same(text + "automatic", plain, run(topology, *schedule, Shortcuts::automatic));
      }
    }
  }

  TEST_CASE("Folded and swept runs equal the plain one at 1,024 and 2,048 ranks") {
    for (const int nodes : {128, 256}) {
      const Topology topology = built(fat_tree(nodes, 8, 8, 3, 32));
      for (const std::string name : {"ring", "cascade", "binomial_tree", "double_binary_tree", "sharp"}) {
        CAPTURE(nodes);
        CAPTURE(name);
        AlgorithmOptions options;
        if (name == "double_binary_tree") options.slices = 1;
        if (name != "cascade" && name != "sharp" && name != "binomial_tree") options.channels = 1;
        const auto schedule = schedule_of(name, std::int64_t{topology.ranks()} * 4096, topology, options);
        REQUIRE(schedule);
        const RunResult plain = run(topology, *schedule, Shortcuts::plain);
        require_same(plain, run(topology, *schedule, Shortcuts::fold));
        require_same(plain, run(topology, *schedule, Shortcuts::automatic));
      }
    }
  }

  TEST_CASE("Slow links and capacity changes split classes and nothing else") {
    for (const Shape& shape : {shapes()[2], shapes()[9], shapes()[7]}) {
      CAPTURE(shape.name);
      const Topology topology = built(shape.cluster);
      for (const std::string name : {"ring", "cascade", "two_shot", "binomial_tree"}) {
        CAPTURE(name);
        const auto schedule = schedule_of(name, std::int64_t{topology.ranks()} * 4096, topology, {});
        REQUIRE(schedule);
        for (const std::uint32_t link : {0U, 5U}) {
          Conditions changes;
          changes.link_changes = {
              {Instant(), LinkId(link), rate_of(7'000'000'000), {}},
              {Instant::picoseconds(20'000'000), LinkId(link), rate_of(30'000'000'000), {}}};
          require_same(run(topology, *schedule, Shortcuts::plain, changes),
                       run(topology, *schedule, Shortcuts::fold, changes));
        }
      }
    }
  }

  TEST_CASE("fold finds one class of streams a role on symmetric clusters") {
    const auto classes = [](const ClusterSpec& cluster, const std::string& name, std::int64_t bytes) {
      const Topology topology = built(cluster);
      const auto schedule = schedule_of(name, bytes, topology, {});
      REQUIRE(schedule);
      return run(topology, *schedule, Shortcuts::fold).method.classes;
    };
    // A ring on one switch: all senders alike, all receivers alike.
    CHECK(classes(nodes_of(1, 8, 0), "ring", 8 << 20) == 2);
    CHECK(classes(nodes_of(1, 72, 0), "ring", 72 << 10) == 2);
    CHECK(classes(nodes_of(1, 8, 0), "nvls", 8 << 20) == 2);
    CHECK(classes(grid({4, 4}), "cascade", 1 << 20) == 1);
    CHECK(classes(grid({8, 8, 2}), "cascade", 1 << 20) == 1);
    // A remainder tells all positions of the ring apart.
    CHECK(classes(nodes_of(1, 8, 0), "ring", (8 << 20) + 4) == 16);
  }

  TEST_CASE("fold, sweep and plain agree on random sizes, options and clusters with a slow GPU reduction") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      ClusterSpec cluster =
          fat_tree(static_cast<int>(2 + random.below(6)), static_cast<int>(1 + random.below(4)), 0, 2, 24);
      if (cluster.node.gpus > 1) cluster.node.nics.count = 1 + static_cast<int>(random.below(2));
      if (random.below(2) == 0) cluster.node.gpu.reduce_bandwidth = rate_of(200'000'000'000);
      cluster.node.gpu.send_overhead = ps(static_cast<std::int64_t>(random.below(2)) * 300'000);
      const Topology topology = built(cluster);
      const auto& all = algorithms::all();
      const std::string name(all[random.below(all.size())].name);
      CAPTURE(name);
      AlgorithmOptions options;
      options.channels = 1 + static_cast<std::int32_t>(random.below(3));
      options.slices = 1 + static_cast<std::int32_t>(random.below(3));
      if (random.below(3) == 0) options.slots = 1;
      const auto schedule =
          schedule_of(name, static_cast<std::int64_t>(random.below(100'000)) * 4, topology, options);
      if (!schedule) continue;
      const RunResult plain = run(topology, *schedule, Shortcuts::plain);
      require_same(plain, run(topology, *schedule, Shortcuts::fold));
      require_same(plain, run(topology, *schedule, Shortcuts::sweep));
    }
  }

  TEST_CASE("A Simulator that goes from size to size gives what fresh ones give") {
    for (const Shape& shape : {shapes()[2], shapes()[5], shapes()[7], shapes()[9]}) {
      CAPTURE(shape.name);
      const Topology topology = built(shape.cluster);
      for (const algorithms::AlgorithmInfo& algorithm : algorithms::all())
        for (const Shortcuts shortcuts : {Shortcuts::automatic, Shortcuts::fold, Shortcuts::plain}) {
          Simulator simulator(topology);
          const std::int64_t even = std::int64_t{topology.ranks()} * 4 * 1024;
          // Sizes that divide, then remainders, then other slices, and back.
          for (const std::int64_t bytes : {even, 2 * even, even + 4, 40 * even, even}) {
            CAPTURE(bytes);
            const auto schedule = schedule_of(std::string(algorithm.name), bytes, topology, {});
            if (!schedule) continue;
            RunOptions options;
            options.shortcuts = shortcuts;
            const std::vector<Job> jobs = {Job{&*schedule, {}, {}, -1}};
            // With and without asking beforehand.
            if (bytes != 2 * even) simulator.estimate(jobs, options);
            require_same(simulator.run(jobs, options), simulate(topology, jobs, options));
          }
        }
    }
  }

  TEST_CASE("A Simulator says beforehand how it would run and what that takes") {
    const Topology topology = built(fat_tree(16, 4, 4, 3, 8));
    AlgorithmOptions options;
    options.channels = 1;
    const auto schedule = schedule_of("ring", 64 * 4 * 1024, topology, options);
    REQUIRE(schedule);
    const std::vector<Job> jobs = {Job{&*schedule, {}, {}, -1}};
    Simulator simulator(topology);
    RunOptions run_options;
    run_options.shortcuts = Shortcuts::fold;
    const Estimate estimate = simulator.estimate(jobs, run_options);
    const RunResult result = simulator.run(jobs, run_options);
    CHECK(estimate.messages == result.messages);
    CHECK(estimate.messages == 64 * 126);
    CHECK(estimate.method.classes == result.method.classes);
    CHECK(estimate.method.classes < estimate.method.streams);
    CHECK(2 * estimate.simulated + 1 == result.events);
    CHECK_FALSE(estimate.method.sweeps);
    run_options.shortcuts = Shortcuts::automatic;
    CHECK(simulator.estimate(jobs, run_options).method.sweeps);
    CHECK(simulator.run(jobs, run_options).method.sweeps);
  }
}
