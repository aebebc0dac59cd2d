// Forest: spanning trees over the ranks of one cluster along which a collective is to run.
//
// Every tree carries an equal piece of the vector. Where the collective has a part a rank (all_gather,
// reduce_scatter), `pieces` trees are rooted at every rank and carry its part; else `pieces` trees carry the
// whole vector, and where the collective has a root, all of them hang from it. A tree that should carry twice
// as much is there twice.
//
// Data goes down a tree (all_gather, broadcast), up it (reduce_scatter, reduce), or up and then down
// (all_reduce).
//
// Invariants
//   I1  trees.size() = pieces, times ranks where the collective has parts; tree t then carries piece
//       (t mod pieces) of the part of rank floor(t / pieces), which is its root
//   I2  following parents from any rank ends at the root
// Made by topologies::pack_forest(), used by algorithms::synthesized().
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"

namespace collsim {

struct SpanningTree {
  Rank root = 0;
  std::vector<Rank> parent;           // [rank]; -1 for the root
  std::vector<std::int32_t> channel;  // [rank]: of its connections with its parent; 0 for the root
};

struct Forest {
  CollectiveKind kind = CollectiveKind::all_gather;  // that it was packed for
  Rank root = 0;                                     // of broadcast and reduce
  std::int32_t ranks = 1;
  std::int32_t pieces = 1;
  std::vector<SpanningTree> trees;
  // How long the busiest link is busy for large vectors, in millionths of what the tightest cut needs: at
  // least 1,000,000, which is optimal. 0 with one rank.
  std::int64_t busiest_millionths = 0;
};

}  // namespace collsim
