// AttachedFabric: nodes on the points of a Network.
//
// Where a node is one GPU without NIC, or one GPU with one NIC, and has the point for itself, that endpoint
// is the point and forwards for others. Else the point is a router to which the endpoints of its nodes attach
// by one fabric cable each.
#pragma once

#include <memory>

#include "topologies/fabric.hpp"
#include "topologies/network.hpp"

namespace collsim::topologies {

class AttachedFabric final : public Fabric {
 public:
  // REQUIRES: without routers there is one endpoint a node and one node a point, and endpoints are
  // consecutive vertices
  AttachedFabric(std::unique_ptr<const Network> network, const Endpoints& endpoints, bool routers,
                 std::int32_t nodes_per_point);

  void lay(const CableSpec& cable, Wiring& wiring) override;
  void route(std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(std::int64_t source, std::int64_t target, const Flow& flow, std::int32_t number,
                      std::vector<LinkId>& links) const override;
  std::vector<Grouping> groupings() const override;

  // The largest least latency between the points of two nodes.
  Duration point_latency_max(const CableSpec& cable) const;

 private:
  std::int64_t point_of_node(std::int64_t node) const { return node / nodes_per_point_; }
  std::int64_t point_of(std::int64_t endpoint) const {
    return point_of_node(endpoints_.place_of(endpoint).node);
  }
  Grouping grouping(const PointGroups& points) const;

  std::unique_ptr<const Network> network_;
  Endpoints endpoints_;
  bool routers_;
  std::int32_t nodes_per_point_;
  VertexId first_point_;
  Cable first_attachment_ = 0;  // cable of endpoint 0 to its router
  Cable first_cable_ = 0;       // of the network
};

}  // namespace collsim::topologies
