// PAT, parallel aggregated trees: all-gather and reduce-scatter with the far ranks first (Jeaugey, arXiv
// 2506.20252; NCCL src/include/collectives.h, PatAGAlgorithm and PatRSAlgorithm), fully aggregated.
//
// All-gather  N shifted binomial trees at once. The part of rank r + s reaches r from r + lowbit(s), which
//             had it as its own offset s - lowbit(s). Dimensions d go from high to low: with d, rank r gets
//             from r + d, in one message, all offsets s with lowbit(s) = d below N. So the far message
//             carries one part and the message to the neighbour half of all. Reduce-scatter is the same
//             backwards in time.
// Scratch     Block i is for offset order[i]. What is sent with d, the multiples of 2d below N - d, must lie
//             together, and what is received, the same plus d, in the same order. order(N): let E be twice
//             order(ceil(N/2)), the even offsets, with the largest of them first. N even: all of E plus 1,
//             then E. N odd: E, then E without its first (N - 1 has no successor) plus 1. Either way the
//             largest offset comes first, so that E holds what the next N asks, and E and the ranges in it
//             stay together.
// Streams     0 sends, 1 receives and copies. A send waits only for the receives of what it sends.
// Time        on a port a rank: ceil(log2 N) latencies + (N-1)/N S/B, less what is hidden.
// Programs    O(N) in all: each block is copied to its place by an operation of its own.
#include <algorithm>

#include "algorithms/exchange_common.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {
namespace {

std::vector<std::int32_t> order_of_offsets(std::int32_t ranks) {
  if (ranks == 1) return {0};
  std::vector<std::int32_t> even = order_of_offsets((ranks + 1) / 2);
  for (std::int32_t& offset : even) offset *= 2;
  std::vector<std::int32_t> odd(even.begin() + ranks % 2, even.end());
  for (std::int32_t& offset : odd) ++offset;
  std::vector<std::int32_t>& first = ranks % 2 == 0 ? odd : even;
  std::vector<std::int32_t>& second = ranks % 2 == 0 ? even : odd;
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The message of one dimension: scratch blocks [near, near + count) at the rank that the tree comes from and
// [far, far + count) at the rank that it goes to, `distance` below it.
struct Message {
  std::int32_t distance;
  std::int32_t near;
  std::int32_t far;
  std::int32_t count;
};

class Trees {
 public:
  explicit Trees(std::int32_t ranks) : ranks_(ranks), order_(order_of_offsets(ranks)) {
    place_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      place_[static_cast<std::size_t>(order_[i])] = static_cast<std::int32_t>(i);
    std::int64_t highest = 1;
    while (2 * highest < ranks) highest *= 2;
    for (std::int64_t distance = highest; distance >= 1; distance /= 2)
      messages_.push_back(message_of(static_cast<std::int32_t>(distance)));
  }

  const std::vector<Message>& messages() const { return messages_; }
  std::vector<Program> gather_programs() const;
  std::vector<Program> scatter_programs() const;

 private:
  // Both ranges are in one order, so each begins at its smallest place.
  Message message_of(std::int32_t distance) const {
    Message message{distance, ranks_, ranks_, 0};
    for (std::int64_t offset = 0; offset + distance < ranks_; offset += 2 * std::int64_t{distance}) {
      message.near = std::min(message.near, place_[static_cast<std::size_t>(offset)]);
      message.far = std::min(message.far, place_[static_cast<std::size_t>(offset + distance)]);
      ++message.count;
    }
    return message;
  }
  ChunkExpression near(const Message& message) const {
    return fixed_blocks(Buffer::scratch, message.near, message.count, ranks_);
  }
  ChunkExpression far(const Message& message) const {
    return fixed_blocks(Buffer::scratch, message.far, message.count, ranks_);
  }
  ChunkExpression place_of(std::int32_t offset) const {
    return fixed_blocks(Buffer::scratch, place_[static_cast<std::size_t>(offset)], 1, ranks_);
  }

  std::int32_t ranks_;
  std::vector<std::int32_t> order_;  // [scratch block]: offset
  std::vector<std::int32_t> place_;  // [offset]: scratch block
  std::vector<Message> messages_;    // far ones first
};

bool overlap(std::int32_t first, std::int32_t count, std::int32_t other, std::int32_t others) {
  return first < other + others && other < first + count;
}

std::vector<Program> Trees::gather_programs() const {
  Program sends;
  Program receives;
  add_once(receives, make_copy(place_of(0), relative_block(Buffer::output, 0, ranks_)));
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const Message& message = messages_[i];
    const auto peer = static_cast<std::int32_t>(i);
    OperationTemplate send = make_operation(OperationKind::send, peer, near(message));
    std::int64_t wait = 0;
    for (std::size_t before = 0; before < i; ++before)
      if (overlap(message.near, message.count, messages_[before].far, messages_[before].count))
        wait = static_cast<std::int64_t>(before) + 1;
    send.dependencies.push_back(Dependency{0, wait, 0});
    add_once(sends, send);
    add_once(receives, make_operation(OperationKind::receive, peer, far(message)));
  }
  Loop into_place{1, {}};
  for (std::int32_t offset = 1; offset < ranks_; ++offset)
    into_place.body.push_back(make_copy(relative_block(Buffer::output, offset, ranks_), place_of(offset)));
  receives.loops.push_back(into_place);
  return {sends, receives};
}

std::vector<Program> Trees::scatter_programs() const {
  Program sends;
  Program receives;
  Loop into_place{1, {}};
  for (const std::int32_t offset : order_)
    into_place.body.push_back(make_copy(place_of(offset), relative_block(Buffer::output, offset, ranks_)));
  receives.loops.push_back(into_place);
  for (std::size_t i = messages_.size(); i-- > 0;) {
    const Message& message = messages_[i];
    const auto peer = static_cast<std::int32_t>(i);
    OperationTemplate send = make_operation(OperationKind::send, peer, far(message));
    // The last sum into what is sent, or the copy of its last block.
    std::int64_t wait = message.far + message.count - 1;
    for (std::size_t before = messages_.size(); --before > i;)
      if (overlap(message.far, message.count, messages_[before].near, messages_[before].count))
        wait = ranks_ + static_cast<std::int64_t>(messages_.size() - 1 - before);
    send.dependencies.push_back(Dependency{0, wait, 0});
    add_once(sends, send);
    add_once(receives, make_operation(OperationKind::receive_reduce, peer, near(message)));
  }
  add_once(receives, make_copy(relative_block(Buffer::output, 0, ranks_), place_of(0)));
  return {sends, receives};
}

}  // namespace

ScheduleOrReason pat(const Collective& collective, const Placement& placement,
                     const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("pat", collective, 1);
  const bool scatters = collective.kind == CollectiveKind::reduce_scatter;
  const Trees trees(ranks);
  Schedule schedule = schedule_frame("pat", collective, placement, options, {}, ranks);
  schedule.layout.set_scratch_blocks(ranks);
  schedule.programs = scatters ? trees.scatter_programs() : trees.gather_programs();
  std::vector<std::int32_t> distances;
  for (const Message& message : trees.messages()) distances.push_back(message.distance);
  // Of rank 0: bases 0 is the own rank.
  const auto bind = [distances, ranks, scatters](std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.bases.push_back(0);
    binding.streams.push_back(1 - stream);
    const bool up = (stream == 0) == scatters;
    for (const std::int32_t distance : distances)
      binding.peers.push_back(Peer{up ? distance : ranks - distance, 0});
  };
  set_translated_streams(schedule, {{TranslationKind::rotation, ranks}, 2, 1, bind});
  schedule.symmetries = {next_rank_symmetry(ranks, 2)};
  return schedule;
}

}  // namespace collsim::algorithms
