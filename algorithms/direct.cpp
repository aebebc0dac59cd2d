// Direct: whoever has something for another sends it there, all at once (grouped ncclSend and ncclRecv,
// NVIDIA/nccl-tests src/alltoall.cu, sendrecv.cu, scatter.cu and gather.cu; linear broadcast and reduce of
// Open MPI, ompi/mca/coll/basic).
//
//   all_to_all         N - 1 sends a rank: over one port latency + (N - 1) S / (N B)
//   send_recv          rank r to r + 1
//   broadcast, scatter the root sends to all
//   reduce, gather     the root receives from all
//
// All_to_all and send_recv are not in place: what a rank keeps for itself, a stream copies. Streams of the
// others: one for each message that the root sends, to root + 1, root + 2, ...; one that receives, from
// root - 1, root - 2, ...
#include "algorithms/direct_streams.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr const char* name = "direct";

OperationTemplate copy_of(ChunkExpression chunk) {
  OperationTemplate operation = make_operation(OperationKind::copy, -1, chunk);
  operation.source = chunk;
  operation.source.buffer = Buffer::input;
  return operation;
}

// Stream 0 copies, stream p sends to peer p and receives from the rank whose peer p this one is. Bases: 0 the
// rank whose part it copies or sends, 1 the rank that it receives from.
Schedule all_to_all(const Collective& collective, const Placement& placement,
                    const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, ranks);
  schedule.in_place = false;
  const auto send = make_operation(OperationKind::send, 0, block_of(0, 0, ranks, Buffer::input));
  const auto receive = make_operation(OperationKind::receive, 1, block_of(1, 0, ranks));
  schedule.programs = {one_operation(copy_of(block_of(0, 0, ranks))), Program{{Loop{1, {send, receive}}}}};
  const auto bind = [translation = translation_of(ranks)](std::int32_t stream, Binding& binding) {
    const Rank from = translation.home(stream);
    binding.program = stream == 0 ? 0 : 1;
    binding.bases = {stream, from};
    if (stream > 0) binding.peers = {{stream, 0}, {from, 0}};
  };
  set_streams_of_rank_0(schedule, ranks, 2, bind);
  return schedule;
}

// Streams: 0 sends, 1 receives.
Schedule send_recv(const Collective& collective, const Placement& placement,
                   const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, 1);
  schedule.in_place = false;
  if (ranks == 1) {
    schedule.programs = {one_operation(copy_of(whole_of(Buffer::output)))};
    schedule.stream_count = [](Rank) { return 1; };
    schedule.bind = [](Rank, std::int32_t, Binding&) {};
    return schedule;
  }
  schedule.programs = {one_operation(make_operation(OperationKind::send, 0, whole_of(Buffer::input))),
                       one_operation(make_operation(OperationKind::receive, 0, whole_of(Buffer::output)))};
  schedule.stream_count = [](Rank) { return 2; };
  schedule.bind = [ranks](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.peers.push_back(Peer{(rank + (stream == 0 ? 1 : ranks - 1)) % ranks, 0});
  };
  return schedule;
}

Rank turned(Rank root, std::int32_t by, std::int32_t ranks) {
  return static_cast<Rank>((std::int64_t{root} + by + ranks) % ranks);
}

// The root sends to all: the whole vector, or the peer's part. Bases: 0 the rank whose part it is.
Schedule from_root(const Collective& collective, const Placement& placement,
                   const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const bool parts = in_parts(collective.kind);
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, parts ? ranks : 1);
  const ChunkExpression chunk = parts ? block_of(0, 0, ranks) : whole_of(Buffer::output);
  schedule.programs = {one_operation(make_operation(OperationKind::send, 0, chunk)),
                       one_operation(make_operation(OperationKind::receive, 0, chunk))};
  const Rank root = collective.root;
  schedule.stream_count = [ranks, root](Rank rank) { return rank == root ? ranks - 1 : 1; };
  schedule.bind = [ranks, root, parts](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = rank == root ? 0 : 1;
    const Rank peer = rank == root ? turned(root, stream + 1, ranks) : root;
    binding.peers.push_back(Peer{peer, 0});
    if (parts) binding.bases.push_back(rank == root ? peer : rank);
  };
  return schedule;
}

// The root receives from all: sums, or the peer's part. Bases: 0 the own rank.
Schedule to_root(const Collective& collective, const Placement& placement, const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const bool parts = in_parts(collective.kind);
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, parts ? ranks : 1);
  const auto chunk = [&](std::int32_t offset) {
    return parts ? block_of(0, offset, ranks) : whole_of(Buffer::output);
  };
  schedule.programs = {one_operation(make_operation(OperationKind::send, 0, chunk(0))),
                       one_of_each_peer(parts ? OperationKind::receive : OperationKind::receive_reduce,
                                        ranks - 1, [&](std::int32_t i) { return chunk(-1 - i); })};
  const Rank root = collective.root;
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [ranks, root, parts](Rank rank, std::int32_t, Binding& binding) {
    binding.program = rank == root ? 1 : 0;
    if (parts) binding.bases.push_back(rank);
    for (std::int32_t i = 1; rank == root && i < ranks; ++i)
      binding.peers.push_back(Peer{turned(root, -i, ranks), 0});
    if (rank != root) binding.peers.push_back(Peer{root, 0});
  };
  return schedule;
}

}  // namespace

ScheduleOrReason direct(const Collective& collective, const Placement& placement,
                        const AlgorithmOptions& options) {
  if (collective.kind == CollectiveKind::all_to_all) return all_to_all(collective, placement, options);
  if (collective.kind == CollectiveKind::send_recv) return send_recv(collective, placement, options);
  if (placement.ranks() == 1) return empty_schedule(name, collective, 1);
  const bool outward =
      collective.kind == CollectiveKind::broadcast || collective.kind == CollectiveKind::scatter;
  return outward ? from_root(collective, placement, options) : to_root(collective, placement, options);
}

}  // namespace collsim::algorithms
