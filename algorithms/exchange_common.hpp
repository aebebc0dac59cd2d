// What exchanges of blocks share: chunks in the words of their programs, and the one rank that has only
// itself.
#pragma once

#include "algorithms/common.hpp"

namespace collsim::algorithms {

// `span` blocks from block `first` of a buffer of `count` blocks; `stride` further on in every trip.
ChunkExpression fixed_blocks(Buffer buffer, std::int32_t first, std::int32_t span, std::int32_t count,
                             std::int32_t stride = 0);
// Block (bases[0] + offset + stride * trip) mod ranks, where bases[0] is the own rank.
ChunkExpression relative_block(Buffer buffer, std::int32_t offset, std::int32_t ranks,
                               std::int32_t stride = 0);
OperationTemplate make_copy(const ChunkExpression& to, const ChunkExpression& from);
void add_once(Program& program, const OperationTemplate& operation);

// The next rank, with its block: for schedules that are the same from every rank.
Symmetry next_rank_symmetry(std::int32_t ranks, std::int32_t streams);

// One rank: nothing to do, or a copy from input to output where a schedule is never in place.
Schedule single_rank_schedule(const char* name, const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);

}  // namespace collsim::algorithms
