// Messages simulated per second by the event-driven run without shortcuts, every message an event, one core.
// items_per_second counts messages; `events` are those of the engine. run_with_proof adds the symbolic proof,
// as the program does for every new structure.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "tests/bench/clusters.hpp"
#include "topologies/build.hpp"

namespace {

using namespace collsim;

constexpr std::int64_t gib = 1 << 30;

Topology one_switch(std::int32_t ranks) {
  ClusterSpec cluster;
  cluster.node.gpus = ranks;
  cluster.node.interconnect.kind = InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(100);
  cluster.node.interconnect.latency = Duration::nanoseconds(500);
  cluster.node.interconnect.reduction.enabled = true;
  return std::get<Topology>(topologies::build(cluster));
}

Topology cluster_of(std::int32_t nodes) { return bench::dgx_cluster(nodes, 3, 64); }

Schedule schedule_of(const std::string& name, const Topology& topology) {
  Collective collective;
  collective.bytes = Bytes(gib);
  return std::get<Schedule>(algorithms::make_schedule({name, {}}, collective, topology.placement()));
}

void run(benchmark::State& state, const std::string& name, const Topology& topology, bool with_proof) {
  std::int64_t messages = 0;
  std::int64_t events = 0;
  RunOptions options;
  options.shortcuts = Shortcuts::plain;
  for (auto _ : state) {
    const Schedule schedule = schedule_of(name, topology);
    if (with_proof) benchmark::DoNotOptimize(prove(schedule).proven);
    const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, options);
    messages += result.messages;
    events += result.events;
  }
  state.SetItemsProcessed(messages);
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void ring_on_one_switch(benchmark::State& state) {
  run(state, "ring", one_switch(static_cast<std::int32_t>(state.range(0))), false);
}
void ring_with_proof(benchmark::State& state) {
  run(state, "ring", one_switch(static_cast<std::int32_t>(state.range(0))), true);
}
void on_cluster(benchmark::State& state, const std::string& name) {
  run(state, name, cluster_of(static_cast<std::int32_t>(state.range(0))), false);
}

BENCHMARK(ring_on_one_switch)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(ring_with_proof)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, ring, "ring")->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, double_binary_tree, "double_binary_tree")
    ->Arg(8)
    ->Arg(32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, binomial_tree, "binomial_tree")
    ->Arg(8)
    ->Arg(128)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, cascade, "cascade")->Arg(8)->Arg(128)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, two_shot, "two_shot")->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(on_cluster, sharp, "sharp")->Arg(8)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace
