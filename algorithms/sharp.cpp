// SHARP: collectives by the switches of the fabric, one aggregation tree a rail (Graham et al., SHARP,
// COM-HPC 2016; streaming aggregation, ISC 2020). Barriers are all-reduces of nothing.
//
// Other collectives than all-reduce are those of rail_switches.hpp, every GPU being a head, by the switches
// of the node where they reduce. All-reduce: with G GPUs a node the vector has G blocks. Inside every node
// GPU g sums block g (reduce-scatter), GPU g of every node all-reduces block g through the fabric, and sends
// it to the others of its node (all-gather). Inside a node the two phases use its switches where they reduce
// (mode reduce and multicast, one group for each root), direct messages otherwise. Every phase has streams of
// its own that loop over the slices, so that slices overlap. With one slice nothing overlaps, and what waits
// for each other anyway is one stream.
//
// Groups: g = GPU g of every node; then, where the node reduces, G + node * G + g = reduce to GPU g of a
// node, and G + (nodes + node) * G + g = multicast from it.
#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/rail_switches.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {
namespace {

// Streams 0 and 1 of every rank are the fabric's: post and collect. (Not with one slice.)
constexpr std::int32_t stream_post = 0;
constexpr std::int32_t stream_collect = 1;
constexpr std::int32_t stream_inside = 2;

// Block bases[base] of the slice; bases: 0 = the own GPU number, 1 = that of another GPU.
ChunkExpression block_of(std::int8_t base, std::int32_t gpus) {
  ChunkExpression chunk;
  chunk.region_stride = 1;
  chunk.block_base = base;
  chunk.block_modulus = gpus;
  return chunk;
}

Program sliced(std::int64_t slices, OperationTemplate operation) {
  return Program{{Loop{slices, {std::move(operation)}}}};
}

OperationTemplate after(OperationTemplate operation, std::int64_t offset, std::int64_t stride) {
  operation.dependencies.push_back(Dependency{0, offset, stride});
  return operation;
}

// How the two phases inside a node run; common to the three ways.
struct Shape {
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;
  std::int32_t slices = 1;
};

// One GPU a node: nothing inside.
void make_tree_only(Schedule& schedule, const Shape& shape) {
  const ChunkExpression own = block_of(0, 1);
  schedule.programs = {sliced(shape.slices, make_operation(OperationKind::aggregate, 0, own)),
                       sliced(shape.slices, make_operation(OperationKind::collect, 0, own))};
  schedule.stream_count = [](Rank) { return stream_inside; };
  schedule.bind = [](Rank, std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.bases.push_back(0);
    binding.groups.push_back(0);
  };
}

// One slice, one GPU a node: post and collect.
void make_tree_of_one_slice(Schedule& schedule) {
  const ChunkExpression own = block_of(0, 1);
  schedule.programs = {Program{{Loop{
      1,
      {make_operation(OperationKind::aggregate, 0, own), make_operation(OperationKind::collect, 0, own)}}}}};
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [](Rank, std::int32_t, Binding& binding) {
    binding.bases.push_back(0);
    binding.groups.push_back(0);
  };
}

// One slice, and the node's switches reduce: stream g is all that a rank does for block g. Its own: reduce
// (group 0), through the fabric (group 1), post the multicast (group 2). Others: post the reduction (group
// 0), then the multicast (group 1), and collect it. Posting a multicast only then delays nobody: its root
// does so later still, because it needs the result of the same reduction.
void make_switched_of_one_slice(Schedule& schedule, const Shape& shape) {
  const std::int32_t gpus = shape.gpus;
  const ChunkExpression block = block_of(0, gpus);
  const auto post = [&block](std::int32_t group) {
    return make_operation(OperationKind::aggregate, group, block);
  };
  const auto collect = [&block](std::int32_t group) {
    return make_operation(OperationKind::collect, group, block);
  };
  schedule.programs = {Program{{Loop{1, {post(0), collect(0), post(1), collect(1), post(2)}}}},
                       Program{{Loop{1, {post(0), post(1), collect(1)}}}}};
  schedule.stream_count = [gpus](Rank) { return gpus; };
  schedule.bind = [shape, gpus](Rank rank, std::int32_t root, Binding& binding) {
    const std::int32_t node = rank / gpus;
    const bool own = root == rank % gpus;
    binding.program = own ? 0 : 1;
    binding.bases.push_back(root);
    binding.groups.push_back(gpus + node * gpus + root);
    if (own) binding.groups.push_back(root);
    binding.groups.push_back(gpus + (shape.nodes + node) * gpus + root);
  };
}

// The node's switches reduce. Streams after the fabric's: collect the own reduced block; post the reductions
// to root 0 .. G-1; post the multicasts of root 0 .. G-1; collect the multicasts of the other roots, g + 1,
// g + 2, ...
void make_switched(Schedule& schedule, const Shape& shape) {
  const std::int32_t gpus = shape.gpus;
  const OperationTemplate post_own = make_operation(OperationKind::aggregate, 0, block_of(0, gpus));
  const OperationTemplate post_other = make_operation(OperationKind::aggregate, 0, block_of(1, gpus));
  schedule.programs = {
      sliced(shape.slices, after(post_own, 0, 1)),
      sliced(shape.slices, make_operation(OperationKind::collect, 0, block_of(0, gpus))),
      sliced(shape.slices, post_other),
      sliced(shape.slices, make_operation(OperationKind::collect, 0, block_of(1, gpus))),
  };
  schedule.stream_count = [gpus](Rank) { return stream_inside + 3 * gpus; };
  schedule.bind = [shape, gpus](Rank rank, std::int32_t stream, Binding& binding) {
    const std::int32_t node = rank / gpus;
    const std::int32_t gpu = rank % gpus;
    const std::int32_t reduce_groups = gpus + node * gpus;
    const std::int32_t multicast_groups = gpus + (shape.nodes + node) * gpus;
    const auto fill = [&](std::int32_t program, std::int32_t root, std::int32_t group) {
      binding.program = program;
      binding.bases.push_back(gpu);
      binding.bases.push_back(root);
      binding.groups.push_back(group);
    };
    std::int32_t index = stream - stream_inside - 1;
    if (stream == stream_post) {
      fill(0, gpu, gpu);
      binding.streams.push_back(stream_inside);
    } else if (stream == stream_collect) {
      fill(1, gpu, gpu);
    } else if (stream == stream_inside) {
      fill(1, gpu, reduce_groups + gpu);
    } else if (index < gpus) {
      fill(2, index, reduce_groups + index);
    } else if ((index -= gpus) < gpus) {
      fill(index == gpu ? 0 : 2, index, multicast_groups + index);
      if (index == gpu) binding.streams.push_back(stream_collect);
    } else {
      const std::int32_t root = (gpu + 1 + index - gpus) % gpus;
      fill(3, root, multicast_groups + root);
    }
  };
}

// Direct messages inside the node, as in two_shot.cpp. Streams after the fabric's: receive and add; receive
// results; send contributions to g + 1, g + 2, ... (channel 0); send results to the same (channel 1).
void make_direct(Schedule& schedule, const Shape& shape) {
  const std::int32_t gpus = shape.gpus;
  const std::int32_t peers = gpus - 1;
  Loop adding{shape.slices, {}};
  Loop gathering{shape.slices, {}};
  for (std::int32_t i = 0; i < peers; ++i) {
    ChunkExpression of_peer = block_of(0, gpus);
    of_peer.block_offset = -1 - i;
    adding.body.push_back(make_operation(OperationKind::receive_reduce, i, block_of(0, gpus)));
    gathering.body.push_back(make_operation(OperationKind::receive, i, of_peer));
  }
  const ChunkExpression own = block_of(0, gpus);
  schedule.programs = {
      sliced(shape.slices, after(make_operation(OperationKind::aggregate, 0, own), peers - 1, peers)),
      sliced(shape.slices, make_operation(OperationKind::collect, 0, own)),
      Program{{adding}},
      Program{{gathering}},
      sliced(shape.slices, make_operation(OperationKind::send, 0, block_of(1, gpus))),
      sliced(shape.slices, after(make_operation(OperationKind::send, 0, own), 0, 1)),
  };
  schedule.stream_count = [peers](Rank) { return stream_inside + 2 + 2 * peers; };
  schedule.bind = [gpus, peers](Rank rank, std::int32_t stream, Binding& binding) {
    const std::int32_t gpu = rank % gpus;
    const Rank first = rank - gpu;
    binding.bases.push_back(gpu);
    if (stream < stream_inside) {
      binding.program = stream;
      binding.groups.push_back(gpu);
      if (stream == stream_post) binding.streams.push_back(stream_inside);
    } else if (stream < stream_inside + 2) {
      binding.program = stream;
      for (std::int32_t i = 0; i < peers; ++i)
        binding.peers.push_back(Peer{first + (gpu - 1 - i + gpus) % gpus, stream - stream_inside});
    } else {
      const std::int32_t index = stream - stream_inside - 2;
      const std::int32_t other = (gpu + 1 + index % peers) % gpus;
      binding.program = 4 + index / peers;
      binding.peers.push_back(Peer{first + other, index / peers});
      binding.bases.push_back(other);
      if (index >= peers) binding.streams.push_back(stream_collect);
    }
  };
}

AggregationGroup group_of(const Placement& placement, std::int32_t number) {
  const std::int32_t gpus = placement.gpus_per_node;
  AggregationGroup group;
  if (number < gpus) {
    group.scope = AggregationScope::fabric;
    group.rail = nic_of_gpu(placement, number);
    for (std::int32_t node = 0; node < placement.nodes; ++node) group.members.push_back(node * gpus + number);
    return group;
  }
  const std::int32_t index = number / gpus - 1;
  group.mode = index < placement.nodes ? AggregationMode::reduce : AggregationMode::multicast;
  group.root = number % gpus;
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) group.members.push_back(index % placement.nodes * gpus + gpu);
  return group;
}

// All-reduce and barrier.
ScheduleOrReason reduce_everywhere(const Collective& collective, const Placement& placement,
                                   const AlgorithmOptions& options, std::int32_t slices, bool switched) {
  const std::int32_t gpus = placement.gpus_per_node;
  Schedule schedule = schedule_frame("sharp", collective, placement, options, {slices}, gpus);
  const Bytes largest = schedule.layout.size(0, 0, 1);
  if (auto wrong = check_message_size(largest, placement.fabric_reduction)) return *wrong;
  if (switched)
    if (auto wrong = check_message_size(largest, placement.node_reduction)) return *wrong;
  schedule.slices = slices;
  const Shape shape{placement.nodes, gpus, slices};
  if (gpus == 1 && slices == 1) {
    make_tree_of_one_slice(schedule);
  } else if (gpus == 1) {
    make_tree_only(schedule, shape);
  } else if (switched && slices == 1) {
    make_switched_of_one_slice(schedule, shape);
  } else if (switched) {
    make_switched(schedule, shape);
  } else {
    make_direct(schedule, shape);
  }
  schedule.group_count = switched ? gpus + 2 * placement.nodes * gpus : gpus;
  schedule.group = [placement](std::int32_t number) { return group_of(placement, number); };
  return schedule;
}

}  // namespace

ScheduleOrReason sharp(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("sharp", collective, 1);
  if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  if (placement.nodes < 2) return Impossible{"sharp needs at least 2 nodes; this cluster has 1"};
  if (!placement.fabric_reduction.enabled) return Impossible{"no switch of the fabric reduces"};
  const std::int32_t gpus = placement.gpus_per_node;
  const bool switched = gpus > 1 && placement.node_reduction.enabled;
  const std::int32_t slices =
      options.slices.value_or(slices_needed(collective, gpus, placement.fabric_reduction));
  const bool everywhere =
      collective.kind == CollectiveKind::all_reduce || collective.kind == CollectiveKind::barrier;
  RailSwitches shape{std::vector<std::int32_t>(static_cast<std::size_t>(gpus)), switched, slices};
  std::iota(shape.heads.begin(), shape.heads.end(), 0);
  ScheduleOrReason made = everywhere ? reduce_everywhere(collective, placement, options, slices, switched)
                                     : rail_switches("sharp", collective, placement, options, shape);
  auto* schedule = std::get_if<Schedule>(&made);
  const bool messages = gpus > 1 && (!switched || has_root(collective.kind));
  if (schedule != nullptr && !messages) note_unused(*schedule, options, {"slots", "channel_bandwidth"});
  return made;
}

}  // namespace collsim::algorithms
