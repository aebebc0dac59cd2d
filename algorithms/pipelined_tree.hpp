// Streams of trees that carry a vector slice by slice, up (reduce), down (broadcast) or both at once; shared
// by double_binary_tree, kary_tree and chain.
//
// A rank has, for each tree, these streams in this order; what its place or the collective does not need is
// left out:
//   up receive    adds the slices of all children, child by child
//   up send       to the parent, after the last child of the slice
//   down receive  from the parent
//   down send     one for each child, after the down receive (root: the last up receive) of the slice
// Slice k of tree t is region t * slices + k; connections of tree t use channel number t.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/common.hpp"

namespace collsim::algorithms {

struct TreeFlow {
  bool up = false;
  bool down = false;
};

// reduce: up; broadcast: down; all_reduce and barrier: both.
TreeFlow tree_flow_of(CollectiveKind kind);

// Where a rank is in a tree.
struct TreePlace {
  Rank parent = -1;  // none: the root
  std::vector<Rank> children;
};

class TreeStreams {
 public:
  // child_counts: how many children a rank can have, 0 left out.
  TreeStreams(TreeFlow flow, std::int32_t slices, std::vector<std::int32_t> child_counts);

  const TreeFlow& flow() const { return flow_; }
  std::vector<Program> programs() const;
  // Streams of a rank in one tree.
  std::int32_t count(std::int32_t children, bool has_parent) const {
    return (flow_.up ? (children > 0 ? 1 : 0) + (has_parent ? 1 : 0) : 0) +
           (flow_.down ? (has_parent ? 1 : 0) + children : 0);
  }
  // Stream `first + role` of a rank, whose streams in tree `tree` begin at `first`.
  // REQUIRES: the number of children is 0 or one of child_counts; 0 <= role < count(...)
  void bind(const TreePlace& place, std::int32_t tree, std::int32_t first, std::int32_t role,
            Binding& binding) const;

 private:
  std::int32_t index_of(std::int32_t children) const;

  TreeFlow flow_;
  std::int32_t slices_;
  std::vector<std::int32_t> child_counts_;  // sorted, unlike
};

// Pieces of 512 KiB of a part of the vector (1 / parts of it), at most 256.
std::int32_t tree_slices_automatic(const Collective& collective, std::int32_t parts);

}  // namespace collsim::algorithms
