#include "topologies/node_layout.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {
namespace {

// The last group whose member `first` is at most `value`.
template <class Number>
std::size_t group_of(const std::vector<NodeLayout::Group>& groups, Number NodeLayout::Group::*first,
                     Number value) {
  const auto above =
      std::upper_bound(groups.begin(), groups.end(), value,
                       [&](Number number, const NodeLayout::Group& group) { return number < group.*first; });
  return static_cast<std::size_t>(above - groups.begin()) - 1;
}

}  // namespace

NodeLayout::NodeLayout(std::vector<Group> groups) : groups_(std::move(groups)) {
  COLLSIM_CHECK(!groups_.empty());
  for (Group& group : groups_) {
    COLLSIM_CHECK(group.nodes >= 1 && group.each.gpus >= 1);
    const std::int32_t nodes = group.nodes;
    const NodeParts each = group.each;
    group = end_;
    group.nodes = nodes;
    group.each = each;
    end_.first_node += nodes;
    end_.first_rank += nodes * each.gpus;
    end_.first_switch += std::int64_t{nodes} * each.switches;
    end_.first_nic += std::int64_t{nodes} * each.nics;
    end_.first_endpoint += std::int64_t{nodes} * each.endpoints();
    end_.first_cable += nodes * each.cables;
    if (each.nics > 0) end_.first_nic_cable += std::int64_t{nodes} * each.gpus;
  }
}

std::size_t NodeLayout::group_of_node(std::int32_t node) const {
  return is_even() ? 0 : group_of(groups_, &Group::first_node, node);
}
std::size_t NodeLayout::group_of_rank(Rank rank) const { return group_of(groups_, &Group::first_rank, rank); }
std::size_t NodeLayout::group_of_endpoint(std::int64_t endpoint) const {
  return is_even() ? 0 : group_of(groups_, &Group::first_endpoint, endpoint);
}

Rank NodeLayout::first_rank(std::int32_t node) const {
  const Group& group = groups_[group_of_node(node)];
  return group.first_rank + (node - group.first_node) * group.each.gpus;
}
VertexId NodeLayout::first_switch(std::int32_t node) const {
  const Group& group = groups_[group_of_node(node)];
  return after(VertexId(0),
               ranks() + group.first_switch + std::int64_t{node - group.first_node} * group.each.switches);
}
VertexId NodeLayout::first_nic(std::int32_t node) const {
  const Group& group = groups_[group_of_node(node)];
  return after(VertexId(0), ranks() + end_.first_switch + group.first_nic +
                                std::int64_t{node - group.first_node} * group.each.nics);
}
std::int64_t NodeLayout::first_endpoint(std::int32_t node) const {
  const Group& group = groups_[group_of_node(node)];
  return group.first_endpoint + std::int64_t{node - group.first_node} * group.each.endpoints();
}
Cable NodeLayout::first_cable(std::int32_t node) const {
  const Group& group = groups_[group_of_node(node)];
  return group.first_cable + (node - group.first_node) * group.each.cables;
}

std::int32_t NodeLayout::node_of_endpoint(std::int64_t endpoint) const {
  const Group& group = groups_[group_of_endpoint(endpoint)];
  return group.first_node +
         static_cast<std::int32_t>((endpoint - group.first_endpoint) / group.each.endpoints());
}
VertexId NodeLayout::vertex_of_endpoint(std::int64_t endpoint) const {
  const std::int32_t node = node_of_endpoint(endpoint);
  const VertexId first = parts_of(node).nics > 0 ? first_nic(node) : VertexId(first_rank(node));
  return after(first, endpoint - first_endpoint(node));
}

}  // namespace collsim::topologies
