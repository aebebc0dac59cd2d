// Diagnosis: what exactly is wrong with a schedule, found by executing it.
//
// Inputs are made so that a result tells which contributions it holds, and how often: in 64-bit integers,
// rank r of a group of 16 gives 16^r, so that a sum is a number whose digits are counts (below 16; groups one
// after the other, for any number of ranks). Copies hold the rank and the cell that they come from. The
// sentences are those of the symbolic proof (sim/model/proof.hpp), so that the two can be compared.
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

struct Diagnosis {
  std::vector<CellFinding> findings;  // by rank and cell; at most findings_max
  std::int64_t wrong_cells = 0;       // all of them
  bool only_in_some_orders = false;   // right as planned, wrong when run in another order: a race
  std::int64_t orders_run = 0;
};

// Runs the plan in several orders, one after the other, and in parallel, with counting inputs in place of the
// user's datatype. `plan` is that of the schedule, neither direct nor fused. The schedule may have any
// datatype and reduction: what is counted is contributions.
Diagnosis diagnose(const Schedule& schedule, Backend& backend);

}  // namespace collsim::kernels
