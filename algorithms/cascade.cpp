// Cascade: a reduce-scatter at every level, innermost first, and the all-gathers back (Cho et al.,
// BlueConnect, MLSys 2019). level_rings.hpp says who sends what.
//
// Forms
//   fixed     All slices take the levels innermost first. A slice enters a level, on the way in and on the
//             way back, when the slice before it has left it on this rank, so that the levels work on
//             different slices at a time.
//   reversed  The same, and the rings of the all-gathers run the other way round, so that a slice on its way
//             back does not share the links of one on its way in.
//   themis    Every slice of every channel has an order of its own, by the load of the levels (Rashidi et
//             al., Themis, ISCA 2022; level_order.hpp), the same on all ranks. Slices do not wait for each
//             other. 16 slices where neither channels nor slices are asked for.
#include <algorithm>
#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/level_order.hpp"
#include "algorithms/level_rings.hpp"
#include "algorithms/levels.hpp"
#include "algorithms/unused_options.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t themis_slices = 16;

// Whether ranks of `reach` consecutive numbers share a node.
bool lies_in_nodes(std::int64_t reach, const Placement& placement) {
  if (placement.is_even()) return reach <= placement.gpus_per_node;
  return std::all_of(placement.first_rank.begin(), placement.first_rank.end(),
                     [reach](std::int64_t first) { return first % reach == 0; });
}

// Of a rank at each level: what is asked for, else the interconnect's where a level lies in a node and the
// fabric's elsewhere; equal where the cluster does not say.
std::variant<std::vector<std::int64_t>, Impossible> bandwidths_of(const std::vector<std::int32_t>& levels,
                                                                  const Placement& placement,
                                                                  const AlgorithmOptions& options) {
  std::vector<std::int64_t> bandwidths;
  for (const Bandwidth bandwidth : options.level_bandwidths)
    bandwidths.push_back(bandwidth.bytes_per_second());
  if (!bandwidths.empty()) {
    if (bandwidths.size() != levels.size())
      return Impossible{"level_bandwidths has " + std::to_string(bandwidths.size()) + " entries for " +
                        std::to_string(levels.size()) + " levels"};
    if (*std::min_element(bandwidths.begin(), bandwidths.end()) <= 0)
      return Impossible{"every one of level_bandwidths must be greater than 0"};
    return bandwidths;
  }
  const std::int64_t inside = placement.node_bandwidth.bytes_per_second();
  const std::int64_t between = placement.fabric_bandwidth.bytes_per_second();
  std::int64_t reach = 1;
  for (const std::int32_t members : levels) {
    reach *= members;
    const std::int64_t bandwidth = lies_in_nodes(reach, placement) ? inside : between;
    bandwidths.push_back(bandwidth);
  }
  const bool known = *std::min_element(bandwidths.begin(), bandwidths.end()) > 0;
  if (!known) bandwidths.assign(levels.size(), 1);
  return bandwidths;
}

// Drops levels of one member, and their bandwidths.
void drop_single(std::vector<std::int32_t>& levels, std::vector<std::int64_t>& bandwidths) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == 1) continue;
    levels[kept] = levels[i];
    bandwidths[kept++] = bandwidths[i];
  }
  levels.resize(kept);
  bandwidths.resize(kept);
}

}  // namespace

ScheduleOrReason cascade(const Collective& collective, const Placement& placement,
                         const AlgorithmOptions& options) {
  if (options.levels.empty())
    if (auto wrong = check_equal_nodes(placement, collective.kind)) return *wrong;
  LevelRings shape;
  shape.levels = levels_of(placement, options);
  if (auto wrong = check_levels(shape.levels, placement.ranks())) return *wrong;
  auto bandwidths = bandwidths_of(shape.levels, placement, options);
  if (auto* wrong = std::get_if<Impossible>(&bandwidths)) return *wrong;
  if (placement.ranks() == 1) return empty_schedule("cascade", collective, 1);
  auto& rates = std::get<std::vector<std::int64_t>>(bandwidths);
  drop_single(shape.levels, rates);
  const bool themis = options.form == "themis";
  const bool automatic = !options.channels && !options.slices;
  shape.channels = options.channels.value_or(1);
  shape.slices = options.slices.value_or(themis && automatic ? themis_slices : 1);
  const std::int32_t regions = shape.channels * shape.slices;
  if (themis) {
    shape.one_after_another = false;
    for (auto& order : balanced_orders(shape.levels, rates, regions).orders)
      shape.plan_of.push_back(shape.add_plan(LevelPlan{std::move(order), false, false}));
  } else {
    LevelPlan plan{std::vector<std::int32_t>(shape.levels.size()), false, options.form == "reversed"};
    std::iota(plan.order.begin(), plan.order.end(), 0);
    shape.plan_of.assign(static_cast<std::size_t>(regions), shape.add_plan(plan));
  }
  Schedule schedule = level_rings("cascade", collective, placement, options, shape);
  if (!themis) note_unused(schedule, options, {"level_bandwidths"});
  return schedule;
}

}  // namespace collsim::algorithms
