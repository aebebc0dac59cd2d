#include "algorithms/exchange_common.hpp"

namespace collsim::algorithms {

ChunkExpression fixed_blocks(Buffer buffer, std::int32_t first, std::int32_t span, std::int32_t count,
                             std::int32_t stride) {
  ChunkExpression chunk;
  chunk.buffer = buffer;
  chunk.block_offset = first;
  chunk.block_stride = stride;
  chunk.block_modulus = count;
  chunk.span = span;
  return chunk;
}

ChunkExpression relative_block(Buffer buffer, std::int32_t offset, std::int32_t ranks, std::int32_t stride) {
  ChunkExpression chunk = fixed_blocks(buffer, offset, 1, ranks, stride);
  chunk.block_base = 0;
  return chunk;
}

OperationTemplate make_copy(const ChunkExpression& to, const ChunkExpression& from) {
  OperationTemplate copy = make_operation(OperationKind::copy, -1, to);
  copy.source = from;
  return copy;
}

void add_once(Program& program, const OperationTemplate& operation) {
  program.loops.push_back(Loop{1, {operation}});
}

Symmetry next_rank_symmetry(std::int32_t ranks, std::int32_t streams) {
  Symmetry symmetry;
  symmetry.name = "next rank";
  symmetry.stream_count = streams;
  symmetry.region_count = 1;
  symmetry.rank = [ranks](Rank rank) { return (rank + 1) % ranks; };
  symmetry.block = Rotation{0, ranks, 1, ranks, 1};
  return symmetry;
}

Schedule single_rank_schedule(const char* name, const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  if (collective.kind != CollectiveKind::all_to_all) return empty_schedule(name, collective, 1);
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, 1);
  schedule.in_place = false;
  schedule.programs.emplace_back();
  add_once(schedule.programs.back(),
           make_copy(fixed_blocks(Buffer::output, 0, 1, 1), fixed_blocks(Buffer::input, 0, 1, 1)));
  schedule.stream_count = [](Rank) { return 1; };
  return schedule;
}

}  // namespace collsim::algorithms
