// The two binary trees of NCCL over the numbers 0 .. count - 1 (ncclGetBtree and ncclGetDtree, NCCL
// src/graph/trees.cc), used by double_binary_tree and nvls_tree.
//
// In the first tree the lowest set bit of a number is its height; 0 is the root and has one child. The second
// is the first with the numbers from `fixed` on mirrored where they are even many, shifted by one where they
// are odd many. fixed = 0 is NCCL's; fixed = 1 keeps number 0 as the root of both.
//
// Complexity  O(log count) for a vertex.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace collsim::algorithms {

struct TreeVertex {
  std::int32_t parent = -1;  // -1: this is the root
  std::int32_t child_count = 0;
  std::array<std::int32_t, 2> child{};

  std::span<const std::int32_t> children() const {
    return std::span(child).first(static_cast<std::size_t>(child_count));
  }
};

// REQUIRES: 0 <= number < count; tree is 0 or 1; 0 <= fixed < count
TreeVertex vertex_of_tree(std::int32_t tree, std::int32_t count, std::int32_t number, std::int32_t fixed = 0);

}  // namespace collsim::algorithms
