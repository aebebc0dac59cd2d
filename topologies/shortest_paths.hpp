// ShortestPaths: routes over a small irregular graph, by hash among all paths of fewest cables.
//
// At every point the next point is drawn among those that are one cable closer to the target; parallel cables
// to it are then taken by channel (by hash where hashed routing is asked for), so that channels of a
// schedule spread over them evenly.
//
// Complexity  Memory O(points^2 + cables), made by one breadth-first search a point; route: O(hops * degree).
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.hpp"

namespace collsim::topologies {

struct CableEnds {
  std::int32_t a = 0;
  std::int32_t b = 0;
};

class ShortestPaths {
 public:
  // REQUIRES: points <= 2^15; the ends exist and differ
  ShortestPaths(std::int32_t points, std::vector<CableEnds> cables, const Choice& choice);

  std::int32_t points() const { return points_; }
  const std::vector<CableEnds>& cables() const { return cables_; }
  // Cables between two points, or -1 if there is no path.
  std::int32_t distance(std::int64_t source, std::int64_t target) const;
  // REQUIRES: source != target, a path exists
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const;

 private:
  struct Step {
    std::int32_t point;  // that it leads to
    std::int32_t cable;
    bool plus;  // from a to b
  };
  void search(std::int32_t source);

  std::int32_t points_;
  std::vector<CableEnds> cables_;
  std::vector<std::uint32_t> start_;    // [point]: its first step; one more entry holds the end
  std::vector<Step> steps_;             // by point, then neighbour, then cable
  std::vector<std::int16_t> distance_;  // [source * points + target]
  Choice choice_;
};

}  // namespace collsim::topologies
