#include "topologies/latency.hpp"

#include <algorithm>

namespace collsim::topologies {

Duration largest_latency(const Graph& graph, std::int32_t ranks, const std::vector<Rank>& candidates,
                         LatencyRange range) {
  constexpr std::int64_t visits_max = 10'000'000;
  const std::int64_t searches_max = std::max<std::int64_t>(visits_max / (graph.link_count() + 1), 4);
  std::vector<Duration> reach(static_cast<std::size_t>(ranks),
                              range.at_most);  // [rank]: it reaches no farther
  Duration largest = range.at_least;
  std::int64_t searches = 0;
  // From both ends, since the most distant ranks tend to be there.
  for (std::size_t i = 0; i < candidates.size() && largest < range.at_most; ++i) {
    const Rank rank = candidates[i % 2 == 0 ? i / 2 : candidates.size() - 1 - i / 2];
    if (reach[static_cast<std::size_t>(rank)] <= largest) continue;
    if (++searches > searches_max) break;
    const std::vector<Duration> distance = graph.latencies(VertexId(rank));
    const Duration farthest = *std::max_element(distance.begin(), distance.begin() + ranks);
    largest = std::max(largest, farthest);
    for (std::size_t other = 0; other < reach.size(); ++other)
      reach[other] = std::min(reach[other], farthest + distance[other]);
  }
  return largest;
}

}  // namespace collsim::topologies
