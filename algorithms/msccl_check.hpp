// check_msccl(): is an MSCCL file right, where is it wrong, and what does NCCL do with it.
//
// Refuted by (errors)
//   before it runs    chunks outside their buffers; writes to the input of a call out of place; a step
//                     without the peer it needs; two thread blocks on one connection; sends and receives
//                     that do not pair up, in number or in chunks; dependencies on what is not there or
//                     never tells
//   while it runs     a deadlock with the given slots, as the cycle of steps that wait for each other
//   by its data       a result that does not hold each contribution exactly once, with the steps that spoil
//                     it; a chunk that is read or overwritten while another thread block may still need it
// Warned of           limits and misreadings of NCCL, ignored fields that point outside, work for nothing
//
// A file for calls in place and out of place is checked as both. What is refuted before it runs is not run,
// what deadlocks is not looked at further. The verdict on data is that of prove() on the schedule of the file
// (msccl_schedule.hpp); the finding names what the file itself says: gpu, tb, step, line, "o[12]".
//
// Complexity  A 64-rank ring on 8 channels, 129,024 steps, takes less than a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/msccl_file.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

struct MscclCheck {
  enum class Verdict { proven, refuted, undecided };
  bool in_place = false;
  Verdict verdict = Verdict::undecided;
  bool deadlock = false;
  std::int64_t messages = 0;
  std::optional<std::int64_t> slots_min;  // the smallest number that works; nothing: none does, or not run
  std::vector<MscclFinding> findings;     // errors first; 20 of each severity at most
  std::int64_t errors = 0;                // found, also those that are not kept; of wrong results at least
  std::int64_t warnings = 0;
  std::string reason;  // of undecided
};

// One for each kind of call that the file is for. REQUIRES: slots >= 1
std::vector<MscclCheck> check_msccl(const MscclFile& file, std::int32_t slots = slots_default);

}  // namespace collsim::algorithms
