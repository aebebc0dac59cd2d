#include "sim/execution/simulation.hpp"

#include "sim/execution/executor.hpp"

namespace collsim {
namespace {

const ReductionSpec& reduction_of(const Topology& topology, AggregationScope scope) {
  const Placement& placement = topology.placement();
  return scope == AggregationScope::node ? placement.node_reduction : placement.fabric_reduction;
}

// The largest message that `rank` posts to aggregation group `group`.
Bytes largest_aggregation(const Schedule& schedule, Rank rank, std::int32_t group) {
  Bytes largest;
  Binding binding;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
    binding.clear();
    schedule.bind(rank, stream, binding);
    for (const Loop& loop : schedule.programs[static_cast<std::size_t>(binding.program)].loops)
      for (const OperationTemplate& operation : loop.body) {
        if (operation.kind != OperationKind::aggregate) continue;
        if (binding.groups[static_cast<std::size_t>(operation.peer)] != group) continue;
        for (std::int64_t trip = 0; trip < loop.trips; ++trip)
          largest = std::max(largest,
                             size_of(schedule.layout, resolve(operation.chunk, binding.bases.data(), trip)));
      }
  }
  return largest;
}

}  // namespace

RunResult simulate(const Topology& topology, const std::vector<Job>& jobs, const RunOptions& options,
                   const std::vector<CapacityChange>& changes) {
  const Instance instance = instance_of(topology, jobs, changes);
  const Outcome outcome = Executor(instance, options, changes).run();
  RunResult result = result_of(topology, instance, instance, outcome, {});
  if (options.explain && outcome.status == RunStatus::ok) {
    const bool nobody = outcome.last_stream == Instance::none;
    result.critical_path = outcome.chain.path(nobody ? 0 : instance.streams[outcome.last_stream].rank);
  }
  return result;
}

std::optional<std::string> impossible_reason(const Topology& topology, const Schedule& schedule) {
  if (schedule.ranks > topology.ranks())
    return "the schedule has " + std::to_string(schedule.ranks) + " ranks, the cluster " +
           std::to_string(topology.ranks());
  for (std::int32_t number = 0; number < schedule.group_count; ++number) {
    const AggregationGroup group = schedule.group(number);
    const auto path = topology.aggregation(group);
    if (const auto* impossible = std::get_if<Impossible>(&path)) return impossible->reason;
    const ReductionSpec& reduction = reduction_of(topology, group.scope);
    if (!reduction.message_size_max) continue;
    const Bytes largest = largest_aggregation(schedule, group.members.front(), number);
    if (largest > *reduction.message_size_max)
      return "an aggregation of " + std::to_string(largest.count()) + " B exceeds the limit of " +
             std::to_string(reduction.message_size_max->count()) +
             " B (message_size); more slices make it smaller, ring and cascade need no reducing switch";
  }
  return std::nullopt;
}

}  // namespace collsim
