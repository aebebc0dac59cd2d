// Placements on which every algorithm can run, for tests.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/model/placement.hpp"

namespace collsim::testing {

inline Placement ideal_placement(std::int32_t nodes, std::int32_t gpus, std::int32_t nics = 1) {
  Placement placement;
  placement.nodes = nodes;
  placement.gpus_per_node = gpus;
  placement.nics_per_node = nics;
  placement.interconnect = InterconnectKind::nvswitch;
  placement.fabric = nodes > 1 ? FabricKind::single_switch : FabricKind::none;
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = true;
  return placement;
}

// Nodes of so many GPUs each, not all as many.
inline Placement uneven_placement(const std::vector<std::int32_t>& gpus, std::int32_t nics = 1) {
  Placement placement = ideal_placement(static_cast<std::int32_t>(gpus.size()), 0, nics);
  placement.first_rank = {0};
  for (const std::int32_t count : gpus) {
    placement.gpus_per_node = std::max(placement.gpus_per_node, count);
    placement.first_rank.push_back(placement.first_rank.back() + count);
  }
  return placement;
}

// Nodes of one GPU on a torus of these sides.
inline Placement torus_placement(const std::vector<std::int32_t>& sides) {
  std::int32_t nodes = 1;
  for (const std::int32_t side : sides) nodes *= side;
  Placement placement = ideal_placement(nodes, 1, 0);
  placement.interconnect = InterconnectKind::none;
  placement.fabric = FabricKind::torus;
  placement.dimensions = sides;
  placement.node_reduction.enabled = false;
  placement.fabric_reduction.enabled = false;
  return placement;
}

// All nodes x GPUs = ranks with at most 8 GPUs a node, all ranks in one node, and the squarest torus.
inline std::vector<Placement> all_shapes(std::int32_t ranks) {
  std::vector<Placement> shapes = {ideal_placement(1, ranks)};
  for (std::int32_t gpus = 1; gpus <= 8; ++gpus)
    if (ranks % gpus == 0 && ranks > gpus)
      shapes.push_back(ideal_placement(ranks / gpus, gpus, (gpus + 1) / 2));
  std::int32_t side = 1;
  for (std::int32_t i = 1; i * i <= ranks; ++i)
    if (ranks % i == 0) side = i;
  shapes.push_back(torus_placement({ranks / side, side}));
  return shapes;
}

}  // namespace collsim::testing
