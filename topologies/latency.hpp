// The largest over pairs of ranks of the least latency between them: exact, without looking at all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "topologies/graph.hpp"

namespace collsim::topologies {

// What is known before any search: 0 <= at_least <= answer <= at_most.
struct LatencyRange {
  Duration at_least;
  Duration at_most;
};

// Searches from one of the `candidates` after another until the range has closed. Every rank must be
// interchangeable with a candidate (an automorphism of the cluster maps it there). A search from rank r with
// distances d and largest distance e shows that the answer is at least e, and that rank s reaches nothing
// beyond e + d(s), so it need not be searched once that is no more than the answer found (Takes and Kosters,
// Algorithms 6(1), 2013).
//
// Exact, but for one limit: after about 10^7 link visits the largest latency found is returned, which is
// still a valid lower bound. Only trees with thousands of ranks whose NIC numbers reach different pods, and
// thousands of unlike nodes without a tree, come to that. REQUIRES: cables have the same latency both ways;
// all ranks are connected; candidates is not empty
Duration largest_latency(const Graph& graph, std::int32_t ranks, const std::vector<Rank>& candidates,
                         LatencyRange range);

}  // namespace collsim::topologies
