// Numerics: what the order of additions of a schedule means for numbers that round.
//
// A floating-point sum depends on its order: addition commutes but does not associate. The proof of a
// schedule follows, beside what is added, in which order, as an expression in which the two operands of an
// addition may change places (prove() with ProofOptions::numerics). That is a matter of structure; what it
// means for a reduction and a datatype say the functions below.
//
//   same        All ranks that get an element get it from the same expression, so bitwise the same. A
//               recursive doubling does that (both partners add the same two operands), a one-shot exchange
//               does not (every rank starts with its own).
//   repeats     Every run has the same expressions. In a proven schedule what writes to a cell is ordered by
//               the schedule, never by time alone; so only sums of three or more that switches make differ
//               from run to run: the order in which contributions reach an NVSwitch or a SHARP tree is the
//               hardware's.
//   deep        The most additions that one contribution goes through. For partial results stored in a type
//               of unit roundoff u, |error| <= gamma(deep) * sum |x_i| with gamma(k) = k u / (1 - k u),
//               whatever the order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
//               4.2).
// Integers (modulo 2^n), minimum and maximum are exact in any order, but for NaNs and the sign of zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/model/collective.hpp"

namespace collsim {

struct Numerics {
  bool known = false;
  std::string reason;                // where not known
  bool same_on_all_ranks = true;     // bitwise, for a type that rounds
  bool repeats = true;               // bitwise, from run to run
  bool node_switches_add = false;    // three or more at once: why it does not repeat (NVLS)
  bool fabric_switches_add = false;  // (SHARP)
  std::int64_t additions_deep = 0;   // an in-network sum of k counts as k - 1, its worst order
};

// Rounding plays no part: integers, minimum, maximum, and collectives that add nothing.
bool is_exact(const Collective& collective);
// Largest relative error of one rounding to nearest; 0 for integers. Partial results travel in the datatype,
// so every addition rounds to it: float8 is added in float32 and stored in float8.
double unit_roundoff(Datatype datatype);

bool same_on_all_ranks(const Numerics& numerics, const Collective& collective);
bool repeats(const Numerics& numerics, const Collective& collective);
// "the switches of a node add in an order of their own (NVLS)"; empty where the runs repeat.
std::string why_not_repeated(const Numerics& numerics, const Collective& collective);

// A bound of the error of each element, without overflow and underflow, as a factor
//   sum    of sum |x_i|: gamma(deep)
//   avg    of sum |x_i| / N: gamma(deep + 1); it divides once
//   prod   of |product|: gamma(N - 1); each of the N - 1 multiplications counts, in any order
//   exact  0 (an integer avg is cut to an integer)
// Nothing where it is not known, or where k u >= 1: then there is no bound of this form.
std::optional<double> error_bound(const Numerics& numerics, const Collective& collective, std::int64_t ranks);

}  // namespace collsim
