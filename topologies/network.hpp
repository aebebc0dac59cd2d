// Network: a fabric seen as points and cables between them, without the nodes that hang on the points.
//
// The points of a torus are its nodes or their routers, those of a dragonfly its routers. How nodes attach to
// points is not known here (see attached_fabric.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/choice.hpp"
#include "topologies/wiring.hpp"

namespace collsim::topologies {

// A partition of the points, for a cut: group[point], 0 .. some count - 1.
struct PointGroups {
  std::string name;
  std::vector<std::int32_t> group;
};

// One link of a route and the point that it leads to.
struct Hop {
  LinkId link;
  std::int64_t point = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  virtual std::int64_t points() const = 0;
  // Lays the cables between the points, which are consecutive vertices.
  virtual void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const = 0;
  // Appends the links from point `source` to another point `target`; `first` is the first cable laid.
  virtual void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                     std::vector<LinkId>& links) const = 0;
  // How many routes a connection is spread over: different ones, number 0 is route(). 1 unless spread.
  virtual std::int32_t route_count(std::int64_t /*source*/, std::int64_t /*target*/) const { return 1; }
  virtual void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                              std::int32_t /*number*/, std::vector<LinkId>& links) const {
    route(first, source, target, flow, links);
  }
  // The largest over pairs of the first `used` points of the least latency between the two, any path.
  virtual Duration latency_max(const CableSpec& cable, std::int64_t used) const = 0;
  virtual std::vector<PointGroups> groups() const = 0;
};

}  // namespace collsim::topologies
