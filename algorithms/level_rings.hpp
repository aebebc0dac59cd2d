// Rings at every level of a cluster: the engine of cascade, torus_bucket and hierarchical.
//
// Levels 0 .. L-1 with p_0 .. p_{L-1} members. Rank r = x_0 + p_0 (x_1 + p_1 (x_2 + ...)). A region has a
// plan: in which order its reduce-scatter takes the levels, and which way its rings run. With the levels in
// plan order, block b has the digits b_1 .. b_L, b_1 most significant, so that the super-block of step i of
// the plan, all blocks that begin with given b_1 .. b_i, is contiguous: U_i = p_{i+1} ... p_L blocks. At step
// i the ranks that differ only in that level's coordinate run the ring of ring.cpp over the p_i super-blocks
// that begin with their own coordinates of the steps before. Afterwards rank r holds the block whose digits
// are its coordinates, and the all-gathers retrace the steps (Cho et al., BlueConnect, MLSys 2019). A
// reduce-scatter ends there; an all-gather begins there.
//
// Streams     One a region; its number is that of the region and of its connections' channel.
// Complexity  bind is O(levels). Programs: two a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

struct LevelPlan {
  std::vector<std::int32_t> order;  // levels, as the reduce-scatter takes them
  bool scatter_backwards = false;   // rings of the reduce-scatters run from member i to i - 1
  bool gather_backwards = false;    // those of the all-gathers
  friend bool operator==(const LevelPlan&, const LevelPlan&) = default;
};

struct LevelRings {
  std::vector<std::int32_t> levels;  // members, each more than 1
  std::int32_t channels = 1;
  std::int32_t slices = 1;
  std::vector<LevelPlan> plans;       // different ones
  std::vector<std::int32_t> plan_of;  // [region = channel * slices + slice]
  // A slice enters a step, on the way in and on the way back, when the slice of its channel before it has
  // left it on this rank. REQUIRES: the slices of a channel have one plan
  bool one_after_another = true;

  std::int32_t add_plan(const LevelPlan& plan);  // its number
};

// The levels that are meant: the option, else [GPUs a node, then the sides of a torus or mesh, or the nodes].
std::vector<std::int32_t> levels_of(const Placement& placement, const AlgorithmOptions& options);
// Why these cannot be the levels of `ranks` ranks, or nothing.
std::optional<Impossible> check_levels(const std::vector<std::int32_t>& levels, std::int32_t ranks);

// REQUIRES: all_reduce, reduce_scatter or all_gather; at least two ranks
Schedule level_rings(const char* algorithm, const Collective& collective, const Placement& placement,
                     const AlgorithmOptions& options, const LevelRings& shape);

}  // namespace collsim::algorithms
