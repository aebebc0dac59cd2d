// In-network aggregation: which links a group of ranks uses where switches reduce.
//
// Inside a node (NVLS): the NVSwitch plane `rail mod planes` reduces and multicasts for GPUs of one node.
// Across nodes (SHARP): over a single switch or a fat tree, the tree of rail i climbs from leaf level by port
// i mod u, from the next by port floor(i / u) mod u, up to the lowest level that covers all members.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/model/topology.hpp"
#include "topologies/fat_tree.hpp"

namespace collsim::topologies {

// Where the cables are that aggregations use.
struct AggregationInput {
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 1;
  std::int32_t nics_per_node = 0;
  std::int32_t planes = 1;
  Cable interior_cables = 0;  // of one node; those of node 0 start at 0
  Cable first_nic_cable = 0;  // of rank 0, one a rank
  Duration interior_latency;
  Duration nic_latency;
  Duration fabric_latency;
  ReductionSpec node_reduction;
  ReductionSpec fabric_reduction;
};

// The rule. `tree` may be null where the fabric does not reduce.
std::shared_ptr<const AggregationRule> make_aggregations(const AggregationInput& input,
                                                         std::shared_ptr<const FatTree> tree);

}  // namespace collsim::topologies
