// Double binary tree: two binary trees, each carries half of every channel's part, up (reduce) and down
// (broadcast), slice by slice (Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; the trees are those
// of NCCL src/graph/trees.cc: every rank is a leaf in one of the two).
//
// With several nodes of several GPUs the trees span the nodes, and inside a node a chain leads to the head,
// the GPU at the channel's NIC; otherwise, and with order: rank, they span the ranks (chains of one).
//
// Streams of a rank per (channel, tree), in this order; what a leaf or root does not need is left out:
//   up receive    adds the slices of all children, child by child
//   up send       to the parent, after the last child of the slice
//   down receive  from the parent
//   down send     one for each child, after the down receive (root: the last up receive) of the slice
// Connections use channel number 2 * channel + tree.
#include <algorithm>
#include <array>

#include "algorithms/common.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t slice_bytes = 512 * 1024;  // a step of NCCL's Simple protocol buffers
constexpr std::int64_t slices_automatic_max = 256;
constexpr std::int32_t children_max = 3;

struct TreePlace {
  std::int32_t parent = -1;
  std::int32_t child_count = 0;
  std::array<std::int32_t, children_max> children{};
  void add(std::int32_t child) { children[static_cast<std::size_t>(child_count++)] = child; }
};

// ncclGetBtree: the lowest set bit of a number is its height; 0 is the root and has one child.
TreePlace binary_tree(std::int32_t count, std::int32_t number) {
  TreePlace place;
  std::int32_t bit = 1;
  while (bit < count && (bit & number) == 0) bit <<= 1;
  if (number == 0) {
    if (count > 1) place.add(bit >> 1);
    return place;
  }
  place.parent = (number ^ bit) | (bit << 1);
  if (place.parent >= count) place.parent = number ^ bit;
  const std::int32_t half = bit >> 1;
  if (half == 0) return place;
  place.add(number - half);
  std::int32_t offset = half;
  while (offset > 0 && number + offset >= count) offset >>= 1;
  if (offset > 0) place.add(number + offset);
  return place;
}

// ncclGetDtree: the second tree is mirrored for even counts, shifted by one for odd ones.
TreePlace tree_place(std::int32_t count, std::int32_t number, std::int32_t tree) {
  if (tree == 0) return binary_tree(count, number);
  const bool mirror = count % 2 == 0;
  TreePlace place = binary_tree(count, mirror ? count - 1 - number : (number + count - 1) % count);
  const auto back = [count, mirror](std::int32_t other) {
    return mirror ? count - 1 - other : (other + 1) % count;
  };
  if (place.parent >= 0) place.parent = back(place.parent);
  for (std::int32_t i = 0; i < place.child_count; ++i)
    place.children[static_cast<std::size_t>(i)] = back(place.children[static_cast<std::size_t>(i)]);
  return place;
}

std::int32_t stream_total(std::int32_t children, bool has_parent) {
  return (children > 0 ? 1 : 0) + (has_parent ? 2 : 0) + children;
}

struct Trees {
  std::int32_t vertices = 1;  // of a tree: nodes, or ranks
  std::int32_t chain = 1;     // ranks of a vertex
  std::int32_t channels = 1;
  std::int32_t slices = 1;
  std::vector<std::int32_t> heads;  // [channel]: the member of the chain that is in the tree

  std::int32_t chain_position(Rank rank, std::int32_t channel) const {
    return (rank % chain - heads[static_cast<std::size_t>(channel)] + chain) % chain;
  }
  std::int32_t streams_at(std::int32_t position, const TreePlace& place) const {
    if (position > 0) return stream_total(position + 1 < chain ? 1 : 0, true);
    return stream_total(place.child_count + (chain > 1 ? 1 : 0), place.parent >= 0);
  }
  std::int32_t stream_count(Rank rank) const {
    const std::array<TreePlace, 2> places = {tree_place(vertices, rank / chain, 0),
                                             tree_place(vertices, rank / chain, 1)};
    std::int32_t count = 0;
    for (std::int32_t channel = 0; channel < channels; ++channel)
      for (const TreePlace& place : places) count += streams_at(chain_position(rank, channel), place);
    return count;
  }
  // Parent and children of `rank`, as ranks.
  TreePlace neighbours(Rank rank, std::int32_t channel, const TreePlace& of_vertex) const {
    const std::int32_t head = heads[static_cast<std::size_t>(channel)];
    const std::int32_t position = chain_position(rank, channel);
    const std::int32_t start = rank - rank % chain;
    TreePlace place;
    if (position > 0) {
      place.parent = start + (rank % chain + chain - 1) % chain;
    } else {
      if (of_vertex.parent >= 0) place.parent = of_vertex.parent * chain + head;
      for (std::int32_t i = 0; i < of_vertex.child_count; ++i)
        place.add(of_vertex.children[static_cast<std::size_t>(i)] * chain + head);
    }
    if (position + 1 < chain) place.add(start + (rank % chain + 1) % chain);
    return place;
  }
  void bind(Rank rank, std::int32_t stream, Binding& binding) const;
};

// Numbers of the programs: which role with how many children.
constexpr std::int32_t program_down_receive = 0;
constexpr std::int32_t program_down_send = 1;
constexpr std::int32_t program_up_send = 2;                                    // + children
constexpr std::int32_t program_up_receive = program_up_send + children_max;    // + children, from 1
constexpr std::int32_t program_root_send = program_up_receive + children_max;  // + children

std::vector<Program> tree_programs(std::int64_t slices) {
  ChunkExpression slice;
  slice.region_base = 0;
  slice.region_stride = 1;
  const auto single = [&](OperationKind kind) {
    return Program{{Loop{slices, {make_operation(kind, 0, slice)}}}};
  };
  const auto after = [](Program program, std::int32_t operations) {
    program.loops[0].body[0].dependencies.push_back(Dependency{0, std::int64_t{operations} - 1, operations});
    return program;
  };
  const Program send = single(OperationKind::send);
  std::vector<Program> programs = {single(OperationKind::receive), after(send, 1), send};
  for (std::int32_t children = 1; children <= children_max; ++children)
    programs.push_back(after(send, children));
  for (std::int32_t children = 1; children <= children_max; ++children) {
    Loop loop{slices, {}};
    for (std::int32_t child = 0; child < children; ++child)
      loop.body.push_back(make_operation(OperationKind::receive_reduce, child, slice));
    programs.push_back(Program{{loop}});
  }
  for (std::int32_t children = 1; children <= children_max; ++children)
    programs.push_back(after(send, children));
  return programs;
}

void Trees::bind(Rank rank, std::int32_t stream, Binding& binding) const {
  const std::array<TreePlace, 2> places = {tree_place(vertices, rank / chain, 0),
                                           tree_place(vertices, rank / chain, 1)};
  std::int32_t first = 0;  // stream of the current (channel, tree)
  std::int32_t index = 0;  // 2 * channel + tree
  while (true) {
    const std::int32_t here = streams_at(chain_position(rank, index / 2), places[index % 2 ? 1 : 0]);
    if (stream < first + here) break;
    first += here;
    ++index;
  }
  const TreePlace place = neighbours(rank, index / 2, places[index % 2 ? 1 : 0]);
  const bool has_parent = place.parent >= 0;
  const std::int32_t up_receives = place.child_count > 0 ? 1 : 0;
  std::int32_t role = stream - first;
  binding.bases.push_back(std::int64_t{index} * slices);
  const auto child = [&](std::int32_t i) { return Peer{place.children[static_cast<std::size_t>(i)], index}; };
  if (role < up_receives) {
    binding.program = program_up_receive + place.child_count;
    for (std::int32_t i = 0; i < place.child_count; ++i) binding.peers.push_back(child(i));
    return;
  }
  role -= up_receives;
  if (has_parent && role < 2) {
    binding.program = role == 0 ? program_up_send + place.child_count : program_down_receive;
    binding.peers.push_back(Peer{place.parent, index});
    if (role == 0 && up_receives > 0) binding.streams.push_back(first);
    return;
  }
  if (has_parent) role -= 2;
  binding.peers.push_back(child(role));
  binding.program = has_parent ? program_down_send : program_root_send + place.child_count;
  binding.streams.push_back(has_parent ? first + up_receives + 1 : first);
}

std::int32_t slices_automatic(const Collective& collective, std::int32_t channels) {
  const std::int64_t parts = std::int64_t{2} * channels;
  const std::int64_t half = (collective.bytes.count() + parts - 1) / parts;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>((half + slice_bytes - 1) / slice_bytes, 1, slices_automatic_max));
}

}  // namespace

ScheduleOrReason double_binary_tree(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("double_binary_tree", collective, 1);
  const bool flat = options.order == RankOrder::rank || placement.nodes == 1 || placement.gpus_per_node == 1;
  Trees trees;
  trees.chain = flat ? 1 : placement.gpus_per_node;
  trees.vertices = ranks / trees.chain;
  trees.channels = options.channels.value_or(channels_automatic(placement, 1));
  trees.slices = options.slices.value_or(slices_automatic(collective, trees.channels));
  for (std::int32_t channel = 0; channel < trees.channels; ++channel)
    trees.heads.push_back(flat ? 0 : first_gpu_of_nic(placement, channel));
  Schedule schedule = schedule_frame("double_binary_tree", collective, placement, options,
                                     {trees.channels, 2, trees.slices}, 1);
  schedule.channels = trees.channels;
  schedule.slices = trees.slices;
  schedule.programs = tree_programs(trees.slices);
  const auto shared = std::make_shared<const Trees>(std::move(trees));
  schedule.stream_count = [shared](Rank rank) { return shared->stream_count(rank); };
  schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
    shared->bind(rank, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
