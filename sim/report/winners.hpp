// Winners: which algorithm is the fastest at which size, and what a selection takes.
//
// Of points of status ok. Equally fast algorithms share a size: the one that also won the size before is
// named, else the first in the order of the points, so that a range does not break at a tie. Selections
// (`auto`, `nccl`) run what others run: one is left out of a size where an algorithm of the table is as fast,
// else it competes, and is named with what it takes: "auto (one_shot)". Complexity O(points squared) of a
// size
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/point.hpp"

namespace collsim {

// Indices into the points.
struct SizeWinner {
  Bytes bytes;
  std::size_t fastest = 0;
  std::optional<std::size_t> next;  // the fastest of another algorithm; absent where there is none
};

// By size, increasing; sizes at which nothing ran are left out. `labels`: of the points (labels_of).
// REQUIRES: the points are of one collective on one cluster
std::vector<SizeWinner> winners_of(const std::vector<Point>& points, const std::vector<std::string>& labels);

// Neighbours of a list that have the same name: from index `first` to `last`.
struct NameRange {
  std::string name;
  std::size_t first = 0;
  std::size_t last = 0;
};
std::vector<NameRange> ranges_of(const std::vector<std::string>& names);

// As comments: of one size who is the fastest; of several, times by algorithm and size with the fastest
// marked, where they fit a line; a line for each size where not; then the ranges of sizes, and those of what
// each selection takes, and the times that its model predicts. Empty where there is nothing to compare.
std::string winners_text(const std::vector<Point>& points);

}  // namespace collsim
