// In-network aggregation: which links a group of ranks uses where switches reduce.
//
// Inside a node (NVLS): the NVSwitch plane `rail mod planes` reduces and multicasts for GPUs of one node.
// Across nodes (SHARP): over a single switch or a fat tree, of one site where there are several, the tree of
// rail i climbs from leaf level by port i mod u, from the next by port floor(i / u) mod u, up to the lowest
// level that covers all members.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/fat_tree.hpp"
#include "topologies/node_layout.hpp"

namespace collsim::topologies {

// Where the cables are that aggregations use.
struct AggregationInput {
  NodeLayout layout;
  std::vector<NodeSpec> nodes;  // [group of the layout]
  Duration fabric_latency;
  ReductionSpec fabric_reduction;
};

// A tree of the fabric and the first of the endpoints that hang on it.
struct AggregationTree {
  std::shared_ptr<const FatTree> tree;
  std::int64_t first_endpoint = 0;
};

// The rule. `trees`: of every site, by their first endpoints; none where the fabric has no switches that
// reduce.
std::shared_ptr<const AggregationRule> make_aggregations(const AggregationInput& input,
                                                         std::vector<AggregationTree> trees);

}  // namespace collsim::topologies
