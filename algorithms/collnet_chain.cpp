// CollNet chain: an all-reduce through reducing switches of the fabric, with chains inside the nodes (NCCL,
// src/device/all_reduce.h, runs of NCCL_ALGO_COLLNET_CHAIN).
//
// One GPU a NIC is a head, and every head has an equal part of the vector, cut into slices. In each node a
// chain adds up the part on its way to the head: from GPU h - 1 (modulo G) to h - 2 and so on down to h. The
// heads of one number go through the fabric's tree of their rail, and the sum goes back along the chain.
// Slices are pipelined. On one node the head's sum goes back at once. A barrier is an all-reduce of nothing.
//
// Connections of head h use channel h. Streams of a rank, head by head, as far as its place in the chain has
// them: add; send towards the head and receive from there, or (the head) post and collect; send away from it.
#include <algorithm>

#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/rail_switches.hpp"
#include "algorithms/rank_streams.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {
namespace {

enum Role : std::int64_t { add_up, send_on, post, collect, receive_back };

constexpr std::int64_t slice_bytes = 512 << 10;
constexpr std::int64_t slices_automatic_max = 256;

// Keys: role, whether trip k waits for trip k of another stream.
struct ChainPlan {
  std::int32_t nodes = 1;
  std::int32_t gpus = 1;
  std::int32_t slices = 1;
  std::vector<std::int32_t> heads;

  void visit(Rank rank, RankStreams& streams) const {
    const std::int32_t gpu = rank % gpus;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto head = static_cast<std::int32_t>(i);
      const std::int32_t place = (gpu - heads[i] + gpus) % gpus;
      const Peer inner{rank - gpu + (gpu + gpus - 1) % gpus, head};  // towards the head
      const Peer outer{rank - gpu + (gpu + 1) % gpus, head};
      const auto stream = [&](Role role, Peer peer, std::int32_t waited) {
        return streams.add({role, waited >= 0 ? 1 : 0, 0, 0, 0, 0}, [&](Binding& binding) {
          binding.bases.push_back(std::int64_t{head} * slices);
          const bool aggregates = role == post || role == collect;
          if (aggregates) binding.groups.push_back(head);
          if (!aggregates) binding.peers.push_back(peer);
          if (waited >= 0) binding.streams.push_back(waited);
        });
      };
      const bool last = place == gpus - 1;
      std::int32_t done = last ? -1 : stream(add_up, outer, -1);
      if (place > 0) {
        stream(send_on, inner, done);
        done = stream(receive_back, inner, -1);
      } else if (nodes > 1) {
        stream(post, inner, done);
        done = stream(collect, inner, -1);
      }
      if (!last) stream(send_on, outer, done);
    }
  }

  Program program(const ProgramKey& key) const {
    ChunkExpression slice;
    slice.region_base = 0;
    slice.region_stride = 1;
    constexpr std::array kinds = {OperationKind::receive_reduce, OperationKind::send,
                                  OperationKind::aggregate, OperationKind::collect, OperationKind::receive};
    Loop loop{slices, {make_operation(kinds[static_cast<std::size_t>(key[0])], 0, slice)}};
    if (key[1] != 0) loop.body[0].dependencies.push_back(Dependency{0, 0, 1});
    return Program{{loop}};
  }
};

std::int32_t slices_automatic(const Collective& collective, std::int32_t heads, const Placement& placement) {
  const std::int64_t part = (collective.bytes.count() + heads - 1) / heads;
  const std::int64_t pieces =
      std::clamp<std::int64_t>((part + slice_bytes - 1) / slice_bytes, 1, slices_automatic_max);
  if (placement.nodes == 1) return static_cast<std::int32_t>(pieces);
  const std::int32_t needed = slices_needed(collective, heads, placement.fabric_reduction);
  return std::max(needed, static_cast<std::int32_t>(pieces));
}

}  // namespace

ScheduleOrReason collnet_chain(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("collnet_chain", collective, 1);
  if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  if (placement.nodes > 1 && !placement.fabric_reduction.enabled)
    return Impossible{"no switch of the fabric reduces"};
  ChainPlan plan{placement.nodes, placement.gpus_per_node, 1, heads_of_nics(placement)};
  const auto heads = static_cast<std::int32_t>(plan.heads.size());
  plan.slices = options.slices.value_or(slices_automatic(collective, heads, placement));
  Schedule schedule =
      schedule_frame("collnet_chain", collective, placement, options, {heads, plan.slices}, 1);
  if (placement.nodes > 1)
    if (auto wrong = check_message_size(schedule.layout.size(0, 0, 1), placement.fabric_reduction))
      return *wrong;
  schedule.channels = heads;
  schedule.slices = plan.slices;
  schedule.group_count = placement.nodes > 1 ? heads : 0;
  schedule.group = [placement, every = plan.heads](std::int32_t number) {
    AggregationGroup group;
    const std::int32_t gpu = every[static_cast<std::size_t>(number)];
    group.scope = AggregationScope::fabric;
    group.rail = nic_of_gpu(placement, gpu);
    for (std::int32_t node = 0; node < placement.nodes; ++node)
      group.members.push_back(node * placement.gpus_per_node + gpu);
    return group;
  };
  std::vector<Rank> samples;
  for (std::int32_t gpu = 0; gpu < placement.gpus_per_node; ++gpu) samples.push_back(gpu);
  set_streams(schedule, plan, samples);
  if (placement.gpus_per_node == 1) note_unused(schedule, options, {"slots", "channel_bandwidth"});
  return schedule;
}

}  // namespace collsim::algorithms
