// Two-shot: direct reduce-scatter and direct all-gather (the two-shot all-reduce of TensorRT-LLM and
// FlashInfer). Rank r sums part r of everyone and sends it to all. Each half alone is the reduce-scatter or
// all-gather of the same name.
//
// Full mesh: 2 (latency + S / (N B)); one port a rank: 2 (latency + (N - 1) S / (N B)).
//
// Streams of rank r in an all-reduce: 0 receives and adds, 1 receives the results, 2 + p sends to r + 1 + p.
// A reduce-scatter has no stream 1. The two phases use different channels (0 and 1), so that the result of a
// fast rank need not wait behind the contribution of a slow one.
#include "algorithms/direct_streams.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

// Binding::bases: 0 the own rank, 1 the peer's. The second send waits for the last addition.
Program send_program(std::int32_t ranks, bool gathers) {
  Loop loop;
  loop.body.push_back(make_operation(OperationKind::send, 0, block_of(1, 0, ranks)));
  if (!gathers) return Program{{loop}};
  loop.body.push_back(make_operation(OperationKind::send, 1, block_of(0, 0, ranks)));
  loop.body.back().dependencies.push_back(Dependency{0, std::int64_t{ranks} - 2, 0});
  return Program{{loop}};
}

}  // namespace

ScheduleOrReason two_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("two_shot", collective, 1);
  if (collective.kind == CollectiveKind::all_gather)
    return direct_all_gather("two_shot", collective, placement, options);
  const bool gathers = collective.kind != CollectiveKind::reduce_scatter;
  Schedule schedule = schedule_frame("two_shot", collective, placement, options, {}, ranks);
  schedule.programs = {send_program(ranks, gathers),
                       one_of_each_peer(OperationKind::receive_reduce, ranks - 1,
                                        [&](std::int32_t) { return block_of(0, 0, ranks); })};
  if (gathers)
    schedule.programs.push_back(one_of_each_peer(OperationKind::receive, ranks - 1,
                                                 [&](std::int32_t i) { return block_of(0, -1 - i, ranks); }));
  const std::int32_t receives = gathers ? 2 : 1;
  schedule.stream_count = [ranks, receives](Rank) { return receives + ranks - 1; };
  schedule.bind = [ranks, receives](Rank rank, std::int32_t stream, Binding& binding) {
    binding.bases.push_back(rank);
    if (stream < receives) {
      binding.program = 1 + stream;
      add_peers_before(rank, ranks, stream, binding);
      return;
    }
    const Rank peer = peer_after(rank, stream - receives, ranks);
    binding.program = 0;
    for (std::int32_t channel = 0; channel < receives; ++channel)
      binding.peers.push_back(Peer{peer, channel});
    binding.bases.push_back(peer);
    if (receives == 2) binding.streams.push_back(0);
  };
  schedule.symmetries.push_back(next_rank(ranks, receives + ranks - 1, ranks));
  return schedule;
}

}  // namespace collsim::algorithms
