// Interior: the interconnect among the GPUs of one node: its switches, its cables, its routes.
//
// All nodes are alike, so an interior describes one node; the caller adds the offsets of the node.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "topologies/choice.hpp"
#include "topologies/wiring.hpp"

namespace collsim::topologies {

class Interior {
 public:
  virtual ~Interior() = default;
  // Index (Vertex::index) of every switch of a node, in the order of the vertices.
  virtual std::vector<std::int32_t> switch_indices() const = 0;
  // Lays the cables of one node whose first GPU and first switch are given.
  virtual void lay(VertexId gpu, VertexId node_switch, Wiring& wiring) const = 0;
  // Whether one link more leads from the node's first switch to its second, through which every route goes
  // after its first link. The caller lays it, and puts it into routes.
  virtual bool has_memory() const { return false; }
  // Appends the links from GPU `source` to another GPU `target` of the node whose first cable is given.
  virtual void route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
                     std::vector<LinkId>& links) const = 0;
  // How many routes a connection is spread over: different ones, number 0 is route(). 1 unless spread.
  virtual std::int32_t route_count() const { return 1; }
  virtual void numbered_route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
                              std::int32_t /*number*/, std::vector<LinkId>& links) const {
    route(first, source, target, flow, links);
  }
  // The largest latency between two GPUs along these cables.
  virtual Duration latency_max() const = 0;
};

// REQUIRES: the node has passed check(); more than one GPU and an interconnect
std::unique_ptr<Interior> make_interior(const NodeSpec& node, const Choice& choice);

// The cables of one GPU of the NVSwitch node are consecutive: cable gpu * planes + plane.
inline Cable nvswitch_cable(Cable first, std::int64_t gpu, std::int64_t plane, std::int64_t planes) {
  return first + gpu * planes + plane;
}

// Cable number of the pair i < j among the n(n-1)/2 cables of a full mesh, ordered by i, then j.
constexpr Cable pair_cable(std::int64_t i, std::int64_t j, std::int64_t n) {
  return i * (2 * n - i - 1) / 2 + (j - i - 1);
}

}  // namespace collsim::topologies
