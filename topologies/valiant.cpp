#include "topologies/valiant.hpp"

#include <map>

namespace collsim::topologies {

void append_without_loops(std::int64_t source, const std::vector<Hop>& hops, std::vector<LinkId>& links) {
  std::map<std::int64_t, std::size_t> goes_on;  // [point]: the hop that leaves it for the last time
  std::int64_t point = source;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    goes_on[point] = i;
    point = hops[i].point;
  }
  const std::int64_t target = point;
  for (point = source; point != target;) {
    const Hop& hop = hops[goes_on[point]];
    links.push_back(hop.link);
    point = hop.point;
  }
}

}  // namespace collsim::topologies
