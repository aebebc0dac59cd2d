// prove(): shows, without any notion of time, that a schedule computes its collective.
//
// Shown: sends and receives pair up with equal sizes, no access outside the layout, no deadlock with the
// schedule's slots, every element of every result holds what the collective wants there (contract.hpp: of
// sums, every contribution exactly once), and no chunk is overwritten or read while another stream could
// still need it. Every cell is traced, including cells that are empty at this size, so a proof holds for
// every size of the same structure.
//
// Three methods
//   all cells          One random token a rank and cell (fixed seed), sums modulo 2^61 - 1, executed as a
//                      dataflow network with bounded connections, whose outcome does not depend on the order
//                      of execution. Where a check fails the failing cell is traced again with exact sets to
//                      say what is missing or counted twice. O(cell operations) time; 24 bytes a rank and
//                      cell, in batches of cells below 32 MiB (all at once where contents move between
//                      cells), and O(streams + connections + messages in flight).
//   one cell an orbit  The symmetries that the schedule publishes are verified on its bindings
//                      (symmetry.hpp); pairing and deadlock are decided on one stream an orbit, and one cell
//                      an orbit is traced through all ranks (proof_orbits.hpp). O(streams) time a symmetry
//                      and a traced cell. A symmetry that does not hold is not used, never believed.
//   one slice          Where every trip of every loop does the same in regions of its own, which is verified
//                      on all programs and bindings (proof_slices.hpp): all cells of the first trip.
// prove() executes all cells where that is cheap (2e5 cell operations) or the only way; else one cell an
// orbit where the schedule publishes symmetries, then one slice. What none can do within about 1e10
// operations is undecided, and the failure says why. A schedule made from rank 0 by translation
// (translation.hpp) is proven from rank 0 (proof_translation.hpp) where that has the form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/numerics.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

struct ProofFailure {
  Rank rank = -1;
  std::int32_t stream = -1;
  std::int64_t step = -1;  // operation index in the stream; -1 where the failure has none
  std::string text;        // one sentence: "rank 3: block 2 of region 0 holds rank 1 twice and lacks rank 5"
};

enum class ProofMethod { all_cells, one_cell_an_orbit, one_slice };
const char* name_of(ProofMethod method);  // "all cells", "one cell an orbit", "one slice"

// run       every operation was executed with the schedule's slots
// quotient  one stream an orbit was executed with the schedule's slots (why that is exact: proof_orbits.hpp)
// one_slice one trip of every stream was executed with the schedule's slots (why the others do the same:
//           proof_slices.hpp)
enum class DeadlockFreedom { not_shown, run, quotient, one_slice };
const char* name_of(DeadlockFreedom shown);  // "not shown", "run", "quotient", "one slice"

struct Proof {
  bool proven = false;
  bool undecided = false;  // neither proven nor refuted: failures say what stood in the way
  bool deadlock = false;
  std::vector<ProofFailure> failures;  // at most 20; empty if and only if proven
  std::int64_t messages = 0;           // sends in the whole schedule
  ProofMethod method = ProofMethod::all_cells;
  DeadlockFreedom deadlock_freedom = DeadlockFreedom::not_shown;
  std::int64_t symmetries = 0;                   // verified and used
  std::int64_t cells_traced = 0;                 // cells of the layout whose contents were followed
  std::vector<std::string> rejected_symmetries;  // published, but not used, and why
  Numerics numerics;                             // known only if asked for, and if proven
};

struct ProofOptions {
  bool numerics = false;  // follow the order of additions too, in the same pass: up to twice the time
};

Proof prove(const Schedule& schedule, const ProofOptions& options = {});
// All cells, whatever it costs; to compare with.
Proof prove_all_cells(const Schedule& schedule, const ProofOptions& options = {});

// The smallest number of slots a connection with which the schedule does not deadlock (more never hurt).
struct SmallestSlots {
  bool known = false;                 // else malformed, or more than 3e7 operations
  std::optional<std::int32_t> slots;  // nothing: it deadlocks with any
};
// By executing it without contents: O(operations * log slots).
SmallestSlots smallest_slots(const Schedule& schedule);

}  // namespace collsim
