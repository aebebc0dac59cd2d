// The largest over pairs of ranks of the least latency between them: exact, without looking at all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"
#include "topologies/graph.hpp"

namespace collsim::topologies {

// What is known before any search: 0 <= at_least <= answer <= at_most.
struct LatencyRange {
  Duration at_least;
  Duration at_most;
};

// Searches from one rank after another until the range has closed. A search from rank r with distances d and
// largest distance e shows that the answer is at least e, and that rank s reaches nothing beyond e + d(s), so
// it need not be searched once that is no more than the answer found (Takes and Kosters, CIKM 2011).
// REQUIRES: cables have the same latency both ways; all ranks are connected
Duration largest_latency(const Graph& graph, std::int32_t ranks, LatencyRange range);

}  // namespace collsim::topologies
