// export msccl: the schedule of an algorithm as an MSCCL file.
#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_writer.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/inputs.hpp"
#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"
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

// What is exported: a schedule for a size, of which the user gave one or not.
struct Source {
  std::function<ScheduleOrReason(Bytes)> at;
  Bytes bytes;
  std::int64_t element = 4;  // bytes
  bool size_given = false;
  MscclWriting writing;
};

void no_selection(const std::string& name) {
  if (is_selection(name))
    stop_with(command_line_error("IN", quoted(name) + " chooses an algorithm and is none",
                                 "the name of an algorithm", ""));
}

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
Source from_experiment(const ReadResult& read, bool size_given) {
  const auto experiment = std::make_shared<const Experiment>(*read.experiment);
  if (experiment->algorithms.size() != 1) {
    Diagnostic diagnostic = read.at("algorithm");
    diagnostic.message = std::to_string(experiment->algorithms.size()) + " algorithms";
    diagnostic.expected = "one: a file holds one";
    stop_with(std::move(diagnostic));
  }
  no_selection(experiment->algorithms.front().name);
  const auto topology = std::make_shared<const Topology>(build_topology(read));
  const auto schedules = std::make_shared<ScheduleCache>();
  schedules->read_files(experiment->algorithms, true);
  Source source;
  source.at = [experiment, topology, schedules](Bytes bytes) {
    return schedule_of(experiment->algorithms.front(), collective_of(*experiment, bytes), *topology,
                       *schedules);
  };
  source.size_given = size_given || experiment->collective == CollectiveKind::barrier;
  source.bytes =
      source.size_given ? experiment->sizes.front() : divisible(topology->ranks(), experiment->datatype);
  source.element = element_bytes(experiment->datatype);
  if (size_given && experiment->sizes.size() > 1) {
    const auto [least, most] = std::minmax_element(experiment->sizes.begin(), experiment->sizes.end());
    source.writing.bytes_min = least->count();
    source.writing.bytes_max = most->count();
  }
  return source;
}

// On the first ideal cluster that can run it.
ScheduleOrReason on_ideal_cluster(const std::string& name, const Collective& collective, std::int32_t ranks) {
  if (find_algorithm(name)->make == nullptr) {
    ScheduleCache schedules;
    return schedule_of({name, {}}, collective, one_switch(ranks), schedules);
  }
  ScheduleOrReason made = Impossible{};
  for (const Placement& placement : ideal_clusters(ranks)) {
    ScheduleOrReason next = algorithms::make_schedule({name, {}}, collective, placement);
    if (std::holds_alternative<Schedule>(next)) return next;
    if (std::get<Impossible>(made).reason.empty()) made = std::move(next);
  }
  return made;
}

CollectiveKind kind_of(const ExportCommand& command, const algorithms::AlgorithmInfo& info) {
  if (command.words.collective.empty()) return info.collectives.front();
  const auto kind = collective_from_name(command.words.collective);
  if (kind && does(info, *kind)) return *kind;
  std::string expected = "one of";
  for (const CollectiveKind each : info.collectives) expected += " " + std::string(name_of(each));
  stop_with(command_line_error("--collective",
                               std::string(info.name) + " does not do " + quoted(command.words.collective),
                               expected, ""));
}

Source from_ranks(const ExportCommand& command) {
  const algorithms::AlgorithmInfo* info = find_algorithm(command.input);
  if (info == nullptr) stop_with(unknown_algorithm("IN", command.input));
  no_selection(command.input);
  Collective collective;
  collective.kind = kind_of(command, *info);
  const std::int32_t ranks = ranks_of(command.ranks);
  Source source;
  source.element = element_bytes(collective.datatype);
  source.size_given = !command.words.sizes.empty() || collective.kind == CollectiveKind::barrier;
  source.bytes = source.size_given ? Bytes(0) : divisible(ranks, collective.datatype);
  if (!command.words.sizes.empty()) {
    const auto size = bytes_from_text(command.words.sizes);
    if (const auto* error = std::get_if<QuantityError>(&size))
      stop_with(command_line_error("--size", error->message, error->expected, error->hint));
    source.bytes = rounded_to_parts(collective.kind, std::get<Bytes>(size), collective.datatype, ranks);
    if (source.bytes.count() % source.element != 0)
      stop_with(command_line_error("--size", "it is no whole number of elements",
                                   "a multiple of " + std::to_string(source.element) + " B", ""));
  }
  source.at = [name = command.input, collective, ranks](Bytes bytes) {
    Collective sized = collective;
    sized.bytes = bytes;
    return on_ideal_cluster(name, sized, ranks);
  };
  return source;
}

Source source_of(const ExportCommand& command, const Options& options) {
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
  const algorithms::AlgorithmInfo* info = find_algorithm(command.input);
  if (words.collective.empty() && info != nullptr)
    words.collective = std::string(name_of(info->collectives.front()));
  return from_experiment(read_words(words, overrides_of(options), options.quiet), size_given);
}

// Where no size was given, one that the cells of the schedule divide; they may change with it, so not
// forever.
ScheduleOrReason schedule_from(const Source& source) {
  constexpr int tries = 4;
  ScheduleOrReason made = source.at(source.bytes);
  std::int64_t elements = source.bytes.count() / source.element;
  for (int i = 0; i < tries && !source.size_given && std::holds_alternative<Schedule>(made); ++i) {
    const std::int64_t cells = std::get<Schedule>(made).layout.cells();
    if (elements % cells == 0) break;
    elements = (elements + cells - 1) / cells * cells;
    made = source.at(Bytes(elements * source.element));
  }
  return made;
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
  const Source source = source_of(command, options);
  const ScheduleOrReason made = schedule_from(source);
  if (const auto* impossible = std::get_if<Impossible>(&made))
    throw Stop{ExitCode::negative, "collsim: " + impossible->reason + "\n"};
  const auto text = algorithms::write_msccl(std::get<Schedule>(made), source.writing);
  if (const auto* impossible = std::get_if<Impossible>(&text))
    throw Stop{ExitCode::negative, "collsim: " + impossible->reason + "\n"};
  check(std::get<std::string>(text), options.quiet);
  out.write(std::get<std::string>(text));
  return ExitCode::done;
}

}  // namespace collsim::program
