// verify: proves an algorithm's schedule on an ideal cluster of each number of ranks, or on a given one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"
#include "experiments/verify_file.hpp"
#include "experiments/verify_ideal.hpp"
#include "experiments/verify_report.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::program {

namespace {

constexpr std::int64_t ranks_max = 1 << 24;
constexpr std::int64_t bytes_default = 1 << 20;

[[noreturn]] void wrong_ranks(const std::string& text) {
  throw Stop{ExitCode::usage, "collsim: --ranks " + text +
                                  ": expected numbers of ranks such as 8 or 1-33,64, from 1 to " +
                                  std::to_string(ranks_max) + "\n"};
}

std::int64_t rank_number(std::string_view word, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > ranks_max) {
    wrong_ranks(text);
  }
  return number;
}

// "1-3,64" -> 1, 2, 3, 64. "1:3" is the same as "1-3".
std::vector<std::int32_t> rank_counts(const std::string& text) {
  std::vector<std::int32_t> counts;
  std::string_view rest = text;
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find_first_of("-:");
    const std::int64_t first = rank_number(part.substr(0, dash), text);
    const std::int64_t last = dash == part.npos ? first : rank_number(part.substr(dash + 1), text);
    if (last < first) wrong_ranks(text);
    for (std::int64_t count = first; count <= last; ++count)
      counts.push_back(static_cast<std::int32_t>(count));
    if (part.size() == rest.size()) return counts;
    rest.remove_prefix(part.size() + 1);
  }
}

Verdict verdict_for(const AlgorithmRequest& request, const Collective& collective,
                    const Placement& placement) {
  Verdict verdict;
  verdict.algorithm = full_name_of(request.name);
  verdict.collective = collective;
  verdict.ranks = placement.ranks();
  verdict.nodes = placement.nodes;
  return verdict;
}

void judge(Verdict& verdict, const Schedule& schedule) {
  verdict.proof = prove(schedule);
  verdict.status = verdict.proof.proven ? "proven" : verdict.proof.undecided ? "undecided" : "refuted";
}

// On the first of the clusters that can run it.
Verdict verdict_of(const AlgorithmRequest& request, const Collective& collective,
                   const std::vector<Placement>& placements) {
  Verdict verdict = verdict_for(request, collective, placements.front());
  for (const Placement& placement : placements) {
    const auto made = algorithms::make_schedule(request, collective, placement);
    if (const auto* impossible = std::get_if<Impossible>(&made)) {
      if (verdict.reason.empty()) verdict.reason = impossible->reason;
      continue;
    }
    verdict.nodes = placement.nodes;
    verdict.reason.clear();
    judge(verdict, std::get<Schedule>(made));
    return verdict;
  }
  verdict.status = "impossible";
  return verdict;
}

Verdict verdict_on(const AlgorithmRequest& request, const Collective& collective, const Topology& topology,
                   ScheduleCache& schedules) {
  Verdict verdict = verdict_for(request, collective, topology.placement());
  const auto made = schedule_of(request, collective, topology, schedules);
  if (const auto* schedule = std::get_if<Schedule>(&made)) {
    judge(verdict, *schedule);
  } else {
    verdict.status = "impossible";
    verdict.reason = std::get<Impossible>(made).reason;
  }
  return verdict;
}

const algorithms::AlgorithmInfo& algorithm_named(const std::string& name) {
  if (const auto* info = find_algorithm(name)) return *info;
  stop_with(unknown_algorithm("ALGORITHM", name));
}

// The algorithm with the options that --set algorithm.KEY=VALUE gives, read as in an experiment.
AlgorithmRequest request_of(const VerifyCommand& command, const Options& options) {
  std::vector<Override> wanted;
  for (const Override& each : overrides_of(options)) {
    if (each.key.rfind("algorithm.", 0) == 0) {
      wanted.push_back(each);
    } else if (command.words.cluster.empty()) {
      throw Stop{ExitCode::usage, "collsim: --set " + each.key + " needs --cluster; without one only " +
                                      "algorithm.KEY can be set, for instance algorithm.channels=8\n"};
    }
  }
  if (!is_algorithm_file(command.algorithm)) algorithm_named(command.algorithm);
  if (is_selection(command.algorithm))
    stop_with(command_line_error("ALGORITHM",
                                 collsim::quoted(command.algorithm) + " chooses an algorithm and is none",
                                 "the name of an algorithm", ""));
  if (wanted.empty()) return {command.algorithm, {}};
  const std::string text =
      "cluster:\n  nodes: 1\n  node:\n    gpus: 2\n    interconnect: {kind: nvswitch, bandwidth: 1 GB/s}\n"
      "size: 0 B\nalgorithm:\n  name: '" +
      command.algorithm + "'\n";
  return read_checked(text, "<command line>", wanted, options.quiet, ReadFor::run)
      .experiment->algorithms.front();
}

// A barrier has the size 0, said or not; all others 1 MiB unless one is said.
void set_size(const std::string& words, Collective& collective) {
  const bool barrier = collective.kind == CollectiveKind::barrier;
  collective.bytes = Bytes(barrier ? 0 : bytes_default);
  if (words.empty()) return;
  const auto size = bytes_from_text(words);
  if (const auto* error = std::get_if<QuantityError>(&size)) {
    stop_with(command_line_error("--size", error->message, error->expected, error->hint));
  }
  collective.bytes = std::get<Bytes>(size);
  if (barrier && collective.bytes != Bytes(0))
    stop_with(command_line_error("--size", "a barrier moves no data", "no size, or 0 B", ""));
  const int element = element_bytes(collective.datatype);
  if (collective.bytes.count() % element != 0) {
    stop_with(command_line_error(
        "--size", std::to_string(collective.bytes.count()) + " B is no whole number of elements",
        "a multiple of " + std::to_string(element) + " B", ""));
  }
}

Collective collective_of(const ClusterWords& words, const algorithms::AlgorithmInfo& info) {
  Collective collective;
  collective.kind = info.collectives.front();
  if (!words.collective.empty()) {
    const auto kind = collective_from_name(words.collective);
    if (!kind) {
      std::string expected = "one of";
      for (const CollectiveKind each : info.collectives) expected += " " + std::string(name_of(each));
      stop_with(command_line_error("--collective", "unknown collective " + collsim::quoted(words.collective),
                                   expected, ""));
    }
    collective.kind = *kind;
  }
  set_size(words.sizes, collective);
  return collective;
}

std::vector<Verdict> on_ideal_clusters(const VerifyCommand& command, const AlgorithmRequest& request) {
  const Collective collective = collective_of(command.words, algorithm_named(request.name));
  std::vector<Verdict> verdicts;
  for (const std::int32_t ranks : rank_counts(command.ranks)) {
    Collective rounded = collective;
    rounded.bytes = rounded_to_parts(collective.kind, collective.bytes, collective.datatype, ranks);
    if (algorithm_named(request.name).make == nullptr) {
      ScheduleCache schedules;
      verdicts.push_back(verdict_on(request, rounded, one_switch(ranks), schedules));
    } else {
      verdicts.push_back(verdict_of(request, rounded, ideal_clusters(ranks)));
    }
  }
  return verdicts;
}

std::vector<Verdict> on_given_cluster(const VerifyCommand& command, const AlgorithmRequest& request,
                                      const Options& options) {
  ClusterWords words = command.words;
  words.algorithms = command.algorithm;
  if (words.sizes.empty() && words.collective != name_of(CollectiveKind::barrier)) words.sizes = "1 MiB";
  std::vector<Override> overrides;
  for (const Override& each : overrides_of(options))
    if (each.key.rfind("algorithm.", 0) != 0) overrides.push_back(each);
  const ReadResult read = read_words(words, overrides, options.quiet);
  const Experiment& experiment = *read.experiment;
  const Topology topology = build_topology(read);
  ScheduleCache schedules;
  std::vector<Verdict> verdicts;
  for (AlgorithmRequest each : experiment.algorithms) {
    if (each.name == request.name) each = request;
    for (const Bytes bytes : experiment.sizes)
      verdicts.push_back(verdict_on(each, collsim::collective_of(experiment, bytes), topology, schedules));
  }
  return verdicts;
}

}  // namespace

ExitCode verify(const VerifyCommand& command, const Options& options) {
  const AlgorithmRequest request = request_of(command, options);
  if (is_algorithm_file(command.algorithm)) return verify_file(command, request, options);
  OutputFile json(options.json);
  const std::vector<Verdict> verdicts = command.words.cluster.empty()
                                            ? on_ideal_clusters(command, request)
                                            : on_given_cluster(command, request, options);
  const auto proven = std::count_if(verdicts.begin(), verdicts.end(),
                                    [](const Verdict& verdict) { return verdict.proof.proven; });
  if (json.wanted()) json.write(json_of(verdicts));
  if (!json.is_stdout()) {
    std::string text;
    for (const Verdict& verdict : verdicts) text += text_of(verdict);
    if (verdicts.size() > 1) text += fmt::format("# {} of {} proven\n", proven, verdicts.size());
    write_stdout(text);
  }
  return proven == static_cast<std::ptrdiff_t>(verdicts.size()) ? ExitCode::done : ExitCode::negative;
}

}  // namespace collsim::program
