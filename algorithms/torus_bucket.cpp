// Torus buckets: copies of the cascade that start at different dimensions and run both ways round, so that
// every link of a torus has work in every round (Jain and Sabharwal, Optimal bucket algorithms for large MPI
// collectives on torus interconnects, ICS 2010).
//
// Channel c = 2 d + way is a copy: its reduce-scatter takes the dimensions d, d + 1, ... in cyclic order, its
// rings run forwards (way 0) or backwards (way 1), and each carries an equal share. There are two copies a
// dimension unless `channels` says otherwise; more of them begin again at the first. With several GPUs a node
// every copy takes the node first, so that what leaves it is 1/G. On a mesh the last member of a row
// sends to the first over all links between them. Elsewhere the nodes are one dimension.
#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/level_rings.hpp"
#include "algorithms/levels.hpp"

namespace collsim::algorithms {

ScheduleOrReason torus_bucket(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  if (options.levels.empty())
    if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  LevelRings shape;
  shape.levels = levels_of(placement, options);
  if (auto wrong = check_levels(shape.levels, placement.ranks())) return *wrong;
  if (placement.ranks() == 1) return empty_schedule("torus_bucket", collective, 1);
  const bool inner = options.levels.empty() && placement.gpus_per_node > 1 && placement.nodes > 1;
  std::erase(shape.levels, 1);
  const auto levels = static_cast<std::int32_t>(shape.levels.size());
  const std::int32_t first = inner ? 1 : 0;  // dimensions are the levels from here on
  const std::int32_t dimensions = levels - first;
  shape.channels = options.channels.value_or(2 * dimensions);
  shape.slices = options.slices.value_or(1);
  for (std::int32_t channel = 0; channel < shape.channels; ++channel) {
    const std::int32_t copy = channel % (2 * dimensions);
    LevelPlan plan;
    plan.scatter_backwards = plan.gather_backwards = copy % 2 == 1;
    if (inner) plan.order.push_back(0);
    for (std::int32_t i = 0; i < dimensions; ++i) plan.order.push_back(first + (copy / 2 + i) % dimensions);
    shape.plan_of.insert(shape.plan_of.end(), static_cast<std::size_t>(shape.slices), shape.add_plan(plan));
  }
  return level_rings("torus_bucket", collective, placement, options, shape);
}

}  // namespace collsim::algorithms
