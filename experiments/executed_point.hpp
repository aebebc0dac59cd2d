// ExecutedPoint: one collective of one size by one algorithm, run on real buffers, and what came out.
//
// Invariants
//   I1  `reason` is empty if and only if status is ok
//   I2  `times` is set only if status is ok, and then if any run was timed
// Units       Times are measured, in picoseconds as all times are; a clock counts them in nanoseconds or
//             worse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/diagnosis.hpp"
#include "kernels/plan.hpp"
#include "kernels/values.hpp"
#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/proof.hpp"

namespace collsim::program {

// wrong       a run gave other values than the collective wants
// unproven    refuted by its proof, not decided by it, or not runnable at all, though no run gave a wrong
//             value
// deadlock    no order of the operations comes to an end; nothing was run
// impossible  the cluster or the device cannot run it
// limit       it does not fit the memory, or has too many operations
// failed      a call to the device failed: values and times are worth nothing
enum class ExecutionStatus : std::uint8_t { ok, wrong, unproven, deadlock, impossible, limit, failed };
const char* name_of(ExecutionStatus status);

enum class ProofVerdict : std::uint8_t { none, proven, refuted, undecided };
const char* name_of(ProofVerdict verdict);

// One run whose values were compared.
struct CheckedRun {
  kernels::InputKind inputs = kernels::InputKind::exact;
  std::string order;       // "as planned", "latest first", "random", "parallel"
  std::int64_t wrong = 0;  // elements of outputs, changed elements of inputs, and breached guards
};
const char* name_of(kernels::InputKind inputs);

struct Times {
  Duration median;  // of an even number: the mean of the two in the middle, rounded down
  Duration minimum;
  Duration maximum;
  std::int64_t runs = 1;
  std::int64_t warmups = 0;
  std::int32_t sets = 1;  // of buffers, which the runs take in turn
};

// A run wrote outside the memory of a rank.
struct BreachedArea {
  kernels::AreaKind kind = kernels::AreaKind::output;
  Rank rank = 0;
  bool before = false;     // its first byte, else past its end
  std::int64_t bytes = 0;  // between there and the first byte that was changed
};
// "rank 3: written 64 bytes past the end of its scratch"
std::string text_of(const BreachedArea& breach);

struct ExecutedPoint {
  Collective collective;
  std::string algorithm;
  std::string options;  // as the user asked for
  std::string chosen;   // what a selection took; empty where there was no choice
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  bool in_place = true;

  ExecutionStatus status = ExecutionStatus::ok;
  std::string reason;
  std::string detail;  // of the reason, for people: what may differ from run to run, as free memory does
  ProofVerdict proof = ProofVerdict::none;
  std::vector<ProofFailure> proof_failures;
  std::int64_t tasks = 0;
  std::int64_t memory_bytes = 0;   // of all buffers
  std::int64_t traffic_bytes = 0;  // read and written by all tasks of a run

  std::vector<CheckedRun> checks;  // in the order in which they were run
  std::int64_t wrong = 0;          // of the worst of them
  std::int64_t checked = 0;        // elements that ranks want, of one run
  std::optional<double> error_of_bound;
  std::int64_t unlike_ranks = 0;
  std::optional<kernels::ValueReport> first_wrong;  // of the first run that was wrong
  std::vector<BreachedArea> breaches;               // the same
  kernels::Diagnosis diagnosis;                     // where something was wrong
  std::vector<std::string> notes;                   // what was not checked, and why

  std::optional<Times> times;
  std::optional<Duration> predicted;  // by simulation on the cluster of the file

  bool ran() const { return !checks.empty(); }
};

// Ends the point. False, for functions that go on while all is well.
bool fail(ExecutedPoint& point, ExecutionStatus status, std::string reason);

// What the two verdicts say of each other: "the proof and the execution agree", or how not. Empty where
// nothing ran or nothing was proven.
std::string agreement_of(const ExecutedPoint& point);

}  // namespace collsim::program
