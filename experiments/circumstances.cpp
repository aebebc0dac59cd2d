#include "experiments/circumstances.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::program {

namespace {

std::string since(const FaultSpec& fault) {
  return fault.at == Instant() ? "from the start" : "since " + text_from(fault.at - Instant());
}

RunResult failed_run(const Topology& topology, std::size_t jobs, std::string reason) {
  RunResult result;
  result.status = RunStatus::failed;
  result.failure = std::move(reason);
  result.link_bytes.resize(topology.link_count());
  result.job_start.resize(jobs);
  result.job_finish.resize(jobs);
  return result;
}

bool any_aggregates(const std::vector<Runnable>& runnables) {
  return std::any_of(runnables.begin(), runnables.end(),
                     [](const Runnable& each) { return aggregates(each.seated->schedule); });
}

// Why a switch that is down keeps a job from beginning, or nothing.
std::optional<std::string> blocked_by(const Topology& topology, const std::vector<Runnable>& runnables) {
  for (const Runnable& each : runnables)
    if (auto reason = impossible_reason(topology, each.seated->schedule, each.seated->rank_map))
      return reason;
  return std::nullopt;
}

// Why the fallback cannot take the place of a job, or nothing.
std::string obstacle(const Runnable& runnable, const FaultSpec& fault) {
  const std::string down = "aggregation is down " + since(fault);
  if (fault.fallback.empty()) return down + ", and there is no fallback";
  const SeatedOrReason& fallback = runnable.fallbacks.at(fault.fallback);
  if (const auto* impossible = std::get_if<Impossible>(&fallback))
    return down + ", and the fallback " + fault.fallback + " cannot run: " + impossible->reason;
  if (aggregates(std::get<SeatedSchedule>(fallback).schedule))
    return down + ", and the fallback " + fault.fallback + " aggregates too";
  return "";
}

// Every job that aggregates replaced, not before the fallback can start.
std::vector<Job> replaced(const std::vector<Runnable>& runnables, const FaultSpec& fault) {
  std::vector<Job> jobs = jobs_of(runnables);
  const Instant ready = fault.at + fault.reroute.value_or(Duration());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!aggregates(*jobs[i].schedule)) continue;
    const auto& fallback = std::get<SeatedSchedule>(runnables[i].fallbacks.at(fault.fallback));
    jobs[i].schedule = &fallback.schedule;
    jobs[i].rank_map = fallback.rank_map;
    jobs[i].start = std::max(jobs[i].start, ready);
  }
  return jobs;
}

}  // namespace

bool aggregates(const Schedule& schedule) { return schedule.group_count > 0; }

std::vector<Job> jobs_of(const std::vector<Runnable>& runnables) {
  std::vector<Job> jobs;
  for (const Runnable& each : runnables)
    jobs.push_back({&each.seated->schedule, each.seated->rank_map, each.start, each.after});
  return jobs;
}

RunResult run_under(const Circumstances& circumstances, const std::vector<Runnable>& runnables,
                    const Topology& usual, Simulator& simulator, const RunOptions& options,
                    std::vector<std::string>* notes) {
  const Topology& topology = *circumstances.topology;
  if (&topology != &usual) {
    Simulator own(topology);
    return run_under(circumstances, runnables, topology, own, options, notes);
  }
  std::optional<FaultSpec> fault;
  if (circumstances.aggregation && any_aggregates(runnables)) fault = circumstances.aggregation;
  const std::optional<std::string> blocked = blocked_by(topology, runnables);
  if (blocked && (!fault || fault->fallback.empty())) return failed_run(topology, runnables.size(), *blocked);
  if (blocked) {  // as if all aggregation were down from the start
    fault->at = Instant();
    fault->reroute.reset();
  } else if (!fault || fault->at > Instant()) {
    COLLSIM_CHECK(!fault || runnables.size() == 1);
    RunResult result = simulator.run(jobs_of(runnables), options, circumstances.conditions);
    if (!fault || result.status == RunStatus::limit || Instant() + result.time <= fault->at) return result;
  }
  for (const Runnable& each : runnables) {
    if (!aggregates(each.seated->schedule)) continue;
    std::string reason = obstacle(each, *fault);
    if (!reason.empty()) return failed_run(topology, runnables.size(), std::move(reason));
  }
  if (notes != nullptr)
    notes->push_back(blocked.value_or("aggregation is down " + since(*fault)) + "; " + fault->fallback +
                     " runs instead");
  return simulator.run(replaced(runnables, *fault), options, circumstances.conditions);
}

}  // namespace collsim::program
