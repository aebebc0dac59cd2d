// Time of a whole proof at 131,072 ranks, one core. `messages` are those of the schedule, most of which a
// proof one cell an orbit never executes; bind_streams counts bind() calls; check_file is a file of MSCCL
// with 64 ranks, already read, checked for every kind of call that it is for.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_writer.hpp"
#include "algorithms/registry.hpp"
#include "sim/model/proof.hpp"

namespace {

using namespace collsim;

Schedule schedule_of(const std::string& name, std::int32_t nodes, AlgorithmOptions options) {
  Placement placement;
  placement.nodes = nodes;
  placement.gpus_per_node = 8;
  placement.nics_per_node = 8;
  placement.interconnect = InterconnectKind::nvswitch;
  placement.fabric = FabricKind::fat_tree;
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = true;
  Collective collective;
  collective.bytes = Bytes(1 << 30);
  return std::get<Schedule>(algorithms::make_schedule({name, std::move(options)}, collective, placement));
}

Schedule torus_schedule_of(const std::string& name) {
  Placement placement;
  placement.nodes = 64 * 64 * 32;
  placement.nics_per_node = 1;
  placement.fabric = FabricKind::torus;
  placement.dimensions = {64, 64, 32};
  Collective collective;
  collective.bytes = Bytes(1 << 30);
  return std::get<Schedule>(algorithms::make_schedule({name, {}}, collective, placement));
}

void prove_whole(benchmark::State& state, const Schedule& schedule) {
  Proof proof;
  for (auto _ : state) proof = prove(schedule);
  if (!proof.proven) state.SkipWithError("not proven");
  state.SetLabel(name_of(proof.method));
  state.counters["messages"] = static_cast<double>(proof.messages);
  state.counters["cells"] = static_cast<double>(proof.cells_traced);
}

void prove_schedule(benchmark::State& state, const std::string& name, std::int32_t nodes,
                    std::int32_t channels) {
  AlgorithmOptions options;
  if (channels > 0) options.channels = channels;
  if (channels > 0) options.slices = 1;
  prove_whole(state, schedule_of(name, nodes, std::move(options)));
}

void prove_on_torus(benchmark::State& state, const std::string& name) {
  prove_whole(state, torus_schedule_of(name));
}

void prove_numbers(benchmark::State& state, const std::string& name, std::int32_t channels) {
  AlgorithmOptions options;
  if (channels > 0) options.channels = channels;
  const Schedule schedule = schedule_of(name, 16384, std::move(options));
  ProofOptions numbers;
  numbers.numerics = true;
  Proof proof;
  for (auto _ : state) proof = prove(schedule, numbers);
  if (!proof.numerics.known) state.SkipWithError("not known");
  state.SetLabel(name_of(proof.method));
  state.counters["deep"] = static_cast<double>(proof.numerics.additions_deep);
}

void bind_streams(benchmark::State& state, const std::string& name) {
  AlgorithmOptions options;
  if (name != "sharp") options.channels = 1;
  const Schedule schedule = schedule_of(name, 16384, std::move(options));
  std::int64_t bound = 0;
  Binding binding;
  for (auto _ : state)
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      const std::int32_t streams = schedule.stream_count(rank);
      bound += streams;
      for (std::int32_t stream = 0; stream < streams; ++stream) {
        binding.clear();
        schedule.bind(rank, stream, binding);
        benchmark::DoNotOptimize(binding.program);
      }
    }
  state.SetItemsProcessed(bound);
}

void check_file(benchmark::State& state, std::int32_t channels) {
  AlgorithmOptions options;
  options.channels = channels;
  const auto text =
      std::get<std::string>(algorithms::write_msccl(schedule_of("ring", 8, std::move(options))));
  const auto file = std::get<algorithms::MscclFile>(algorithms::read_msccl(text));
  std::vector<algorithms::MscclCheck> checks;
  for (auto _ : state) checks = algorithms::check_msccl(file);
  for (const algorithms::MscclCheck& check : checks)
    if (check.verdict != algorithms::MscclCheck::Verdict::proven) state.SkipWithError("not proven");
  state.counters["calls"] = static_cast<double>(checks.size());
  state.counters["messages"] = static_cast<double>(checks.front().messages);
}

BENCHMARK_CAPTURE(prove_schedule, ring, "ring", 16384, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, ring_of_8_channels, "ring", 16384, 8)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, cascade, "cascade", 16384, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, double_binary_tree, "double_binary_tree", 16384, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, binomial_tree, "binomial_tree", 16384, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, sharp, "sharp", 16384, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, two_shot_of_4096, "two_shot", 512, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, two_shot, "two_shot", 16384, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, rabenseifner, "rabenseifner", 16384, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, recursive_doubling, "recursive_doubling", 16384, 0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_schedule, hierarchical, "hierarchical", 16384, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_on_torus, torus_bucket, "torus_bucket")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_numbers, ring, "ring", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_numbers, cascade, "cascade", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_numbers, double_binary_tree, "double_binary_tree", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(prove_numbers, sharp, "sharp", 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bind_streams, ring, "ring")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bind_streams, cascade, "cascade")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bind_streams, double_binary_tree, "double_binary_tree")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bind_streams, sharp, "sharp")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_file, ring_of_64_ranks, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(check_file, ring_of_8_channels, 8)->Unit(benchmark::kMillisecond);

}  // namespace
