#include "experiments/pipeline.hpp"

#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "algorithms/registry.hpp"
#include "experiments/parallel.hpp"
#include "sim/core/check.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::program {

namespace {

// Proofs by structure: a table of many sizes proves each structure once. Safe to share between threads; who
// asks for a proof that another is making waits for it.
class Proofs {
 public:
  Proof of(const Schedule& schedule) {
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
        promise.set_value(prove(schedule));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    return future.get();
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_future<Proof>> proofs_;
};

struct Context {
  const Experiment& experiment;
  const Topology& topology;
  const PipelineOptions& options;
  Proofs proofs;
};

const char* name_of_network(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::fluid:
      return "fluid";
  }
  return "";
}

// The question of a point, before anything has answered it.
Point question(const Context& context, const AlgorithmRequest& request, Bytes bytes) {
  Point point;
  point.cluster = context.topology.name();
  point.collective = {context.experiment.collective, bytes, context.experiment.datatype,
                      context.experiment.reduction};
  point.algorithm = algorithms::find(request.name)->name;
  point.ranks = context.topology.ranks();
  point.nodes = context.topology.placement().nodes;
  point.network = name_of_network(context.experiment.network);
  point.seed = context.experiment.seed;
  point.bound = lower_bound(point.collective, context.topology);
  return point;
}

Point failed(Point point, PointStatus status, std::string reason) {
  point.status = status;
  point.reason = std::move(reason);
  return point;
}

// Schedule -> proof -> RunResult -> Point.
Point answer(Context& context, Point point, const Schedule& schedule) {
  point.channels = schedule.channels;
  point.slices = schedule.slices;
  if (auto reason = impossible_reason(context.topology, schedule)) {
    return failed(std::move(point), PointStatus::impossible, *std::move(reason));
  }
  const Proof proof = context.proofs.of(schedule);
  point.proven = proof.proven;
  if (!proof.proven && !proof.deadlock) {
    COLLSIM_CHECK(!proof.failures.empty());
    point.proof_failures = proof.failures;
    return failed(std::move(point), PointStatus::unproven, "the schedule does not compute its collective");
  }
  RunOptions options;
  options.launch_overhead = context.experiment.launch_overhead;
  options.credit_latency = context.experiment.credit_latency;
  options.explain = context.options.explain;
  options.events_max = context.options.events_max;
  const RunResult result = simulate(context.topology, {Job{&schedule, {}, {}, -1}}, options);
  COLLSIM_CHECK_MSG(!(proof.deadlock && result.status == RunStatus::ok),
                    "a schedule that is proven to get stuck has run to its end");
  take_result(point, context.topology, result, context.options.links);
  check_bound(point, context.experiment.launch_overhead);
  return point;
}

Point simulate_point(Context& context, const AlgorithmRequest& request, Bytes bytes) {
  Point point = question(context, request, bytes);
  const auto made = algorithms::make_schedule(request, point.collective, context.topology.placement());
  if (const auto* impossible = std::get_if<Impossible>(&made)) {
    return failed(std::move(point), PointStatus::impossible, impossible->reason);
  }
  return answer(context, std::move(point), std::get<Schedule>(made));
}

}  // namespace

std::vector<Point> simulate_points(const Experiment& experiment, const Topology& topology,
                                   const PipelineOptions& options) {
  Context context{experiment, topology, options, {}};
  const std::size_t sizes = experiment.sizes.size();
  std::vector<Point> points(experiment.algorithms.size() * sizes);
  for_each_index(points.size(), options.threads, [&](std::size_t i) {
    points[i] = simulate_point(context, experiment.algorithms[i / sizes], experiment.sizes[i % sizes]);
    if (options.point_done) options.point_done();
  });
  return points;
}

}  // namespace collsim::program
