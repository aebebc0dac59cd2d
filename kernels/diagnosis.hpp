// Diagnosis: what exactly is wrong with a schedule, found by executing it.
//
// Inputs are made so that a result tells which contributions it holds, and how often: a cell is a few 64-bit
// integers. The first is a random number of the contributor, by which a wrong cell is recognised; in the
// others contributor n (a rank's cell that it gives, or one that is undefined until it is written) counts in
// hexadecimal digit n mod 16 of integer n / 16. So every sum is decoded exactly, as long as no count is above
// 15; many contributors are counted a part a run. Copies are sums of one. The sentences are those of the
// symbolic proof (sim/model/proof.hpp), so that the two can be compared; where nothing can be decoded, it is
// "holds a wrong sum" there too.
//
// Orders      As planned; with everything late that can be; each stream in turn as late as can be
//             (plan_orders.hpp: shows both sides of every race, as long as there are no more than
//             delayed_streams_max streams); random; and in parallel.
// Complexity  Memory and time of runs with up to 512 bytes a cell. Runs: the orders, and for the first wrong
//             one as many again as it takes to count all contributors, 1008 at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::kernels {

// A cell of a rank that is not what the contract wants.
struct CellFinding {
  Rank rank = 0;
  std::int64_t cell = 0;  // region * blocks + block
  ProofFailure failure;   // its sentence; stream and step are not known to an execution
};

constexpr std::size_t findings_max = 20;
constexpr std::int32_t delayed_streams_max = 64;

struct Diagnosis {
  std::vector<CellFinding> findings;  // by rank and cell, of the first wrong run; at most findings_max
  std::int64_t wrong_cells = 0;       // of that run, all of them
  bool only_in_some_orders = false;   // right in one order and wrong in another: a race
  std::int64_t orders_run = 0;
  bool right() const { return wrong_cells == 0; }
};

// Runs the schedule's plan, neither direct nor fused, in several orders, one task after the other, and in
// parallel, with counting inputs in place of the user's datatype. The schedule may have any datatype and
// reduction: what is counted is contributions. Empty cells are followed too, as in a proof.
// REQUIRES: plan_of(schedule) is a plan; the backend can add uint64. Throws DeviceError.
Diagnosis diagnose(const Schedule& schedule, Backend& backend);

}  // namespace collsim::kernels
