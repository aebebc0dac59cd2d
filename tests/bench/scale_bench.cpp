// The speed of light: messages and aggregations represented per second against ranks, with all shortcuts and
// plain.
//
// DGX-H100-like nodes on a non-blocking three-level fat tree, 1 GiB. Whole simulations, set-up included,
// without the proof (proof_bench.cpp). items_per_second counts represented messages; `simulated` is the share
// of them that was really run.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/bench/clusters.hpp"
#include "topologies/build.hpp"

namespace {

using namespace collsim;

Topology cluster_of(std::int32_t nodes) { return bench::dgx_cluster(nodes, 3, 128); }

Topology torus() {
  ClusterSpec cluster;
  cluster.fabric.kind = FabricKind::torus;
  cluster.fabric.dimensions = {64, 64, 32};
  cluster.nodes = 64 * 64 * 32;
  cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(45);
  cluster.fabric.latency = Duration::nanoseconds(500);
  return std::get<Topology>(topologies::build(cluster));
}

void run(benchmark::State& state, const std::string& name, const Topology& topology, Shortcuts shortcuts) {
  AlgorithmOptions algorithm;
  if (name == "ring" || name == "double_binary_tree") algorithm.channels = 1;
  if (name == "double_binary_tree") algorithm.slices = 1;
  Collective collective;
  collective.bytes = Bytes(std::int64_t{1} << 30);
  RunOptions options;
  options.shortcuts = shortcuts;
  std::int64_t messages = 0;
  std::int64_t streams = 0;
  std::int64_t classes = 0;
  for (auto _ : state) {
    const auto schedule =
        std::get<Schedule>(algorithms::make_schedule({name, algorithm}, collective, topology.placement()));
    const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, options);
    messages += result.messages;
    streams = result.method.streams;
    classes = result.method.classes;
  }
  state.SetItemsProcessed(messages);
  state.counters["streams"] = static_cast<double>(streams);
  state.counters["classes"] = static_cast<double>(classes);
}

void shortest(benchmark::State& state, const std::string& name) {
  run(state, name, cluster_of(static_cast<std::int32_t>(state.range(0) / 8)), Shortcuts::automatic);
}
void swept_only(benchmark::State& state, const std::string& name) {
  run(state, name, cluster_of(static_cast<std::int32_t>(state.range(0) / 8)), Shortcuts::sweep);
}
void plain(benchmark::State& state, const std::string& name) {
  run(state, name, cluster_of(static_cast<std::int32_t>(state.range(0) / 8)), Shortcuts::plain);
}
void torus_of_131072(benchmark::State& state, const std::string& name) {
  run(state, name, torus(), Shortcuts::automatic);
}

void ranks(benchmark::internal::Benchmark* bench, std::int64_t last) {
  for (std::int64_t count = 64; count <= last; count *= 8) bench->Arg(count);
  bench->Unit(benchmark::kMillisecond);
}
void all_ranks(benchmark::internal::Benchmark* bench) {
  ranks(bench, 32'768);
  bench->Arg(131'072);
}
void only_131072(benchmark::internal::Benchmark* bench) {
  bench->Arg(131'072);
  bench->Unit(benchmark::kMillisecond);
}
void some_ranks(benchmark::internal::Benchmark* bench) { ranks(bench, 4'096); }

BENCHMARK_CAPTURE(shortest, ring, "ring")->Apply(all_ranks);
BENCHMARK_CAPTURE(swept_only, ring, "ring")->Apply(some_ranks);
BENCHMARK_CAPTURE(plain, ring, "ring")->Apply(some_ranks);
BENCHMARK_CAPTURE(shortest, cascade, "cascade")->Apply(all_ranks);
BENCHMARK_CAPTURE(plain, cascade, "cascade")->Apply(some_ranks);
BENCHMARK_CAPTURE(shortest, double_binary_tree, "double_binary_tree")->Apply(all_ranks);
BENCHMARK_CAPTURE(plain, double_binary_tree, "double_binary_tree")->Apply(some_ranks);
BENCHMARK_CAPTURE(shortest, binomial_tree, "binomial_tree")->Apply(all_ranks);
BENCHMARK_CAPTURE(plain, binomial_tree, "binomial_tree")->Apply(some_ranks);
BENCHMARK_CAPTURE(shortest, sharp, "sharp")->Apply(all_ranks);
BENCHMARK_CAPTURE(plain, sharp, "sharp")->Apply(some_ranks);
BENCHMARK_CAPTURE(shortest, two_shot, "two_shot")->Apply(only_131072);
BENCHMARK_CAPTURE(shortest, hierarchical, "hierarchical")->Apply(only_131072);
BENCHMARK_CAPTURE(shortest, recursive_doubling, "recursive_doubling")->Apply(only_131072);
BENCHMARK_CAPTURE(shortest, rabenseifner, "rabenseifner")->Apply(only_131072);
BENCHMARK_CAPTURE(torus_of_131072, cascade, "cascade")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(torus_of_131072, torus_bucket, "torus_bucket")->Unit(benchmark::kMillisecond);

}  // namespace
