#include "algorithms/ring_schedule.hpp"

namespace collsim::algorithms {
namespace {

Program send_program(std::int32_t ranks, std::int32_t slices, RingPhases phases) {
  // The first block is the one before the own position where it is to be summed up on its way round, and the
  // own one where it is complete.
  const std::int32_t start = phases.reduces ? -1 : 0;
  const std::int64_t steps = (std::int64_t{phases.reduces} + phases.gathers) * (ranks - 1);
  Loop first{1, {}};
  Loop rest{steps - 1, {}};
  for (std::int32_t slice = 0; slice < slices; ++slice) {
    first.body.push_back(make_operation(OperationKind::send, 0, block_on_ring(start, ranks, slice)));
    rest.body.push_back(make_operation(OperationKind::send, 0, block_on_ring(start - 1, ranks, slice)));
    rest.body.back().dependencies.push_back(Dependency{0, slice, slices});
  }
  return Program{{first, rest}};
}

Program receive_program(std::int32_t ranks, std::int32_t slices, RingPhases phases) {
  Program program;
  const auto add = [&](OperationKind kind, std::int32_t offset) {
    Loop loop{std::int64_t{ranks} - 1, {}};
    for (std::int32_t slice = 0; slice < slices; ++slice)
      loop.body.push_back(make_operation(kind, 0, block_on_ring(offset, ranks, slice)));
    program.loops.push_back(loop);
  };
  if (phases.reduces) add(OperationKind::receive_reduce, -2);
  // In an all-reduce, step N - 1 + t receives block (i - 2 - (N - 1 + t)) mod N = (i - 1 - t) mod N.
  if (phases.gathers) add(OperationKind::receive, -1);
  return program;
}

}  // namespace

Rings::Rings(const Placement& placement, RankOrder order, std::int32_t channels, std::int32_t directions)
    : ranks_(placement.ranks()),
      directions_(directions),
      count_(channels * directions),
      order_(std::make_shared<const RingOrder>(placement, order, channels)) {}

Rank Rings::rank_at(std::int32_t ring, std::int32_t position) const {
  const bool backwards = ring % directions_ == 1;
  return order_->rank_at(ring / directions_, backwards ? ranks_ - 1 - position : position);
}

std::int32_t Rings::position_of(std::int32_t ring, Rank rank) const {
  const std::int32_t position = order_->position_of(ring / directions_, rank);
  return ring % directions_ == 1 ? ranks_ - 1 - position : position;
}

RingPhases ring_phases(CollectiveKind kind) {
  return {kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter,
          kind != CollectiveKind::reduce_scatter};
}

ChunkExpression block_on_ring(std::int32_t offset, std::int32_t ranks, std::int32_t slice) {
  ChunkExpression chunk;
  chunk.block_base = 0;
  chunk.block_offset = offset;
  chunk.block_stride = -1;
  chunk.block_modulus = ranks;
  chunk.region_base = 1;
  chunk.region_offset = slice;
  return chunk;
}

std::function<Rank(std::int32_t, std::int32_t)> owner_on_rings(const Rings& rings, std::int32_t slices) {
  return [rings, slices](std::int32_t region, std::int32_t block) {
    return rings.rank_at(region / slices, block);
  };
}

std::vector<Symmetry> ring_symmetries(const Rings& rings, std::int32_t ranks, std::int32_t slices,
                                      std::int32_t streams) {
  std::vector<Symmetry> symmetries;
  for (std::int32_t ring = 0; ring < rings.count(); ++ring) {
    Symmetry& symmetry = symmetries.emplace_back();
    symmetry.name = "one position on in the ring of channel " + std::to_string(ring);
    symmetry.first_stream = streams * ring;
    symmetry.stream_count = streams;
    symmetry.first_region = ring * slices;
    symmetry.region_count = slices;
    symmetry.rank = [rings, ring, ranks](Rank rank) {
      return rings.rank_at(ring, (rings.position_of(ring, rank) + 1) % ranks);
    };
    symmetry.block = Rotation{0, ranks, 1, ranks, 1};
  }
  return symmetries;
}

Schedule exchange_around_rings(const char* name, const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options, std::int32_t channels,
                               std::int32_t directions) {
  const std::int32_t ranks = placement.ranks();
  const std::int32_t slices = options.slices.value_or(1);
  const RingPhases phases = ring_phases(collective.kind);
  Schedule schedule =
      schedule_frame(name, collective, placement, options, {channels, directions, slices}, ranks);
  schedule.channels = channels;
  schedule.slices = slices;
  schedule.barrier_as = CollectiveKind::all_gather;
  schedule.programs = {send_program(ranks, slices, phases), receive_program(ranks, slices, phases)};
  const Rings rings(placement, options.order, channels, directions);
  if (collective.kind != CollectiveKind::all_reduce) schedule.owner = owner_on_rings(rings, slices);
  schedule.stream_count = [streams = 2 * rings.count()](Rank) { return streams; };
  // Stream 2q sends on ring q, stream 2q + 1 receives.
  schedule.bind = [rings, ranks, slices](Rank rank, std::int32_t stream, Binding& binding) {
    const std::int32_t ring = stream / 2;
    const bool sends = stream % 2 == 0;
    const std::int32_t position = rings.position_of(ring, rank);
    const std::int32_t neighbour = (position + (sends ? 1 : ranks - 1)) % ranks;
    binding.program = sends ? 0 : 1;
    binding.peers.push_back(Peer{rings.rank_at(ring, neighbour), ring});
    binding.bases.push_back(position);
    binding.bases.push_back(std::int64_t{ring} * slices);
    if (sends) binding.streams.push_back(stream + 1);
  };
  schedule.symmetries = ring_symmetries(rings, ranks, slices, 2);
  return schedule;
}

}  // namespace collsim::algorithms
