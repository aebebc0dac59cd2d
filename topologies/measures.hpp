// Measures of a built topology that need a search of its graph: what `collsim describe` prints and what tests
// hold the closed forms against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::topologies {

struct SwitchCount {
  std::string name;  // "nvswitch", "leaf", "spine", "core", "router", ...
  std::int64_t count = 0;
};

struct ClusterFacts {
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::int64_t nics = 0;
  std::vector<SwitchCount> switches;  // in the order of the vertices
  std::int64_t links = 0;             // directed
  std::int64_t cables = 0;            // links / 2
  // Bytes a second that ranks 0 .. N/2 - 1 together can send to the others, whatever the routes: the maximum
  // flow, exact for these halves. 0 with one rank.
  Int128 bisection = 0;
  std::int32_t diameter = 0;  // most links on a shortest path between two ranks, over all pairs
  Duration latency_max;
};

// REQUIRES: all ranks are connected
// Complexity  One breadth-first search a rank and one maximum flow: 1 s at about 3,000 ranks.
ClusterFacts measure(const Topology& topology);

// Bytes a second that can flow from all of `sources` together to all of `sinks`, by maximum flow (Boykov and
// Kolmogorov, PAMI 26(9), 2004). REQUIRES: both are not empty and share no vertex
Int128 maximum_flow(const Topology& topology, const std::vector<VertexId>& sources,
                    const std::vector<VertexId>& sinks);

}  // namespace collsim::topologies
