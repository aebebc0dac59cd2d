// NodeLayout: where the parts of each node begin. Nodes come in groups of alike ones, most often in one.
//
// Vertices    GPUs node by node (vertex r = rank r), node switches, NICs, fabric switches.
// Cables      Those inside nodes, node by node; one from every GPU of a node with NICs to its NIC, by rank;
//             those of the fabric.
// Endpoints   NICs, or the GPUs themselves where a node has no NIC, numbered node by node.
// Complexity  All questions O(log groups): O(1) where all nodes are alike.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "topologies/wiring.hpp"

namespace collsim::topologies {

// What one node has.
struct NodeParts {
  std::int32_t gpus = 1;
  std::int32_t nics = 0;
  std::int32_t switches = 0;
  Cable cables = 0;  // among its GPUs and switches

  std::int32_t endpoints() const { return nics > 0 ? nics : gpus; }
  // The endpoint, in its node, that a GPU of it uses.
  std::int64_t endpoint_of(std::int64_t gpu) const { return nics > 0 ? gpu * nics / gpus : gpu; }
};

class NodeLayout {
 public:
  struct Group {
    std::int32_t nodes = 1;
    NodeParts each;
    // What the groups before it have; set by the layout.
    std::int32_t first_node = 0;
    Rank first_rank = 0;
    std::int64_t first_switch = 0;
    std::int64_t first_nic = 0;
    std::int64_t first_endpoint = 0;
    Cable first_cable = 0;      // inside nodes
    Cable first_nic_cable = 0;  // counted from that of the first rank with a NIC
  };
  // Where a rank is.
  struct Place {
    std::size_t group = 0;
    std::int32_t node = 0;  // in the cluster
    std::int32_t gpu = 0;   // in its node
  };

  NodeLayout() : NodeLayout({Group()}) {}
  // REQUIRES: at least one group; counts of at least 1 node and 1 GPU
  explicit NodeLayout(std::vector<Group> groups);

  const std::vector<Group>& groups() const { return groups_; }
  bool is_even() const { return groups_.size() == 1; }
  std::int32_t nodes() const { return end_.first_node; }
  std::int32_t ranks() const { return end_.first_rank; }
  std::int64_t endpoints() const { return end_.first_endpoint; }
  std::int64_t nics() const { return end_.first_nic; }
  Cable interior_cables() const { return end_.first_cable; }
  // The cables of all nodes together, NIC cables too: the fabric's begin here.
  Cable node_cables() const { return end_.first_cable + end_.first_nic_cable; }

  Place place_of(Rank rank) const {
    const std::size_t number = is_even() ? 0 : group_of_rank(rank);
    const Group& group = groups_[number];
    const std::int32_t below = rank - group.first_rank;
    const std::int32_t node = below / group.each.gpus;
    return {number, group.first_node + node, below - node * group.each.gpus};
  }
  std::size_t group_of_node(std::int32_t node) const;
  const NodeParts& parts_of(std::int32_t node) const { return groups_[group_of_node(node)].each; }

  Rank first_rank(std::int32_t node) const;
  VertexId first_switch(std::int32_t node) const;
  VertexId first_nic(std::int32_t node) const;
  std::int64_t first_endpoint(std::int32_t node) const;
  Cable first_cable(std::int32_t node) const;  // inside the node
  VertexId first_fabric_switch() const { return after(VertexId(0), ranks() + end_.first_switch + nics()); }

  // The cable of a GPU to its NIC. REQUIRES: its node has NICs
  Cable nic_cable(Rank rank, std::size_t group) const {
    const Group& own = groups_[group];
    return end_.first_cable + own.first_nic_cable + (rank - own.first_rank);
  }
  // The endpoint that a GPU uses.
  std::int64_t endpoint_of(const Place& place) const {
    const Group& group = groups_[place.group];
    return group.first_endpoint + std::int64_t{place.node - group.first_node} * group.each.endpoints() +
           group.each.endpoint_of(place.gpu);
  }
  std::int32_t node_of_endpoint(std::int64_t endpoint) const;
  VertexId vertex_of_endpoint(std::int64_t endpoint) const;

 private:
  std::size_t group_of_rank(Rank rank) const;
  std::size_t group_of_endpoint(std::int64_t endpoint) const;

  std::vector<Group> groups_;
  Group end_;  // the sums over all groups
};

}  // namespace collsim::topologies
