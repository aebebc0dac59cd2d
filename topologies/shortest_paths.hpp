// ShortestPaths: routes over a small irregular graph, by hash among all paths of fewest cables.
//
// At every point the next point is drawn among those that are one cable closer to the target; parallel cables
// to it are then taken by channel, so that channels of a schedule spread over them evenly. ECMP draws among
// the cables that lead closer.
//
// Complexity  Memory O(points^2 + cables), made by one breadth-first search a point; route: O(hops * degree);
//             numbered_route, route_count: O(points + cables) at worst.
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
  // Spread: over all paths of fewest cables.
  std::int32_t route_count(std::int64_t source, std::int64_t target) const;
  void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const;

 private:
  struct Step {
    std::int32_t point;  // that it leads to
    std::int32_t cable;
    bool plus;  // from a to b
  };
  void search(std::int32_t source);
  bool leads_closer(std::uint32_t step, std::int64_t target, std::int32_t left) const {
    return distance(steps_[step].point, target) == left - 1;
  }
  // The step, as an index, that route() takes from a point that is `left` cables from the target.
  std::uint32_t next_step(Cable first, std::int32_t point, std::int64_t target, std::int32_t left,
                          const Flow& flow) const;
  // How many paths of fewest cables lead from each point on such a path to the target; at most
  // alternatives_max, 0 elsewhere.
  std::vector<std::int64_t> count_paths(std::int64_t source, std::int64_t target) const;

  std::int32_t points_;
  std::vector<CableEnds> cables_;
  std::vector<std::uint32_t> start_;    // [point]: its first step; one more entry holds the end
  std::vector<Step> steps_;             // by point, then neighbour, then cable
  std::vector<std::int16_t> distance_;  // [source * points + target]
  Choice choice_;
};

}  // namespace collsim::topologies
