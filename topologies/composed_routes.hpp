// ComposedRoutes: the routes of a cluster, put together from those inside a node and those of the fabric.
//
// A message between GPUs of one node uses the interconnect, where there is one; else the source GPU's NIC,
// the fabric, and the target GPU's NIC. Rail-local (PXN of NCCL: "PCI x NVLink", since 2.12): where the two
// NICs have different numbers, first over the interconnect to a GPU of the source's node at a NIC of the
// target's number, which then sends for it: so it stays on the target's rail. That GPU is the one with the
// target's number in its node, if it is at that NIC, else the first one there.
//
// Complexity  O(hops), and O(log groups) where nodes are unlike; rail-local: O(GPUs of a node) at worst.
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
  // null where no message needs one. memories[n]: the link through the memory of node n, which need not exist
  // (Interior::has_memory); may be empty.
  ComposedRoutes(const NodeLayout& layout, std::vector<std::shared_ptr<const Interior>> interiors,
                 std::shared_ptr<const Fabric> fabric, const RoutingSpec& routing,
                 std::vector<LinkId> memories);

  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override;
  Spreading spreading() const override;
  std::int32_t route_count(Rank source, Rank target, std::int32_t channel) const override;
  void numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t number,
                      std::vector<LinkId>& links) const override;

 private:
  // How a message goes: over the interconnect to GPU `relay` of its node, and from there over the fabric.
  struct Way {
    NodeLayout::Place from;
    NodeLayout::Place to;
    NodeLayout::Place relay;
    bool is_inside = false;  // all the way over the interconnect; relay = to
  };
  Way way(Rank source, Rank target) const;
  NodeLayout::Place relay(const NodeLayout::Place& from, const NodeLayout::Place& to) const;
  const NodeParts& parts(const NodeLayout::Place& place) const { return layout_.groups()[place.group].each; }
  void append_interior(const Way& way, const Flow& flow, std::int32_t number,
                       std::vector<LinkId>& links) const;
  std::int32_t interior_count(const Way& way) const;
  std::int32_t fabric_count(const Way& way) const;

  NodeLayout layout_;
  std::vector<std::shared_ptr<const Interior>> interiors_;
  std::shared_ptr<const Fabric> fabric_;
  std::vector<LinkId> memories_;  // [node]
  RoutingSpec routing_;
};

}  // namespace collsim::topologies
