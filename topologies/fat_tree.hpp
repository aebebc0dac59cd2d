// FatTree: a single switch, or fat trees of two and three levels, plain or rail-optimised.
//
// Every endpoint has a slot; slot s is on leaf s / d. Plain: the slot is the endpoint number. Rails:
// endpoints sorted by (NIC number, node), every NIC number starting on a new leaf; a rail has those nodes
// that have a NIC of its number. A leaf has u cables up: to each of u spines (two levels) or to the u spines
// of its pod of d leaves (three); spine j of a pod has its port p to core j * u + p. At level l a message
// goes up by port floor(slot of the target / u^(l-1)) mod u (d-mod-k: Zahavi, J. Parallel Distrib. Comput.
// 72(11), 2012), or by ECMP. Levels that nothing could climb to are not built: no spines over a single leaf,
// no cores over a single pod.
//
// Order       Vertices: leaves, spines (pod by pod), cores. Cables: endpoints, leaves up, spines up.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/alternatives.hpp"
#include "topologies/fabric.hpp"

namespace collsim::topologies {

struct FatTreeShape {
  int levels = 2;
  std::int64_t down = 1;  // d: ports down of a leaf
  std::int64_t up = 1;    // u: ports up of a leaf
  bool rails = false;
};

// Vertex::level of the border switch of a site (sites.hpp): above every tree.
constexpr int border_level = 4;

// Leaves that the endpoints need: O(groups^2), also for shapes too large to build.
std::int64_t leaves_needed(const FatTreeShape& shape, const Endpoints& endpoints);

class FatTree final : public Fabric {
 public:
  FatTree(const FatTreeShape& shape, const Endpoints& endpoints, const Choice& choice);

  void lay(const CableSpec& cable, Wiring& wiring) override;
  void route(std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  // Spread: over the u spines of a pod, or the u * u cores.
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(std::int64_t source, std::int64_t target, const Flow& flow, std::int32_t number,
                      std::vector<LinkId>& links) const override;
  std::vector<Grouping> groupings() const override;

  const FatTreeShape& shape() const { return shape_; }  // with the levels that are built
  std::int64_t leaf_of(std::int64_t endpoint) const { return slot(endpoint) / shape_.down; }
  std::int64_t pod_of_leaf(std::int64_t leaf) const { return shape_.levels == 3 ? leaf / shape_.down : 0; }
  Cable endpoint_cable(std::int64_t endpoint) const { return first_ + endpoint; }
  Cable leaf_cable(std::int64_t leaf, std::int64_t port) const {
    return first_ + endpoints_.count() + leaf * shape_.up + port;
  }
  // The cable up from spine `spine` of a pod.
  Cable spine_cable(std::int64_t pod, std::int64_t spine, std::int64_t port) const {
    return leaf_cable(leaves_, 0) + (pod * shape_.up + spine) * shape_.up + port;
  }
  // The switches of the highest level that is built: the only one, the spines of the only pod, or the cores.
  std::int64_t tops() const;
  VertexId top(std::int64_t number) const { return after(first_top_, number); }
  VertexId first_switch() const { return first_switch_; }
  VertexId leaf(std::int64_t number) const { return after(first_switch_, number); }
  VertexId spine(std::int64_t pod, std::int64_t number) const {
    return after(first_switch_, leaves_ + pod * shape_.up + number);
  }
  // Slots count in routing: the digits of a target's slot are the ports that a message climbs by.
  std::int64_t slot(std::int64_t endpoint) const;
  // The highest switch that a message from endpoint `source` climbs to, on its way to a target of another
  // tree that has slot `to_slot` there.
  std::int64_t top_towards(std::int64_t source, std::int64_t to_slot, const Flow& flow) const;
  // The highest switch that d-mod-k has over a slot.
  std::int64_t top_of_slot(std::int64_t slot) const;
  // Appends the links from endpoint `source` up to highest switch `top_number`.
  void climb(std::int64_t source, std::int64_t top_number, std::vector<LinkId>& links) const;
  // Appends the links from highest switch `top_number` down to endpoint `target`.
  void descend(std::int64_t top_number, std::int64_t target, std::vector<LinkId>& links) const;
  // One switch of each level below the highest, over endpoint 0.
  std::vector<VertexId> lower_switches_above_first() const;
  // One node of each set of nodes that are on the same leaves, and so interchangeable. Increasing.
  std::vector<std::int32_t> unlike_nodes() const;

 private:
  // By which ports a message climbs: of its leaf (the number of the spine), of that spine.
  struct Ports {
    std::int64_t spine = 0;
    std::int64_t port = 0;
  };
  Ports ports(std::int64_t leaf, std::int64_t to_slot, const Flow& flow) const;
  Alternatives alternatives(std::int64_t from_leaf, std::int64_t to_leaf) const;
  Grouping leaf_grouping() const;
  Grouping pod_grouping(const Grouping& by_leaf) const;

  FatTreeShape shape_;
  Endpoints endpoints_;
  Choice choice_;
  std::vector<std::int64_t> rail_slots_;  // [NIC number]: its first slot
  std::int64_t leaves_ = 1;
  std::int64_t pods_ = 1;
  Cable first_ = 0;
  VertexId first_switch_;
  VertexId first_top_;
};

}  // namespace collsim::topologies
