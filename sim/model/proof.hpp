// prove(): shows, without any notion of time, that a schedule computes its collective.
//
// Shown: sends and receives pair up with equal sizes, no access outside the layout, no deadlock with the
// schedule's slots, every element of every result holds every contribution exactly once, and no chunk is
// overwritten or read while another stream could still need it. Every cell is traced, including cells that
// are empty at this size, so a proof holds for every size of the same structure.
//
// Method      One random token a rank and cell (fixed seed), sums modulo 2^61 - 1, executed as a dataflow
//             network with bounded connections, whose outcome does not depend on the order of execution.
//             Where a check fails the failing cell is traced again with exact sets to say what is missing or
//             counted twice.
// Complexity  O(cell operations) time; 24 bytes a rank and cell, in batches of cells below 32 MiB (all at
//             once where contents move between cells), and O(streams + connections + messages in flight).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/schedule.hpp"

namespace collsim {

struct ProofFailure {
  Rank rank = -1;
  std::int32_t stream = -1;
  std::int64_t step = -1;  // operation index in the stream; -1 where the failure has none
  std::string text;        // one sentence: "rank 3: block 2 of region 0 holds rank 1 twice and lacks rank 5"
};

struct Proof {
  bool proven = false;
  bool deadlock = false;
  std::vector<ProofFailure> failures;  // at most 20
  std::int64_t messages = 0;           // sends in the whole schedule
};

Proof prove(const Schedule& schedule);

}  // namespace collsim
