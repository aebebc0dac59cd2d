// Placement: what an algorithm may know of a cluster: how many ranks, how they are grouped, and what can
// reduce.
//
// Ranks are numbered node by node. Where all nodes have as many GPUs (is_even()), rank = node * gpus_per_node
// + gpu. A Topology publishes its Placement; algorithms see nothing else of it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/cluster.hpp"

namespace collsim {

struct Placement {
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 1;  // uneven: of the largest node
  // Uneven nodes: the first rank of each node, and the number of ranks; else empty.
  std::vector<std::int32_t> first_rank;
  std::int32_t nics_per_node = 0;
  InterconnectKind interconnect = InterconnectKind::none;
  FabricKind fabric = FabricKind::none;
  std::vector<std::int32_t> dimensions;  // torus, mesh: node number = x + A * (y + B * z)
  Bandwidth node_bandwidth;              // of a GPU into the interconnect, one direction; 0 = no interconnect
  Bandwidth fabric_bandwidth;      // of a GPU's share of its node's links into the fabric; 0 = no fabric
  ReductionSpec node_reduction;    // the switches of a node can reduce (NVLS)
  ReductionSpec fabric_reduction;  // the switches of the fabric can reduce (SHARP)
  // Link-disjoint Hamiltonian rings inside a node of a mesh-like interconnect, as orders of GPU numbers;
  // empty on a switch, where every order is as good.
  std::vector<std::vector<std::int32_t>> node_rings;

  bool is_even() const { return first_rank.empty(); }
  std::int32_t ranks() const { return is_even() ? nodes * gpus_per_node : first_rank.back(); }
  std::int32_t first_rank_of(std::int32_t node) const {
    return is_even() ? node * gpus_per_node : first_rank[static_cast<std::size_t>(node)];
  }
  std::int32_t gpus_of(std::int32_t node) const { return first_rank_of(node + 1) - first_rank_of(node); }
  std::int32_t node_of(Rank rank) const;  // uneven: O(log nodes)
};

// A part of a cluster, as an algorithm is to see it: `ranks` of the whole in some order.
struct PartPlacement {
  Placement placement;
  std::vector<Rank> rank_map;  // rank of the part -> rank of the whole
};
// `by_number`: rank i of the part is ranks[i], and the placement is what is true of them in that order (a
// flat cluster of single GPUs where nodes do not hold consecutive ranks). Else the ranks are renumbered by
// number in the whole, so node by node.
//
// Kept: bandwidths, what reduces, and the kind of the fabric; its dimensions where all nodes are there in
// their order (else a grid is `custom`); node_rings where every node is there with all its GPUs by number.
// nics_per_node: NICs that the part's GPUs of a node use, the most of any node.
// O(ranks log ranks). REQUIRES: ranks are distinct, below whole.ranks(), and not empty
PartPlacement part_of(const Placement& whole, const std::vector<Rank>& ranks, bool by_number);

}  // namespace collsim
