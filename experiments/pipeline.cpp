#include "experiments/pipeline.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "experiments/answers.hpp"
#include "experiments/jobs.hpp"
#include "experiments/once.hpp"
#include "experiments/parallel.hpp"
#include "experiments/repeats.hpp"
#include "experiments/selection.hpp"
#include "experiments/workplan.hpp"

namespace collsim::program {

namespace {

// What all seeds of an experiment share.
struct Context {
  Shared shared;
  Seats seats;
  Selector selector;
  Once<std::string, ChoiceOrReason> choices;  // of selections, by request and size
  JobChoices job_choices;
};

// What a selection takes for the question of a point; other requests stay what they are.
ChoiceOrReason choice_for(Context& context, const AlgorithmRequest& request, const Collective& collective) {
  if (is_selection(request.name)) {
    const std::string key =
        request.name + " " + options_text(request.options) + " " + std::to_string(collective.bytes.count());
    return context.choices.of(key, [&] { return context.selector.choose(request, collective); });
  }
  Choice choice;
  choice.request = request;
  choice.collective = collective;
  return choice;
}

// Choice -> schedule -> proof -> RunResult -> Point.
Point answered(Context& context, const Scene& scene, const AlgorithmRequest& request, Point point,
               Simulator& simulator) {
  const ChoiceOrReason chosen = choice_for(context, request, point.collective);
  if (const auto* impossible = std::get_if<Impossible>(&chosen))
    return failed(std::move(point), PointStatus::impossible, impossible->reason);
  const auto& choice = std::get<Choice>(chosen);
  if (is_selection(request.name)) point.chosen = choice.text();
  point.predicted = choice.predicted;
  std::vector<Asked> asked(1);
  asked.front() = {choice.request, choice.collective, context.seats, {}, -1, std::move(point), {}, false};
  if (prepare(context.shared, scene, asked.front())) answer(context.shared, scene, simulator, asked);
  return std::move(asked.front().point);
}

Point table_point(Context& context, const Scene& scene, WorkPlan::Task& task) {
  const Experiment& experiment = context.shared.experiment;
  const AlgorithmRequest& request = experiment.algorithms[task.algorithm()];
  const Collective collective = collective_of(experiment, experiment.sizes[task.size()]);
  const auto asked = [&] { return question(context.shared, scene, request, collective, context.seats); };
  try {
    return answered(context, scene, request, asked(), task.simulator());
  } catch (const std::bad_alloc&) {
    task.discard();
    return failed(asked(), PointStatus::limit, "out of memory");
  }
}

// All points of one seed.
std::vector<Point> points_of(Context& context, const Scene& scene, std::size_t threads) {
  const Experiment& experiment = context.shared.experiment;
  const PipelineOptions& options = context.shared.options;
  if (!experiment.jobs.empty()) {
    std::vector<Point> points = simulate_jobs(context.shared, scene, context.seats, context.job_choices);
    for (std::size_t i = 0; i < points.size() && options.point_done; ++i) options.point_done();
    return points;
  }
  const std::size_t sizes = experiment.sizes.size();
  WorkPlan plan(*scene.topology, experiment.algorithms.size(), sizes);
  std::vector<Point> points(experiment.algorithms.size() * sizes);
  for_each_index(points.size(), threads, [&](std::size_t) {
    WorkPlan::Task task(plan);
    points[task.algorithm() * sizes + task.size()] = table_point(context, scene, task);
    if (options.point_done) options.point_done();
  });
  return points;
}

// Whether an order of additions can change a result of the experiment.
bool rounds(const Experiment& experiment) {
  if (experiment.jobs.empty()) return !is_exact(collective_of(experiment, Bytes()));
  return std::any_of(experiment.jobs.begin(), experiment.jobs.end(),
                     [](const JobSpec& job) { return !is_exact(job.collective); });
}

// Every seed with one thread, several at a time.
std::vector<Point> repeated(Context& context, const Scene& first, const SceneOf& scene_of) {
  const Experiment& experiment = context.shared.experiment;
  const PipelineOptions& options = context.shared.options;
  const auto count = static_cast<std::size_t>(experiment.repeat);
  if (!uses_seed(experiment)) {  // all runs are alike: one stands for them
    std::vector<Point> points = points_of(context, first, options.threads);
    return over_seeds(std::vector<std::vector<Point>>(count, points), experiment.seed);
  }
  std::vector<std::vector<Point>> runs(count);
  for_each_index(count, options.threads, [&](std::size_t i) {
    runs[i] = points_of(context, i == 0 ? first : scene_of(experiment.seed + i), 1);
  });
  return over_seeds(runs, experiment.seed);
}

}  // namespace

std::vector<Point> simulate_scenes(const Experiment& experiment, const SceneOf& scene_of,
                                   ScheduleCache& schedules, const PipelineOptions& options) {
  const Scene first = scene_of(experiment.seed);
  const Seats seats = seats_of(experiment.placement, first.topology->placement());
  Context context{{experiment, options, schedules, first.topology, topologies::FlowBounds(*first.topology),
                   Proofs(rounds(experiment))},
                  seats,
                  Selector(experiment.cluster, *first.topology,
                           selection_options(run_options(experiment, options)), {}, seats),
                  {},
                  {}};
  return experiment.repeat > 1 ? repeated(context, first, scene_of)
                               : points_of(context, first, options.threads);
}

std::vector<Point> simulate_points(const Experiment& experiment, const Topology& topology,
                                   ScheduleCache& schedules, const PipelineOptions& options) {
  return simulate_scenes(
      experiment, [&](std::uint64_t seed) { return healthy_scene(topology, seed); }, schedules, options);
}

}  // namespace collsim::program
