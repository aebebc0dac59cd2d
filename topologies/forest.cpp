// How trees are packed: they are grown one after another, each where links are emptiest, and grown again in
// turn until the fullest link is about as busy as the tightest cut or nothing gets better. More and thinner
// trees are tried while the link loads, which are whole numbers of trees, are too coarse.
#include "topologies/forest.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "sim/core/check.hpp"
#include "topologies/flow_cuts.hpp"
#include "topologies/forest_arcs.hpp"

namespace collsim::topologies {
namespace {

constexpr std::int32_t trees_max = 512;
constexpr int rounds_max = 12;
constexpr int rounds_in_vain_max = 4;
// Arcs looked at, trees times rounds times arcs, after which no more trees are tried: about a second.
constexpr std::int64_t looks_max = 10'000'000;
// Good enough: the fullest link at most 1 / 64 above the tightest cut.
constexpr std::int64_t good_fill = LinkFill::full + LinkFill::full / 64;

constexpr std::size_t no_arc = static_cast<std::size_t>(-1);

// [child]: the arc from its parent; no_arc for the root.
using TreeArcs = std::vector<std::size_t>;

// Grows one tree at a time by Prim's algorithm over arcs whose cost rises as the tree itself uses their
// links. Costs only rise, so a stale entry of the queue is seen and put back. Deep parents are dearer, so
// that trees stay flat where many are as good.
class TreeGrower {
 public:
  TreeGrower(const ForestArcs& arcs, LinkFill& fill, LinkFill::Which at_once)
      : arcs_(arcs), fill_(fill), at_once_(at_once) {}

  // Adds the links of the tree to the fill.
  TreeArcs grow(Rank root, std::int32_t ranks) {
    TreeArcs tree(static_cast<std::size_t>(ranks), no_arc);
    depth_.assign(static_cast<std::size_t>(ranks), -1);
    queue_ = {};
    reach(root, 0);
    for (std::int32_t left = ranks - 1; left > 0;) {
      COLLSIM_CHECK(!queue_.empty());
      const auto [stale_cost, index] = queue_.top();
      queue_.pop();
      const ForestArcs::Arc& arc = arcs_.arc(index);
      if (depth(arc.child) >= 0) continue;
      const Int128 now = cost(index);
      if (now > stale_cost) {
        queue_.push({now, index});
        continue;
      }
      fill_.add(arcs_.links(index), at_once_);
      tree[static_cast<std::size_t>(arc.child)] = index;
      reach(arc.child, depth(arc.parent) + 1);
      --left;
    }
    for (const std::size_t index : tree) {
      if (index == no_arc) continue;
      fill_.add(arcs_.links(index), LinkFill::Which::all);
      fill_.take(arcs_.links(index), at_once_);
    }
    return tree;
  }

 private:
  struct Entry {
    Int128 cost;
    std::size_t arc;
    bool operator<(const Entry& other) const {
      return cost != other.cost ? cost > other.cost : arc > other.arc;
    }
  };
  std::int32_t& depth(Rank rank) { return depth_[static_cast<std::size_t>(rank)]; }
  Int128 cost(std::size_t index) {
    return fill_.cost(arcs_.links(index)) / depth_unit * (depth_unit + depth(arcs_.arc(index).parent));
  }
  void reach(Rank rank, std::int32_t at_depth) {
    depth(rank) = at_depth;
    for (std::size_t index = arcs_.begin_of(rank); index < arcs_.end_of(rank); ++index)
      if (depth(arcs_.arc(index).child) < 0) queue_.push({cost(index), index});
  }

  static constexpr std::int32_t depth_unit = 8;

  const ForestArcs& arcs_;
  LinkFill& fill_;
  LinkFill::Which at_once_;
  std::vector<std::int32_t> depth_;  // [rank]; -1 = not reached
  std::priority_queue<Entry> queue_;
};

// A forest of a given number of trees.
struct Packing {
  std::int32_t pieces = 0;
  std::int64_t fullest = 0;
  std::vector<TreeArcs> trees;
  std::int64_t looks = 0;  // at arcs, that it took
};

Packing pack(const Topology& topology, const ForestArcs& arcs, const FlowLimit& limit,
             const std::vector<Rank>& roots, std::int32_t pieces, LinkFill::Which at_once) {
  LinkFill fill(topology, limit, static_cast<std::int64_t>(roots.size()));
  TreeGrower grower(arcs, fill, at_once);
  Packing now{pieces, 0, {}, 0};
  for (const Rank root : roots) now.trees.push_back(grower.grow(root, topology.ranks()));
  now.fullest = fill.fullest();
  Packing best = now;
  const auto looks = static_cast<std::int64_t>(roots.size() * arcs.size());
  best.looks = looks;
  int in_vain = 0;
  for (int round = 0; round < rounds_max && in_vain < rounds_in_vain_max && best.fullest > good_fill;
       ++round) {
    best.looks += looks;
    ++in_vain;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      for (const std::size_t arc : now.trees[i])
        if (arc != no_arc) fill.take(arcs.links(arc), LinkFill::Which::all);
      now.trees[i] = grower.grow(roots[i], topology.ranks());
    }
    now.fullest = fill.fullest();
    if (now.fullest >= best.fullest) continue;
    now.looks = best.looks;
    best = now;
    in_vain = 0;
  }
  return best;
}

FlowLimit larger(const FlowLimit& a, const FlowLimit& b) { return a > b ? a : b; }

// All ranks' bytes through the memories that they share, which no cut in two sees.
FlowLimit memory_limit(const Topology& topology, CollectiveKind kind) {
  for (const Cut& cut : topology.cuts())
    if (cut.name == "memory")
      return {(kind == CollectiveKind::all_reduce ? 2 : 1) * (cut.groups - 1), 1, cut.total_exit};
  return {};
}

// The tightest cut by flows where no switch reduces.
FlowLimit tightest_by_flow(const Topology& topology, CollectiveKind kind, Rank root) {
  FlowNetwork forward(topology, Terminals::ranks, FlowDirection::forward);
  FlowNetwork backward(topology, Terminals::ranks, FlowDirection::backward);
  std::int32_t ignored = 0;
  switch (kind) {
    case CollectiveKind::all_gather:
      return gather_limit(forward, ignored);
    case CollectiveKind::reduce_scatter:
      return gather_limit(backward, ignored);
    case CollectiveKind::broadcast:
      return broadcast_limit(forward, root, ignored);
    case CollectiveKind::reduce:
      return broadcast_limit(backward, root, ignored);
    default:
      return larger(partition_limit(forward, ignored),
                    larger(broadcast_limit(forward, 0, ignored), broadcast_limit(backward, 0, ignored)));
  }
}

FlowLimit tightest(const Topology& topology, CollectiveKind kind, Rank root) {
  return larger(tightest_by_flow(topology, kind, root), memory_limit(topology, kind));
}

std::optional<TreeUse> use_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::broadcast:
      return TreeUse::down;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce:
      return TreeUse::up;
    case CollectiveKind::all_reduce:
      return TreeUse::both;
    default:
      return std::nullopt;
  }
}

// Where the trees of a forest of `pieces` start.
std::vector<Rank> roots_of(CollectiveKind kind, Rank root, std::int32_t ranks, std::int32_t pieces) {
  std::vector<Rank> roots;
  const std::int32_t count = in_parts(kind) ? ranks * pieces : pieces;
  for (std::int32_t tree = 0; tree < count; ++tree)
    roots.push_back(in_parts(kind) ? tree / pieces : has_root(kind) ? root : tree % ranks);
  return roots;
}

SpanningTree spanning_tree(const ForestArcs& arcs, const TreeArcs& tree) {
  SpanningTree result;
  result.parent.assign(tree.size(), -1);
  result.channel.assign(tree.size(), 0);
  for (std::size_t rank = 0; rank < tree.size(); ++rank) {
    if (tree[rank] == no_arc) {
      result.root = static_cast<Rank>(rank);
      continue;
    }
    result.parent[rank] = arcs.arc(tree[rank]).parent;
    result.channel[rank] = arcs.arc(tree[rank]).channel;
  }
  return result;
}

// Hangs the tree from another rank: the arcs between the two turn round.
void move_root(SpanningTree& tree, Rank root) {
  Rank below = -1;
  std::int32_t channel_below = 0;
  for (Rank rank = root; rank >= 0;) {
    const auto place = static_cast<std::size_t>(rank);
    const Rank above = std::exchange(tree.parent[place], below);
    const std::int32_t channel = std::exchange(tree.channel[place], channel_below);
    below = rank;
    channel_below = channel;
    rank = above;
  }
  tree.root = root;
}

// The rank whose farthest rank is nearest: the middle of a longest path, found from its two ends.
Rank middle_of(const SpanningTree& tree) {
  const std::size_t ranks = tree.parent.size();
  const auto ends = [&](const SpanningTree& of) {
    Rank farthest = of.root;
    std::int32_t most = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::int32_t depth = 0;
      for (Rank at = static_cast<Rank>(rank); at != of.root; at = of.parent[static_cast<std::size_t>(at)])
        ++depth;
      if (depth > most) most = depth, farthest = static_cast<Rank>(rank);
    }
    return std::pair(farthest, most);
  };
  SpanningTree from_end = tree;
  move_root(from_end, ends(tree).first);
  auto [rank, length] = ends(from_end);
  for (std::int32_t step = 0; step < length / 2; ++step)
    rank = from_end.parent[static_cast<std::size_t>(rank)];
  return rank;
}

// Arcs from the root to every rank, together.
std::int64_t depth_sum(const ForestArcs& arcs, const TreeArcs& tree) {
  std::int64_t sum = 0;
  for (std::size_t arc : tree)
    for (; arc != no_arc; arc = tree[static_cast<std::size_t>(arcs.arc(arc).parent)]) ++sum;
  return sum;
}

// What a packing is judged by. Behind switches, messages of different arcs share links, and what waits for
// others leaves them idle: there a tree that is deeper by one counts as if its links were fuller by a twelfth
// (as measured on nodes of NVSwitch).
std::int64_t burden_of(const ForestArcs& arcs, const Packing& packing) {
  std::int64_t depths = 0;
  for (const TreeArcs& tree : packing.trees) depths += depth_sum(arcs, tree);
  const auto ends = static_cast<std::int64_t>(packing.trees.size() * packing.trees[0].size());
  return packing.fullest + LinkFill::full * depths / ends / 12;
}

// How many trees to try, in this order.
std::vector<std::int32_t> piece_counts(CollectiveKind kind, std::int32_t ranks, bool flat) {
  std::vector<std::int32_t> counts;
  // A star around every rank.
  if (kind == CollectiveKind::all_reduce && flat) counts = {ranks, 2 * ranks};
  for (const std::int32_t count : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128})
    counts.push_back(count);
  return counts;
}

Packing best_packing(const Topology& topology, const ForestArcs& arcs, const FlowLimit& limit,
                     CollectiveKind kind, Rank root) {
  // One rank's own bytes load few arcs, each for all trees: there depth does not matter.
  const bool flat = arcs.share_links() && !has_root(kind);
  const std::int64_t good = flat ? LinkFill::full + LinkFill::full / 24 + LinkFill::full / 6 : good_fill;
  using Which = LinkFill::Which;
  const std::vector<Which> modes =
      flat ? std::vector{Which::none, Which::narrow, Which::all} : std::vector{Which::all};
  Packing best;
  std::int64_t least = 0;
  std::int64_t looks = 0;
  for (const std::int32_t pieces : piece_counts(kind, topology.ranks(), flat)) {
    const std::vector<Rank> roots = roots_of(kind, root, topology.ranks(), pieces);
    if (static_cast<std::int32_t>(roots.size()) > trees_max || looks > looks_max) break;
    for (const Which at_once : modes) {
      Packing packing = pack(topology, arcs, limit, roots, pieces, at_once);
      looks += packing.looks;
      const std::int64_t burden = flat ? burden_of(arcs, packing) : packing.fullest;
      if (best.pieces > 0 && burden >= least) continue;
      best = std::move(packing);
      least = burden;
      if (least <= good) return best;
    }
  }
  return best;
}

}  // namespace

std::variant<Forest, Impossible> pack_forest(const Topology& topology, CollectiveKind kind, Rank root) {
  const std::optional<TreeUse> use = use_of(kind);
  const std::int32_t ranks = topology.ranks();
  if (!use) return Impossible{"no trees are packed for " + std::string(name_of(kind))};
  if (ranks > forest_ranks_max)
    return Impossible{"trees are packed for at most " + std::to_string(forest_ranks_max) +
                      " ranks; here are " + std::to_string(ranks)};
  Forest forest{kind, has_root(kind) ? root : 0, ranks, 1, {}, 0};
  if (ranks == 1) return forest;
  if (!FlowNetwork(topology, Terminals::ranks, FlowDirection::forward).fits(ranks))
    return Impossible{"the bandwidths of the links have no common unit that flows could be counted in"};
  const ForestArcs arcs(topology, *use);
  const FlowLimit limit = tightest(topology, kind, root);
  const Packing best = best_packing(topology, arcs, limit, kind, forest.root);
  forest.pieces = best.pieces;
  for (const TreeArcs& tree : best.trees) {
    forest.trees.push_back(spanning_tree(arcs, tree));
    if (kind == CollectiveKind::all_reduce) move_root(forest.trees.back(), middle_of(forest.trees.back()));
  }
  forest.busiest_millionths = best.fullest * 1'000'000 / LinkFill::full;
  return forest;
}

}  // namespace collsim::topologies
