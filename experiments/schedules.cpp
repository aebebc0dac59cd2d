#include "experiments/schedules.hpp"

#include <algorithm>
#include <optional>

#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_schedule.hpp"
#include "algorithms/synthesized.hpp"
#include "experiments/files.hpp"
#include "experiments/selection.hpp"
#include "sim/core/check.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/spelling.hpp"
#include "topologies/forest.hpp"

namespace collsim::program {

namespace {

std::vector<algorithms::AlgorithmInfo> all_known() {
  std::vector<algorithms::AlgorithmInfo> table = algorithms::all();
  table.push_back(algorithms::synthesized_info());
  const std::vector<algorithms::AlgorithmInfo>& selections = selection_infos();
  table.insert(table.end(), selections.begin(), selections.end());
  return table;
}

ScheduleOrReason synthesized(const AlgorithmRequest& request, const Collective& collective,
                             const Topology& topology, ScheduleCache& cache) {
  const algorithms::AlgorithmInfo& info = *find_algorithm(request.name);
  if (!does(info, collective.kind)) {
    return Impossible{request.name + " does not do " + std::string(name_of(collective.kind))};
  }
  const auto& packed =
      cache.forest(topology, collective.kind, has_root(collective.kind) ? collective.root : 0);
  if (const auto* impossible = std::get_if<Impossible>(&packed)) return *impossible;
  return algorithms::synthesized(collective, topology.placement(), request.options, std::get<Forest>(packed));
}

template <class Number>
std::string list_text(const std::vector<Number>& values, std::string (*text)(Number)) {
  std::string result;
  for (const Number value : values) result += (result.empty() ? "" : ", ") + text(value);
  return "[" + result + "]";
}

}  // namespace

const std::vector<algorithms::AlgorithmInfo>& known_algorithms() {
  static const std::vector<algorithms::AlgorithmInfo> table = all_known();
  return table;
}

const algorithms::AlgorithmInfo* find_algorithm(std::string_view name) {
  for (const algorithms::AlgorithmInfo& info : known_algorithms())
    if (info.name == name || (!info.alias.empty() && info.alias == name)) return &info;
  return nullptr;
}

bool does(const algorithms::AlgorithmInfo& info, CollectiveKind kind) {
  return std::find(info.collectives.begin(), info.collectives.end(), kind) != info.collectives.end();
}

bool is_algorithm_file(std::string_view name) { return name.ends_with(algorithm_file_suffix); }

std::vector<std::string> algorithm_file_options() { return {"slots", "channel_bandwidth"}; }

Diagnostic unknown_algorithm(const std::string& key, std::string_view name) {
  std::vector<std::string> names;
  for (const algorithms::AlgorithmInfo& info : known_algorithms()) {
    names.emplace_back(info.name);
    if (!info.alias.empty()) names.emplace_back(info.alias);
  }
  std::string expected = "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) expected += (i > 0 ? ", " : "") + names[i];
  return command_line_error(key, "unknown algorithm " + collsim::quoted(name), expected,
                            nearest(name, names));
}

std::string full_name_of(std::string_view name) {
  const algorithms::AlgorithmInfo* info = find_algorithm(name);
  return std::string(info != nullptr ? info->name : name);
}

std::string options_text(const AlgorithmOptions& options) {
  std::string text;
  const auto add = [&text](const char* key, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string(key) + ": " + value;
  };
  const auto add_number = [&add](const char* key, const std::optional<std::int32_t>& value) {
    if (value) add(key, std::to_string(*value));
  };
  add_number("channels", options.channels);
  add_number("slices", options.slices);
  add_number("slots", options.slots);
  if (options.channel_bandwidth) add("channel_bandwidth", text_from(*options.channel_bandwidth));
  if (options.order == RankOrder::rank) add("order", "rank");
  if (!options.levels.empty())
    add("levels",
        list_text<std::int32_t>(options.levels, [](std::int32_t each) { return std::to_string(each); }));
  if (!options.level_bandwidths.empty())
    add("level_bandwidths",
        list_text<Bandwidth>(options.level_bandwidths, [](Bandwidth each) { return text_from(each); }));
  add_number("root", options.root);
  add_number("radix", options.radix);
  add_number("servers", options.servers);
  if (!options.form.empty()) add("form", options.form);
  return text;
}

std::vector<AlgorithmRequest> requests_of(const Experiment& experiment) {
  std::vector<AlgorithmRequest> requests = experiment.algorithms;
  for (const JobSpec& job : experiment.jobs) requests.push_back(job.algorithm);
  for (const FaultSpec& fault : experiment.conditions.faults)
    if (!fault.fallback.empty()) requests.push_back({fault.fallback, {}});
  return requests;
}

Diagnostic diagnostic_of(const algorithms::MscclFinding& finding, const std::string& path,
                         std::string_view text) {
  Diagnostic diagnostic;
  diagnostic.severity =
      finding.severity == algorithms::MscclFinding::Severity::error ? Severity::error : Severity::warning;
  diagnostic.place = {path, finding.place.line, finding.column};
  diagnostic.key = algorithms::text_of(finding.place);
  diagnostic.message = finding.text;
  diagnostic.expected = finding.expected;
  diagnostic.hint = finding.hint;
  if (finding.place.line > 0 && finding.column > 0)
    show_line(diagnostic, line_of(text, finding.place.line), finding.column);
  return diagnostic;
}

algorithms::MscclFile read_algorithm_file(const std::string& path, bool quiet) {
  const std::string text = read_input(path, algorithms::MscclLimits::text_bytes);
  auto read = algorithms::read_msccl(text);
  Diagnostics diagnostics;
  const auto add = [&](const std::vector<algorithms::MscclFinding>& findings) {
    for (const algorithms::MscclFinding& each : findings) diagnostics.add(diagnostic_of(each, path, text));
  };
  if (const auto* findings = std::get_if<std::vector<algorithms::MscclFinding>>(&read)) {
    add(*findings);
    throw Stop{ExitCode::bad_input, diagnostics.text()};
  }
  auto& file = std::get<algorithms::MscclFile>(read);
  add(file.warnings);
  print(diagnostics, quiet);
  return std::move(file);
}

void ScheduleCache::read_files(const std::vector<AlgorithmRequest>& requests, bool quiet) {
  for (const AlgorithmRequest& request : requests)
    if (is_algorithm_file(request.name) && files_.count(request.name) == 0)
      files_.emplace(request.name, read_algorithm_file(request.name, quiet));
}

const algorithms::MscclFile& ScheduleCache::file(const std::string& path) const {
  const auto found = files_.find(path);
  COLLSIM_CHECK_MSG(found != files_.end(), path);
  return found->second;
}

const ScheduleCache::ForestOrReason& ScheduleCache::forest(const Topology& topology, CollectiveKind kind,
                                                           Rank root) {
  const std::lock_guard lock(mutex_);
  const auto found = forests_.find({kind, root});
  if (found != forests_.end()) return found->second;
  return forests_.emplace(std::pair(kind, root), topologies::pack_forest(topology, kind, root)).first->second;
}

ScheduleOrReason schedule_of_file(const AlgorithmRequest& request, const Collective& collective,
                                  std::int32_t ranks, const ScheduleCache& cache) {
  algorithms::MscclReading reading;
  reading.slots = request.options.slots.value_or(slots_default);
  reading.channel_bandwidth = request.options.channel_bandwidth;
  return algorithms::schedule_from(cache.file(request.name), collective, ranks, reading);
}

ScheduleOrReason schedule_of(const AlgorithmRequest& request, const Collective& collective,
                             const Topology& topology, ScheduleCache& cache) {
  if (is_algorithm_file(request.name)) return schedule_of_file(request, collective, topology.ranks(), cache);
  const algorithms::AlgorithmInfo* info = find_algorithm(request.name);
  COLLSIM_CHECK_MSG(info != nullptr && !is_selection(info->name), request.name);
  if (info->make == nullptr) return synthesized(request, collective, topology, cache);
  return algorithms::make_schedule(request, collective, topology.placement());
}

}  // namespace collsim::program
