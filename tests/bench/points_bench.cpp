// Many small points through the library: 10,000 points over 64 ranks, all algorithms, sizes from 1 KiB to 1
// MiB, on one and two threads. items_per_second counts points. Every thread keeps one Simulator an algorithm;
// the sum of all fingerprints is compared between thread counts.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/bench/clusters.hpp"
#include "topologies/build.hpp"

namespace {

using namespace collsim;

constexpr std::int64_t point_count = 10'000;

Topology eight_nodes() { return bench::dgx_cluster(8, 2, 32); }

// A point by number: algorithm, then size. Several launch overheads make the points differ.
std::uint64_t simulate_point(std::int64_t number, const Topology& topology,
                             std::vector<Simulator>& simulators) {
  const auto& all = algorithms::all();
  const std::int64_t per_algorithm = point_count / static_cast<std::int64_t>(all.size()) + 1;
  const auto algorithm = static_cast<std::size_t>(number / per_algorithm);
  Collective collective;
  collective.bytes = Bytes(std::int64_t{1024} << (number % 11));
  const auto made = all[algorithm].make(collective, topology.placement(), {});
  const auto* schedule = std::get_if<Schedule>(&made);
  if (schedule == nullptr) return 0;  // nvls spans one node
  RunOptions options;
  options.launch_overhead = Duration::nanoseconds(number);
  options.alike_runs = per_algorithm;
  return simulators[algorithm].run({Job{schedule, {}, {}, -1}}, options).fingerprint;
}

std::uint64_t simulate_all(const Topology& topology, int threads) {
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::uint64_t> sum = 0;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker)
    workers.emplace_back([&] {
      std::vector<Simulator> simulators;
      for (std::size_t index = 0; index < algorithms::all().size(); ++index)
        simulators.emplace_back(topology);
      for (std::int64_t number = next++; number < point_count; number = next++)
        sum += simulate_point(number, topology, simulators);
    });
  for (std::thread& worker : workers) worker.join();
  return sum;
}

void small_points(benchmark::State& state) {
  const Topology topology = eight_nodes();
  static std::optional<std::uint64_t> expected;
  for (auto _ : state) {
    const std::uint64_t sum = simulate_all(topology, static_cast<int>(state.range(0)));
    if (expected.value_or(sum) != sum) state.SkipWithError("results depend on the number of threads");
    expected = sum;
  }
  state.SetItemsProcessed(state.iterations() * point_count);
}
BENCHMARK(small_points)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

// The same, one algorithm at a time: what a point of each costs.
void one_algorithm(benchmark::State& state) {
  const Topology topology = eight_nodes();
  const auto& algorithm = algorithms::all()[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(std::string(algorithm.name));
  Simulator simulator(topology);
  RunOptions options;
  options.alike_runs = point_count / 7;
  std::int64_t number = 0;
  for (auto _ : state) {
    Collective collective;
    collective.bytes = Bytes(std::int64_t{1024} << (number++ % 11));
    const auto made = algorithm.make(collective, topology.placement(), {});
    if (const auto* schedule = std::get_if<Schedule>(&made))
      benchmark::DoNotOptimize(simulator.run({Job{schedule, {}, {}, -1}}, options).fingerprint);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_algorithm)->DenseRange(0, 6)->Unit(benchmark::kMicrosecond);

}  // namespace
