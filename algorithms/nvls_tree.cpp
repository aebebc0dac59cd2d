// NVLS tree: an all-reduce by the switches inside the nodes and double binary trees between them (NCCL,
// NCCL_ALGO_NVLS_TREE, src/device/all_reduce.h and src/graph/trees.cc; NVIDIA/nccl issue 1649).
//
// GPU g of every node is the head of block g of G. In every node the switches add up block g for GPU g
// (reduce), the GPUs g of all nodes all-reduce it along two binary trees over the nodes, each with a half of
// it slice by slice, and the switches of the node give it to the others (multicast). With one GPU a node it
// is the double binary tree over the nodes; one node has no trees. A barrier is an all-reduce of nothing.
//
// Half t is the regions t * slices + slice; its connections use channel t. Groups: node * G + g = reduce to
// GPU g of the node, (nodes + node) * G + g = multicast from it; every trip aggregates both halves.
#include <algorithm>

#include "algorithms/binary_trees.hpp"
#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/rank_streams.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t slice_bytes = 512 << 10;
constexpr std::int64_t slices_automatic_max = 256;

enum Role : std::int64_t {
  post,          // both halves of a block to a group
  collect,       // both halves of a block from a group
  add_children,  // one half, from the children in the tree
  send,          // one half
  receive        // one half
};

// What trip k of a stream waits for: operation offset + k * stride. No stream: stride 0.
struct Ready {
  std::int32_t stream = -1;
  std::int64_t offset = 0;
  std::int64_t stride = 0;
};

// Keys: role, children (add_children), then offset and stride of one or two streams waited for.
struct NvlsTreePlan {
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;
  std::int32_t slices = 1;

  std::int32_t group_count() const { return gpus > 1 ? 2 * nodes * gpus : 0; }

  static void wait(Binding& binding, const Ready& first, const Ready& second) {
    for (const Ready& ready : {first, second})
      if (ready.stride > 0) binding.streams.push_back(ready.stream);
  }

  std::int32_t add_group(RankStreams& streams, Role role, std::int32_t block, std::int32_t group,
                         const Ready& first, const Ready& second) const {
    return streams.add({role, 0, first.offset, first.stride, second.offset, second.stride},
                       [&](Binding& binding) {
                         binding.bases = {0, block};
                         binding.groups.push_back(group);
                         wait(binding, first, second);
                       });
  }
  std::int32_t add_message(RankStreams& streams, Role role, std::int32_t tree, Rank rank, std::int32_t node,
                           const Ready& ready) const {
    return streams.add({role, 0, ready.offset, ready.stride, 0, 0}, [&](Binding& binding) {
      binding.bases = {std::int64_t{tree} * slices, rank % gpus};
      binding.peers.push_back(Peer{node * gpus + rank % gpus, tree});
      wait(binding, ready, {});
    });
  }

  // The streams of a head in one tree. `ready`: its half of the block is the node's sum. Returns what the
  // result is complete with.
  Ready visit_tree(Rank rank, std::int32_t tree, const Ready& ready, RankStreams& streams) const {
    const TreeVertex vertex = vertex_of_tree(tree, nodes, rank / gpus);
    const auto children = std::int64_t{vertex.child_count};
    Ready done = ready;
    if (children > 0) {
      const std::int32_t stream =
          streams.add({add_children, children, ready.offset, ready.stride, 0, 0}, [&](Binding& binding) {
            binding.bases = {std::int64_t{tree} * slices, rank % gpus};
            for (const std::int32_t child : vertex.children())
              binding.peers.push_back(Peer{child * gpus + rank % gpus, tree});
            wait(binding, ready, {});
          });
      done = {stream, children - 1, children};
    }
    if (vertex.parent >= 0) {
      const std::int32_t up = add_message(streams, send, tree, rank, vertex.parent, done);
      done = {add_message(streams, receive, tree, rank, vertex.parent, {up, 0, 1}), 0, 1};
    }
    for (const std::int32_t child : vertex.children()) add_message(streams, send, tree, rank, child, done);
    return done;
  }

  void visit(Rank rank, RankStreams& streams) const {
    const std::int32_t node = rank / gpus;
    const std::int32_t gpu = rank % gpus;
    std::array<Ready, 2> done;
    if (gpus > 1) {
      const std::int32_t sums = add_group(streams, collect, gpu, node * gpus + gpu, {}, {});
      for (std::int32_t head = 0; head < gpus; ++head)
        add_group(streams, post, head, node * gpus + head, {}, {});
      done = {Ready{sums, 0, 2}, Ready{sums, 1, 2}};
    }
    for (std::int32_t tree = 0; nodes > 1 && tree < 2; ++tree) {
      Ready& half = done[tree == 0 ? 0 : 1];
      half = visit_tree(rank, tree, half, streams);
    }
    if (gpus == 1) return;
    for (std::int32_t i = 0; i < gpus; ++i) {
      const std::int32_t head = (gpu + i) % gpus;
      const std::int32_t group = (nodes + node) * gpus + head;
      add_group(streams, post, head, group, i == 0 ? done[0] : Ready{}, i == 0 ? done[1] : Ready{});
      if (i > 0) add_group(streams, collect, head, group, {}, {});
    }
  }

  // Bases: 0 = the first region, 1 = the block.
  Program program(const ProgramKey& key) const {
    const auto role = static_cast<Role>(key[0]);
    ChunkExpression slice;
    slice.region_base = 0;
    slice.region_stride = 1;
    slice.origin_base = 1;
    Loop loop{slices, {}};
    const auto depend = [&loop](std::size_t operation, std::int32_t slot, std::int64_t offset,
                                std::int64_t stride) {
      if (stride > 0) loop.body[operation].dependencies.push_back(Dependency{slot, offset, stride});
    };
    if (role == post || role == collect) {
      const auto kind = role == post ? OperationKind::aggregate : OperationKind::collect;
      ChunkExpression second = slice;
      second.region_offset = slices;
      loop.body = {make_operation(kind, 0, slice), make_operation(kind, 0, second)};
      depend(0, 0, key[2], key[3]);
      depend(1, 1, key[4], key[5]);
      return Program{{loop}};
    }
    if (role == add_children) {
      for (std::int32_t child = 0; child < key[1]; ++child)
        loop.body.push_back(make_operation(OperationKind::receive_reduce, child, slice));
    } else {
      loop.body = {make_operation(role == send ? OperationKind::send : OperationKind::receive, 0, slice)};
    }
    depend(0, 0, key[2], key[3]);
    return Program{{loop}};
  }

  AggregationGroup group(std::int32_t number) const {
    AggregationGroup group;
    const std::int32_t index = number / gpus;
    group.mode = index < nodes ? AggregationMode::reduce : AggregationMode::multicast;
    group.root = number % gpus;
    for (std::int32_t gpu = 0; gpu < gpus; ++gpu) group.members.push_back(index % nodes * gpus + gpu);
    return group;
  }
};

std::int32_t slices_automatic(const Collective& collective, const Placement& placement) {
  const std::int64_t parts = std::int64_t{2} * placement.gpus_per_node;
  const std::int64_t half = (collective.bytes.count() + parts - 1) / parts;
  const std::int64_t pieces =
      std::clamp<std::int64_t>((half + slice_bytes - 1) / slice_bytes, 1, slices_automatic_max);
  const std::int32_t needed =
      slices_needed(collective, static_cast<std::int32_t>(parts), placement.node_reduction);
  return std::max(needed, static_cast<std::int32_t>(pieces));
}

// Every key appears in the root, an inner vertex of two children, of one, or a leaf of one of the trees.
std::vector<Rank> samples_of(const NvlsTreePlan& plan) {
  std::vector<Rank> samples;
  std::vector<std::array<std::int32_t, 4>> seen;
  for (std::int32_t node = 0; node < plan.nodes; ++node) {
    const TreeVertex first = vertex_of_tree(0, plan.nodes, node);
    const TreeVertex second = vertex_of_tree(1, plan.nodes, node);
    const std::array<std::int32_t, 4> kind = {first.child_count, first.parent >= 0 ? 1 : 0,
                                              second.child_count, second.parent >= 0 ? 1 : 0};
    if (std::find(seen.begin(), seen.end(), kind) != seen.end()) continue;
    seen.push_back(kind);
    samples.push_back(node * plan.gpus);
  }
  return samples;
}

}  // namespace

ScheduleOrReason nvls_tree(const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("nvls_tree", collective, 1);
  if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  const bool inside = placement.gpus_per_node > 1;
  if (inside && !placement.node_reduction.enabled) return Impossible{"no switch of the node reduces"};
  NvlsTreePlan plan{placement.nodes, placement.gpus_per_node, 1};
  plan.slices = options.slices.value_or(slices_automatic(collective, placement));
  Schedule schedule =
      schedule_frame("nvls_tree", collective, placement, options, {2, plan.slices}, plan.gpus);
  if (inside)
    if (auto wrong = check_message_size(schedule.layout.size(0, 0, 1), placement.node_reduction))
      return *wrong;
  schedule.slices = plan.slices;
  schedule.group_count = plan.group_count();
  schedule.group = [plan](std::int32_t number) { return plan.group(number); };
  set_streams(schedule, plan, samples_of(plan));
  if (placement.nodes == 1) note_unused(schedule, options, {"slots", "channel_bandwidth"});
  return schedule;
}

}  // namespace collsim::algorithms
