// The program. Start reading here: run() is the whole pipeline,
//
//     text -> Experiment -> (Scene, Schedule) -> RunResult -> report
//
// and every arrow is a function from values to a value. A Scene is the Topology of one seed and what is not
// as its owner drew it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/command_line.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/outcome.hpp"
#include "experiments/outputs.hpp"
#include "experiments/pipeline.hpp"
#include "experiments/scene.hpp"
#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

namespace {

struct Input {
  Experiment experiment;
  SceneOf scene_of;                          // that of the first seed is made already
  std::unique_ptr<ScheduleCache> schedules;  // with the files that the experiment names
};

// Experiment -> Scenes.
Input with_scenes(const ReadResult& read, bool quiet) {
  auto schedules = std::make_unique<ScheduleCache>();
  schedules->read_files(requests_of(*read.experiment), quiet);
  return {*read.experiment, scenes_of(read), std::move(schedules)};
}

// Rows of a table, or jobs, over all seeds.
std::size_t work_of(const Experiment& experiment) {
  const std::size_t points = experiment.jobs.empty() ? experiment.algorithms.size() * experiment.sizes.size()
                                                     : experiment.jobs.size();
  return uses_seed(experiment) ? points * static_cast<std::size_t>(experiment.repeat) : points;
}

PipelineOptions pipeline_options(const Options& options) {
  PipelineOptions pipeline;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  pipeline.threads = options.threads > 0 ? static_cast<std::size_t>(options.threads) : cores;
  pipeline.events_max = options.events_max;
  pipeline.shortcuts = options.plain ? Shortcuts::plain : Shortcuts::automatic;
  pipeline.allow_long = options.allow_long;
  pipeline.explain = options.explain;
  pipeline.links = options.links;
  return pipeline;
}

// (Experiment, Scenes) -> Schedules -> RunResults -> Points.
std::vector<Point> simulate(const std::vector<Input>& inputs, const Options& options) {
  std::size_t total = 0;
  for (const Input& input : inputs) total += work_of(input.experiment);
  Progress progress(total, options.quiet);
  PipelineOptions pipeline = pipeline_options(options);
  if (!options.quiet) pipeline.announce = [&progress](const std::string& line) { progress.say(line); };
  pipeline.point_done = [&progress] { progress.point_done(); };
  std::vector<Point> points;
  for (const Input& input : inputs) {
    for (Point& point : simulate_scenes(input.experiment, input.scene_of, *input.schedules, pipeline)) {
      points.push_back(std::move(point));
    }
  }
  return points;
}

// Points -> report. Outputs are opened first, so that a wrong path does not cost the simulation.
std::vector<Point> simulate_and_write(const std::vector<Input>& inputs, const Options& options) {
  Outputs outputs(options);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Point> points = simulate(inputs, options);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  outputs.write(points);
  if (options.timing) std::fputs(timing_text(points, wall).c_str(), stderr);
  return points;
}

// The algorithms that `predict` shows: what the user named, or those that do the collective. Of these, where
// the user did not ask for all, the ones that are usual for it, if any are.
std::string predicted_algorithms(const std::string& wanted, const std::string& collective) {
  if (!wanted.empty() && wanted != "all") return wanted;
  const auto kind = collective_from_name(collective);
  if (!kind) return std::string(known_algorithms().front().name);  // the reader refuses the collective
  std::string all;
  std::string usual;
  for (const algorithms::AlgorithmInfo& info : known_algorithms()) {
    if (!does(info, *kind) || is_selection(info.name)) continue;
    const auto add = [&info](std::string& names) {
      names += (names.empty() ? "" : ",") + std::string(info.name);
    };
    add(all);
    if (info.in_predict) add(usual);
  }
  return wanted == "all" || usual.empty() ? all : usual;
}

}  // namespace

// text -> Experiment, for every file before the first is simulated; every point was named by the user.
ExitCode run(const RunCommand& command, const Options& options) {
  const std::vector<Override> overrides = overrides_of(options);
  std::vector<Input> inputs;
  for (const std::string& file : command.files) {
    const std::string text = read_input(file);
    inputs.push_back(
        with_scenes(read_checked(text, file, overrides, options.quiet, ReadFor::run), options.quiet));
  }
  return outcome_of(simulate_and_write(inputs, options), 0);
}

// The same from words. What the cluster cannot run is noted; only if it can run nothing, that is the outcome.
ExitCode predict(const PredictCommand& command, const Options& options) {
  ClusterWords words = command.words;
  words.algorithms = predicted_algorithms(words.algorithms, words.collective);
  const bool has_size = words.collective != name_of(CollectiveKind::barrier);
  if (words.sizes.empty() && has_size) words.sizes = "1 KiB:4 GiB:2";
  std::vector<Input> inputs;
  inputs.push_back(with_scenes(read_words(words, overrides_of(options), options.quiet), options.quiet));
  const std::vector<Point> points = simulate_and_write(inputs, options);
  return outcome_of(points, points.size() - 1);
}

}  // namespace collsim::program

int main(int argc, char** argv) {
  using namespace collsim::program;
  return guarded([&] {
    const CommandLine line = parse_command_line(argc, argv);
    const Options& options = line.options;
    if (const auto* command = std::get_if<RunCommand>(&line.command)) return run(*command, options);
    if (const auto* command = std::get_if<PredictCommand>(&line.command)) return predict(*command, options);
    if (const auto* command = std::get_if<DescribeCommand>(&line.command)) return describe(*command, options);
    if (const auto* command = std::get_if<VerifyCommand>(&line.command)) return verify(*command, options);
    if (const auto* command = std::get_if<ExecuteCommand>(&line.command)) return execute(*command, options);
    if (const auto* command = std::get_if<CalibrateCommand>(&line.command))
      return calibrate(*command, options);
    if (const auto* command = std::get_if<ExportCommand>(&line.command)) {
      return command->kind == "msccl" ? export_msccl(*command, options)
                                      : export_nccl_tuner(*command, options);
    }
    return list(std::get<ListCommand>(line.command));
  });
}
