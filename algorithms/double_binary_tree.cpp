// Double binary tree: two binary trees, each carries half of every channel's part, up (reduce) and down
// (broadcast), slice by slice (Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; the trees are those
// of NCCL src/graph/trees.cc: every rank is a leaf in one of the two).
//
// An all-reduce or a barrier has the two trees of NCCL, each with its own root. Broadcast and reduce have the
// construction of Sanders et al.: both trees span the others, and the root stands above the two, with one
// child in each. With numbers relative to the root that is NCCL's tree, whose number 0 has one child; the
// second is mirrored or shifted among the numbers from 1 on. Every rank but the root is inner in one of the
// two at most (with an even count, one is a leaf in both).
//
// With several nodes of several GPUs (in equal numbers or not) the trees span the nodes, and inside a node a
// chain leads to the head, the GPU at the channel's NIC (in the node of the root of a broadcast or reduce to
// the root; the head on it has the edges of the tree). Otherwise, and with order: rank, they span the ranks
// (chains of one).
//
// Streams: pipelined_tree.hpp, for tree 2 * channel + 0 or 1.
#include <array>
#include <utility>

#include "algorithms/binary_trees.hpp"
#include "algorithms/pipelined_tree.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

struct Trees {
  struct Place {  // of a rank: its node, and the node's ranks
    std::int32_t node;
    Rank first;
    std::int32_t gpus;
  };
  Placement vertices;  // of a tree: the nodes, or nodes of one GPU
  std::int32_t channels;
  Rank root;  // of both trees; -1: each has its own
  TreeStreams streams;

  // The member of the node's chain that is in the tree.
  std::int32_t head(std::int32_t tree, std::int32_t gpus) const {
    return first_gpu_of_nic(vertices, tree / 2, gpus);
  }
  Place place_of(Rank rank) const {
    const std::int32_t node = vertices.node_of(rank);
    return {node, vertices.first_rank_of(node), vertices.gpus_of(node)};
  }
  TreeVertex vertex(Rank rank, std::int32_t tree) const;
  std::int32_t chain_position(Rank rank, std::int32_t tree) const;
  std::int32_t streams_in(Rank rank, std::int32_t tree, const TreeVertex& of_rank) const;
  std::int32_t stream_count(Rank rank) const;
  TreePlace place(Rank rank, std::int32_t tree, const TreeVertex& of_rank) const;
  void bind(Rank rank, std::int32_t stream, Binding& binding) const;
};

// The vertex of `rank` in tree 0 or 1 of every channel, in numbers relative to the root.
TreeVertex Trees::vertex(Rank rank, std::int32_t tree) const {
  const std::int32_t own = vertices.node_of(rank);
  const std::int32_t count = vertices.nodes;
  const std::int32_t number = root < 0 ? own : (own - vertices.node_of(root) + count) % count;
  return vertex_of_tree(tree, count, number, root < 0 ? 0 : 1);
}

std::int32_t Trees::chain_position(Rank rank, std::int32_t tree) const {
  const Place at = place_of(rank);
  const bool with_root = root >= 0 && at.node == vertices.node_of(root);
  const std::int32_t start = with_root ? root - at.first : head(tree, at.gpus);
  return (rank - at.first - start + at.gpus) % at.gpus;
}

std::int32_t Trees::streams_in(Rank rank, std::int32_t tree, const TreeVertex& of_rank) const {
  const Place at = place_of(rank);
  const std::int32_t position = chain_position(rank, tree);
  const std::int32_t children =
      (rank - at.first == head(tree, at.gpus) ? of_rank.child_count : 0) + (position + 1 < at.gpus ? 1 : 0);
  return streams.count(children, position > 0 || of_rank.parent >= 0);
}

std::int32_t Trees::stream_count(Rank rank) const {
  const std::array<TreeVertex, 2> of_rank = {vertex(rank, 0), vertex(rank, 1)};
  std::int32_t count = 0;
  for (std::int32_t tree = 0; tree < 2 * channels; ++tree)
    count += streams_in(rank, tree, of_rank[tree % 2 == 0 ? 0 : 1]);
  return count;
}

TreePlace Trees::place(Rank rank, std::int32_t tree, const TreeVertex& of_rank) const {
  const std::int32_t position = chain_position(rank, tree);
  const Place at = place_of(rank);
  const std::int32_t gpu = rank - at.first;
  const std::int32_t first = root < 0 ? 0 : vertices.node_of(root);  // the vertex of number 0
  const auto head_of = [&](std::int32_t number) {
    const std::int32_t node = (number + first) % vertices.nodes;
    return vertices.first_rank_of(node) + head(tree, vertices.gpus_of(node));
  };
  TreePlace place;
  if (position > 0)
    place.parent = at.first + (gpu + at.gpus - 1) % at.gpus;
  else if (of_rank.parent >= 0)
    place.parent = head_of(of_rank.parent);
  if (gpu == head(tree, at.gpus))
    for (const std::int32_t child : of_rank.children()) place.children.push_back(head_of(child));
  if (position + 1 < at.gpus) place.children.push_back(at.first + (gpu + 1) % at.gpus);
  return place;
}

void Trees::bind(Rank rank, std::int32_t stream, Binding& binding) const {
  const std::array<TreeVertex, 2> of_rank = {vertex(rank, 0), vertex(rank, 1)};
  std::int32_t first = 0;  // stream of the current tree
  std::int32_t tree = 0;
  while (true) {
    const std::int32_t here = streams_in(rank, tree, of_rank[tree % 2 == 0 ? 0 : 1]);
    if (stream < first + here) break;
    first += here;
    ++tree;
  }
  streams.bind(place(rank, tree, of_rank[tree % 2 == 0 ? 0 : 1]), tree, first, stream - first, binding);
}

}  // namespace

ScheduleOrReason double_binary_tree(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("double_binary_tree", collective, 1);
  const bool flat = options.order == RankOrder::rank || placement.nodes == 1 || placement.gpus_per_node == 1;
  const std::int32_t channels = options.channels.value_or(channels_automatic(placement, 1));
  const std::int32_t slices = options.slices.value_or(tree_slices_automatic(collective, 2 * channels));
  Placement vertices = placement;
  if (flat) {
    vertices = Placement{};
    vertices.nodes = ranks;
  }
  const Rank root = has_root(collective.kind) ? collective.root : -1;
  const TreeFlow flow = tree_flow_of(collective.kind);
  const Trees trees{std::move(vertices), channels, root, TreeStreams(flow, slices, {1, 2, 3})};
  Schedule schedule =
      schedule_frame("double_binary_tree", collective, placement, options, {channels, 2, slices}, 1);
  schedule.channels = channels;
  schedule.slices = slices;
  schedule.programs = trees.streams.programs();
  const auto shared = std::make_shared<const Trees>(trees);
  schedule.stream_count = [shared](Rank rank) { return shared->stream_count(rank); };
  schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
    shared->bind(rank, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
