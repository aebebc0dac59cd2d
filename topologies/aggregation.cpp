#include "topologies/aggregation.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/core/check.hpp"
#include "topologies/interior.hpp"

namespace collsim::topologies {
namespace {

using PathOrReason = std::variant<AggregationPath, Impossible>;

bool sends(const AggregationGroup& group, std::size_t member) {
  return group.mode != AggregationMode::multicast || static_cast<std::int32_t>(member) == group.root;
}
bool receives(const AggregationGroup& group, std::size_t member) {
  return group.mode != AggregationMode::reduce || static_cast<std::int32_t>(member) == group.root;
}

// The cables of a tree, from the members' side; a cable that several members share is kept once.
class TreeLinks {
 public:
  void add(const AggregationGroup& group, std::size_t member, const std::vector<Cable>& path) {
    for (const Cable cable : path) {
      if (sends(group, member)) links_.insert(forward(cable));
      if (receives(group, member)) links_.insert(backward(cable));
    }
  }
  std::vector<LinkId> take() { return {links_.begin(), links_.end()}; }

 private:
  std::set<LinkId> links_;
};

// A tree over members: what it climbs, in the numbers of the endpoints of its fat tree.
struct FabricTree {
  const FatTree* tree = nullptr;
  int height = 1;                          // switch levels
  std::map<std::int64_t, Rank> member_at;  // endpoint: its member
};

class Aggregations final : public AggregationRule {
 public:
  Aggregations(const AggregationInput& input, std::vector<AggregationTree> trees)
      : input_(input), trees_(std::move(trees)) {}

  PathOrReason path(const AggregationGroup& group) const override {
    COLLSIM_CHECK(group.members.size() >= 2 && group.rail >= 0);
    COLLSIM_CHECK(group.root >= 0 && static_cast<std::size_t>(group.root) < group.members.size());
    return group.scope == AggregationScope::node ? node_path(group) : fabric_path(group);
  }

 private:
  NodeLayout::Place place_of(Rank rank) const { return input_.layout.place_of(rank); }

  PathOrReason node_path(const AggregationGroup& group) const {
    const NodeLayout::Place place = place_of(group.members[0]);
    const InterconnectSpec& interconnect = input_.nodes[place.group].interconnect;
    const ReductionSpec& reduction = interconnect.reduction;
    if (!reduction.enabled)
      return Impossible{
          "the node's switches do not reduce (cluster.node.interconnect.reduction is not set" +
          std::string(input_.layout.is_even() ? ")" : " for node " + std::to_string(place.node) + ")")};
    const std::int32_t plane = group.rail % interconnect.planes;
    TreeLinks links;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const NodeLayout::Place member = place_of(group.members[i]);
      if (member.node != place.node)
        return Impossible{"ranks " + std::to_string(group.members[0]) + " and " +
                          std::to_string(group.members[i]) +
                          " are in different nodes; a node's switches reduce among its own GPUs only"};
      const Cable first = input_.layout.first_cable(place.node);
      links.add(group, i, {nvswitch_cable(first, member.gpu, plane, interconnect.planes)});
    }
    if (auto reason = too_wide(reduction, group.members.size(), "cluster.node.interconnect.reduction.radix"))
      return *reason;
    AggregationPath path = started(links.take(), reduction);
    path.root = after(input_.layout.first_switch(place.node), plane);
    path.up_latency.assign(group.members.size(), interconnect.latency);
    path.down_latency = path.up_latency;
    return path;
  }

  PathOrReason fabric_path(const AggregationGroup& group) const {
    if (input_.layout.nodes() == 1) return Impossible{"one node has no fabric to reduce in"};
    if (trees_.empty() || !input_.fabric_reduction.enabled)
      return Impossible{"the fabric's switches do not reduce (cluster.fabric.reduction is not set)"};
    const std::size_t site = site_of(group.members[0]);
    FabricTree over{trees_[site].tree.get(), 1, {}};
    for (const Rank rank : group.members) {
      if (site_of(rank) != site)
        return Impossible{"ranks " + std::to_string(group.members[0]) + " and " + std::to_string(rank) +
                          " are on different sites; switches reduce within a site only"};
      const auto [entry, is_new] = over.member_at.emplace(endpoint_of(rank, site), rank);
      if (!is_new)
        return Impossible{"ranks " + std::to_string(entry->second) + " and " + std::to_string(rank) +
                          " share a NIC; an aggregation over the fabric takes one rank of each NIC"};
    }
    over.height = height_of(over);
    if (auto reason = too_wide(input_.fabric_reduction, children_max(over), "cluster.fabric.reduction.radix"))
      return *reason;
    TreeLinks links;
    for (std::size_t i = 0; i < group.members.size(); ++i)
      links.add(group, i, climb(group.members[i], endpoint_of(group.members[i], site), group.rail, over));
    AggregationPath path = started(links.take(), input_.fabric_reduction);
    path.root = root_of(over, group.rail);
    for (const Rank rank : group.members) {
      const NicSpec& nics = input_.nodes[place_of(rank).group].nics;
      path.up_latency.push_back((nics.count > 0 ? nics.latency : Duration()) +
                                input_.fabric_latency * over.height);
    }
    path.down_latency = path.up_latency;
    return path;
  }

  std::size_t site_of(Rank rank) const {
    const std::int64_t endpoint = input_.layout.endpoint_of(place_of(rank));
    std::size_t site = trees_.size() - 1;
    while (trees_[site].first_endpoint > endpoint) --site;
    return site;
  }
  std::int64_t endpoint_of(Rank rank, std::size_t site) const {
    return input_.layout.endpoint_of(place_of(rank)) - trees_[site].first_endpoint;
  }

  // Switch levels of the lowest tree over all members.
  static int height_of(const FabricTree& over) {
    const FatTree& tree = *over.tree;
    const std::int64_t leaf = tree.leaf_of(over.member_at.begin()->first);
    int height = 1;
    for (const auto& [endpoint, rank] : over.member_at) {
      const std::int64_t other = tree.leaf_of(endpoint);
      if (other != leaf) height = std::max(height, 2);
      if (tree.pod_of_leaf(other) != tree.pod_of_leaf(leaf)) height = 3;
    }
    return height;
  }

  // Children of the widest switch of the tree: members of a leaf, leaves of a pod, pods.
  static std::size_t children_max(const FabricTree& over) {
    std::map<std::int64_t, std::size_t> members_of_leaf;
    for (const auto& [endpoint, rank] : over.member_at) ++members_of_leaf[over.tree->leaf_of(endpoint)];
    std::map<std::int64_t, std::size_t> leaves_of_pod;
    std::size_t widest = 0;
    for (const auto& [leaf, count] : members_of_leaf) {
      widest = std::max(widest, count);
      ++leaves_of_pod[over.tree->pod_of_leaf(leaf)];
    }
    if (over.height > 1)
      for (const auto& [pod, count] : leaves_of_pod) widest = std::max(widest, count);
    return std::max(widest, over.height > 2 ? leaves_of_pod.size() : 0);
  }

  // The cables from a member up to the root of the tree.
  std::vector<Cable> climb(Rank rank, std::int64_t endpoint, std::int32_t rail,
                           const FabricTree& over) const {
    std::vector<Cable> path;
    const FatTree& tree = *over.tree;
    const std::int64_t leaf = tree.leaf_of(endpoint);
    const std::size_t group = place_of(rank).group;
    if (input_.nodes[group].nics.count > 0) path.push_back(input_.layout.nic_cable(rank, group));
    path.push_back(tree.endpoint_cable(endpoint));
    const std::int64_t up = tree.shape().up;
    if (over.height > 1) path.push_back(tree.leaf_cable(leaf, rail % up));
    if (over.height > 2) path.push_back(tree.spine_cable(tree.pod_of_leaf(leaf), rail % up, rail / up % up));
    return path;
  }

  static VertexId root_of(const FabricTree& over, std::int32_t rail) {
    const FatTree& tree = *over.tree;
    const std::int64_t leaf = tree.leaf_of(over.member_at.begin()->first);
    const std::int64_t up = tree.shape().up;
    if (over.height == 1) return tree.leaf(leaf);
    if (over.height == 2) return tree.spine(tree.pod_of_leaf(leaf), rail % up);
    return tree.top(rail % up * up + rail / up % up);
  }

  static std::optional<Impossible> too_wide(const ReductionSpec& reduction, std::size_t children,
                                            const std::string& key) {
    if (!reduction.radix || children <= static_cast<std::size_t>(*reduction.radix)) return std::nullopt;
    return Impossible{"a switch would have to reduce " + std::to_string(children) +
                      " children, its limit is " + std::to_string(*reduction.radix) + " (" + key + ")"};
  }

  static AggregationPath started(std::vector<LinkId> links, const ReductionSpec& reduction) {
    AggregationPath path;
    path.links = std::move(links);
    path.rate_max = reduction.bandwidth;
    path.operations_max = reduction.operations;
    return path;
  }

  AggregationInput input_;
  std::vector<AggregationTree> trees_;
};

}  // namespace

std::shared_ptr<const AggregationRule> make_aggregations(const AggregationInput& input,
                                                         std::vector<AggregationTree> trees) {
  return std::make_shared<const Aggregations>(input, std::move(trees));
}

}  // namespace collsim::topologies
