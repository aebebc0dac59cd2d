// k-nomial trees of any radix, shared by binomial_tree and knomial_tree.
//
// Numbers are relative to the root: v = (rank - root) mod N. With z trailing zeros of v in base k, the
// subtree of v is the range [v, v + k^z), cut off at N; how long it is, its extent, says all about a node.
// The children of a node of extent e are v + j * k^i for all j = 1 .. k-1 and i with j * k^i < e; the parent
// is v without its lowest digit that is not 0. The root has extent N.
//
// One stream a rank: from the children, nearest first; to the parent; from the parent; to the children,
// farthest first (so that the deepest subtree starts first). What a collective does not need is left out.
//   all_reduce, barrier   both ways, the whole vector
//   reduce, gather        up: sums, or the parts of the child's subtree
//   broadcast, scatter    down, likewise
// Parts are numbered relative to the root, so that those of a subtree lie side by side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

// Calls use(distance, extent) for the children of a node of extent `extent`, nearest first.
template <typename Use>
void for_each_child(std::int64_t extent, std::int64_t radix, const Use& use) {
  for (std::int64_t unit = 1; unit < extent; unit *= radix)
    for (std::int64_t distance = unit; distance < extent && distance < unit * radix; distance += unit)
      use(static_cast<std::int32_t>(distance), static_cast<std::int32_t>(std::min(unit, extent - distance)));
}

// REQUIRES: radix >= 2, a collective of the list above
Schedule nomial_tree(const char* name, std::int32_t radix, const Collective& collective,
                     const Placement& placement, const AlgorithmOptions& options);

}  // namespace collsim::algorithms
