// verify_symmetry(): does a published permutation map a schedule onto itself?
//
// Shown, in one pass over the bindings of the symmetry's streams: ranks and streams are permuted; the image
// of every stream has the same program, the images of its peers with the rotated channels, of the streams
// that its dependencies name and of its groups, and every chunk of every operation in every trip lies at the
// image of its cells.
//
// All trips at once  The two streams share the program, so a chunk's position in trip k is (p + k * stride)
//             mod M in the one and (q + k * stride) mod M in the other. Three cases move alike for all k:
//             (a) the position is the rotated digit itself, with the same unit and modulus: q = p + shift;
//             (b) all positions lie in one unit of the digit: p = q, and the origin moves; (c) chunk, unit
//             and origin are whole turns of the digit: a rotation maps such a range onto itself. Chunks that
//             do not move with the trip are compared as they are. Whatever else is refused, even if true.
// Not shown   That sends and receives pair up, that chunks lie inside the layout, sizes of cells, rails of
//             groups.
// Complexity  O(streams + sizes of their programs), each stream bound once; memory O(streams of a rank).
#pragma once

#include <optional>
#include <string>

#include "sim/model/schedule.hpp"

namespace collsim {

// Scratch is private to a rank and may be numbered either way: all its chunks lie at the image of their
// cells, or all lie where they lay. Why the symmetry is none of the schedule's, in one sentence, or nothing.
std::optional<std::string> verify_symmetry(const Schedule& schedule, const Symmetry& symmetry);

// Why the symmetry does not map what the collective gives and wants onto itself, or nothing. Root kinds: the
// root stays; parts: the image of a block belongs to the image of its owner; send_recv: the next rank's image
// is the next of the image. O(ranks + cells of its regions). REQUIRES: verify_symmetry() has found nothing,
// and Contract::problem() neither
std::optional<std::string> verify_contract(const Schedule& schedule, const Symmetry& symmetry);

}  // namespace collsim
