// NVLS: collectives by the switches inside one node (NVLink SHARP).
//
//   all_reduce      For part i of N the switch pulls the part from all N GPUs, and multicasts the sum that
//                   GPU i writes back; a GPU's link carries (N+1)/N of the vector each way
//                   (NVIDIA/nccl-tests pull request 239). One aggregation for all parts. A barrier is an
//                   all-reduce of nothing.
//   reduce_scatter  The first half: S out of every GPU, S/N in. One aggregation a part.
//   all_gather      The second half: S/N out, S in. One aggregation a part.
//   broadcast       A multicast from the root, which sends S and as a member of the group gets it back.
//   reduce          A reduction to the root: S out of every GPU, S into the root.
//
// Per channel one stream posts the slices of each aggregation and another collects the results, so that
// slices overlap. Groups: channel * aggregations + number.
#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/rank_streams.hpp"

namespace collsim::algorithms {
namespace {

enum Role : std::int64_t { post, collect };

struct NvlsPlan {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Rank root = 0;
  std::int32_t ranks = 1;
  std::int32_t channels = 1;
  std::int32_t slices = 1;

  // A part each: reduce_scatter, all_gather.
  std::int32_t aggregations() const { return in_parts(kind) ? ranks : 1; }
  Rank root_of(std::int32_t number) const { return in_parts(kind) ? number : root; }
  AggregationMode mode() const {
    if (kind == CollectiveKind::all_reduce || kind == CollectiveKind::barrier)
      return AggregationMode::all_reduce;
    return reduces(kind) ? AggregationMode::reduce : AggregationMode::multicast;
  }

  void visit(Rank rank, RankStreams& streams) const {
    for (std::int32_t channel = 0; channel < channels; ++channel)
      for (std::int32_t i = 0; i < aggregations(); ++i) {
        const std::int32_t number = (rank + i) % aggregations();  // the own part first
        const auto add = [&](Role role) {
          streams.add({role, 0, 0, 0, 0, 0}, [&](Binding& binding) {
            binding.bases.push_back(std::int64_t{channel} * slices);
            binding.bases.push_back(number);
            binding.groups.push_back(channel * aggregations() + number);
          });
        };
        add(post);
        const bool is_root = rank == root_of(number);
        if (mode() == AggregationMode::all_reduce || is_root == (mode() == AggregationMode::reduce))
          add(collect);
      }
  }

  Program program(const ProgramKey& key) const {
    ChunkExpression slice;
    slice.region_base = 0;
    slice.region_stride = 1;
    slice.origin_base = 1;
    return Program{{Loop{
        slices,
        {make_operation(key[0] == post ? OperationKind::aggregate : OperationKind::collect, 0, slice)}}}};
  }

  AggregationGroup group(std::int32_t number) const {
    AggregationGroup group;
    group.mode = mode();
    group.root = mode() == AggregationMode::all_reduce ? 0 : root_of(number % aggregations());
    group.members.resize(static_cast<std::size_t>(ranks));
    std::iota(group.members.begin(), group.members.end(), 0);
    return group;
  }
};

}  // namespace

ScheduleOrReason nvls(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (placement.nodes > 1)
    return Impossible{"nvls works inside one node; this cluster has " + std::to_string(placement.nodes)};
  if (ranks == 1) return empty_schedule("nvls", collective, 1);
  if (!placement.node_reduction.enabled) return Impossible{"no switch of the node reduces"};
  NvlsPlan plan{collective.kind, collective.root, ranks, options.channels.value_or(1), 1};
  const std::int32_t parts = plan.channels * plan.aggregations();
  plan.slices = options.slices.value_or(slices_needed(collective, parts, placement.node_reduction));
  Schedule schedule = schedule_frame("nvls", collective, placement, options, {plan.channels, plan.slices},
                                     plan.aggregations());
  if (auto wrong = check_message_size(schedule.layout.size(0, 0, 1), placement.node_reduction)) return *wrong;
  schedule.channels = plan.channels;
  schedule.slices = plan.slices;
  schedule.group_count = plan.channels * plan.aggregations();
  schedule.group = [plan](std::int32_t number) { return plan.group(number); };
  if (plan.mode() == AggregationMode::all_reduce)
    schedule.aggregated_bytes = [ranks](std::int32_t, Bytes payload) {
      const Int128 carried = (static_cast<Int128>(payload.count()) * (ranks + 1) + ranks - 1) / ranks;
      return Bytes(static_cast<std::int64_t>(carried));
    };
  std::vector<Rank> samples = {0};
  if (has_root(collective.kind)) samples = {collective.root, (collective.root + 1) % ranks};
  set_streams(schedule, plan, samples);
  return schedule;
}

}  // namespace collsim::algorithms
