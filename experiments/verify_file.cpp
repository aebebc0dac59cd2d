#include "experiments/verify_file.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/msccl_schedule.hpp"
#include "experiments/files.hpp"
#include "experiments/pipeline.hpp"
#include "experiments/schedules.hpp"
#include "experiments/verify_report.hpp"

namespace collsim::program {

namespace {

using algorithms::MscclCheck;
using algorithms::MscclFile;

// What is asked for beside the file must be what the file does.
void check_words(const VerifyCommand& command, const MscclFile& file) {
  const std::string kind(name_of(file.kind));
  if (!command.words.collective.empty() && command.words.collective != kind)
    stop_with(command_line_error("--collective", "the file does " + kind, kind, ""));
  const std::string ranks = std::to_string(file.ranks);
  if (!command.ranks.empty() && command.ranks != ranks)
    stop_with(command_line_error("--ranks", "the file is for " + ranks + " gpus", ranks, ""));
}

// The smallest size from 1 MiB on that is equal chunks of whole float32.
std::string whole_chunks(const MscclFile& file) {
  const std::int64_t unit = std::int64_t{file.chunks} * element_bytes(Datatype::float32);
  constexpr std::int64_t about = 1 << 20;
  return std::to_string((about + unit - 1) / unit * unit) + " B";
}

std::vector<Point> on_cluster(const VerifyCommand& command, const AlgorithmRequest& request,
                              const MscclFile& file, const Options& options) {
  ClusterWords words = command.words;
  words.algorithms = request.name;
  words.collective = std::string(name_of(file.kind));
  if (words.sizes.empty()) words.sizes = whole_chunks(file);
  std::vector<Override> overrides;
  for (const Override& each : overrides_of(options))
    if (each.key.rfind("algorithm.", 0) != 0) overrides.push_back(each);
  if (has_root(file.kind)) overrides.push_back({"root", std::to_string(algorithms::root_of(file))});
  ReadResult read = read_words(words, overrides, options.quiet);
  read.experiment->algorithms = {request};
  const Topology topology = build_topology(read);
  ScheduleCache schedules;
  schedules.read_files(read.experiment->algorithms, true);
  return simulate_points(*read.experiment, topology, schedules, {});
}

ExitCode outcome_of(const FileVerdict& verdict) {
  const auto any = [&](MscclCheck::Verdict wanted) {
    return std::any_of(verdict.checks.begin(), verdict.checks.end(),
                       [wanted](const MscclCheck& check) { return check.verdict == wanted; });
  };
  if (any(MscclCheck::Verdict::refuted)) return ExitCode::negative;
  if (any(MscclCheck::Verdict::undecided)) return ExitCode::limit;
  const bool all_ran = std::all_of(verdict.points.begin(), verdict.points.end(),
                                   [](const Point& point) { return point.status == PointStatus::ok; });
  return all_ran ? ExitCode::done : ExitCode::negative;
}

}  // namespace

ExitCode verify_file(const VerifyCommand& command, const AlgorithmRequest& request, const Options& options) {
  OutputFile json(options.json);
  FileVerdict verdict;
  verdict.path = request.name;
  verdict.file = read_algorithm_file(request.name, true);  // its warnings come with the findings
  check_words(command, verdict.file);
  verdict.slots = request.options.slots.value_or(slots_default);
  verdict.checks = algorithms::check_msccl(verdict.file, verdict.slots);
  const bool proven = outcome_of(verdict) == ExitCode::done;
  if (proven && !command.words.cluster.empty())
    verdict.points = on_cluster(command, request, verdict.file, options);
  if (json.wanted()) json.write(json_of(verdict));
  if (!json.is_stdout()) write_stdout(text_of(verdict));
  return outcome_of(verdict);
}

}  // namespace collsim::program
