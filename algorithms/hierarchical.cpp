// Hierarchical: inside the nodes, between the nodes, and inside again. Two forms of all-reduce in wide use
// (Horovod's hierarchical all-reduce; UCC cl/hier), and what they give for other collectives.
//
//   rails   A ring reduce-scatter inside every node, a ring all-reduce of part g between the GPUs g of all
//           nodes, a ring all-gather inside: level_rings.hpp with the levels [GPUs a node, nodes].
//           Reduce-scatter and all-gather are its two halves, a barrier is one of nothing. All-to-all:
//           hierarchical_all_to_all.cpp.
//   leader  One GPU of every node talks to the other nodes: hierarchical_leader.cpp.
// The default is rails; broadcast and reduce have leader only. Rails and all-to-all need nodes of equally
// many GPUs; where they are not, the default of all-reduce and barrier is leader.
#include "algorithms/hierarchical.hpp"

#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/level_rings.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {

ScheduleOrReason hierarchical(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  const CollectiveKind kind = collective.kind;
  const bool rooted = has_root(kind);
  if (options.form == "rails" && rooted)
    return Impossible{"hierarchical does " + std::string(name_of(kind)) + " in the form leader only"};
  if (options.form == "leader" && in_parts(kind))
    return Impossible{"hierarchical does " + std::string(name_of(kind)) + " in the form rails only"};
  if (placement.ranks() == 1 && kind != CollectiveKind::all_to_all)
    return empty_schedule("hierarchical", collective, 1);
  const bool leads =
      rooted || options.form == "leader" || (options.form.empty() && !in_parts(kind) && !placement.is_even());
  if (!leads)
    if (auto wrong = check_equal_nodes(placement, kind)) return *wrong;
  if (kind == CollectiveKind::all_to_all) {
    Schedule schedule = rail_aligned_all_to_all(collective, placement, options);
    note_unused(schedule, options, {"channels", "slices"});
    return schedule;
  }
  if (leads) {
    Schedule schedule = hierarchical_by_leaders(collective, placement, options);
    note_unused(schedule, options, {"channels"});
    return schedule;
  }
  LevelRings shape;
  shape.levels = {placement.gpus_per_node, placement.nodes};
  std::erase(shape.levels, 1);
  shape.channels = options.channels.value_or(1);
  shape.slices = options.slices.value_or(1);
  LevelPlan plan{std::vector<std::int32_t>(shape.levels.size()), false, false};
  std::iota(plan.order.begin(), plan.order.end(), 0);
  shape.plan_of.assign(static_cast<std::size_t>(shape.channels * shape.slices), shape.add_plan(plan));
  return level_rings("hierarchical", collective, placement, options, shape);
}

}  // namespace collsim::algorithms
