// MscclRun: the steps of a file executed without time and data, as NCCL does it. Internal to the msccl files.
//
// A step that receives and sends (rcs, rrs, rrcs) needs its message and a free slot at once, and gives the
// slot of the message back at its end: a ring of rcs needs two slots, where receives and sends in steps of
// their own need one. A dependency is over when a step is done that tells so (MscclIndex::waits_for).
// Thread blocks are deterministic and connections deliver in order, so whether all end does not depend on the
// order of execution (Kahn, 1974).
//
// Complexity  O(steps) time and memory a run; the smallest number of slots takes O(log messages) runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/msccl_static.hpp"

namespace collsim::algorithms {

struct MscclRun {
  bool ended = false;               // all steps were done
  std::vector<std::int32_t> order;  // steps, as they were done
  std::vector<std::int32_t> done;   // [tb]: steps done
  std::vector<std::int32_t> sent;   // [link]: messages sent
  std::vector<std::int32_t> taken;  // [link]: messages received
};

// REQUIRES: sends and receives pair up, dependencies exist; slots >= 1
MscclRun run_msccl(const MscclIndex& index, std::int64_t slots);

// The smallest number of slots with which all steps are done, or nothing if no number is enough.
std::optional<std::int64_t> smallest_slots(const MscclIndex& index);

// Names the cycle of thread blocks in which each waits for the next. REQUIRES: run has not ended
void explain_deadlock(const MscclIndex& index, const MscclRun& run, std::int64_t slots,
                      MscclFindings& findings);

}  // namespace collsim::algorithms
