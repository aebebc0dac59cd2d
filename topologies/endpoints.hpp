// Endpoints: what hangs on one fabric: the NICs of some nodes in a row, or the GPUs themselves of nodes
// without NIC. Numbered from 0, node by node; nodes are numbered from 0 too.
//
// Complexity  All questions O(groups), and O(1) where all nodes have as many.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/node_layout.hpp"

namespace collsim::topologies {

class Endpoints {
 public:
  // Nodes in a row with as many endpoints each, whose vertices are consecutive.
  struct Group {
    std::int32_t nodes = 1;
    std::int32_t per_node = 1;
    VertexId first;               // vertex
    std::int32_t first_node = 0;  // set by Endpoints, as the next
    std::int64_t first_endpoint = 0;
  };
  struct Place {
    std::int32_t node = 0;
    std::int32_t number = 0;  // in the node
  };

  // REQUIRES: at least one group; counts of at least 1
  explicit Endpoints(std::vector<Group> groups);
  // Those of `nodes` nodes from `first_node` on.
  Endpoints(const NodeLayout& layout, std::int32_t first_node, std::int32_t nodes);

  const std::vector<Group>& groups() const { return groups_; }
  std::int32_t nodes() const { return nodes_; }
  std::int64_t count() const { return count_; }
  std::int32_t per_node_max() const;

  Place place_of(std::int64_t endpoint) const {
    const Group& group = groups_.size() == 1 ? groups_[0] : group_of(endpoint);
    const std::int64_t below = endpoint - group.first_endpoint;
    const std::int64_t node = below / group.per_node;
    return {group.first_node + static_cast<std::int32_t>(node),
            static_cast<std::int32_t>(below - node * group.per_node)};
  }
  VertexId vertex(std::int64_t endpoint) const;
  std::int32_t per_node(std::int32_t node) const { return group_of_node(node).per_node; }
  std::int64_t first_of(std::int32_t node) const;

  // Of the nodes with more than `number` endpoints, so many come before `node`: the place of endpoint
  // `number` of that node among those of that number. REQUIRES: the node has it
  std::int64_t place_on_rail(std::int32_t node, std::int32_t number) const;
  // Nodes with more than `number` endpoints.
  std::int64_t nodes_on_rail(std::int32_t number) const;

 private:
  const Group& group_of(std::int64_t endpoint) const;
  const Group& group_of_node(std::int32_t node) const;

  std::vector<Group> groups_;
  std::int32_t nodes_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace collsim::topologies
