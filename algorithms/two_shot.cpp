// Two-shot: direct reduce-scatter and direct all-gather. Rank r sums part r of everyone and sends it to all.
//
// Peers are taken in the order r + 1, r + 2, ... by the senders and r - 1, r - 2, ... by the receivers, so
// that every sub-step is a permutation. Streams of rank r: 0 receives and adds, 1 receives the results,
// 2 + p sends to r + 1 + p. The two phases use different channels (0 and 1), so that the result of a fast
// rank need not wait behind the contribution of a slow one.
#include "algorithms/common.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t streams_before_sends = 2;

// Block (own rank + offset) mod N; Binding::bases[0] is the own rank.
ChunkExpression part(std::int32_t offset, std::int32_t ranks) {
  ChunkExpression chunk;
  chunk.block_base = 0;
  chunk.block_offset = offset;
  chunk.block_modulus = ranks;
  return chunk;
}

Program receive_program(std::int32_t ranks, bool reduces) {
  Loop loop;
  for (std::int32_t i = 0; i + 1 < ranks; ++i) {
    const auto kind = reduces ? OperationKind::receive_reduce : OperationKind::receive;
    loop.body.push_back(make_operation(kind, i, part(reduces ? 0 : -1 - i, ranks)));
  }
  return Program{{loop}};
}

// Binding::bases[1] is the peer's rank; the second send waits for the last addition.
Program send_program(std::int32_t ranks) {
  ChunkExpression of_peer = part(0, ranks);
  of_peer.block_base = 1;
  Loop loop;
  loop.body.push_back(make_operation(OperationKind::send, 0, of_peer));
  loop.body.push_back(make_operation(OperationKind::send, 1, part(0, ranks)));
  loop.body.back().dependencies.push_back(Dependency{0, std::int64_t{ranks} - 2, 0});
  return Program{{loop}};
}

}  // namespace

ScheduleOrReason two_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("two_shot", collective, 1);
  Schedule schedule = schedule_frame("two_shot", collective, placement, options, {}, ranks);
  schedule.programs = {receive_program(ranks, true), receive_program(ranks, false), send_program(ranks)};
  schedule.stream_count = [ranks](Rank) { return streams_before_sends + ranks - 1; };
  schedule.bind = [ranks](Rank rank, std::int32_t stream, Binding& binding) {
    binding.bases.push_back(rank);
    if (stream >= streams_before_sends) {
      const Rank peer = (rank + 1 + stream - streams_before_sends) % ranks;
      binding.program = 2;
      binding.peers.push_back(Peer{peer, 0});
      binding.peers.push_back(Peer{peer, 1});
      binding.bases.push_back(peer);
      binding.streams.push_back(0);
      return;
    }
    binding.program = stream;
    for (Rank peer = rank; peer-- > 0;) binding.peers.push_back(Peer{peer, stream});
    for (Rank peer = ranks; --peer > rank;) binding.peers.push_back(Peer{peer, stream});
  };
  Symmetry next;
  next.name = "next rank";
  next.stream_count = streams_before_sends + ranks - 1;
  next.region_count = 1;
  next.rank = [ranks](Rank rank) { return (rank + 1) % ranks; };
  next.block = Rotation{0, ranks, 1, ranks, 1};
  schedule.symmetries.push_back(next);
  return schedule;
}

}  // namespace collsim::algorithms
