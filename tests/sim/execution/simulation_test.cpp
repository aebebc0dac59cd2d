#include "sim/execution/simulation.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/slow_simulation.hpp"

using namespace collsim;
using testing::pair_network;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

constexpr std::int64_t us = 1'000'000;

Collective all_reduce(std::int64_t bytes) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  return collective;
}

Schedule schedule_of(const std::string& name, std::int64_t bytes, const Placement& placement,
                     const AlgorithmOptions& options = {}) {
  auto made = algorithms::make_schedule({name, options}, all_reduce(bytes), placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

RunResult run(const Topology& topology, const Schedule& schedule, const RunOptions& options = {},
              const Conditions& changes = {}) {
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunResult result = simulate(topology, jobs, options, changes);
  CHECK(testing::conservation_fault(topology, jobs, result, changes) == "");
  return result;
}

// A port network in which every link has its own bandwidth and latency.
Topology uneven_network(Random& random, std::int32_t ranks, const GpuSpec& gpu) {
  const Topology even = port_network(ranks, ps(2), rate_of(1), gpu);
  Topology::Parts parts;
  parts.placement = even.placement();
  parts.gpu = gpu;
  const bool alike = random.below(2) == 0;
  for (std::size_t index = 0; index < even.vertex_count(); ++index)
    parts.vertices.push_back(even.vertex(VertexId(index)));
  for (Link link : even.links()) {
    link.bandwidth = rate_of(alike ? 10'000'000'000
                                   : 1'000'000'000 + static_cast<std::int64_t>(random.below(50'000'000'000)));
    link.latency = ps(alike ? 500'000 : static_cast<std::int64_t>(random.below(2'000'000)));
    parts.links.push_back(link);
  }
  struct Same : RouteRule, AggregationRule {
    Same(const Topology& topology, std::vector<Link> links) : topology_(topology), links_(std::move(links)) {}
    void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
      topology_.route(source, target, channel, links);
    }
    std::variant<AggregationPath, Impossible> path(const AggregationGroup& group) const override {
      auto path = std::get<AggregationPath>(topology_.aggregation(group));
      path.operations_max = 2;
      for (std::size_t member = 0; member < group.members.size(); ++member) {
        const auto cable = 2 * static_cast<std::size_t>(group.members[member]);
        path.up_latency[member] = links_[cable].latency;
        path.down_latency[member] = links_[cable + 1].latency;
      }
      return path;
    }
    Topology topology_;
    std::vector<Link> links_;
  };
  const auto rules = std::make_shared<Same>(even, parts.links);
  parts.routes = rules;
  parts.aggregations = rules;
  return Topology(std::move(parts));
}

Duration random_time(Random& random) {
  return ps(random.below(2) == 0 ? 0 : static_cast<std::int64_t>(random.below(700'000)));
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE("simulate agrees to the picosecond with a slow reading of the semantics") {
    const char* const names[] = {"ring",    "double_binary_tree", "binomial_tree",
                                 "cascade", "two_shot",           "nvls"};
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      GpuSpec gpu;
      gpu.send_overhead = random_time(random);
      gpu.receive_overhead = random_time(random);
      if (random.below(2) == 0) gpu.reduce_bandwidth = rate_of(3'000'000'000);
      const auto ranks = static_cast<std::int32_t>(2 + random.below(7));
      const Topology topology = uneven_network(random, ranks, gpu);
      AlgorithmOptions options;
      options.channels = 1 + static_cast<std::int32_t>(random.below(3));
      options.slices = 1 + static_cast<std::int32_t>(random.below(4));
      options.slots = random.below(2) == 0 ? 8 : 1 + static_cast<std::int32_t>(random.below(2));
      if (random.below(3) == 0) options.channel_bandwidth = rate_of(2'000'000'000);
      RunOptions run_options;
      run_options.launch_overhead = random_time(random);
      run_options.credit_latency = random_time(random);
      run_options.explain = seed % 2 == 0;
      const std::string name = names[random.below(6)];
      CAPTURE(name);
      const auto bytes = static_cast<std::int64_t>(random.below(random.below(2) == 0 ? 20 : 100'000)) * 4;
      const Schedule schedule = schedule_of(name, bytes, topology.placement(), options);
      const testing::SlowResult slow = testing::slow_simulation(topology, schedule, run_options);
      const RunResult fast = run(topology, schedule, run_options);
      REQUIRE(slow.finished);
      REQUIRE(fast.status == RunStatus::ok);
      REQUIRE(fast.time.picoseconds() == slow.time_ps);
      REQUIRE(fast.messages == slow.messages);
      for (std::size_t rank = 0; rank < slow.rank_finish_ps.size(); ++rank)
        REQUIRE(fast.rank_finish[rank].picoseconds() == slow.rank_finish_ps[rank]);
    }
  }

  TEST_CASE("simulate gives the same result and fingerprint on every call") {
    const Topology topology = port_network(16, ps(us), rate_of(100'000'000'000));
    const Schedule schedule = schedule_of("double_binary_tree", 1'000'000, topology.placement());
    const RunResult first = run(topology, schedule);
    std::vector<std::vector<int>> junk(1000, std::vector<int>(100));
    const RunResult second = run(topology, schedule);
    CHECK(first.fingerprint == second.fingerprint);
    CHECK(first.time == second.time);
    CHECK(first.events == second.events);
    const Schedule other = schedule_of("double_binary_tree", 1'000'004, topology.placement());
    CHECK(run(topology, other).fingerprint != first.fingerprint);
  }

  TEST_CASE("simulate counts the messages and bytes of a ring on every link") {
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000));
    const RunResult result = run(topology, schedule_of("ring", 8 << 20, topology.placement()));
    CHECK(result.time.picoseconds() == 160'800'640);
    CHECK(result.messages == 2 * 8 * 7);
    for (const Bytes bytes : result.link_bytes) CHECK(bytes.count() == 14 * (1 << 20));
  }

  TEST_CASE("simulate runs one rank in launch_overhead") {
    const Topology topology = port_network(1, ps(us), rate_of(100'000'000'000));
    RunOptions options;
    options.launch_overhead = ps(7);
    options.explain = true;
    const RunResult result = run(topology, schedule_of("ring", 8 << 20, topology.placement()), options);
    CHECK(result.status == RunStatus::ok);
    CHECK(result.time == ps(7));
    CHECK(result.messages == 0);
    CHECK(result.critical_path->launch == ps(7));
  }

  TEST_CASE("simulate explains where the time of a ring went, part by part") {
    GpuSpec gpu;
    gpu.reduce_bandwidth = rate_of(1'000'000'000'000);
    gpu.send_overhead = ps(100);
    gpu.receive_overhead = ps(10);
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000), gpu);
    RunOptions options;
    options.launch_overhead = ps(5000);
    options.explain = true;
    const RunResult result = run(topology, schedule_of("ring", 8 << 20, topology.placement()), options);
    const CriticalPath& path = *result.critical_path;
    CHECK(path.launch == ps(5000));
    CHECK(path.overhead == ps(14 * 110));
    CHECK(path.bandwidth == ps(14 * 10'485'760));
    CHECK(path.latency == ps(14 * us));
    CHECK(path.reduction == ps(7 * 1'048'576));
    CHECK(path.contention == ps(0));
    CHECK(path.waiting == ps(0));
    CHECK(path.messages == 14);
  }

  TEST_CASE("simulate counts the messages that a stream sends one after the other on the critical path") {
    // Two slices of a block: the second drains behind the first, whose arrival it does not wait for.
    const Topology topology = port_network(2, ps(0), rate_of(1'000'000'000));
    RunOptions options;
    options.explain = true;
    AlgorithmOptions sliced;
    sliced.slices = 2;
    const RunResult result = run(topology, schedule_of("ring", 4000, topology.placement(), sliced), options);
    CHECK(result.time == ps(4 * us));
    CHECK(result.critical_path->bandwidth == ps(4 * us));
    CHECK(result.critical_path->messages == 4);
  }

  TEST_CASE("simulate lets the slices of a cascade work on different levels at a time") {
    // Two levels of 4 whose links are apart and alike: with many slices the slower level alone decides.
    const Topology topology =
        pair_network({{4, ps(0), rate_of(1'000'000'000)}, {4, ps(0), rate_of(250'000'000)}});
    AlgorithmOptions options;
    options.levels = {4, 4};
    const std::int64_t bytes = 16 * 4 * 6000;
    const std::int64_t level =
        2 * 3 * bytes / 4 * 1000;  // ps, each of the two: a quarter of the bytes, or of the rate
    CHECK(run(topology, schedule_of("cascade", bytes, topology.placement(), options)).time == ps(2 * level));
    options.slices = 10;
    const Duration sliced = run(topology, schedule_of("cascade", bytes, topology.placement(), options)).time;
    CHECK(sliced < ps(level * 13 / 10));
    CHECK(sliced >= ps(level));
  }

  TEST_CASE("simulate names contention where messages share a port") {
    const Topology topology = port_network(4, ps(us), rate_of(3'000'000'000));
    RunOptions options;
    options.explain = true;
    const RunResult result = run(topology, schedule_of("two_shot", 12'000, topology.placement()), options);
    // Two phases of three messages of 3000 B that share a port; alone each would take 1 us.
    CHECK(result.critical_path->bandwidth == ps(2 * us));
    CHECK(result.critical_path->contention == ps(2 * 2 * us));
    CHECK(result.critical_path->latency == ps(2 * us));
    CHECK(result.time == ps(8 * us));
  }

  TEST_CASE("simulate starts a job at its time, or when an earlier one has finished") {
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000));
    const Schedule ring = schedule_of("ring", 8 << 20, topology.placement());
    const std::int64_t once = 160'800'640;
    RunOptions options;
    options.launch_overhead = ps(1000);
    options.explain = true;
    const RunResult result =
        simulate(topology, {Job{&ring, {}, Instant::picoseconds(500), -1}, Job{&ring, {}, {}, 0}}, options);
    CHECK(result.job_finish[0].picoseconds() == 500 + 1000 + once);
    CHECK(result.job_finish[1].picoseconds() == 500 + 2 * (1000 + once));
    CHECK(result.time.picoseconds() == 500 + 2 * (1000 + once));
  }

  TEST_CASE("simulate lets two jobs on the same ranks share links, and on other ranks not") {
    const Topology topology = port_network(8, ps(0), rate_of(1'000'000'000));
    Placement half = topology.placement();
    half.gpus_per_node = 4;
    const Schedule ring = schedule_of("ring", 4000, half);
    const std::int64_t alone = 6 * 1'000'000;
    const RunResult same = simulate(topology, {Job{&ring, {}, {}, -1}, Job{&ring, {}, {}, -1}}, {});
    CHECK(same.time.picoseconds() == 2 * alone);
    const RunResult apart =
        simulate(topology, {Job{&ring, {0, 1, 2, 3}, {}, -1}, Job{&ring, {7, 6, 5, 4}, {}, -1}}, {});
    CHECK(apart.time.picoseconds() == alone);
  }

  TEST_CASE("simulate follows a capacity that changes while messages drain") {
    const Topology topology = port_network(2, ps(0), rate_of(1'000'000'000));
    const Schedule ring = schedule_of("ring", 2000, topology.placement());
    CHECK(run(topology, ring).time == ps(2 * us));
    // Halved 0.5 us after the start: the first message has 500 B left, 1 us; the second takes 2 us.
    Conditions slow;
    slow.link_changes = {{Instant::picoseconds(us / 2), LinkId(0), rate_of(500'000'000), {}}};
    CHECK(run(topology, ring, {}, slow).time == ps(us / 2 + us + 2 * us));
  }

  TEST_CASE("an estimate that nothing came of is forgotten") {
    const Topology topology = port_network(4, ps(0), rate_of(1'000'000'000));
    Simulator simulator(topology);
    Schedule schedule = schedule_of("ring", 4'000'000, topology.placement());
    simulator.estimate({Job{&schedule, {}, {}, -1}}, {});
    schedule = schedule_of("two_shot", 4'000, topology.placement());  // at the same place in memory
    simulator.estimate({Job{&schedule, {}, {}, -1}}, {});
    CHECK(simulator.run({Job{&schedule, {}, {}, -1}}, {}).time == run(topology, schedule).time);
  }

  TEST_CASE("simulate ends with a report when a link stays without capacity") {
    const Topology topology = port_network(2, ps(0), rate_of(1'000'000'000));
    const Schedule ring = schedule_of("ring", 2000, topology.placement());
    Conditions down;
    down.link_changes = {{Instant(), LinkId(0), rate_of(0), {}}};
    const RunResult result = run(topology, ring, {}, down);
    CHECK(result.status == RunStatus::failed);
    CHECK(result.failure ==
          "node0/gpu0 -> node0/nvswitch0 is down from the start, and what waits for it is not re-routed");
    REQUIRE(result.blocked.size() == 4);
    CHECK(result.blocked[0].waits_for == "its message to drain over a link without capacity");
    CHECK(result.blocked[1].waits_for == "message 1 from rank 1 on channel 0, which has not been sent");
    CHECK(result.blocked[2].waits_for == "operation 0 of its stream 1");
    CHECK(result.blocked[3].waits_for == "message 0 from rank 0 on channel 0, which has not been sent");
  }

  TEST_CASE("simulate reports a deadlock with every waiting stream") {
    // Two ranks that each receive before they send.
    const Topology topology = port_network(2, ps(0), rate_of(1'000'000'000));
    Schedule schedule = empty_schedule("crossed", all_reduce(8), 2);
    schedule.layout = Layout(2, 4, {}, 1);
    Program program;
    OperationTemplate receive;
    receive.kind = OperationKind::receive_reduce;
    receive.peer = 0;
    OperationTemplate send = receive;
    send.kind = OperationKind::send;
    program.loops = {Loop{1, {receive, send}}};
    schedule.programs = {program};
    schedule.stream_count = [](Rank) { return 1; };
    schedule.bind = [](Rank rank, std::int32_t, Binding& binding) { binding.peers = {Peer{1 - rank, 3}}; };
    const RunResult result = run(topology, schedule);
    CHECK(result.status == RunStatus::deadlock);
    REQUIRE(result.blocked.size() == 2);
    CHECK(result.blocked[0].rank == 0);
    CHECK(result.blocked[0].operation == 0);
    CHECK(result.blocked[0].waits_for == "message 0 from rank 1 on channel 3, which has not been sent");
    CHECK(result.blocked[1].waits_for == "message 0 from rank 0 on channel 3, which has not been sent");
  }

  TEST_CASE("simulate stops at a limit of events with what it has") {
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000));
    RunOptions options;
    options.events_max = 50;
    const RunResult result = run(topology, schedule_of("ring", 8 << 20, topology.placement()), options);
    CHECK(result.status == RunStatus::limit);
    CHECK(result.events >= 50);
    CHECK(result.messages > 0);
    CHECK(result.time < ps(160'800'640));
  }

  TEST_CASE("simulate passes zero bytes in latency alone") {
    const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000));
    CHECK(run(topology, schedule_of("ring", 0, topology.placement())).time == ps(14 * us));
    CHECK(run(topology, schedule_of("nvls", 0, topology.placement())).time == ps(us));
  }
}
