// One-shot: every rank sends all that it has to all others (the one-shot all-reduce of TensorRT-LLM and
// FlashInfer). An all-reduce or barrier adds the vectors of all, an all-gather keeps the parts.
//
// All-reduce over a full mesh: latency + S / B; over one port a rank: latency + (N - 1) S / B. Best where
// S / B is much below the latency.
//
// Not in place: the input is sent while sums grow in the output. The first vector that arrives is added to
// the own input, the others to that sum. Streams: 0 receives, p sends to peer p (direct_streams.hpp).
#include "algorithms/direct_streams.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {

ScheduleOrReason one_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("one_shot", collective, 1);
  if (collective.kind == CollectiveKind::all_gather)
    return direct_all_gather("one_shot", collective, placement, options);
  Schedule schedule = schedule_frame("one_shot", collective, placement, options, {}, 1);
  schedule.in_place = false;
  Program sum = one_of_each_peer(OperationKind::receive_reduce, ranks - 1,
                                 [](std::int32_t) { return whole_of(Buffer::output); });
  sum.loops[0].body[0].from_source = true;
  sum.loops[0].body[0].source = whole_of(Buffer::input);
  schedule.programs = {sum, one_operation(make_operation(OperationKind::send, 0, whole_of(Buffer::input)))};
  const auto bind = [translation = translation_of(ranks)](std::int32_t stream, Binding& binding) {
    binding.program = stream == 0 ? 0 : 1;
    if (stream > 0) binding.peers.push_back({stream, 0});
    for (Rank peer = 1; stream == 0 && peer < translation.ranks; ++peer)
      binding.peers.push_back({translation.home(peer), 0});
  };
  set_streams_of_rank_0(schedule, ranks, 0, bind);
  return schedule;
}

}  // namespace collsim::algorithms
