#include "topologies/endpoints.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {
namespace {

std::vector<Endpoints::Group> groups_of(const NodeLayout& layout, std::int32_t first_node,
                                        std::int32_t nodes) {
  std::vector<Endpoints::Group> result;
  for (const NodeLayout::Group& group : layout.groups()) {
    const std::int32_t begin = std::max(group.first_node, first_node);
    const std::int32_t end = std::min(group.first_node + group.nodes, first_node + nodes);
    if (begin >= end) continue;
    const std::int32_t per_node = group.each.endpoints();
    const VertexId first = layout.vertex_of_endpoint(layout.first_endpoint(begin));
    // Nodes that differ in other things are alike here.
    const bool goes_on = !result.empty() && result.back().per_node == per_node &&
                         after(result.back().first, std::int64_t{result.back().nodes} * per_node) == first;
    if (goes_on)
      result.back().nodes += end - begin;
    else
      result.push_back({end - begin, per_node, first});
  }
  return result;
}

}  // namespace

Endpoints::Endpoints(std::vector<Group> groups) : groups_(std::move(groups)) {
  COLLSIM_CHECK(!groups_.empty());
  for (Group& group : groups_) {
    COLLSIM_CHECK(group.nodes >= 1 && group.per_node >= 1);
    group.first_node = nodes_;
    group.first_endpoint = count_;
    nodes_ += group.nodes;
    count_ += std::int64_t{group.nodes} * group.per_node;
  }
}

Endpoints::Endpoints(const NodeLayout& layout, std::int32_t first_node, std::int32_t nodes)
    : Endpoints(groups_of(layout, first_node, nodes)) {}

const Endpoints::Group& Endpoints::group_of(std::int64_t endpoint) const {
  std::size_t number = groups_.size() - 1;
  while (groups_[number].first_endpoint > endpoint) --number;
  return groups_[number];
}
const Endpoints::Group& Endpoints::group_of_node(std::int32_t node) const {
  std::size_t number = groups_.size() - 1;
  while (groups_[number].first_node > node) --number;
  return groups_[number];
}

std::int32_t Endpoints::per_node_max() const {
  std::int32_t result = 0;
  for (const Group& group : groups_) result = std::max(result, group.per_node);
  return result;
}

VertexId Endpoints::vertex(std::int64_t endpoint) const {
  const Group& group = group_of(endpoint);
  return after(group.first, endpoint - group.first_endpoint);
}

std::int64_t Endpoints::first_of(std::int32_t node) const {
  const Group& group = group_of_node(node);
  return group.first_endpoint + std::int64_t{node - group.first_node} * group.per_node;
}

std::int64_t Endpoints::place_on_rail(std::int32_t node, std::int32_t number) const {
  if (groups_.size() == 1) return node;
  std::int64_t place = 0;
  for (const Group& group : groups_) {
    if (group.per_node <= number) continue;
    if (node < group.first_node + group.nodes) return place + node - group.first_node;
    place += group.nodes;
  }
  check_failed(__FILE__, __LINE__, "the node has an endpoint of that number", "");
}

std::int64_t Endpoints::nodes_on_rail(std::int32_t number) const {
  std::int64_t nodes = 0;
  for (const Group& group : groups_)
    if (group.per_node > number) nodes += group.nodes;
  return nodes;
}

}  // namespace collsim::topologies
