// What exchanges between all pairs share: one_shot, two_shot, direct, parameter_server.
//
// Peers are taken in the order r + 1, r + 2, ... by the senders and r - 1, r - 2, ... by the receivers, so
// that every sub-step is a permutation. A rank has one stream a peer to send, which starts at once.
#pragma once

#include "algorithms/common.hpp"

namespace collsim::algorithms {

// Block (Binding::bases[base] + offset) mod `modulus`.
inline ChunkExpression block_of(std::int8_t base, std::int32_t offset, std::int32_t modulus,
                                Buffer buffer = Buffer::output) {
  ChunkExpression chunk;
  chunk.buffer = buffer;
  chunk.block_base = base;
  chunk.block_offset = offset;
  chunk.block_modulus = modulus;
  return chunk;
}

inline ChunkExpression whole_of(Buffer buffer) {
  ChunkExpression chunk;
  chunk.buffer = buffer;
  return chunk;
}

// Whom send stream `number` (from 0) of a rank serves.
inline Rank peer_after(Rank rank, std::int32_t number, std::int32_t ranks) {
  return static_cast<Rank>((std::int64_t{rank} + 1 + number) % ranks);
}

// rank - 1, rank - 2, ... around all `ranks`.
void add_peers_before(Rank rank, std::int32_t ranks, std::int32_t channel, Binding& binding);

// One loop of `count` operations, operation i with peer i and the chunk chunk_of(i).
template <typename ChunkOf>
Program one_of_each_peer(OperationKind kind, std::int32_t count, const ChunkOf& chunk_of) {
  Loop loop;
  for (std::int32_t i = 0; i < count; ++i) loop.body.push_back(make_operation(kind, i, chunk_of(i)));
  return Program{{loop}};
}
Program one_operation(const OperationTemplate& operation);

// Rank r -> r + 1, block b -> b + 1 where there are several.
Symmetry next_rank(std::int32_t ranks, std::int32_t stream_count, std::int32_t blocks);

// All-gather: every rank sends its part to all others. Streams: 0 receives, 1 + p sends to r + 1 + p.
// REQUIRES: at least two ranks
Schedule direct_all_gather(const char* name, const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options);

}  // namespace collsim::algorithms
