// export msccl: the schedule of an algorithm as an MSCCL file.
#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_writer.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/schedules.hpp"
#include "experiments/verify_ideal.hpp"
#include "sim/core/check.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::program {

namespace {

using algorithms::MscclCheck;
using algorithms::MscclFile;
using algorithms::MscclWriting;

constexpr std::int32_t ranks_max = algorithms::MscclLimits::gpus;

bool looks_like_experiment(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

struct Made {
  ScheduleOrReason schedule;
  MscclWriting writing;
};

std::int32_t ranks_of(const std::string& text) {
  std::int32_t ranks = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
  if (error == std::errc() && end == text.data() + text.size() && ranks >= 1 && ranks <= ranks_max)
    return ranks;
  throw Stop{ExitCode::usage, "collsim: --ranks " + text + ": expected a number of ranks from 1 to " +
                                  std::to_string(ranks_max) + "\n"};
}

// Where no size is given: one that most numbers of channels, slices and parts divide. A file has none.
Bytes divisible(std::int32_t ranks, Datatype datatype) {
  constexpr std::int64_t parts = 64 * 5040;  // 2^10 * 3^2 * 5 * 7
  return Bytes(parts * ranks * element_bytes(datatype));
}

// An experiment has one algorithm, and one size or a range for which NCCL takes the file.
Made from_experiment(const ReadResult& read, bool size_given) {
  const Experiment& experiment = *read.experiment;
  if (experiment.algorithms.size() != 1) {
    Diagnostic diagnostic = read.at("algorithm");
    diagnostic.message = std::to_string(experiment.algorithms.size()) + " algorithms";
    diagnostic.expected = "one: a file holds one";
    stop_with(std::move(diagnostic));
  }
  const Topology topology = build_topology(read);
  ScheduleCache schedules;
  schedules.read_files(experiment.algorithms, true);
  Bytes bytes = size_given ? experiment.sizes.front() : divisible(topology.ranks(), experiment.datatype);
  if (experiment.collective == CollectiveKind::barrier) bytes = Bytes(0);
  Made made{schedule_of(experiment.algorithms.front(), collective_of(experiment, bytes), topology, schedules),
            {}};
  if (size_given && experiment.sizes.size() > 1) {
    const auto [least, most] = std::minmax_element(experiment.sizes.begin(), experiment.sizes.end());
    made.writing.bytes_min = least->count();
    made.writing.bytes_max = most->count();
  }
  return made;
}

Made from_ranks(const ExportCommand& command) {
  const algorithms::AlgorithmInfo* info = find_algorithm(command.input);
  if (info == nullptr) stop_with(unknown_algorithm("IN", command.input));
  Collective collective;
  collective.kind = info->collectives.front();
  if (!command.words.collective.empty()) {
    const auto kind = collective_from_name(command.words.collective);
    if (!kind || !does(*info, *kind)) {
      std::string expected = "one of";
      for (const CollectiveKind each : info->collectives) expected += " " + std::string(name_of(each));
      stop_with(command_line_error(
          "--collective", std::string(info->name) + " does not do " + quoted(command.words.collective),
          expected, ""));
    }
    collective.kind = *kind;
  }
  const std::int32_t ranks = ranks_of(command.ranks);
  collective.bytes =
      collective.kind == CollectiveKind::barrier ? Bytes(0) : divisible(ranks, collective.datatype);
  if (!command.words.sizes.empty()) {
    const auto size = bytes_from_text(command.words.sizes);
    if (const auto* error = std::get_if<QuantityError>(&size))
      stop_with(command_line_error("--size", error->message, error->expected, error->hint));
    collective.bytes = rounded_to_parts(collective.kind, std::get<Bytes>(size), collective.datatype, ranks);
    const int element = element_bytes(collective.datatype);
    if (collective.bytes.count() % element != 0)
      stop_with(command_line_error("--size", "it is no whole number of elements",
                                   "a multiple of " + std::to_string(element) + " B", ""));
  }
  if (info->make == nullptr) {
    ScheduleCache schedules;
    return {schedule_of({command.input, {}}, collective, one_switch(ranks), schedules), {}};
  }
  ScheduleOrReason made = Impossible{};
  for (const Placement& placement : ideal_clusters(ranks)) {
    ScheduleOrReason next = algorithms::make_schedule({command.input, {}}, collective, placement);
    const bool possible = std::holds_alternative<Schedule>(next);
    if (possible || std::get<Impossible>(made).reason.empty()) made = std::move(next);
    if (possible) break;
  }
  return {std::move(made), {}};
}

Made make(const ExportCommand& command, const Options& options) {
  if (!command.ranks.empty()) {
    if (!options.settings.empty())
      throw Stop{ExitCode::usage, "collsim: --set needs an experiment or --cluster\n"};
    return from_ranks(command);
  }
  if (command.words.cluster.empty() && !looks_like_experiment(command.input))
    throw Stop{ExitCode::usage, "collsim: " + command.input + ": --ranks or --cluster is required\n"};
  if (command.words.cluster.empty()) {
    const std::string text = read_input(command.input);
    return from_experiment(
        read_checked(text, command.input, overrides_of(options), options.quiet, ReadFor::run), true);
  }
  ClusterWords words = command.words;
  words.algorithms = command.input;
  const bool size_given = !words.sizes.empty();
  if (!size_given) words.sizes = "0 B";
  if (words.collective.empty()) {
    const algorithms::AlgorithmInfo* info = find_algorithm(command.input);
    if (info != nullptr) words.collective = std::string(name_of(info->collectives.front()));
  }
  return from_experiment(read_words(words, overrides_of(options), options.quiet), size_given);
}

// What NCCL has against the file is said, and that it is right is believed when it is read back.
void check(const std::string& text, bool quiet) {
  const auto read = algorithms::read_msccl(text);
  COLLSIM_CHECK(std::holds_alternative<MscclFile>(read));
  Diagnostics diagnostics;
  for (const MscclCheck& check : algorithms::check_msccl(std::get<MscclFile>(read))) {
    COLLSIM_CHECK_MSG(check.verdict != MscclCheck::Verdict::refuted, check.findings.front().text);
    for (const algorithms::MscclFinding& finding : check.findings) {
      Diagnostic diagnostic = diagnostic_of(finding, "the file", text);
      if (!finding.nccl.empty()) diagnostic.message += "; NCCL " + finding.nccl;
      diagnostics.add(std::move(diagnostic));
    }
  }
  print(diagnostics, quiet);
}

}  // namespace

ExitCode export_msccl(const ExportCommand& command, const Options& options) {
  OutputFile out(command.output);
  Made made = make(command, options);
  if (const auto* impossible = std::get_if<Impossible>(&made.schedule))
    throw Stop{ExitCode::negative, "collsim: " + impossible->reason + "\n"};
  const auto text = algorithms::write_msccl(std::get<Schedule>(made.schedule), made.writing);
  if (const auto* impossible = std::get_if<Impossible>(&text))
    throw Stop{ExitCode::negative, "collsim: " + impossible->reason + "\n"};
  check(std::get<std::string>(text), options.quiet);
  out.write(std::get<std::string>(text));
  return ExitCode::done;
}

}  // namespace collsim::program
