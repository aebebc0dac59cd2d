// What exchanges between all pairs share: one_shot, two_shot, direct, parameter_server.
//
// Every rank does the same, seen from itself: its peer number p = 1 .. N-1 is rank r XOR p where N is a power
// of two, else r + p modulo N. Messages of one number are a permutation of the ranks. So rank 0 stands for
// all (sim/model/translation.hpp), and of 131,072 ranks only the streams of one are ever bound.
//
// A rank has one stream a peer to send, which starts at once.
#pragma once

#include <functional>

#include "algorithms/common.hpp"
#include "sim/model/translation.hpp"

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

// One loop of `count` operations, operation i with peer i and the chunk chunk_of(i).
template <typename ChunkOf>
Program one_of_each_peer(OperationKind kind, std::int32_t count, const ChunkOf& chunk_of) {
  Loop loop;
  for (std::int32_t i = 0; i < count; ++i) loop.body.push_back(make_operation(kind, i, chunk_of(i)));
  return Program{{loop}};
}
Program one_operation(const OperationTemplate& operation);

// Which of the two it is: exclusive_or for a power of two, else rotation.
Translation translation_of(std::int32_t ranks);
// Gives the schedule the same streams for all ranks, as rank 0 has them, and publishes that as symmetries
// where it is in place. The first moving_bases entries of Binding::bases are blocks of ranks.
void set_streams_of_rank_0(Schedule& schedule, std::int32_t streams, std::size_t moving_bases,
                           std::function<void(std::int32_t, Binding&)> bind);

// All-gather: every rank sends its part to all others. Stream p - 1 sends to peer p and receives from the
// rank whose peer p this one is. REQUIRES: at least two ranks
Schedule direct_all_gather(const char* name, const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options);
// Reduce-scatter, and all-gather of the sums where the collective wants them (two_shot.cpp).
// REQUIRES: at least two ranks
Schedule direct_reduce_scatter(const char* name, const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options);

}  // namespace collsim::algorithms
