// ComposedRoutes: the routes of a cluster, put together from those inside a node and those of the fabric.
//
// A message between GPUs of one node uses the interconnect, where there is one; else the source GPU's NIC,
// the fabric, and the target GPU's NIC.
//
// Complexity  O(hops), and O(log groups) where nodes are unlike.
#pragma once

#include <memory>
#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/fabric.hpp"
#include "topologies/interior.hpp"
#include "topologies/node_layout.hpp"

namespace collsim::topologies {

class ComposedRoutes final : public RouteRule {
 public:
  // interiors[g]: of the nodes of group g of the layout; null: they have no interconnect. `fabric` may be
  // null where no message needs one.
  ComposedRoutes(const NodeLayout& layout, std::vector<std::shared_ptr<const Interior>> interiors,
                 std::shared_ptr<const Fabric> fabric);

  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override;

 private:
  NodeLayout layout_;
  std::vector<std::shared_ptr<const Interior>> interiors_;
  std::shared_ptr<const Fabric> fabric_;
};

}  // namespace collsim::topologies
