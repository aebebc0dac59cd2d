#include "topologies/latency.hpp"

#include <algorithm>

namespace collsim::topologies {

Duration largest_latency(const Graph& graph, std::int32_t ranks, LatencyRange range) {
  std::vector<Duration> reach(static_cast<std::size_t>(ranks),
                              range.at_most);  // [rank]: it reaches no farther
  Duration largest = range.at_least;
  // From both ends, since the most distant ranks tend to be there.
  for (std::int32_t i = 0; i < ranks && largest < range.at_most; ++i) {
    const std::int32_t rank = i % 2 == 0 ? i / 2 : ranks - 1 - i / 2;
    if (reach[static_cast<std::size_t>(rank)] <= largest) continue;
    const std::vector<Duration> distance = graph.latencies(VertexId(rank));
    const Duration farthest = *std::max_element(distance.begin(), distance.begin() + ranks);
    largest = std::max(largest, farthest);
    for (std::size_t other = 0; other < reach.size(); ++other)
      reach[other] = std::min(reach[other], farthest + distance[other]);
  }
  return largest;
}

}  // namespace collsim::topologies
