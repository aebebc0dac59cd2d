// Runs under conditions: closed forms for each, and all ways of running against the slow reading of the
// semantics.
#include "sim/model/conditions.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/sim/execution/spine_network.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/slow_simulation.hpp"

using namespace collsim;
using testing::port_network;
using testing::ps;
using testing::rate_of;
using testing::spine_network;
using testing::SpineRoutes;
using testing::SpineShape;

namespace {

constexpr std::int64_t us = 1'000'000;
constexpr std::int64_t gb = 1'000'000'000;

Instant at(std::int64_t picoseconds) { return Instant::picoseconds(picoseconds); }

Schedule schedule_of(const std::string& name, std::int64_t bytes, const Placement& placement,
                     const AlgorithmOptions& options = {}) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

RunResult run(const Topology& topology, const Schedule& schedule, const Conditions& conditions = {},
              const RunOptions& options = {}) {
  return simulate(topology, {Job{&schedule, {}, {}, -1}}, options, conditions);
}

// Rank i of the first half sends `messages` messages of so many bytes to rank i of the second half.
Schedule one_way(std::int32_t ranks, std::int64_t bytes, std::int64_t messages, std::int32_t slots) {
  Collective collective;
  collective.bytes = Bytes(8);  // no matter
  Schedule schedule = empty_schedule("one way", collective, ranks);
  schedule.layout = Layout(bytes, 1, {}, 1);
  OperationTemplate send;
  send.kind = OperationKind::send;
  send.peer = 0;
  OperationTemplate receive = send;
  receive.kind = OperationKind::receive;
  schedule.programs = {Program{{Loop{messages, {send}}}}, Program{{Loop{messages, {receive}}}}};
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [ranks](Rank rank, std::int32_t, Binding& binding) {
    const bool sends = rank < ranks / 2;
    binding.program = sends ? 0 : 1;
    binding.peers = {Peer{sends ? rank + ranks / 2 : rank - ranks / 2, 0}};
  };
  schedule.slots = slots;
  return schedule;
}

std::shared_ptr<const RouteRule> over(SpineShape shape, std::vector<std::int32_t> spines,
                                      bool spread = false) {
  return std::make_shared<SpineRoutes>(shape, std::move(spines), spread);
}

std::int64_t random_below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

GpuSpec random_gpu(Random& random) {
  GpuSpec gpu;
  if (random.below(3) != 0) gpu.reduce_bandwidth = rate_of(gb + random_below(random, 4 * gb));
  if (random.below(2) == 0) gpu.send_overhead = ps(random_below(random, 300'000));
  if (random.below(2) == 0) gpu.receive_overhead = ps(random_below(random, 300'000));
  return gpu;
}

// The same for all ranks of a leaf, or for all.
Conditions even_conditions(Random& random, const Topology& topology, SpineShape shape) {
  Conditions conditions;
  const std::int64_t time = random_below(random, 2) * random_below(random, 20 * us);
  const GpuSpec gpu = random_gpu(random);
  const Bandwidth others = rate_of(gb / 10 + random_below(random, 2 * gb));
  const bool slow = random.below(2) == 0;
  const bool crowded = random.below(2) == 0;
  if (random.below(2) == 0) conditions.skew.resize(static_cast<std::size_t>(topology.ranks()));
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    if (slow) conditions.rank_changes.push_back({at(time), rank, gpu});
    if (crowded) conditions.background.push_back({{shape.from_gpu(rank)}, others});
    if (!conditions.skew.empty() && rank >= shape.per_leaf)
      conditions.skew[static_cast<std::size_t>(rank)] = ps(3 * us);
  }
  if (random.below(2) == 0) conditions.link_changes = {{at(0), shape.from_gpu(0), rate_of(gb / 3), ps(us)}};
  return conditions;
}

// Each kind with some probability. Nothing is down at the end.
Conditions random_conditions(Random& random, const Topology& topology, SpineShape shape) {
  Conditions conditions;
  conditions.seed = random.next();
  const auto link = [&] { return LinkId(static_cast<std::uint32_t>(random.below(topology.link_count()))); };
  std::int64_t time = 0;
  for (std::uint64_t count = random.below(4); count > 0; --count) {
    time += random_below(random, 30 * us) * random_below(random, 2);
    LinkChange change{at(time), link(), {}, {}};
    if (random.below(3) != 0) change.bandwidth = rate_of(gb / 2 + random_below(random, 2 * gb));
    if (random.below(2) == 0) change.latency = ps(random_below(random, 3 * us));
    conditions.link_changes.push_back(change);
  }
  if (random.below(4) == 0) {
    const LinkId down = link();
    conditions.link_changes.push_back({at(time + us), down, rate_of(0), {}});
    conditions.link_changes.push_back({at(time + 9 * us), down, rate_of(gb), {}});
  }
  time = 0;
  for (std::uint64_t count = random.below(3); count > 0; --count) {
    time += random_below(random, 20 * us) * random_below(random, 2);
    conditions.rank_changes.push_back(
        {at(time), static_cast<Rank>(random_below(random, topology.ranks())), random_gpu(random)});
  }
  if (random.below(3) == 0)
    for (Rank rank = 0; rank < topology.ranks(); ++rank)
      conditions.skew.push_back(ps(random_below(random, 2) * 2 * us));
  if (random.below(3) == 0) conditions.jitter = {DistributionKind::exponential, ps(us / 2), {}};
  for (std::uint64_t count = random.below(3); count > 0; --count)
    conditions.background.push_back({{link()}, rate_of(gb / 10 + random_below(random, 2 * gb))});
  time = us;
  if (random.below(3) == 0)
    for (std::uint64_t count = random.below(4); count > 0; --count) {
      time += random_below(random, 15 * us);
      std::vector<std::int32_t> spines(static_cast<std::size_t>(shape.spines));
      std::iota(spines.begin(), spines.end(), 0);
      while (spines.size() > 1 && random.below(2) == 0) spines.pop_back();
      conditions.route_changes.push_back({at(time), over(shape, spines, random.below(2) == 0)});
    }
  return conditions;
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE("conditions: a link at half its bandwidth doubles every step of a ring") {
    const Topology topology = port_network(4, ps(0), rate_of(gb));
    const Schedule ring = schedule_of("ring", 4000, topology.placement());
    CHECK(run(topology, ring).time == ps(6 * us));
    Conditions slow;
    slow.link_changes = {{at(0), LinkId(2), rate_of(gb / 2), {}}};
    CHECK(run(topology, ring, slow).time == ps(12 * us));
  }

  TEST_CASE("conditions: a latency that changes is that of messages which drain later") {
    const Topology topology = port_network(2, ps(0), rate_of(gb));
    const Schedule ring = schedule_of("ring", 2000, topology.placement());
    Conditions far;
    far.link_changes = {{at(us + us / 2), LinkId(0), {}, ps(5 * us)}};
    CHECK(run(topology, ring, far).time == ps(7 * us));
    far.link_changes[0].at = at(0);
    CHECK(run(topology, ring, far).time == ps(1 * us + 5 * us + us));
  }

  TEST_CASE("conditions: a message does not overtake the one before when the latency falls") {
    const Topology topology = port_network(2, ps(0), rate_of(gb));
    const Schedule schedule = one_way(2, 1000, 2, 8);
    Conditions nearer;
    nearer.link_changes = {{at(0), LinkId(0), {}, ps(10 * us)}, {at(us + us / 2), LinkId(0), {}, ps(0)}};
    CHECK(run(topology, schedule, nearer).time == ps(11 * us));
  }

  TEST_CASE("conditions: a rank that begins late delays a ring by exactly that") {
    const Topology topology = port_network(4, ps(us), rate_of(gb));
    const Schedule ring = schedule_of("ring", 4000, topology.placement());
    Conditions late;
    late.skew = {ps(0), ps(0), ps(3 * us), ps(0)};
    RunOptions options;
    options.launch_overhead = ps(700);
    options.explain = true;
    const Duration healthy = run(topology, ring, {}, options).time;
    const RunResult result = run(topology, ring, late, options);
    CHECK(result.time == healthy + ps(3 * us));
    CHECK(result.critical_path->waiting == ps(3 * us));
    CHECK(result.job_start[0] == Instant());
    for (const Shortcuts way : {Shortcuts::sweep, Shortcuts::fold, Shortcuts::plain}) {
      RunOptions other;
      other.launch_overhead = ps(700);
      other.shortcuts = way;
      CHECK(run(topology, ring, late, other).time == result.time);
    }
  }

  TEST_CASE("conditions: skew counts from the start of every job") {
    const Topology topology = port_network(4, ps(0), rate_of(gb));
    const Schedule ring = schedule_of("ring", 4000, topology.placement());
    Conditions late;
    late.skew = {ps(us), ps(us), ps(us), ps(us)};
    RunOptions options;
    options.launch_overhead = ps(10);
    const RunResult result =
        simulate(topology, {Job{&ring, {}, at(5), -1}, Job{&ring, {}, {}, 0}}, options, late);
    CHECK(result.job_start[0] == at(5));
    CHECK(result.job_finish[0] == at(5 + 10 + 7 * us));
    CHECK(result.job_start[1] == result.job_finish[0]);
    CHECK(result.job_finish[1] == at(5 + 20 + 14 * us));
  }

  TEST_CASE("conditions: constant jitter is latency") {
    const Schedule ring = schedule_of("ring", 4000, port_network(4, ps(0), rate_of(gb)).placement());
    Conditions conditions;
    conditions.jitter.mean = ps(us / 2);
    CHECK(run(port_network(4, ps(us), rate_of(gb)), ring, conditions).time ==
          run(port_network(4, ps(us + us / 2), rate_of(gb)), ring).time);
  }

  TEST_CASE("conditions: jitter depends on the seed alone") {
    const Topology topology = port_network(6, ps(us), rate_of(gb));
    const Schedule ring = schedule_of("ring", 6000, topology.placement());
    Conditions conditions;
    conditions.jitter = {DistributionKind::exponential, ps(us), {}};
    const RunResult first = run(topology, ring, conditions);
    CHECK(run(topology, ring, conditions).fingerprint == first.fingerprint);
    CHECK(first.time > run(topology, ring).time);
    conditions.seed = 2;
    CHECK(run(topology, ring, conditions).fingerprint != first.fingerprint);
  }

  TEST_CASE("conditions: messages on a link that goes down go on elsewhere after a delay") {
    const SpineShape shape{1, 2};
    const Topology topology = spine_network(shape, rate_of(gb), rate_of(gb), ps(0), over(shape, {0}));
    const Schedule ring = schedule_of("ring", 2000, topology.placement());
    CHECK(run(topology, ring).time == ps(2 * us));
    Conditions fault;
    fault.link_changes = {{at(us / 2), shape.up(0, 0), rate_of(0), {}}};
    fault.route_changes = {{at(2 * us), over(shape, {1})}};
    RunOptions options;
    options.explain = true;
    // 500 bytes wait for 1.5 us, then the second message follows.
    const RunResult result = run(topology, ring, fault, options);
    CHECK(result.time == ps(2 * us + us / 2 + us));
    CHECK(result.link_bytes[shape.up(0, 0).value] == Bytes(500));
    CHECK(result.link_bytes[shape.up(0, 1).value] == Bytes(1500));
    CHECK(result.link_bytes[shape.to_gpu(1).value] == Bytes(2000));
    CHECK(result.critical_path->contention == ps(us + us / 2));
  }

  TEST_CASE("conditions: a link that is down for good fails the run and is named") {
    const SpineShape shape{1, 2};
    const Topology topology = spine_network(shape, rate_of(gb), rate_of(gb), ps(0), over(shape, {0}));
    const Schedule ring = schedule_of("ring", 4'000'000, topology.placement());
    Conditions fault;
    fault.link_changes = {{at(1000 * us), shape.up(0, 0), rate_of(0), {}}};
    const RunResult result = run(topology, ring, fault);
    CHECK(result.status == RunStatus::failed);
    CHECK(result.failure == "leaf0 -> spine0 is down since 1 ms, and what waits for it is not re-routed");
    CHECK(result.blocked.size() == 4);
    fault.link_changes[0].at = at(0);
    CHECK(run(topology, ring, fault).failure ==
          "leaf0 -> spine0 is down from the start, and what waits for it is not re-routed");
    // From the start with routes that avoid it: as if it were not there.
    fault.route_changes = {{at(0), over(shape, {1})}};
    CHECK(run(topology, ring, fault).time == ps(4000 * us));
  }

  TEST_CASE("conditions: background traffic takes its share up to its rate, and ends no run") {
    const Topology topology = port_network(2, ps(0), rate_of(gb));
    Conditions others;
    others.background = {{{LinkId(0)}, rate_of(4 * gb / 10)}};
    const Schedule tenths = schedule_of("ring", 1200, topology.placement());
    CHECK(run(topology, tenths, others).time == ps(2 * us));
    others.background[0].rate = rate_of(gb);
    const Schedule halves = schedule_of("ring", 1000, topology.placement());
    const RunResult result = run(topology, halves, others);
    CHECK(result.status == RunStatus::ok);
    CHECK(result.time == ps(2 * us));
  }

  TEST_CASE("conditions: messages that are spread use all spines at once, each byte once") {
    const SpineShape shape{2, 2};
    const auto network = [&](std::shared_ptr<const RouteRule> routes) {
      return spine_network(shape, rate_of(2 * gb), rate_of(gb), ps(us), std::move(routes));
    };
    const Schedule schedule = one_way(4, 1001, 1, 8);
    // Both over one spine: half a link each. Over both: a whole one.
    CHECK(run(network(over(shape, {0})), schedule).time == ps(2 * 1001 * 1000 + 4 * us));
    const RunResult spread = run(network(over(shape, {0, 1}, true)), schedule);
    CHECK(spread.time == ps(501 * 2 * 1000 + 4 * us));
    CHECK(spread.link_bytes[shape.up(0, 0).value] == Bytes(2 * 501));
    CHECK(spread.link_bytes[shape.up(0, 1).value] == Bytes(2 * 500));
    CHECK(spread.link_bytes[shape.from_gpu(0).value] == Bytes(1001));
    // Alone: bound by the port, which all parts cross.
    const Schedule alone = one_way(2, 4000, 1, 8);
    const Topology topology = network(over(shape, {0, 1}, true));
    const RunResult single = simulate(topology, {Job{&alone, {0, 2}, {}, -1}}, {});
    CHECK(single.time == ps(2 * us + 4 * us));
  }

  TEST_CASE("conditions: a slow GPU reduces slowly, and may become slow while it works") {
    GpuSpec gpu;
    gpu.reduce_bandwidth = rate_of(gb);
    const Topology topology = port_network(2, ps(0), rate_of(gb), gpu);
    const Schedule ring = schedule_of("ring", 2000, topology.placement());
    CHECK(run(topology, ring).time == ps(3 * us));
    Conditions slow;
    slow.rank_changes = {{at(0), 1, gpu}};
    slow.rank_changes[0].gpu.reduce_bandwidth = rate_of(gb / 2);
    CHECK(run(topology, ring, slow).time == ps(4 * us));
    slow.rank_changes[0].at = at(us + us / 2);
    CHECK(run(topology, ring, slow).time == ps(3 * us + us / 2));
    slow.rank_changes[0].gpu.send_overhead = ps(us);
    CHECK(run(topology, ring, slow).time == ps(4 * us + us / 2));
  }

  TEST_CASE("conditions: slots over the round trip limit the rate of a long connection") {
    const Duration there = ps(20 * us);
    const Topology topology = port_network(2, there, rate_of(gb));
    const std::int64_t drain = us;
    const std::int64_t round_trip = drain + 2 * there.picoseconds();
    RunOptions options;
    options.credit_by_route = true;
    for (const std::int32_t slots : {1, 2, 8}) {
      CAPTURE(slots);
      const Schedule schedule = one_way(2, 1000, 5 * slots, slots);
      CHECK(run(topology, schedule, {}, options).time ==
            ps(4 * round_trip + slots * drain + there.picoseconds()));
    }
    // Enough slots: the link alone limits.
    CHECK(run(topology, one_way(2, 1000, 200, 64), {}, options).time ==
          ps(200 * drain + there.picoseconds()));
    options.credit_by_route = false;
    CHECK(run(topology, one_way(2, 1000, 10, 2), {}, options).time ==
          ps(4 * (drain + there.picoseconds()) + 2 * drain + there.picoseconds()));
  }

  TEST_CASE("conditions: every way of running agrees with a slow reading of the semantics") {
    const char* const names[] = {"ring", "double_binary_tree", "binomial_tree", "two_shot", "cascade"};
    int folded = 0;
    int swept = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const SpineShape shape{1 + static_cast<std::int32_t>(random.below(3)),
                             1 + static_cast<std::int32_t>(random.below(3))};
      std::vector<std::int32_t> spines(static_cast<std::size_t>(shape.spines));
      std::iota(spines.begin(), spines.end(), 0);
      // One draw a statement: compilers may take arguments in any order.
      const GpuSpec gpu = random_gpu(random);
      const bool spread = random.below(seed % 2 == 0 ? 2 : 4) == 0;
      const Bandwidth up = rate_of(random.below(2) == 0 ? gb : 3 * gb);
      const Topology topology =
          spine_network(shape, rate_of(2 * gb), up, ps(us / 4), over(shape, spines, spread), gpu);
      const Conditions conditions = seed % 2 == 0 ? random_conditions(random, topology, shape)
                                                  : even_conditions(random, topology, shape);
      AlgorithmOptions options;
      options.channels = 1 + static_cast<std::int32_t>(random.below(2));
      options.slices = 1 + static_cast<std::int32_t>(random.below(3));
      options.slots = random.below(2) == 0 ? 8 : 2;
      if (random.below(3) == 0) options.channel_bandwidth = rate_of(gb + 7);
      const std::string name = names[random.below(5)];
      CAPTURE(name);
      const Schedule schedule = schedule_of(
          name, seed % 2 == 0 ? 4 * random_below(random, 20'000) : 576 * random_below(random, 150),
          topology.placement(), options);
      RunOptions run_options;
      run_options.credit_by_route = random.below(3) == 0;
      run_options.launch_overhead = ps(random_below(random, 2) * us);
      const testing::SlowResult slow = testing::slow_simulation(topology, schedule, run_options, conditions);
      std::vector<RunResult> results;
      for (const Shortcuts way : {Shortcuts::plain, Shortcuts::fold, Shortcuts::sweep}) {
        run_options.shortcuts = way;
        run_options.explain = way == Shortcuts::plain;
        const RunResult fast = run(topology, schedule, conditions, run_options);
        REQUIRE(fast.status == RunStatus::ok);
        REQUIRE(slow.finished);
        REQUIRE(fast.time.picoseconds() == slow.time_ps);
        REQUIRE(fast.messages == slow.messages);
        for (std::size_t rank = 0; rank < slow.rank_finish_ps.size(); ++rank)
          REQUIRE(fast.rank_finish[rank].picoseconds() == slow.rank_finish_ps[rank]);
        results.push_back(fast);
        REQUIRE(fast.link_bytes == results[0].link_bytes);
        REQUIRE(fast.fingerprint == results[0].fingerprint);
        REQUIRE(fast.job_start == results[0].job_start);
        folded += fast.method.classes < fast.method.streams ? 1 : 0;
        swept += fast.method.sweeps ? 1 : 0;
      }
    }
    CHECK(folded > 10);
    CHECK(swept > 10);
  }

  TEST_CASE("conditions: aggregations agree with the slow reading, and fail with the link that holds them") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const auto ranks = static_cast<std::int32_t>(2 + random.below(5));
      const Topology topology = port_network(ranks, ps(us / 2), rate_of(gb), random_gpu(random));
      Conditions conditions = random_conditions(random, topology, SpineShape{});
      conditions.route_changes.clear();
      AlgorithmOptions options;
      options.slices = 1 + static_cast<std::int32_t>(random.below(4));
      const Schedule schedule =
          schedule_of("nvls", 4 * random_below(random, 20'000), topology.placement(), options);
      const testing::SlowResult slow = testing::slow_simulation(topology, schedule, {}, conditions);
      RunOptions run_options;
      run_options.explain = true;
      for (const Shortcuts way : {Shortcuts::plain, Shortcuts::fold}) {
        run_options.shortcuts = way;
        const RunResult fast = run(topology, schedule, conditions, run_options);
        REQUIRE(fast.status == RunStatus::ok);
        REQUIRE(fast.time.picoseconds() == slow.time_ps);
      }
    }
    const Topology topology = port_network(4, ps(0), rate_of(gb));
    const Schedule schedule = schedule_of("nvls", 400'000, topology.placement());
    // The way up of rank 1 is 3 us longer from the start, the way down to rank 2 7 us from 1 us on.
    Conditions late;
    late.link_changes = {{at(0), LinkId(2), {}, ps(3 * us)}, {at(us), LinkId(5), {}, ps(7 * us)}};
    for (const NetworkKind kind : {NetworkKind::fluid, NetworkKind::packet}) {
      RunOptions options;
      options.network.kind = kind;
      const Duration more =
          run(topology, schedule, late, options).time - run(topology, schedule, {}, options).time;
      CHECK(more == ps(10 * us));
    }
    Conditions fault;
    fault.link_changes = {{at(us), LinkId(3), rate_of(0), {}}};
    const RunResult result = run(topology, schedule, fault);
    CHECK(result.status == RunStatus::failed);
    CHECK(result.failure ==
          "node0/nvswitch0 -> node0/gpu1 is down since 1 us, and what waits for it is not re-routed");
  }
}
