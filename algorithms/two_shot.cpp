// Two-shot: direct reduce-scatter and direct all-gather (the two-shot all-reduce of TensorRT-LLM and
// FlashInfer). Rank r sums part r of everyone and sends it to all. Each half alone is the reduce-scatter or
// all-gather of the same name.
//
// Full mesh: 2 (latency + S / (N B)); one port a rank: 2 (latency + (N - 1) S / (N B)).
//
// Streams of a rank: 0 receives and adds; p sends peer p its part and, in an all-reduce, after the last
// addition the own sum, and receives the sum of the rank whose peer p this one is. The two phases use
// different channels (0 and 1), so that the result of a fast rank need not wait behind the contribution of a
// slow one.
#include "algorithms/direct_streams.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {

// Bases: 0 the own rank, 1 the rank that it sends to, 2 the rank that it receives from.
Schedule direct_reduce_scatter(const char* name, const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const bool gathers = collective.kind != CollectiveKind::reduce_scatter;
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, ranks);
  Loop pair;
  pair.body.push_back(make_operation(OperationKind::send, 0, block_of(1, 0, ranks)));
  if (gathers) {
    pair.body.push_back(make_operation(OperationKind::send, 1, block_of(0, 0, ranks)));
    pair.body.back().dependencies.push_back(Dependency{0, std::int64_t{ranks} - 2, 0});
    pair.body.push_back(make_operation(OperationKind::receive, 2, block_of(2, 0, ranks)));
  }
  schedule.programs = {one_of_each_peer(OperationKind::receive_reduce, ranks - 1,
                                        [&](std::int32_t) { return block_of(0, 0, ranks); }),
                       Program{{pair}}};
  const auto bind = [gathers, translation = translation_of(ranks)](std::int32_t stream, Binding& binding) {
    binding.program = stream == 0 ? 0 : 1;
    binding.bases = {0};
    if (stream == 0) {
      for (Rank peer = 1; peer < translation.ranks; ++peer)
        binding.peers.push_back({translation.home(peer), 0});
      return;
    }
    binding.peers = {{stream, 0}};
    binding.bases.push_back(stream);
    if (!gathers) return;
    const Rank from = translation.home(stream);
    binding.peers.push_back({stream, 1});
    binding.peers.push_back({from, 1});
    binding.bases.push_back(from);
    binding.streams.push_back(0);
  };
  set_streams_of_rank_0(schedule, ranks, gathers ? 3 : 2, bind);
  return schedule;
}

ScheduleOrReason two_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("two_shot", collective, 1);
  if (collective.kind == CollectiveKind::all_gather)
    return direct_all_gather("two_shot", collective, placement, options);
  return direct_reduce_scatter("two_shot", collective, placement, options);
}

}  // namespace collsim::algorithms
