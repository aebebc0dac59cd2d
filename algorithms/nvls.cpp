// NVLS: all-reduce by the switches inside one node (NVLink SHARP). For part i of N the switch pulls the part
// from all N GPUs, and multicasts the sum that GPU i writes back; a GPU's link carries (N+1)/N of the vector
// each way (NVIDIA/nccl-tests pull request 239).
//
// Per channel one stream posts the slices and another collects the results, so that slices overlap.
#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"

namespace collsim::algorithms {

ScheduleOrReason nvls(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (placement.nodes > 1)
    return Impossible{"nvls works inside one node; this cluster has " + std::to_string(placement.nodes)};
  if (ranks == 1) return empty_schedule("nvls", collective, 1);
  if (!placement.node_reduction.enabled) return Impossible{"no switch of the node reduces"};
  const std::int32_t channels = options.channels.value_or(1);
  const std::int32_t slices =
      options.slices.value_or(slices_needed(collective, channels, placement.node_reduction));
  Schedule schedule = schedule_frame("nvls", collective, placement, options, {channels, slices}, 1);
  if (auto wrong = check_message_size(schedule.layout.size(0, 0, 1), placement.node_reduction)) return *wrong;
  schedule.channels = channels;
  schedule.slices = slices;
  ChunkExpression slice;
  slice.region_base = 0;
  slice.region_stride = 1;
  schedule.programs = {Program{{Loop{slices, {make_operation(OperationKind::aggregate, 0, slice)}}}},
                       Program{{Loop{slices, {make_operation(OperationKind::collect, 0, slice)}}}}};
  schedule.stream_count = [channels](Rank) { return 2 * channels; };
  schedule.bind = [slices](Rank, std::int32_t stream, Binding& binding) {
    binding.program = stream % 2;
    binding.bases.push_back(std::int64_t{stream / 2} * slices);
    binding.groups.push_back(stream / 2);
  };
  schedule.group_count = channels;
  schedule.group = [ranks](std::int32_t) {
    AggregationGroup group;
    for (Rank rank = 0; rank < ranks; ++rank) group.members.push_back(rank);
    return group;
  };
  schedule.aggregated_bytes = [ranks](std::int32_t, Bytes payload) {
    const Int128 carried = (static_cast<Int128>(payload.count()) * (ranks + 1) + ranks - 1) / ranks;
    return Bytes(static_cast<std::int64_t>(carried));
  };
  return schedule;
}

}  // namespace collsim::algorithms
