#include "experiments/pipeline.hpp"

#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <variant>

#include "experiments/forecast.hpp"
#include "experiments/outcome.hpp"
#include "experiments/parallel.hpp"
#include "experiments/selection.hpp"
#include "experiments/workplan.hpp"
#include "sim/core/check.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"
#include "topologies/flow_bounds.hpp"

namespace collsim::program {

namespace {

// Beyond so many streams no proof is attempted (sim/model/proof.hpp), and hashing them all would take
// minutes.
constexpr std::int64_t hashed_streams_max = std::int64_t{1} << 28;

bool is_hashed(const Schedule& schedule) {
  if (schedule.translated) return true;  // the streams of rank 0 are all that is hashed
  std::int64_t streams = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) streams += schedule.stream_count(rank);
  return streams <= hashed_streams_max;
}

// Proofs by structure: a table of many sizes proves each structure once. Safe to share between threads; who
// asks for a proof that another is making waits for it.
class Proofs {
 public:
  // `numerics`: the order of additions is of interest.
  explicit Proofs(bool numerics) : options_{numerics} {}

  Proof of(const Schedule& schedule) {
    if (!is_hashed(schedule)) return prove(schedule, options_);
    const StructureDigest digest = structure_digest(schedule);
    std::promise<Proof> promise;
    std::shared_future<Proof> future;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      const auto [entry, inserted] = proofs_.try_emplace({digest.low, digest.high});
      if (inserted) entry->second = promise.get_future().share();
      future = entry->second;
      is_first = inserted;
    }
    if (is_first) {
      try {
        promise.set_value(prove(schedule, options_));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    return future.get();
  }

 private:
  ProofOptions options_;
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_future<Proof>> proofs_;
};

struct Context {
  const Experiment& experiment;
  const Topology& topology;
  const PipelineOptions& options;
  topologies::FlowBounds bounds;
  Proofs proofs;
  ScheduleCache& schedules;
  Selector selector;
  WorkPlan plan;
};

// The question of a point, before anything has answered it.
Point question(const Context& context, const AlgorithmRequest& request, Bytes bytes) {
  Point point;
  point.cluster = context.topology.name();
  point.collective = collective_of(context.experiment, bytes);
  point.algorithm = full_name_of(request.name);
  point.options = options_text(request.options);
  point.ranks = context.topology.ranks();
  point.nodes = context.topology.placement().nodes;
  point.network = name_of(context.experiment.network.kind);
  point.seed = context.experiment.seed;
  point.bound = context.bounds.of(point.collective);
  return point;
}

Point failed(Point point, PointStatus status, std::string reason) {
  point.status = status;
  point.reason = std::move(reason);
  return point;
}

RunOptions run_options(const Experiment& experiment, const PipelineOptions& pipeline) {
  RunOptions options;
  options.launch_overhead = experiment.launch_overhead;
  options.credit_latency = experiment.credit_latency;
  options.explain = pipeline.explain;
  options.shortcuts = pipeline.shortcuts;
  options.alike_runs = static_cast<std::int64_t>(experiment.sizes.size());
  options.events_max = pipeline.events_max;
  return options;
}

std::string unproven_reason(const Point& point, const Proof& proof) {
  COLLSIM_CHECK(!proof.failures.empty());
  if (is_undecided(proof)) return "there is no proof: " + proof.failures.front().text;
  const std::string reason = "the schedule does not compute its collective";
  if (!is_algorithm_file(point.algorithm)) return reason;
  return reason + "; collsim verify " + point.algorithm + " names the steps";
}

// Why the run is not even tried, or nothing. A long one is announced.
std::optional<std::string> too_long(const PipelineOptions& options, const Point& point,
                                    const Estimate& estimate) {
  if (estimate.seconds > options.refused_seconds && !options.allow_long)
    return "it would take " + forecast_text(estimate) + "; --allow-long runs it";
  if (estimate.seconds > options.announced_seconds && options.announce)
    options.announce(notice_text(point.algorithm, point.collective.bytes, estimate));
  return std::nullopt;
}

// Schedule -> proof -> RunResult -> Point.
Point answer(Context& context, Point point, const Schedule& schedule, Simulator& simulator) {
  point.channels = schedule.channels;
  point.slices = schedule.slices;
  for (const std::string& option : schedule.unused_options)
    point.warnings.push_back(point.algorithm + ": " + option + " has no effect on this cluster");
  if (auto reason = impossible_reason(context.topology, schedule)) {
    return failed(std::move(point), PointStatus::impossible, *std::move(reason));
  }
  const Proof proof = context.proofs.of(schedule);
  point.proven = proof.proven;
  if (proof.proven) point.numerics = proof.numerics;
  if (!proof.proven && !proof.deadlock) {
    point.proof_failures = proof.failures;
    std::string reason = unproven_reason(point, proof);
    return failed(std::move(point), PointStatus::unproven, std::move(reason));
  }
  const RunOptions options = run_options(context.experiment, context.options);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  if (auto reason = too_long(context.options, point, simulator.estimate(jobs, options)))
    return failed(std::move(point), PointStatus::limit, *std::move(reason));
  const RunResult result = simulator.run(jobs, options);
  COLLSIM_CHECK_MSG(!(proof.deadlock && result.status == RunStatus::ok),
                    "a schedule that is proven to get stuck has run to its end");
  take_result(point, context.topology, result, context.options.links);
  check_bound(point, context.experiment.launch_overhead);
  return point;
}

// What a selection takes for the question of a point; other requests stay what they are.
ChoiceOrReason choice_for(Context& context, const AlgorithmRequest& request, const Collective& collective) {
  if (is_selection(request.name)) return context.selector.choose(request, collective);
  Choice choice;
  choice.request = request;
  choice.collective = collective;
  return choice;
}

Point schedule_and_answer(Context& context, const AlgorithmRequest& request, Point point,
                          Simulator& simulator) {
  const ChoiceOrReason chosen = choice_for(context, request, point.collective);
  if (const auto* impossible = std::get_if<Impossible>(&chosen)) {
    return failed(std::move(point), PointStatus::impossible, impossible->reason);
  }
  const auto& choice = std::get<Choice>(chosen);
  if (is_selection(request.name)) point.chosen = choice.text();
  point.predicted = choice.predicted;
  const auto made = schedule_of(choice.request, choice.collective, context.topology, context.schedules);
  if (const auto* impossible = std::get_if<Impossible>(&made)) {
    return failed(std::move(point), PointStatus::impossible, impossible->reason);
  }
  return answer(context, std::move(point), std::get<Schedule>(made), simulator);
}

Point simulate_point(Context& context, WorkPlan::Task& task) {
  const AlgorithmRequest& request = context.experiment.algorithms[task.algorithm()];
  const Bytes bytes = context.experiment.sizes[task.size()];
  try {
    return schedule_and_answer(context, request, question(context, request, bytes), task.simulator());
  } catch (const std::bad_alloc&) {
    task.discard();
    return failed(question(context, request, bytes), PointStatus::limit, "out of memory");
  }
}

}  // namespace

std::vector<Point> simulate_points(const Experiment& experiment, const Topology& topology,
                                   ScheduleCache& schedules, const PipelineOptions& options) {
  const std::size_t sizes = experiment.sizes.size();
  Context context{experiment,
                  topology,
                  options,
                  topologies::FlowBounds(topology),
                  Proofs(!is_exact(collective_of(experiment, Bytes()))),
                  schedules,
                  Selector(experiment.cluster, topology, run_options(experiment, options)),
                  {topology, experiment.algorithms.size(), sizes}};
  std::vector<Point> points(experiment.algorithms.size() * sizes);
  for_each_index(points.size(), options.threads, [&](std::size_t) {
    WorkPlan::Task task(context.plan);
    points[task.algorithm() * sizes + task.size()] = simulate_point(context, task);
    if (options.point_done) options.point_done();
  });
  return points;
}

}  // namespace collsim::program
