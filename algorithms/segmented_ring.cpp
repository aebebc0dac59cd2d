// Segmented ring: the ring of ring.cpp with its blocks cut into segments, each passed on as soon as it is
// there, by one stream (the pipelined ring of Open MPI's coll_base_allreduce.c, ring_segmented, without its
// phases).
//
// Message m = k * c + s carries segment s of c in step k. A stream sends L messages, then alternates: receive
// m - L, send m, and receives the last L. L = min(c, slots): with more messages ahead than slots, every rank
// would wait for a free slot while none receives; with L of them the message that the slowest rank waits for
// has a slot. L <= c, because message m passes on message m - c. So there is no deadlock at any number of
// slots (N >= 2).
// With L = c and tau the time of a segment, K = 2(N-1) steps take (K-1) max(c tau, latency + tau) + c tau +
// latency: where blocks are long, only one latency is seen.
#include <algorithm>

#include "algorithms/exchanges.hpp"
#include "algorithms/ring_schedule.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t segment_bytes = 512 << 10;
constexpr std::int64_t segments_most = 256;

// Pieces of 512 KiB of a block, at most 256, as those of trees and chains.
std::int32_t segments_automatic(const Collective& collective, std::int64_t blocks) {
  const std::int64_t block = collective.bytes.count() / blocks;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>((block + segment_bytes - 1) / segment_bytes, 1, segments_most));
}

class SegmentedRing {
 public:
  SegmentedRing(std::int32_t ranks, std::int32_t segments, std::int32_t ahead, RingPhases phases)
      : ranks_(ranks), segments_(segments), ahead_(ahead), phases_(phases) {}

  Program program() {
    const std::int64_t half = ranks_ - 1;
    const std::int64_t steps = (std::int64_t{phases_.reduces} + phases_.gathers) * half;
    add_steps(0, 1);
    // Step N - 1 receives with both operations where messages lag behind, so it is a loop of its own.
    if (phases_.reduces && phases_.gathers) {
      add_steps(1, half - 1);
      add_steps(half, 1);
      add_steps(half + 1, steps - half - 1);
    } else {
      add_steps(1, steps - 1);
    }
    Loop tail{1, {}};
    for (std::int32_t segment = segments_ - ahead_; segment < segments_; ++segment)
      add_receive(tail, steps - 1, segment);
    program_.loops.push_back(tail);
    return std::move(program_);
  }

 private:
  // Steps first .. first + trips - 1. In the first step of all, the first messages follow no receive.
  void add_steps(std::int64_t first, std::int64_t trips) {
    if (trips < 1) return;
    Loop loop{trips, {}};
    for (std::int32_t segment = 0; segment < segments_; ++segment) {
      const bool lags = segment < ahead_;  // receives a segment of the step before
      if (first > 0 || !lags)
        add_receive(loop, lags ? first - 1 : first, lags ? segment - ahead_ + segments_ : segment - ahead_);
      const auto offset = static_cast<std::int32_t>((phases_.reduces ? -1 : 0) - first % ranks_);
      loop.body.push_back(make_operation(OperationKind::send, 0, block_on_ring(offset, ranks_, segment)));
    }
    program_.loops.push_back(loop);
  }

  void add_receive(Loop& loop, std::int64_t step, std::int32_t segment) const {
    const bool reduces = phases_.reduces && step < ranks_ - 1;
    const auto offset = static_cast<std::int32_t>((phases_.reduces ? -2 : -1) - step % ranks_);
    loop.body.push_back(make_operation(reduces ? OperationKind::receive_reduce : OperationKind::receive, 1,
                                       block_on_ring(offset, ranks_, segment)));
  }

  std::int32_t ranks_;
  std::int32_t segments_;
  std::int32_t ahead_;
  RingPhases phases_;
  Program program_;
};

}  // namespace

ScheduleOrReason segmented_ring(const Collective& collective, const Placement& placement,
                                const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("segmented_ring", collective, 1);
  const std::int32_t channels = options.channels.value_or(1);
  const std::int32_t slices =
      options.slices.value_or(segments_automatic(collective, std::int64_t{channels} * ranks));
  Schedule schedule =
      schedule_frame("segmented_ring", collective, placement, options, {channels, slices}, ranks);
  schedule.channels = channels;
  schedule.slices = slices;
  const std::int32_t ahead = std::min(slices, schedule.slots);
  schedule.programs = {SegmentedRing(ranks, slices, ahead, ring_phases(collective.kind)).program()};
  const Rings rings(placement, options.order, channels, 1);
  if (collective.kind != CollectiveKind::all_reduce) schedule.owner = owner_on_rings(rings, slices);
  schedule.stream_count = [channels](Rank) { return channels; };
  schedule.bind = [rings, ranks, slices](Rank rank, std::int32_t channel, Binding& binding) {
    const std::int32_t position = rings.position_of(channel, rank);
    binding.peers.push_back(Peer{rings.rank_at(channel, (position + 1) % ranks), channel});
    binding.peers.push_back(Peer{rings.rank_at(channel, (position + ranks - 1) % ranks), channel});
    binding.bases.push_back(position);
    binding.bases.push_back(std::int64_t{channel} * slices);
  };
  schedule.symmetries = ring_symmetries(rings, ranks, slices, 1);
  return schedule;
}

}  // namespace collsim::algorithms
