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

class Aggregations final : public AggregationRule {
 public:
  Aggregations(const AggregationInput& input, std::shared_ptr<const FatTree> tree)
      : input_(input), tree_(std::move(tree)) {}

  PathOrReason path(const AggregationGroup& group) const override {
    COLLSIM_CHECK(group.members.size() >= 2 && group.rail >= 0);
    COLLSIM_CHECK(group.root >= 0 && static_cast<std::size_t>(group.root) < group.members.size());
    return group.scope == AggregationScope::node ? node_path(group) : fabric_path(group);
  }

 private:
  std::int32_t node_of(Rank rank) const { return rank / input_.gpus_per_node; }

  PathOrReason node_path(const AggregationGroup& group) const {
    const ReductionSpec& reduction = input_.node_reduction;
    if (!reduction.enabled)
      return Impossible{"the node's switches do not reduce (cluster.node.interconnect.reduction is not set)"};
    const std::int32_t node = node_of(group.members[0]);
    TreeLinks links;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (node_of(group.members[i]) != node)
        return Impossible{"ranks " + std::to_string(group.members[0]) + " and " +
                          std::to_string(group.members[i]) +
                          " are in different nodes; a node's switches reduce among its own GPUs only"};
      const Cable first = node * input_.interior_cables;
      links.add(group, i,
                {nvswitch_cable(first, group.members[i] % input_.gpus_per_node, group.rail % input_.planes,
                                input_.planes)});
    }
    if (auto reason = too_wide(reduction, group.members.size(), "cluster.node.interconnect.reduction.radix"))
      return *reason;
    return finish(group, links.take(), reduction, input_.interior_latency);
  }

  PathOrReason fabric_path(const AggregationGroup& group) const {
    if (input_.nodes == 1) return Impossible{"one node has no fabric to reduce in"};
    if (tree_ == nullptr || !input_.fabric_reduction.enabled)
      return Impossible{"the fabric's switches do not reduce (cluster.fabric.reduction is not set)"};
    std::map<std::int64_t, Rank> member_at;  // endpoint: its member
    for (const Rank rank : group.members) {
      const auto [entry, is_new] = member_at.emplace(endpoint_of(rank), rank);
      if (!is_new)
        return Impossible{"ranks " + std::to_string(entry->second) + " and " + std::to_string(rank) +
                          " share a NIC; an aggregation over the fabric takes one rank of each NIC"};
    }
    const int height = height_over(member_at);
    if (auto reason = too_wide(input_.fabric_reduction, children_max(member_at, height),
                               "cluster.fabric.reduction.radix"))
      return *reason;
    TreeLinks links;
    for (std::size_t i = 0; i < group.members.size(); ++i)
      links.add(group, i, climb(group.members[i], group.rail, height));
    const Duration nic = input_.nics_per_node > 0 ? input_.nic_latency : Duration();
    return finish(group, links.take(), input_.fabric_reduction, nic + input_.fabric_latency * height);
  }

  std::int64_t endpoint_of(Rank rank) const {
    if (input_.nics_per_node == 0) return rank;
    const std::int64_t gpu = rank % input_.gpus_per_node;
    return std::int64_t{node_of(rank)} * input_.nics_per_node +
           gpu * input_.nics_per_node / input_.gpus_per_node;
  }

  // Switch levels of the lowest tree over all members.
  int height_over(const std::map<std::int64_t, Rank>& member_at) const {
    const std::int64_t leaf = tree_->leaf_of(member_at.begin()->first);
    int height = 1;
    for (const auto& [endpoint, rank] : member_at) {
      const std::int64_t other = tree_->leaf_of(endpoint);
      if (other != leaf) height = std::max(height, 2);
      if (tree_->pod_of_leaf(other) != tree_->pod_of_leaf(leaf)) height = 3;
    }
    return height;
  }

  // Children of the widest switch of the tree: members of a leaf, leaves of a pod, pods.
  std::size_t children_max(const std::map<std::int64_t, Rank>& member_at, int height) const {
    std::map<std::int64_t, std::size_t> members_of_leaf;
    for (const auto& [endpoint, rank] : member_at) ++members_of_leaf[tree_->leaf_of(endpoint)];
    std::map<std::int64_t, std::size_t> leaves_of_pod;
    std::size_t widest = 0;
    for (const auto& [leaf, count] : members_of_leaf) {
      widest = std::max(widest, count);
      ++leaves_of_pod[tree_->pod_of_leaf(leaf)];
    }
    if (height > 1)
      for (const auto& [pod, count] : leaves_of_pod) widest = std::max(widest, count);
    return std::max(widest, height > 2 ? leaves_of_pod.size() : 0);
  }

  // The cables from a member up to the root of the tree.
  std::vector<Cable> climb(Rank rank, std::int32_t rail, int height) const {
    std::vector<Cable> path;
    const std::int64_t endpoint = endpoint_of(rank);
    const std::int64_t leaf = tree_->leaf_of(endpoint);
    if (input_.nics_per_node > 0) path.push_back(input_.first_nic_cable + rank);
    path.push_back(tree_->endpoint_cable(endpoint));
    const std::int64_t up = tree_->shape().up;
    if (height > 1) path.push_back(tree_->leaf_cable(leaf, rail % up));
    if (height > 2) path.push_back(tree_->spine_cable(tree_->pod_of_leaf(leaf), rail % up, rail / up % up));
    return path;
  }

  static std::optional<Impossible> too_wide(const ReductionSpec& reduction, std::size_t children,
                                            const std::string& key) {
    if (!reduction.radix || children <= static_cast<std::size_t>(*reduction.radix)) return std::nullopt;
    return Impossible{"a switch would have to reduce " + std::to_string(children) +
                      " children, its limit is " + std::to_string(*reduction.radix) + " (" + key + ")"};
  }

  static AggregationPath finish(const AggregationGroup& group, std::vector<LinkId> links,
                                const ReductionSpec& reduction, Duration latency) {
    AggregationPath path;
    path.links = std::move(links);
    path.up_latency.assign(group.members.size(), latency);
    path.down_latency.assign(group.members.size(), latency);
    path.rate_max = reduction.bandwidth;
    path.operations_max = reduction.operations;
    return path;
  }

  AggregationInput input_;
  std::shared_ptr<const FatTree> tree_;
};

}  // namespace

std::shared_ptr<const AggregationRule> make_aggregations(const AggregationInput& input,
                                                         std::shared_ptr<const FatTree> tree) {
  return std::make_shared<const Aggregations>(input, std::move(tree));
}

}  // namespace collsim::topologies
