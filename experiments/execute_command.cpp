// execute: runs the schedules of an experiment on real buffers. execute() is the whole pipeline,
//
//     text -> Experiment -> (Topology, Schedule) -> Proof -> Plan -> Execution -> values, times -> report
//
// From the schedule on it is that of execution.hpp.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/answers.hpp"
#include "experiments/commands.hpp"
#include "experiments/device_errors.hpp"
#include "experiments/execute_report.hpp"
#include "experiments/execution.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/outputs.hpp"
#include "experiments/pipeline.hpp"
#include "experiments/proofs.hpp"
#include "experiments/schedules.hpp"
#include "experiments/seating.hpp"
#include "experiments/selection.hpp"
#include "sim/model/numerics.hpp"

namespace collsim::program {

namespace {

// What all points of an experiment share.
struct Context {
  const Experiment& experiment;
  const Topology& topology;
  ScheduleCache& schedules;
  kernels::Backend& backend;
  ExecutionOptions options;
  Seats seats;
  Selector selector;
  Proofs proofs;
};

// ---------------------------------------------------------------- the experiment

[[noreturn]] void refuse(const ReadResult& read, const char* key, std::string message, std::string expected) {
  Diagnostic diagnostic = read.at(key);
  diagnostic.message = std::move(message);
  diagnostic.expected = std::move(expected);
  stop_with(std::move(diagnostic));
}

// Keys of an experiment that say nothing about running it.
void warn_of_the_rest(const Experiment& experiment, bool quiet) {
  if (quiet) return;
  const ConditionsSpec& conditions = experiment.conditions;
  const std::pair<const char*, bool> keys[] = {{"faults", !conditions.faults.empty()},
                                               {"skew", !conditions.skew.is_zero()},
                                               {"jitter", !conditions.jitter.is_zero()},
                                               {"background", !conditions.background.empty()},
                                               {"repeat", experiment.repeat > 1}};
  for (const auto& [key, is_set] : keys)
    if (is_set)
      std::fputs((std::string("warning: ") + key + ": not executed, and not in a predicted time\n").c_str(),
                 stderr);
}

ReadResult read_for_execution(const std::string& file, const Options& options) {
  ReadResult read = read_checked(read_input(file), file, overrides_of(options), options.quiet, ReadFor::run);
  if (!read.experiment->jobs.empty())
    refuse(read, "jobs", "execute runs one collective at a time", "collective, algorithm and size");
  warn_of_the_rest(*read.experiment, options.quiet);
  return read;
}

// ---------------------------------------------------------------- the device

ExecutionOptions execution_options(const ExecuteCommand& command, std::uint64_t seed) {
  ExecutionOptions options;
  options.exact = command.inputs != "random";
  options.random = command.inputs != "exact";
  options.runs = command.runs;
  options.warmups = command.warmup;
  options.fused = command.fused;
  options.seed = seed;
  return options;
}

// ---------------------------------------------------------------- points

ExecutedPoint question(const Context& context, const AlgorithmRequest& request, Bytes bytes) {
  ExecutedPoint point;
  point.collective = collective_of(context.experiment, bytes);
  point.algorithm = full_name_of(request.name);
  point.options = options_text(request.options);
  point.ranks = context.seats.ranks(context.topology);
  point.nodes = nodes_of(context.seats, context.topology.placement());
  return point;
}

// The algorithm that a selection takes. The bytes that are executed are those that were asked for.
bool choose(Context& context, AlgorithmRequest& request, ExecutedPoint& point) {
  if (!is_selection(request.name)) return true;
  ChoiceOrReason chosen = context.selector.choose(request, point.collective);
  if (auto* impossible = std::get_if<Impossible>(&chosen))
    return fail(point, ExecutionStatus::impossible, std::move(impossible->reason));
  const auto& choice = std::get<Choice>(chosen);
  point.chosen = choice.text();
  request = choice.request;
  return true;
}

// Request -> Schedule -> Proof -> Plan -> Execution.
void execute_request(Context& context, AlgorithmRequest request, ExecutedPoint& point) {
  if (!may_fit(context.backend, point) || !choose(context, request, point)) return;
  SeatedOrReason made =
      seated_schedule_of(request, point.collective, context.topology, context.seats, context.schedules);
  if (auto* impossible = std::get_if<Impossible>(&made)) {
    fail(point, ExecutionStatus::impossible, std::move(impossible->reason));
    return;
  }
  const auto& seated = std::get<SeatedSchedule>(made);
  if (auto reason = impossible_reason(context.topology, seated.schedule, seated.rank_map)) {
    fail(point, ExecutionStatus::impossible, *std::move(reason));
    return;
  }
  execute_schedule(context.backend, context.proofs, seated.schedule, context.options, point);
}

// False: the device is of no use any more.
bool execute_point(Context& context, const AlgorithmRequest& request, ExecutedPoint& point) {
  try {
    execute_request(context, request, point);
  } catch (const std::bad_alloc&) {
    point = question(context, request, point.collective.bytes);
    fail(point, ExecutionStatus::limit, "out of memory");
  } catch (const kernels::DeviceError& error) {
    point = question(context, request, point.collective.bytes);
    point.detail = error.detail();
    return fail(point, ExecutionStatus::failed, error.what());
  }
  return true;
}

// Every algorithm at every size, one after the other: a device that does two things at once measures neither.
std::vector<ExecutedPoint> execute_all(Context& context, bool quiet) {
  const Experiment& experiment = context.experiment;
  Progress progress(experiment.algorithms.size() * experiment.sizes.size(), quiet);
  std::vector<ExecutedPoint> points;
  bool works = true;
  for (const AlgorithmRequest& request : experiment.algorithms)
    for (const Bytes bytes : experiment.sizes) {
      ExecutedPoint point = question(context, request, bytes);
      if (works) {
        works = execute_point(context, request, point);
      } else {
        fail(point, ExecutionStatus::failed, "not run, because the device has failed");
      }
      points.push_back(std::move(point));
      progress.point_done();
    }
  return points;
}

// A point that is not simulated says why, unless it is not executed for the same reason.
void take_prediction(const Point& simulated, ExecutedPoint& point) {
  point.predicted = simulated.time;
  if (simulated.status == PointStatus::ok || simulated.reason == point.reason) return;
  point.notes.push_back(std::string("not predicted: ") + name_of(simulated.status) + ": " + simulated.reason);
}

// The same points by simulation, on the cluster as it is drawn.
void predict_all(const Context& context, bool allow_long, std::vector<ExecutedPoint>& points) {
  Experiment experiment = context.experiment;
  experiment.conditions = {};
  experiment.repeat = 1;
  PipelineOptions pipeline;
  pipeline.threads = std::max(1U, std::thread::hardware_concurrency());
  pipeline.allow_long = allow_long;
  const std::vector<Point> simulated =
      simulate_points(experiment, context.topology, context.schedules, pipeline);
  for (std::size_t i = 0; i < points.size(); ++i) take_prediction(simulated[i], points[i]);
}

void write(const ExecuteReport& report, OutputFile& json, OutputFile& csv) {
  if (json.wanted()) json.write(json_text(report));
  if (csv.wanted()) csv.write(csv_text(report));
  if (!json.is_stdout() && !csv.is_stdout()) write_stdout(table_text(report));
}

}  // namespace

ExitCode execute(const ExecuteCommand& command, const Options& options) {
  const ReadResult read = read_for_execution(command.file, options);
  const Experiment& experiment = *read.experiment;
  ScheduleCache schedules;
  schedules.read_files(experiment.algorithms, options.quiet);
  OutputFile json(options.json);
  OutputFile csv(options.csv);
  only_one_to_each(json, csv);
  const auto backend = backend_of(command.device, command.workers);
  const Topology topology = build_topology(read);
  const Seats seats = seats_of(experiment.placement, topology.placement());
  Context context{
      experiment,
      topology,
      schedules,
      *backend,
      execution_options(command, experiment.seed),
      seats,
      Selector(experiment.cluster, topology, selection_options(run_options(experiment, {})), {}, seats),
      Proofs(!is_exact(collective_of(experiment, Bytes())))};
  ExecuteReport report{backend->name(), backend->description(), backend->threads(), experiment.seed,
                       command.runs,    command.warmup,         command.compare,    {}};
  report.points = execute_all(context, options.quiet);
  if (command.compare) predict_all(context, options.allow_long, report.points);
  write(report, json, csv);
  return outcome_of(report);
}

}  // namespace collsim::program
