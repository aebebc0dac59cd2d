// CollNet direct: NCCL's way to use reducing switches of the fabric (src/transport/coll_net.cc and
// src/graph/connect.cc). One GPU a NIC is a head. All GPUs of a node send head h its range, head h goes
// through the fabric's tree of its rail, and sends the result back: rail_switches.hpp. Unlike sharp it never
// uses the switches inside a node, and GPUs that share a NIC share a head. On one node nothing goes through a
// fabric: a direct reduce-scatter and all-gather between the heads.
#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/rail_switches.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {

ScheduleOrReason collnet_direct(const Collective& collective, const Placement& placement,
                                const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("collnet_direct", collective, 1);
  if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  const bool many_nodes = placement.nodes > 1;
  if (many_nodes && !placement.fabric_reduction.enabled) return Impossible{"no switch of the fabric reduces"};
  RailSwitches shape;
  shape.heads = heads_of_nics(placement);
  const auto heads = static_cast<std::int32_t>(shape.heads.size());
  const std::int32_t needed = many_nodes ? slices_needed(collective, heads, placement.fabric_reduction) : 1;
  shape.slices = options.slices.value_or(needed);
  ScheduleOrReason made = rail_switches("collnet_direct", collective, placement, options, shape);
  auto* schedule = std::get_if<Schedule>(&made);
  if (schedule != nullptr && placement.gpus_per_node == 1)
    note_unused(*schedule, options, {"slots", "channel_bandwidth"});
  return made;
}

}  // namespace collsim::algorithms
