#include "tests/support/conservation.hpp"

#include <algorithm>

namespace collsim::testing {
namespace {

constexpr std::int64_t operations_max = 20'000;

std::string bandwidth_fault(const Topology& topology, const RunResult& result) {
  for (std::uint32_t id = 0; id < topology.link_count(); ++id) {
    const Int128 carried = Int128{result.link_bytes[id].count()} * picoseconds_per_second;
    const Int128 possible =
        Int128{topology.link(LinkId(id)).bandwidth.bytes_per_second()} * result.time.picoseconds();
    if (carried > possible)
      return topology.link_name(LinkId(id)) + " carried " + std::to_string(result.link_bytes[id].count()) +
             " B, more than its bandwidth allows in " + std::to_string(result.time.picoseconds()) + " ps";
  }
  return "";
}

std::int64_t operation_count(const std::vector<Job>& jobs) {
  std::int64_t count = 0;
  for (const Job& job : jobs)
    for (Rank rank = 0; rank < job.schedule->ranks; ++rank)
      for (std::int32_t stream = 0; stream < job.schedule->stream_count(rank); ++stream)
        count += collsim::operation_count(*job.schedule, rank, stream);
  return count;
}

// Takes what the ranks of a job sent from their GPUs' surplus, and adds what they received.
void settle_messages(const Job& job, std::vector<std::int64_t>& surplus) {
  const Schedule& schedule = *job.schedule;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const auto vertex =
        static_cast<std::size_t>(job.rank_map.empty() ? rank : job.rank_map[static_cast<std::size_t>(rank)]);
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < collsim::operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        if (item.kind == OperationKind::send) surplus[vertex] -= size_of(schedule.layout, item.chunk).count();
        if (item.kind == OperationKind::receive || item.kind == OperationKind::receive_reduce)
          surplus[vertex] += size_of(schedule.layout, item.chunk).count();
      }
  }
}

std::string balance_fault(const Topology& topology, const std::vector<Job>& jobs, const RunResult& result) {
  std::vector<std::int64_t> surplus(topology.vertex_count(), 0);  // what leaves less what enters
  for (std::uint32_t id = 0; id < topology.link_count(); ++id) {
    surplus[topology.link(LinkId(id)).source.value] += result.link_bytes[id].count();
    surplus[topology.link(LinkId(id)).target.value] -= result.link_bytes[id].count();
  }
  const bool gpus = operation_count(jobs) <= operations_max;
  if (gpus)
    for (const Job& job : jobs) settle_messages(job, surplus);
  for (std::uint32_t id = gpus ? 0 : static_cast<std::uint32_t>(topology.ranks()); id < surplus.size(); ++id)
    if (surplus[id] != 0)
      return std::to_string(surplus[id]) + " B too many leave " + topology.vertex_name(VertexId(id));
  return "";
}

}  // namespace

std::string conservation_fault(const Topology& topology, const std::vector<Job>& jobs,
                               const RunResult& result, const Conditions& conditions) {
  if (result.status != RunStatus::ok) return "";
  if (result.link_bytes.size() != topology.link_count()) return "not every link has its bytes";
  std::string fault;
  if (conditions.link_changes.empty()) fault = bandwidth_fault(topology, result);
  const bool aggregates =
      std::any_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.schedule->group_count > 0; });
  if (fault.empty() && !aggregates && conditions.route_changes.empty())
    fault = balance_fault(topology, jobs, result);
  return fault;
}

}  // namespace collsim::testing
