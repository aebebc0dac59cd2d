// Ring: a reduce-scatter and an all-gather around a ring (Patarasuk and Yuan, JPDC 69(2), 2009), in the order
// of NCCL's runRing (src/device/all_reduce.h).
//
// N blocks. In step k = 0 .. 2N-3 the rank at position i sends block (i - 1 - k) mod N to position i + 1 and
// receives block (i - 2 - k) mod N from position i - 1; the steps 0 .. N-2 reduce, the others overwrite.
// A send of step k waits for the receive of step k - 1 of the same slice. Sends and receives run in separate
// streams: one that alternates them would deadlock with more slices than slots.
#include "algorithms/common.hpp"
#include "algorithms/exchanges.hpp"
#include "algorithms/ring_order.hpp"

namespace collsim::algorithms {
namespace {

// Bases: 0 = the position i, 1 = the first region of the channel.
ChunkExpression block_at(std::int32_t offset, std::int32_t ranks, std::int32_t slice) {
  ChunkExpression chunk;
  chunk.block_base = 0;
  chunk.block_offset = offset;
  chunk.block_stride = -1;
  chunk.block_modulus = ranks;
  chunk.region_base = 1;
  chunk.region_offset = slice;
  return chunk;
}

Program send_program(std::int32_t ranks, std::int32_t slices) {
  Loop first{1, {}};
  Loop rest{2 * std::int64_t{ranks} - 3, {}};
  for (std::int32_t slice = 0; slice < slices; ++slice) {
    first.body.push_back(make_operation(OperationKind::send, 0, block_at(-1, ranks, slice)));
    rest.body.push_back(make_operation(OperationKind::send, 0, block_at(-2, ranks, slice)));
    rest.body.back().dependencies.push_back(Dependency{0, slice, slices});
  }
  return Program{{first, rest}};
}

Program receive_program(std::int32_t ranks, std::int32_t slices) {
  Loop reducing{std::int64_t{ranks} - 1, {}};
  Loop gathering{std::int64_t{ranks} - 1, {}};
  for (std::int32_t slice = 0; slice < slices; ++slice) {
    reducing.body.push_back(make_operation(OperationKind::receive_reduce, 0, block_at(-2, ranks, slice)));
    // Step N - 1 + t receives block (i - 2 - (N - 1 + t)) mod N = (i - 1 - t) mod N.
    gathering.body.push_back(make_operation(OperationKind::receive, 0, block_at(-1, ranks, slice)));
  }
  return Program{{reducing, gathering}};
}

// Every channel has its own order of ranks, so each is turned alone.
Symmetry one_position_on(const std::shared_ptr<const RingOrder>& order, std::int32_t channel,
                         std::int32_t ranks, std::int32_t slices) {
  Symmetry symmetry;
  symmetry.name = "one position on in the ring of channel " + std::to_string(channel);
  symmetry.first_stream = 2 * channel;
  symmetry.stream_count = 2;
  symmetry.first_region = channel * slices;
  symmetry.region_count = slices;
  symmetry.rank = [order, channel, ranks](Rank rank) {
    return order->rank_at(channel, (order->position_of(channel, rank) + 1) % ranks);
  };
  symmetry.block = Rotation{0, ranks, 1, ranks, 1};
  return symmetry;
}

}  // namespace

ScheduleOrReason ring(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("ring", collective, 1);
  const auto rings = static_cast<std::int32_t>(placement.node_rings.size());
  const std::int32_t channels = options.channels.value_or(channels_automatic(placement, rings));
  const std::int32_t slices = options.slices.value_or(1);
  Schedule schedule = schedule_frame("ring", collective, placement, options, {channels, slices}, ranks);
  schedule.channels = channels;
  schedule.slices = slices;
  schedule.programs = {send_program(ranks, slices), receive_program(ranks, slices)};
  schedule.stream_count = [channels](Rank) { return 2 * channels; };
  const auto order = std::make_shared<const RingOrder>(placement, options.order, channels);
  // Stream 2c sends on channel c, stream 2c + 1 receives.
  schedule.bind = [order, ranks, slices](Rank rank, std::int32_t stream, Binding& binding) {
    const std::int32_t channel = stream / 2;
    const bool sends = stream % 2 == 0;
    const std::int32_t position = order->position_of(channel, rank);
    const std::int32_t neighbour = (position + (sends ? 1 : ranks - 1)) % ranks;
    binding.program = sends ? 0 : 1;
    binding.peers.push_back(Peer{order->rank_at(channel, neighbour), channel});
    binding.bases.push_back(position);
    binding.bases.push_back(std::int64_t{channel} * slices);
    if (sends) binding.streams.push_back(stream + 1);
  };
  for (std::int32_t channel = 0; channel < channels; ++channel)
    schedule.symmetries.push_back(one_position_on(order, channel, ranks, slices));
  return schedule;
}

}  // namespace collsim::algorithms
