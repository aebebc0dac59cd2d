// RingOrder: in which order the rings of the channels visit the ranks.
//
// rank        By rank number, the same for every channel.
// automatic   Node by node. Nodes go in the order of a reflected mixed-radix Gray code on a torus, mesh or
//             hypercube, by number elsewhere. Inside a node the order of channel c starts at the first GPU of
//             NIC (c mod NICs) and goes on by number, or along one of the node's link-disjoint rings. On a
//             rail-optimised fat tree every second node runs backwards, so that the ring enters a node on the
//             rail on which it left the one before.
//             Nodes of unequal numbers of GPUs go by the same rules, without rings of their own.
// Complexity  O(dimensions) a call, uneven O(dimensions + log nodes); memory O(GPUs of a node x channels),
//             uneven O(nodes x channels).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/placement.hpp"

namespace collsim::algorithms {

class RingOrder {
 public:
  RingOrder(const Placement& placement, RankOrder order, std::int32_t channels);

  // REQUIRES: 0 <= position, rank < ranks, 0 <= channel < channels. The two are each other's inverse.
  Rank rank_at(std::int32_t channel, std::int32_t position) const;
  std::int32_t position_of(std::int32_t channel, Rank rank) const;

 private:
  std::int32_t node_at(std::int32_t position) const;
  std::int32_t position_of_node(std::int32_t node) const;
  void set_uneven(const Placement& placement, std::int32_t channels);
  Rank uneven_rank_at(std::int32_t channel, std::int32_t position) const;
  std::int32_t uneven_position_of(std::int32_t channel, Rank rank) const;

  std::int32_t gpus_ = 1;
  bool by_rank_ = false;
  bool alternate_ = false;                // every second node runs backwards
  std::vector<std::int32_t> dimensions_;  // most significant first; empty = nodes by number
  std::vector<std::int32_t> strides_;     // [dimension]: in the node number
  std::vector<std::int32_t> gpu_at_;      // [channel * gpus + position in the node]
  std::vector<std::int32_t> place_of_;    // [channel * gpus + gpu]
  // Uneven nodes, else empty.
  std::vector<std::int32_t> first_rank_;      // [node], and the number of ranks
  std::vector<std::int32_t> first_position_;  // [turn], and the number of ranks
  std::vector<std::int32_t> entry_;           // [channel * nodes + node]: the GPU at place 0
};

}  // namespace collsim::algorithms
