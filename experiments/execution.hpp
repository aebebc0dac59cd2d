// Execution of one schedule: its proof, its plan, its values on the device, and its time.
//
//   Schedule -> Proof -> Plan -> values checked -> runs timed -> ExecutedPoint
//
// Values      Exact inputs first: in three serial orders (as planned, latest first, random by the seed) and
// in
//             parallel, then random ones in parallel. A serial run of more than serial_tasks_max tasks is
//             left out, and a note says so. Random inputs need a bound of the error; where there is none, or
//             nothing rounds, or the schedule is not proven, exact ones are used in their place. Where the
//             bound is so wide that a result could lack a contribution, exact ones are used too. A schedule
//             that is not proven is run in serial orders alone: what it forgets to order may differ from run
//             to run, and a report should not.
// Times       Before runs are timed, each set of buffers is used at least once, and warmup_time_min goes by,
//             unless no warm-up is wanted. There are enough sets that a run finds nothing in a cache of the
//             device, as far as half of its free memory and sets_max allow. Where memory does not last after
//             all, one set; and if that fails, a note.
// Limits      What a plan needs is compared with what is free before anything large is made.
// Errors      DeviceError of the kinds missing and failed; other kinds become the status of the point.
#pragma once

#include <cstdint>
#include <optional>

#include "experiments/executed_point.hpp"
#include "experiments/proofs.hpp"
#include "kernels/backend.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::program {

constexpr std::int64_t serial_tasks_max = 500'000;
constexpr std::int32_t sets_max = 64;
// Wrong schedules of more bytes are not diagnosed: counting takes 8 bytes an element and many runs.
constexpr std::int64_t diagnosed_bytes_max = std::int64_t{1} << 28;

struct ExecutionOptions {
  bool exact = true;   // inputs that are checked
  bool random = true;  // the same
  std::int64_t runs = 20;
  std::int64_t warmups = 5;
  bool fused = false;
  std::uint64_t seed = 1;
};

// Why so many ranks of such a collective cannot be run, before any schedule is made: the point has status
// limit. True: there is no such reason. O(1).
bool may_fit(kernels::Backend& backend, ExecutedPoint& point);

// Completes a point. REQUIRES: status ok so far; the point has the schedule's collective and ranks.
void execute_schedule(kernels::Backend& backend, Proofs& proofs, const Schedule& schedule,
                      const ExecutionOptions& options, ExecutedPoint& point);

using kernels::memory_text;

}  // namespace collsim::program
