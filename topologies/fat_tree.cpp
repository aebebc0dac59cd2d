#include "topologies/fat_tree.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {
namespace {

constexpr std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Levels that a message can climb: nothing is built above a single leaf or a single pod.
int levels_used(const FatTreeShape& shape, std::int64_t leaves) {
  if (leaves == 1) return 1;
  return shape.levels == 3 && leaves <= shape.down ? 2 : shape.levels;
}

}  // namespace

std::int64_t leaves_needed(const FatTreeShape& shape, std::int64_t nodes, std::int64_t per_node) {
  if (shape.levels == 1) return 1;
  return shape.rails ? per_node * quotient_up(nodes, shape.down) : quotient_up(nodes * per_node, shape.down);
}

FatTree::FatTree(const FatTreeShape& shape, const Endpoints& endpoints, const Choice& choice)
    : shape_(shape),
      endpoints_(endpoints),
      choice_(choice),
      rail_slots_(quotient_up(endpoints.nodes, shape.down) * shape.down),
      leaves_(leaves_needed(shape, endpoints.nodes, endpoints.per_node)),
      pods_(shape.levels == 3 ? quotient_up(leaves_, shape.down) : 1) {
  COLLSIM_CHECK(shape.levels >= 1 && shape.levels <= 3 && shape.down >= 1);
  COLLSIM_CHECK(shape.levels == 1 ? shape.down >= endpoints.count() : shape.up >= 1);
  shape_.levels = levels_used(shape, leaves_);
}

// On one switch rails make no difference, and all slots are below d.
std::int64_t FatTree::slot(std::int64_t endpoint) const {
  if (!shape_.rails || shape_.levels == 1) return endpoint;
  return endpoint % endpoints_.per_node * rail_slots_ + endpoint / endpoints_.per_node;
}

void FatTree::lay(const CableSpec& cable, Wiring& wiring) {
  first_ = wiring.next_cable();
  first_switch_ = wiring.next_vertex();
  const std::int64_t spines = shape_.levels > 1 ? pods_ * shape_.up : 0;
  const std::int64_t cores = shape_.levels > 2 ? shape_.up * shape_.up : 0;
  const auto add_switches = [&](int level, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      wiring.add_vertex(VertexKind::fabric_switch, level, -1, static_cast<std::int32_t>(i));
  };
  add_switches(1, leaves_);
  add_switches(2, spines);
  add_switches(3, cores);
  const VertexId first_spine = after(first_switch_, leaves_);
  const VertexId first_core = after(first_spine, spines);
  for (std::int64_t endpoint = 0; endpoint < endpoints_.count(); ++endpoint)
    wiring.add_cable(after(endpoints_.first, endpoint), after(first_switch_, leaf_of(endpoint)), cable);
  for (std::int64_t leaf = 0; leaf < leaves_ && shape_.levels > 1; ++leaf)
    for (std::int64_t port = 0; port < shape_.up; ++port)
      wiring.add_cable(after(first_switch_, leaf), after(first_spine, pod_of_leaf(leaf) * shape_.up + port),
                       cable);
  for (std::int64_t spine = 0; spine < spines && shape_.levels > 2; ++spine)
    for (std::int64_t port = 0; port < shape_.up; ++port)
      wiring.add_cable(after(first_spine, spine), after(first_core, spine % shape_.up * shape_.up + port),
                       cable);
}

void FatTree::route(std::int64_t source, std::int64_t target, const Flow& flow,
                    std::vector<LinkId>& links) const {
  const std::int64_t from = leaf_of(source);
  const std::int64_t to = leaf_of(target);
  const std::int64_t to_slot = slot(target);
  links.push_back(forward(endpoint_cable(source)));
  if (from != to) {
    const std::int64_t u = shape_.up;
    const std::int64_t spine = choice_.hashed() ? choice_.by_hash(flow, 1, u) : to_slot % u;
    links.push_back(forward(leaf_cable(from, spine)));
    if (pod_of_leaf(from) != pod_of_leaf(to)) {
      const std::int64_t port = choice_.hashed() ? choice_.by_hash(flow, 2, u) : to_slot / u % u;
      links.push_back(forward(spine_cable(pod_of_leaf(from), spine, port)));
      links.push_back(backward(spine_cable(pod_of_leaf(to), spine, port)));
    }
    links.push_back(backward(leaf_cable(to, spine)));
  }
  links.push_back(backward(endpoint_cable(target)));
}

// Whole nodes, by the leaf of the first endpoint, and the leaves that belong to them. With rails a group has
// one leaf of every rail.
Grouping FatTree::leaf_grouping() const {
  Grouping result{"leaf", {}, {std::vector<std::int32_t>(static_cast<std::size_t>(leaves_), -1)}};
  std::vector<std::int32_t>& leaf_group = result.stages[0];
  for (std::int64_t node = 0; node < endpoints_.nodes; ++node) {
    const std::int64_t first_leaf = leaf_of(node * endpoints_.per_node);
    result.node_group.push_back(static_cast<std::int32_t>(first_leaf));
    for (std::int64_t nic = 0; nic < endpoints_.per_node; ++nic) {
      // A leaf that two groups share goes to the later one, which starts on it.
      std::int32_t& group = leaf_group[static_cast<std::size_t>(leaf_of(node * endpoints_.per_node + nic))];
      if (group < first_leaf) group = static_cast<std::int32_t>(first_leaf);
    }
  }
  return result;
}

// As the leaves, one level up. A pod with rails can hold some rails only; then its nodes are not a group of
// their own, and the nodes of as many leaves as a pod has form one, whichever pods they use.
Grouping FatTree::pod_grouping(const Grouping& by_leaf) const {
  Grouping result{"pod", by_leaf.node_group, by_leaf.stages};
  const auto pod_group = [&](std::int32_t leaf) {
    return leaf < 0 ? -1 : static_cast<std::int32_t>(leaf / shape_.down);
  };
  for (std::int32_t& group : result.node_group) group = pod_group(group);
  for (std::int32_t& group : result.stages[0]) group = pod_group(group);
  std::vector<std::int32_t> with_spines = result.stages[0];
  for (std::int64_t pod = 0; pod < pods_; ++pod) {
    // The spines of a pod whose leaves all belong to one group belong to it as well.
    const std::int64_t first_leaf = pod * shape_.down;
    const std::int64_t end = std::min(first_leaf + shape_.down, leaves_);
    std::int32_t group = result.stages[0][static_cast<std::size_t>(first_leaf)];
    for (std::int64_t leaf = first_leaf; leaf < end; ++leaf)
      if (result.stages[0][static_cast<std::size_t>(leaf)] != group) group = -1;
    with_spines.insert(with_spines.end(), static_cast<std::size_t>(shape_.up), group);
  }
  result.stages.push_back(std::move(with_spines));
  return result;
}

std::vector<Grouping> FatTree::groupings() const {
  std::vector<Grouping> result = {node_grouping(endpoints_.nodes)};
  if (shape_.levels > 1) result.push_back(leaf_grouping());
  if (shape_.levels > 2) result.push_back(pod_grouping(result.back()));
  result.push_back(bisection_of(endpoints_.nodes, result));
  return result;
}

std::vector<std::int32_t> FatTree::unlike_nodes() const {
  std::vector<std::int32_t> result;
  const auto leaves_of = [&](std::int64_t node) {
    std::vector<std::int64_t> leaves;
    for (std::int64_t nic = 0; nic < endpoints_.per_node; ++nic)
      leaves.push_back(leaf_of(node * endpoints_.per_node + nic));
    return leaves;
  };
  for (std::int32_t node = 0; node < endpoints_.nodes; ++node)
    if (node == 0 || leaves_of(node) != leaves_of(node - 1)) result.push_back(node);
  return result;
}

std::vector<VertexId> FatTree::lower_switches_above_first() const {
  std::vector<VertexId> result;
  if (shape_.levels > 1) result.push_back(first_switch_);
  if (shape_.levels > 2) result.push_back(after(first_switch_, leaves_));
  return result;
}

}  // namespace collsim::topologies
