// Compiled schedules: the programs of all jobs of a run flattened into arrays for the executor's inner loop.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/schedule.hpp"

namespace collsim {

struct CompiledOperation {
  OperationKind kind = OperationKind::wait;
  std::int32_t peer = -1;   // index into the stream's peers or groups
  std::int64_t bytes = -1;  // if the same for every stream and trip, else -1
  ChunkExpression chunk;
  std::uint32_t first_wait = 0;  // into CompiledPrograms::waits
  std::uint32_t wait_count = 0;
};

struct CompiledLoop {
  std::int64_t trips = 0;
  std::uint32_t first_operation = 0;
  std::uint32_t operation_end = 0;
};

struct CompiledProgram {
  std::uint32_t first_loop = 0;
  std::uint32_t loop_end = 0;
  bool reduces = false;  // contains receive_reduce or reduce
  bool copies = false;
  bool uniform = false;             // all blocks of its schedule have one size
  bool by_region = false;           // sizes depend on the stream's regions only, not on blocks or trips
  std::int64_t send_count = 0;      // of one run through it
  std::vector<bool> sends_to;       // [peer slot]
  std::vector<bool> receives_from;  // [peer slot]
};

// Whether every block of every region has the same size.
bool uniform(const Layout& layout);

struct CompiledPrograms {
  std::vector<CompiledProgram> programs;
  std::vector<CompiledLoop> loops;
  std::vector<CompiledOperation> operations;
  std::vector<Dependency> waits;

  // Appends the programs of `schedule`; empty loops are left out. Returns the number of its first program.
  std::uint32_t add(const Schedule& schedule);
};

}  // namespace collsim
