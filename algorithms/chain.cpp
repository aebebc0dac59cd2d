// Chain: a pipeline through all ranks, slice by slice (NCCL src/device/broadcast.h and reduce.h: its rings,
// cut at the root). Broadcast, reduce, and an all-reduce as a reduce to one end and the broadcast back.
//
// Every channel has an order of its own (ring_order.hpp), turned so that it begins at the root: the rank at
// position p passes on to p + 1, sums to p - 1. With c slices that each take tau on their own links, a
// broadcast or reduce takes (N - 1)(latency + tau) + (c - 1) tau, an all-reduce 2 (N - 1)(latency + tau) +
// (c - 1) tau. Every rank sends the vector once (all-reduce: at most twice).
//
// Streams: pipelined_tree.hpp with one child, tree c is channel c.
#include <utility>

#include "algorithms/pipelined_tree.hpp"
#include "algorithms/ring_order.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

struct Chain {
  std::int32_t ranks;
  std::int32_t channels;
  Rank root;
  RingOrder order;
  TreeStreams streams;

  std::int32_t position_of(std::int32_t channel, Rank rank) const {
    return (order.position_of(channel, rank) - order.position_of(channel, root) + ranks) % ranks;
  }
  Rank rank_at(std::int32_t channel, std::int32_t position) const {
    return order.rank_at(channel, (position + order.position_of(channel, root)) % ranks);
  }
  std::int32_t streams_at(std::int32_t position) const {
    return streams.count(position + 1 < ranks ? 1 : 0, position > 0);
  }
  std::int32_t stream_count(Rank rank) const {
    std::int32_t count = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel)
      count += streams_at(position_of(channel, rank));
    return count;
  }
  void bind(Rank rank, std::int32_t stream, Binding& binding) const {
    std::int32_t first = 0;
    std::int32_t channel = 0;
    while (stream >= first + streams_at(position_of(channel, rank)))
      first += streams_at(position_of(channel++, rank));
    const std::int32_t position = position_of(channel, rank);
    TreePlace place;
    if (position > 0) place.parent = rank_at(channel, position - 1);
    if (position + 1 < ranks) place.children.push_back(rank_at(channel, position + 1));
    streams.bind(place, channel, first, stream - first, binding);
  }
};

}  // namespace

ScheduleOrReason chain(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("chain", collective, 1);
  const auto rings = static_cast<std::int32_t>(placement.node_rings.size());
  const std::int32_t channels = options.channels.value_or(channels_automatic(placement, rings));
  const std::int32_t slices = options.slices.value_or(tree_slices_automatic(collective, channels));
  const Rank root = has_root(collective.kind) ? collective.root : options.root.value_or(0);
  Chain chain{ranks, channels, root, RingOrder(placement, options.order, channels),
              TreeStreams(tree_flow_of(collective.kind), slices, {1})};
  Schedule schedule = schedule_frame("chain", collective, placement, options, {channels, slices}, 1);
  schedule.channels = channels;
  schedule.slices = slices;
  // The collective names its root.
  if (has_root(collective.kind) && options.root) schedule.unused_options.emplace_back("root");
  schedule.programs = chain.streams.programs();
  const auto shared = std::make_shared<const Chain>(std::move(chain));
  schedule.stream_count = [shared](Rank rank) { return shared->stream_count(rank); };
  schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
    shared->bind(rank, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
