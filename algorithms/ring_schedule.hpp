// What rings are made of: positions on a ring of ranks, in one direction or in both.
//
// Rings       Ring q of a schedule has its own regions (slices of them), its own connections (channel q) and
//             its own order of ranks. With two directions, rings 2c and 2c + 1 run along the order of channel
//             c forwards and backwards. On every ring a position sends to the next one only.
// Blocks      Block b of a region of ring q is the part of the rank at position b of ring q.
// Complexity  O(dimensions) a call; memory as RingOrder.
#pragma once

#include <memory>

#include "algorithms/common.hpp"
#include "algorithms/ring_order.hpp"

namespace collsim::algorithms {

class Rings {
 public:
  Rings(const Placement& placement, RankOrder order, std::int32_t channels, std::int32_t directions);

  std::int32_t count() const { return count_; }
  // REQUIRES: 0 <= ring < count(), 0 <= position, rank < ranks. The two are each other's inverse.
  Rank rank_at(std::int32_t ring, std::int32_t position) const;
  std::int32_t position_of(std::int32_t ring, Rank rank) const;

 private:
  std::int32_t ranks_;
  std::int32_t directions_;
  std::int32_t count_;
  std::shared_ptr<const RingOrder> order_;
};

// What all blocks of one region do on a ring: how often they move in sum, and how often as they are.
struct RingPhases {
  bool reduces = true;
  bool gathers = true;
};
// all_reduce: both; reduce_scatter; all_gather and barrier (the all-gather of nothing).
RingPhases ring_phases(CollectiveKind kind);

// Block (position + offset - trip) mod ranks of region (bases[1] + slice); bases[0] is the position.
ChunkExpression block_on_ring(std::int32_t offset, std::int32_t ranks, std::int32_t slice);

// The owner of a block, for Schedule::owner. `slices` regions a ring.
std::function<Rank(std::int32_t, std::int32_t)> owner_on_rings(const Rings& rings, std::int32_t slices);

// One position on, for each ring alone: every ring has an order of its own. `streams` streams a ring.
std::vector<Symmetry> ring_symmetries(const Rings& rings, std::int32_t ranks, std::int32_t slices,
                                      std::int32_t streams);

// All-reduce, reduce-scatter, all-gather or barrier around `directions` rings a channel, each with a stream
// that sends and one that receives.
Schedule exchange_around_rings(const char* name, const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options, std::int32_t channels,
                               std::int32_t directions);

}  // namespace collsim::algorithms
