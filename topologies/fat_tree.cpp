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

std::int64_t leaves_needed(const FatTreeShape& shape, const Endpoints& endpoints) {
  if (shape.levels == 1) return 1;
  if (!shape.rails) return quotient_up(endpoints.count(), shape.down);
  // Rails between two numbers of endpoints that nodes have are alike.
  std::vector<std::int32_t> ends;
  for (const Endpoints::Group& group : endpoints.groups()) ends.push_back(group.per_node);
  std::sort(ends.begin(), ends.end());
  std::int64_t leaves = 0;
  std::int32_t begin = 0;
  for (const std::int32_t end : ends) {
    if (end > begin) leaves += (end - begin) * quotient_up(endpoints.nodes_on_rail(begin), shape.down);
    begin = end;
  }
  return leaves;
}

FatTree::FatTree(const FatTreeShape& shape, const Endpoints& endpoints, const Choice& choice)
    : shape_(shape),
      endpoints_(endpoints),
      choice_(choice),
      leaves_(leaves_needed(shape, endpoints)),
      pods_(shape.levels == 3 ? quotient_up(leaves_, shape.down) : 1) {
  COLLSIM_CHECK(shape.levels >= 1 && shape.levels <= 3 && shape.down >= 1);
  COLLSIM_CHECK(shape.levels == 1 ? shape.down >= endpoints.count() : shape.up >= 1);
  shape_.levels = levels_used(shape, leaves_);
  std::int64_t slots = 0;
  for (std::int32_t rail = 0; shape.rails && rail < endpoints.per_node_max(); ++rail) {
    rail_slots_.push_back(slots);
    slots += quotient_up(endpoints.nodes_on_rail(rail), shape.down) * shape.down;
  }
}

// On one switch rails make no difference, and all slots are below d.
std::int64_t FatTree::slot(std::int64_t endpoint) const {
  if (!shape_.rails || shape_.levels == 1) return endpoint;
  const Endpoints::Place place = endpoints_.place_of(endpoint);
  return rail_slots_[static_cast<std::size_t>(place.number)] +
         endpoints_.place_on_rail(place.node, place.number);
}

std::int64_t FatTree::tops() const {
  return shape_.levels == 1 ? 1 : shape_.levels == 2 ? shape_.up : shape_.up * shape_.up;
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
  first_top_ = shape_.levels == 1 ? first_switch_ : shape_.levels == 2 ? first_spine : first_core;
  for (std::int64_t endpoint = 0; endpoint < endpoints_.count(); ++endpoint)
    wiring.add_cable(endpoints_.vertex(endpoint), after(first_switch_, leaf_of(endpoint)), cable);
  for (std::int64_t leaf = 0; leaf < leaves_ && shape_.levels > 1; ++leaf)
    for (std::int64_t port = 0; port < shape_.up; ++port)
      wiring.add_cable(after(first_switch_, leaf), after(first_spine, pod_of_leaf(leaf) * shape_.up + port),
                       cable);
  for (std::int64_t spine = 0; spine < spines && shape_.levels > 2; ++spine)
    for (std::int64_t port = 0; port < shape_.up; ++port)
      wiring.add_cable(after(first_spine, spine), after(first_core, spine % shape_.up * shape_.up + port),
                       cable);
}

FatTree::Ports FatTree::ports(std::int64_t leaf, std::int64_t to_slot, const Flow& flow) const {
  const std::int64_t u = shape_.up;
  if (!choice_.is_ecmp()) return {to_slot % u, to_slot / u % u};
  const std::int64_t spine = choice_.by_hash(flow, {1, after(first_switch_, leaf).value}, u);
  const std::int64_t spine_number = leaves_ + pod_of_leaf(leaf) * u + spine;
  return {spine, choice_.by_hash(flow, {2, after(first_switch_, spine_number).value}, u)};
}

void FatTree::route(std::int64_t source, std::int64_t target, const Flow& flow,
                    std::vector<LinkId>& links) const {
  numbered_route(source, target, flow, 0, links);
}

Alternatives FatTree::alternatives(std::int64_t from_leaf, std::int64_t to_leaf) const {
  if (from_leaf == to_leaf) return Alternatives({});
  if (pod_of_leaf(from_leaf) == pod_of_leaf(to_leaf)) return Alternatives({shape_.up});
  return Alternatives({shape_.up, shape_.up});
}

std::int32_t FatTree::route_count(std::int64_t source, std::int64_t target) const {
  return choice_.is_spread() ? choice_.paths(alternatives(leaf_of(source), leaf_of(target)).count()) : 1;
}

void FatTree::numbered_route(std::int64_t source, std::int64_t target, const Flow& flow, std::int32_t number,
                             std::vector<LinkId>& links) const {
  const std::int64_t from = leaf_of(source);
  const std::int64_t to = leaf_of(target);
  links.push_back(forward(endpoint_cable(source)));
  if (from != to) {
    Ports climbed = ports(from, slot(target), flow);
    if (number > 0) {
      const std::vector<std::int64_t> turned = alternatives(from, to).decisions(number);
      climbed.spine = (climbed.spine + turned[0]) % shape_.up;
      if (turned.size() > 1) climbed.port = (climbed.port + turned[1]) % shape_.up;
    }
    links.push_back(forward(leaf_cable(from, climbed.spine)));
    if (pod_of_leaf(from) != pod_of_leaf(to)) {
      links.push_back(forward(spine_cable(pod_of_leaf(from), climbed.spine, climbed.port)));
      links.push_back(backward(spine_cable(pod_of_leaf(to), climbed.spine, climbed.port)));
    }
    links.push_back(backward(leaf_cable(to, climbed.spine)));
  }
  links.push_back(backward(endpoint_cable(target)));
}

std::int64_t FatTree::top_towards(std::int64_t source, std::int64_t to_slot, const Flow& flow) const {
  if (shape_.levels == 1) return 0;
  const Ports climbed = ports(leaf_of(source), to_slot, flow);
  return shape_.levels == 2 ? climbed.spine : climbed.spine * shape_.up + climbed.port;
}

std::int64_t FatTree::top_of_slot(std::int64_t slot) const {
  if (shape_.levels == 1) return 0;
  const std::int64_t spine = slot % shape_.up;
  return shape_.levels == 2 ? spine : spine * shape_.up + slot / shape_.up % shape_.up;
}

void FatTree::climb(std::int64_t source, std::int64_t top_number, std::vector<LinkId>& links) const {
  const std::size_t begin = links.size();
  descend(top_number, source, links);
  // The same cables, the other way round.
  std::reverse(links.begin() + static_cast<std::ptrdiff_t>(begin), links.end());
  for (std::size_t i = begin; i < links.size(); ++i) links[i] = LinkId(links[i].value ^ 1U);
}

void FatTree::descend(std::int64_t top_number, std::int64_t target, std::vector<LinkId>& links) const {
  const std::int64_t leaf = leaf_of(target);
  const std::int64_t spine = shape_.levels == 3 ? top_number / shape_.up : top_number;
  if (shape_.levels == 3)
    links.push_back(backward(spine_cable(pod_of_leaf(leaf), spine, top_number % shape_.up)));
  if (shape_.levels > 1) links.push_back(backward(leaf_cable(leaf, spine)));
  links.push_back(backward(endpoint_cable(target)));
}

// Whole nodes, by the leaf of the first endpoint, and the leaves that belong to them. With rails a group has
// one leaf of every rail.
Grouping FatTree::leaf_grouping() const {
  Grouping result{"leaf", {}, {std::vector<std::int32_t>(static_cast<std::size_t>(leaves_), -1)}};
  std::vector<std::int32_t>& leaf_group = result.stages[0];
  for (std::int32_t node = 0; node < endpoints_.nodes(); ++node) {
    const std::int64_t first = endpoints_.first_of(node);
    const std::int64_t first_leaf = leaf_of(first);
    result.node_group.push_back(static_cast<std::int32_t>(first_leaf));
    for (std::int64_t nic = 0; nic < endpoints_.per_node(node); ++nic) {
      // A leaf that two groups share goes to the later one, which starts on it.
      std::int32_t& group = leaf_group[static_cast<std::size_t>(leaf_of(first + nic))];
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
  std::vector<Grouping> result = {node_grouping(endpoints_.nodes())};
  if (shape_.levels > 1) result.push_back(leaf_grouping());
  if (shape_.levels > 2) result.push_back(pod_grouping(result.back()));
  result.push_back(bisection_of(endpoints_.nodes(), result));
  return result;
}

std::vector<std::int32_t> FatTree::unlike_nodes() const {
  std::vector<std::int32_t> result;
  const auto leaves_of = [&](std::int32_t node) {
    std::vector<std::int64_t> leaves;
    for (std::int64_t nic = 0; nic < endpoints_.per_node(node); ++nic)
      leaves.push_back(leaf_of(endpoints_.first_of(node) + nic));
    return leaves;
  };
  for (std::int32_t node = 0; node < endpoints_.nodes(); ++node)
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
