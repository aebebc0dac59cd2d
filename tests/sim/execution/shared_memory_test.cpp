// Ranks that share one memory: closed forms, and all ways of running against the slow reading of the
// semantics.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/slow_simulation.hpp"
#include "topologies/build.hpp"
#include "topologies/flow_bounds.hpp"

using namespace collsim;
using testing::ps;
using testing::rate_of;

namespace {

constexpr std::int64_t us = 1'000'000;
constexpr std::int64_t gb = 1'000'000'000;

// Ranks of one node: 9 GB/s into and out of a memory of 15 GB/s, which reduces 12 GB/s.
ClusterSpec memory_of(int ranks) {
  ClusterSpec cluster;
  cluster.node.gpus = ranks;
  cluster.node.interconnect.kind = InterconnectKind::shared_memory;
  cluster.node.interconnect.bandwidth = rate_of(9 * gb);
  cluster.node.interconnect.total = rate_of(15 * gb);
  cluster.node.interconnect.reduce_total = rate_of(12 * gb);
  return cluster;
}

Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

// What a stream does with so many bytes, in order: one block a size.
struct Step {
  OperationKind kind = OperationKind::wait;
  std::int64_t bytes = 0;
  Rank peer = -1;
};

// One stream a list of steps; streams [rank * each, (rank + 1) * each) are those of a rank. Streams that do
// the same with peers as far away have one program.
Schedule steps_of(std::int32_t ranks, const std::vector<std::vector<Step>>& streams, std::int32_t each = 1) {
  Collective collective;
  collective.bytes = Bytes(8);  // no matter
  Schedule schedule = empty_schedule("steps", collective, ranks);
  std::int64_t largest = 1;
  for (const auto& steps : streams)
    for (const Step& step : steps) largest = std::max(largest, step.bytes);
  schedule.layout = Layout(largest, 1, {}, static_cast<std::int32_t>(largest));
  std::map<std::vector<std::int64_t>, std::int32_t> known;
  std::vector<std::int32_t> program_of;
  for (std::size_t stream = 0; stream < streams.size(); ++stream) {
    const std::int32_t rank = static_cast<std::int32_t>(stream) / each;
    Loop loop;
    std::vector<std::int64_t> key;
    for (const Step& step : streams[stream]) {
      OperationTemplate item;
      item.kind = step.kind;
      if (step.peer >= 0) item.peer = (step.peer - rank + ranks) % ranks;
      item.chunk.span = static_cast<std::int32_t>(step.bytes);
      item.source = item.chunk;
      loop.body.push_back(item);
      key.insert(key.end(), {static_cast<std::int64_t>(step.kind), step.bytes, item.peer});
    }
    const auto entry = known.try_emplace(key, static_cast<std::int32_t>(schedule.programs.size()));
    if (entry.second) schedule.programs.push_back(Program{{loop}});
    program_of.push_back(entry.first->second);
  }
  schedule.stream_count = [each](Rank) { return each; };
  schedule.bind = [ranks, each, program_of](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = program_of[static_cast<std::size_t>(rank * each + stream)];
    for (Rank peer = 0; peer < ranks; ++peer) binding.peers.push_back(Peer{(rank + peer) % ranks, 0});
  };
  return schedule;
}

RunResult run(const Topology& topology, const Schedule& schedule, const RunOptions& options = {},
              const Conditions& conditions = {}) {
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunResult result = simulate(topology, jobs, options, conditions);
  CHECK(testing::conservation_fault(topology, jobs, result, conditions) == "");
  return result;
}

constexpr OperationKind send = OperationKind::send;
constexpr OperationKind receive = OperationKind::receive;
constexpr OperationKind receive_reduce = OperationKind::receive_reduce;
constexpr OperationKind copy = OperationKind::copy;
constexpr OperationKind reduce = OperationKind::reduce;

std::optional<Schedule> schedule_of(const std::string& name, std::int64_t bytes, const Topology& topology,
                                    const AlgorithmOptions& options) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, options}, collective, topology.placement());
  if (!std::holds_alternative<Schedule>(made)) return std::nullopt;
  if (impossible_reason(topology, std::get<Schedule>(made))) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

std::int64_t random_below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

GpuSpec random_gpu(Random& random) {
  GpuSpec gpu;
  if (random.below(3) != 0) gpu.reduce_bandwidth = rate_of(gb + random_below(random, 9 * gb));
  if (random.below(3) != 0) gpu.copy_bandwidth = rate_of(gb + random_below(random, 9 * gb));
  if (random.below(2) == 0) gpu.send_overhead = ps(random_below(random, 300'000));
  if (random.below(2) == 0) gpu.receive_overhead = ps(random_below(random, 300'000));
  return gpu;
}

NodeSpec random_node(Random& random, int gpus) {
  NodeSpec node = memory_of(gpus).node;
  const bool even = random.below(2) == 0;
  node.interconnect.bandwidth = rate_of(even ? 4 * gb : gb + random_below(random, 9 * gb));
  node.interconnect.latency = ps(random_below(random, 2) * random_below(random, us));
  // From what all links can carry, and more, down to what binds every message.
  node.interconnect.total = rate_of(random.below(3) == 0 ? 40 * gb : gb + random_below(random, 20 * gb));
  node.interconnect.reduce_total.reset();
  if (random.below(3) != 0)
    node.interconnect.reduce_total =
        rate_of(random.below(3) == 0 ? 50 * gb : gb + random_below(random, 20 * gb));
  node.gpu = random_gpu(random);
  return node;
}

ClusterSpec random_cluster(Random& random) {
  ClusterSpec cluster;
  const int gpus = 2 + static_cast<int>(random.below(4));
  cluster.node = random_node(random, gpus);
  const std::uint64_t kind = random.below(4);
  if (kind < 2) return cluster;
  cluster.nodes = 2;
  cluster.node.nics.count = 1 + static_cast<int>(random.below(2));
  cluster.node.nics.bandwidth = rate_of(gb + random_below(random, 9 * gb));
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.bandwidth = rate_of(5 * gb);
  cluster.fabric.latency = ps(random_below(random, us));
  cluster.routing.rail_local = random.below(2) == 0;
  if (kind == 2) return cluster;
  NodeGroup first{1, "", cluster.node};
  NodeGroup second{1, "", random_node(random, 2)};
  second.node.nics = cluster.node.nics;
  if (random.below(2) == 0) {
    second.node.interconnect = {};
    second.node.interconnect.kind = InterconnectKind::nvswitch;
    second.node.interconnect.bandwidth = rate_of(7 * gb);
  }
  cluster.groups = {first, second};
  return cluster;
}

// Nothing is down at the end.
Conditions random_conditions(Random& random, const Topology& topology) {
  Conditions conditions;
  const LinkId memory = topology.memory_of(0)->link;
  std::int64_t time = 0;
  for (std::uint64_t count = random.below(3); count > 0; --count) {
    time += random_below(random, 30 * us) * random_below(random, 2);
    conditions.link_changes.push_back(
        {Instant::picoseconds(time), memory, rate_of(gb / 2 + random_below(random, 9 * gb)), {}});
  }
  if (random.below(3) == 0) {
    conditions.link_changes.push_back({Instant::picoseconds(time + us), memory, rate_of(0), {}});
    conditions.link_changes.push_back({Instant::picoseconds(time + 9 * us), memory, rate_of(gb), {}});
  }
  if (random.below(2) == 0) {
    const std::int64_t at = random_below(random, 20 * us);
    const auto rank = static_cast<Rank>(random_below(random, topology.ranks()));
    conditions.rank_changes.push_back({Instant::picoseconds(at), rank, random_gpu(random)});
  }
  if (random.below(3) == 0)
    conditions.background.push_back({{memory}, rate_of(gb / 10 + random_below(random, 2 * gb))});
  return conditions;
}

struct Counts {
  int folded = 0;
  int swept = 0;
};

// Plain, folded, swept and as the simulator likes it, against the slow reading.
void check_all_ways(const Topology& topology, const Schedule& schedule, const Conditions& conditions,
                    Counts& counts) {
  const testing::SlowResult slow = testing::slow_simulation(topology, schedule, {}, conditions);
  REQUIRE(slow.finished);
  std::vector<RunResult> results;
  for (const Shortcuts way :
       {Shortcuts::plain, Shortcuts::fold, Shortcuts::sweep, Shortcuts::automatic, Shortcuts::automatic}) {
    RunOptions options;
    options.shortcuts = way;
    options.explain = way == Shortcuts::plain;
    if (results.size() == 4) options.alike_runs = 1'000'000;  // worth folding, and then swept
    results.push_back(run(topology, schedule, options, conditions));
    const RunResult& fast = results.back();
    REQUIRE(fast.status == RunStatus::ok);
    REQUIRE(fast.time.picoseconds() == slow.time_ps);
    for (std::size_t rank = 0; rank < slow.rank_finish_ps.size(); ++rank)
      REQUIRE(fast.rank_finish[rank].picoseconds() == slow.rank_finish_ps[rank]);
    REQUIRE(fast.link_bytes == results[0].link_bytes);
    REQUIRE(fast.fingerprint == results[0].fingerprint);
    counts.folded += fast.method.classes < fast.method.streams ? 1 : 0;
    counts.swept += fast.method.sweeps ? 1 : 0;
  }
}

// Local work beside messages, of everybody: the same for all ranks, or drawn.
Schedule random_steps(Random& random, std::int32_t ranks) {
  std::vector<std::vector<Step>> streams(static_cast<std::size_t>(2 * ranks));
  const bool even = random.below(2) == 0;
  const std::int64_t bytes = 1 + random_below(random, 9'000);
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto size = [&] { return even ? bytes : random_below(random, 9'000); };
    auto& sends = streams[static_cast<std::size_t>(2 * rank)];
    sends.push_back({copy, size()});
    sends.push_back({send, bytes, (rank + 1) % ranks});
    auto& receives = streams[static_cast<std::size_t>(2 * rank + 1)];
    receives.push_back({receive_reduce, bytes, (rank + ranks - 1) % ranks});
    receives.push_back({even || random.below(2) == 0 ? reduce : copy, size()});
  }
  return steps_of(ranks, streams, 2);
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE(
      "shared memory: one message drains at the bandwidth of its link, two opposite ones share the total") {
    ClusterSpec cluster = memory_of(2);
    cluster.node.interconnect.latency = ps(us);
    const Topology topology = built(cluster);
    CHECK(run(topology, steps_of(2, {{{send, 9'000, 1}}, {{receive, 9'000, 0}}})).time == ps(us + 2 * us));
    // 7.5 GB/s each, two streams a rank.
    const Schedule both = steps_of(
        2, {{{send, 15'000, 1}}, {{receive, 15'000, 1}}, {{send, 15'000, 0}}, {{receive, 15'000, 0}}}, 2);
    const RunResult result = run(topology, both);
    CHECK(result.time == ps(2 * us + 2 * us));
    const LinkId memory = topology.memory_of(0)->link;
    CHECK(topology.link_name(memory) == "node0/memory_in -> node0/memory_out");
    CHECK(result.link_bytes[memory.value] == Bytes(30'000));
    CHECK(topology.memory_of(0)->total == rate_of(15 * gb));
    CHECK(topology.latency_max() == ps(2 * us));
  }

  TEST_CASE("shared memory: local work alone takes its unit or the memory, whichever is slower") {
    const auto time = [](OperationKind kind, std::optional<std::int64_t> rate, std::int64_t bytes) {
      ClusterSpec cluster = memory_of(2);
      if (rate)
        (kind == copy ? cluster.node.gpu.copy_bandwidth : cluster.node.gpu.reduce_bandwidth) = rate_of(*rate);
      return run(built(cluster), steps_of(2, {{{kind, bytes}}, {}})).time;
    };
    CHECK(time(reduce, 8 * gb, 8'000) == ps(us));
    CHECK(time(reduce, 20 * gb, 12'000) == ps(us));
    CHECK(time(reduce, std::nullopt, 12'000) == ps(us));
    CHECK(time(copy, 9 * gb, 9'000) == ps(us));
    CHECK(time(copy, 20 * gb, 15'000) == ps(us));
    CHECK(time(copy, std::nullopt, 15'000) == ps(us));
    // 1 byte reduced is 1.25 bytes copied, taken as 2: rounded up.
    CHECK(time(reduce, std::nullopt, 1) == ps(134));
    CHECK(time(reduce, std::nullopt, 0) == ps(0));
  }

  TEST_CASE("shared memory: a reduction and a message share it, each in its own terms") {
    // The message could have 9 GB/s, the reduction 8 GB/s, which are 10 GB/s of copies: each gets 7.5 GB/s.
    ClusterSpec cluster = memory_of(3);
    cluster.node.gpu.reduce_bandwidth = rate_of(8 * gb);
    const Topology topology = built(cluster);
    RunOptions options;
    options.explain = true;
    const RunResult result = run(
        topology, steps_of(3, {{{send, 15'000, 1}}, {{receive, 15'000, 0}}, {{reduce, 12'000}}}), options);
    CHECK(result.rank_finish[0] == ps(2 * us));
    CHECK(result.rank_finish[2] == ps(2 * us));
    // The reduction alone: 12,000 B at 8 GB/s.
    const RunResult alone = run(topology, steps_of(3, {{}, {}, {{reduce, 12'000}}}), options);
    CHECK(alone.time == ps(us + us / 2));
    CHECK(alone.critical_path->reduction == ps(us + us / 2));
    CHECK(alone.critical_path->contention == ps(0));
    // A copy takes what it says: 15,000 B beside the message.
    CHECK(run(topology, steps_of(3, {{{send, 15'000, 1}}, {{receive, 15'000, 0}}, {{copy, 15'000}}})).time ==
          ps(2 * us));
    // A slow unit leaves the message what its link carries.
    cluster.node.gpu.reduce_bandwidth = rate_of(2 * gb);
    const RunResult slow =
        run(built(cluster), steps_of(3, {{{send, 9'000, 1}}, {{receive, 9'000, 0}}, {{reduce, 12'000}}}),
            options);
    CHECK(slow.rank_finish[0] == ps(us));
    CHECK(slow.rank_finish[2] == ps(6 * us));
  }

  TEST_CASE("shared memory: every step of a ring takes the messages of all ranks through the total") {
    for (const int ranks : {2, 3, 8, 64}) {
      CAPTURE(ranks);
      ClusterSpec cluster = memory_of(ranks);
      cluster.node.interconnect.bandwidth = rate_of(150 * gb);
      cluster.node.interconnect.latency = ps(us / 2);
      cluster.node.interconnect.reduce_total = rate_of(10 * gb);
      const Topology topology = built(cluster);
      const std::int64_t block = 12'000;
      AlgorithmOptions options;
      options.channels = 1;
      options.slices = 1;
      const auto ring = schedule_of("ring", block * ranks, topology, options);
      REQUIRE(ring);
      // All messages of a step together at 15 GB/s, then all reductions together at 10 GB/s.
      const std::int64_t message = block * ranks / 15 * 1'000 + us;
      const std::int64_t reduction = block * ranks / 10 * 1'000;
      for (const Shortcuts way :
           {Shortcuts::plain, Shortcuts::fold, Shortcuts::sweep, Shortcuts::automatic}) {
        RunOptions run_options;
        run_options.shortcuts = way;
        const Duration time = run(topology, *ring, run_options).time;
        const std::int64_t expected = (ranks - 1) * (2 * message + reduction);
        CHECK(time >= ps(expected));
        CHECK(time <= ps(expected + 3 * (ranks - 1)));
      }
      // The bound knows the total, not the reductions.
      const LowerBound bound = lower_bound(ring->collective, topology);
      CHECK(bound.reason == "memory");
      CHECK(bound.time == time_at(Int128{2} * (ranks - 1) * block * ranks, 15 * gb));
      CHECK(topologies::FlowBounds(topology).of(ring->collective).time == bound.time);
    }
  }

  TEST_CASE("shared memory: every way of running agrees with a slow reading of the semantics") {
    const char* const names[] = {"ring", "double_binary_tree", "binomial_tree", "two_shot", "cascade"};
    Counts counts;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const Topology topology = built(random_cluster(random));
      const Conditions conditions = seed % 3 == 0 ? random_conditions(random, topology) : Conditions();
      AlgorithmOptions options;
      options.channels = 1 + static_cast<std::int32_t>(random.below(2));
      options.slices = 1 + static_cast<std::int32_t>(random.below(2));
      if (random.below(3) == 0) options.channel_bandwidth = rate_of(gb + 7);
      const std::string name = names[random.below(5)];
      CAPTURE(name);
      const std::int64_t bytes =
          random.below(2) == 0 ? 480 * (1 + random_below(random, 50)) : 4 * random_below(random, 6'000);
      const auto schedule = schedule_of(name, bytes, topology, options);
      if (!schedule) continue;
      check_all_ways(topology, *schedule, conditions, counts);
      if (!conditions.is_empty()) continue;
      const Duration time = run(topology, *schedule).time;
      CHECK(lower_bound(schedule->collective, topology).time <= time);
      CHECK(topologies::FlowBounds(topology).of(schedule->collective).time <= time);
    }
    CHECK(counts.folded > 50);
    CHECK(counts.swept > 20);
  }

  TEST_CASE("shared memory: copies and reductions beside messages agree with the slow reading") {
    Counts counts;
    for (std::uint64_t seed = 1'000; seed < 1'200; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const Topology topology = built(random_cluster(random));
      const Conditions conditions = seed % 3 == 0 ? random_conditions(random, topology) : Conditions();
      check_all_ways(topology, random_steps(random, topology.ranks()), conditions, counts);
    }
    CHECK(counts.folded > 20);
  }

  TEST_CASE(
      "Two streams that share a reduction unit fold and are swept at half its rate, with a memory or not") {
    ClusterSpec cluster = memory_of(4);
    cluster.node.interconnect.total = rate_of(500 * gb);
    cluster.node.interconnect.reduce_total = rate_of(500 * gb);
    cluster.node.gpu.reduce_bandwidth = rate_of(3 * gb);
    ClusterSpec plain = cluster;  // the same with a switch
    plain.node.interconnect = {};
    plain.node.interconnect.kind = InterconnectKind::nvswitch;
    plain.node.interconnect.bandwidth = rate_of(9 * gb);
    for (const ClusterSpec& each : {cluster, plain}) {
      const Topology topology = built(each);
      AlgorithmOptions options;
      options.channels = 2;
      options.slices = 1;
      const auto ring = schedule_of("ring", 4 * 2 * 4 * 300, topology, options);
      REQUIRE(ring);
      Counts counts;
      check_all_ways(topology, *ring, {}, counts);
    }
  }

  TEST_CASE("shared memory: a memory that is down holds messages and local work, and is named") {
    const Topology topology = built(memory_of(2));
    Conditions down;
    down.link_changes = {{Instant::picoseconds(us / 2), topology.memory_of(0)->link, rate_of(0), {}}};
    const std::string failure =
        "node0/memory_in -> node0/memory_out is down since 500 ns, and what waits for it is not re-routed";
    RunOptions packets;
    packets.network.kind = NetworkKind::packet;
    for (const RunOptions& options : {RunOptions(), packets})
      for (const std::vector<Step>& steps :
           {std::vector<Step>{{copy, 150'000}}, std::vector<Step>{{reduce, 150'000}}}) {
        const RunResult result = run(topology, steps_of(2, {steps, {}}), options, down);
        CHECK(result.status == RunStatus::failed);
        CHECK(result.failure == failure);
      }
    const Schedule message = steps_of(2, {{{send, 150'000, 1}}, {{receive, 150'000, 0}}});
    CHECK(run(topology, message, {}, down).failure == failure);
    down.link_changes.push_back(
        {Instant::picoseconds(us), topology.memory_of(0)->link, rate_of(15 * gb), {}});
    // 150,000 B at 15 GB/s, and half a microsecond of nothing.
    CHECK(run(topology, steps_of(2, {{{copy, 150'000}}, {}}), {}, down).time == ps(10 * us + us / 2));
  }

  TEST_CASE("shared memory: in packets messages share the total, and so does local work, apart from them") {
    const Topology topology = built(memory_of(3));
    RunOptions options;
    options.network.kind = NetworkKind::packet;
    options.network.packet.header = Bytes(0);
    const Schedule both =
        steps_of(3, {{{send, 9'000'000, 1}}, {{receive, 9'000'000, 0}}, {{copy, 15'000'000}}});
    const RunResult result = run(topology, both, options);
    CHECK(result.status == RunStatus::ok);
    CHECK(result.rank_finish[0] <= ps(1'001 * us));  // as alone, at 9 GB/s
    CHECK(result.rank_finish[2] == ps(1'000 * us));  // as alone, at 15 GB/s
    const Schedule copies = steps_of(3, {{{copy, 15'000}}, {{copy, 15'000}}, {{copy, 15'000}}});
    CHECK(run(topology, copies, options).time == ps(3 * us));
  }
}
