// Proof of a translated schedule (translation.hpp) by the streams of rank 0 and one cell of every region.
// Internal to sim/model.
//
// Translated  The binding of every rank is that of rank 0 moved, by construction. Checked here, on the
//             programs: chunks move with it. A chunk is one block whose position comes from a moving base
//             (rotation: any affine position modulo the ranks; exclusive or: the base itself), or all blocks
//             of a region. So the translation by g maps streams, connections and cells onto each other, and
//             the contract with them: no root, block b is rank b's where blocks have owners.
// Pairing     The ends of rank 0 are all there is: what rank 0 receives from p is, moved, what rank 0 sends
//             to home(p). Each connection has one sending and one receiving stream, as many sends as
//             receives, and the n-th of both name the same blocks. So every message moves a cell to the same
//             cell.
// Deadlock    All streams of a number step together (proof_orbits.hpp has the argument): the streams of rank
//             0 are run on counters, with the schedule's slots.
// Contents    Translations bring any block to block 0, so one cell a region stands for all. The operations of
//             all ranks that touch it are those of rank 0 that touch any block, moved: a schedule of its own,
//             with one block, which is proven by executing all its cells. Dependencies on operations that do
//             not touch the cell become those on the last one before that does; less order, never more.
//             An all-to-all moves cells: there every message must go straight from the sender's input to the
//             target's output, and each block of output be written once.
// Refusals    A cell that is not proven so (fewer dependencies are known than there are); aggregations,
//             copies, scratch, sums from another source; collectives with a root, and send_recv.
// Complexity  O(m log m) for m = operations of rank 0 (and regions of them that are traced), memory O(m).
#pragma once

#include <optional>

#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

// Nothing where it is refused: nothing is said about the schedule then. Else a proof, or what is wrong: ends
// that do not pair up, or a deadlock.
// Adds what it finds to `numerics`, if that is given.
std::optional<Proof> prove_translated(const Schedule& schedule, Numerics* numerics = nullptr);

}  // namespace collsim
