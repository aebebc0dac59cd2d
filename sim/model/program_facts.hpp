// What a program asks of its bindings, and how much it does. Internal to sim/model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/model/schedule.hpp"

namespace collsim {

inline bool is_receive(OperationKind kind) {
  return kind == OperationKind::receive || kind == OperationKind::receive_reduce;
}
inline bool is_message(OperationKind kind) { return kind == OperationKind::send || is_receive(kind); }
inline bool is_aggregation(OperationKind kind) {
  return kind == OperationKind::aggregate || kind == OperationKind::collect;
}
inline bool is_local(OperationKind kind) {
  return kind == OperationKind::copy || kind == OperationKind::reduce;
}

inline bool reads_source(const OperationTemplate& operation) {
  return is_local(operation.kind) ||
         (operation.kind == OperationKind::receive_reduce && operation.from_source);
}

// The same cells in every trip, be it in input or output. Only what is written alike is recognised.
inline bool same_cells(const ChunkExpression& a, const ChunkExpression& b) {
  return a.buffer != Buffer::scratch && b.buffer != Buffer::scratch && a.region_base == b.region_base &&
         a.origin_base == b.origin_base && a.block_base == b.block_base &&
         a.region_offset == b.region_offset && a.region_stride == b.region_stride &&
         a.block_offset == b.block_offset && a.block_stride == b.block_stride &&
         a.block_modulus == b.block_modulus && a.block_unit == b.block_unit && a.span == b.span;
}

// Mathematical mod, never negative; mostly without a division. REQUIRES: modulus >= 1
inline std::int64_t modulo(std::int64_t value, std::int64_t modulus) {
  if (value >= modulus || value < -modulus) value %= modulus;
  return value < 0 ? value + modulus : value;
}

// More than any proof follows; what counts cells stays below `much`, so that sums do not overflow.
constexpr std::int64_t trips_max = std::int64_t{1} << 29;
constexpr std::int64_t much = std::int64_t{1} << 61;

struct ProgramFacts {
  struct PeerUse {
    std::int64_t sends = 0;
    std::int64_t receives = 0;
  };
  std::vector<PeerUse> peers;  // [slot]
  std::size_t bases = 0;       // how many a binding must have
  std::size_t streams = 0;
  std::size_t groups = 0;
  std::int64_t operations = 0;
  std::int64_t sends = 0;
  std::int64_t cell_operations = 0;  // operations times the blocks that each touches
  bool well_formed = true;  // counts and indices in range, no modulus below 1; else nothing else holds
  bool plain =
      true;  // every operation stays within a cell; no aggregation, no scratch; blocks counted upwards
  bool reads_input = false;

  explicit ProgramFacts(const Program& program) {
    for (const Loop& loop : program.loops) {
      well_formed = well_formed && loop.trips >= 0 && loop.trips <= trips_max;
      if (!well_formed) return;
      for (const OperationTemplate& operation : loop.body) add(operation, loop.trips);
    }
  }

  bool fits(const Binding& binding) const {
    return binding.peers.size() >= peers.size() && binding.bases.size() >= bases &&
           binding.streams.size() >= streams && binding.groups.size() >= groups;
  }

 private:
  void add(const OperationTemplate& operation, std::int64_t trips) {
    operations += trips;
    if (operation.kind != OperationKind::wait) use(operation.chunk);
    if (reads_source(operation)) use(operation.source);
    cell_operations = std::min(cell_operations + trips * std::max(operation.chunk.span, 1), much);
    const auto slot = static_cast<std::size_t>(operation.peer);
    if (is_message(operation.kind) || is_aggregation(operation.kind))
      well_formed = well_formed && operation.peer >= 0;
    if (is_message(operation.kind) && operation.peer >= 0) {
      if (peers.size() <= slot) peers.resize(slot + 1);
      (operation.kind == OperationKind::send ? peers[slot].sends : peers[slot].receives) += trips;
      if (operation.kind == OperationKind::send) sends += trips;
    }
    if (is_aggregation(operation.kind) && operation.peer >= 0) groups = std::max(groups, slot + 1);
    plain = plain && !is_aggregation(operation.kind) &&
            (!reads_source(operation) || same_cells(operation.source, operation.chunk));
    if (operation.kind != OperationKind::send && operation.kind != OperationKind::wait)
      plain = plain && operation.chunk.buffer == Buffer::output;
    for (const Dependency& dependency : operation.dependencies) {
      well_formed = well_formed && dependency.stream_slot >= 0;
      streams = std::max(streams, static_cast<std::size_t>(dependency.stream_slot + 1));
    }
  }
  void use(const ChunkExpression& chunk) {
    for (const std::int8_t slot : {chunk.region_base, chunk.origin_base, chunk.block_base})
      bases = std::max(bases, static_cast<std::size_t>(slot + 1));
    well_formed = well_formed && chunk.block_modulus >= 1;
    plain = plain && chunk.buffer != Buffer::scratch && chunk.block_unit >= 1 && chunk.span >= 1;
    reads_input = reads_input || chunk.buffer == Buffer::input;
  }
};

std::vector<ProgramFacts> facts_of_programs(const Schedule& schedule);

}  // namespace collsim
