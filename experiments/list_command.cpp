#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/presets.hpp"
#include "experiments/schedules.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/collective.hpp"
#include "topologies/kinds.hpp"

namespace collsim::program {

namespace {

std::vector<std::string_view> all_collectives() {
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : collective_kinds()) names.push_back(name_of(kind));
  return names;
}

template <class Words>
std::string joined(const Words& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::string collectives_of(const algorithms::AlgorithmInfo& info) {
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : info.collectives) names.push_back(name_of(kind));
  return names == all_collectives() ? "every collective" : joined(names);
}

std::string algorithms_text() {
  std::string text;
  for (const algorithms::AlgorithmInfo& info : known_algorithms()) {
    text += fmt::format("{:<20} {}", info.name, info.summary);
    if (!info.alias.empty()) text += fmt::format(" (alias {})", info.alias);
    text += "; does " + collectives_of(info);
    if (!info.options.empty()) text += "; options " + joined(info.options);
    if (!info.forms.empty()) text += "; forms " + joined(info.forms);
    text += '\n';
  }
  return text;
}

// One algorithm, in full.
std::string algorithm_text(const algorithms::AlgorithmInfo& info) {
  std::string text = fmt::format("{}: {}\n", info.name, info.summary);
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<12} {}\n", name, value);
  };
  add("alias", std::string(info.alias));
  add("collectives", collectives_of(info));
  add("options", joined(info.options));
  add("forms", joined(info.forms));
  add("source", std::string(info.source));
  return text;
}

std::string topologies_text() {
  std::string text;
  for (const topologies::KindInfo& info : topologies::kinds()) {
    text += fmt::format("{:<20} {} ({})\n", info.name, info.summary, info.key);
  }
  return text;
}

// The first sentence of the comment that opens a preset: what it is.
std::string first_sentence(std::string_view text) {
  std::string comment;
  while (!text.empty() && text.front() == '#') {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t start = std::min(line.find_first_not_of("# "), line.size());
    if (!comment.empty()) comment += ' ';
    comment += line.substr(start);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return comment.substr(0, comment.find(". "));
}

std::string hardware_text() {
  std::string text;
  for (const Preset& preset : presets()) {
    std::string what = first_sentence(preset.text);
    if (what.ends_with('.')) what.pop_back();
    text += fmt::format("{:<20} {}\n", preset.name, what);
  }
  return text;
}

const char* meaning_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "every rank gets the reduction of all vectors; size: of a vector";
    case CollectiveKind::reduce_scatter:
      return "rank r gets part r of the reduction of all vectors; size: of a vector, all parts";
    case CollectiveKind::all_gather:
      return "every rank gets the parts of all ranks; size: of all parts";
    case CollectiveKind::broadcast:
      return "every rank gets the root's vector; size: of the vector";
    case CollectiveKind::reduce:
      return "the root gets the reduction of all vectors; size: of a vector";
    case CollectiveKind::scatter:
      return "rank r gets part r of the root's vector; size: of the vector, all parts";
    case CollectiveKind::gather:
      return "the root gets the parts of all ranks; size: of all parts";
    case CollectiveKind::all_to_all:
      return "rank r gets part r of every rank's vector; size: of a vector, all parts";
    case CollectiveKind::send_recv:
      return "rank r + 1 gets the vector of rank r; size: of a vector";
    case CollectiveKind::barrier:
      return "no rank goes on before all have come; size: 0";
  }
  return "";
}

std::string collectives_text() {
  std::string text;
  for (const CollectiveKind kind : collective_kinds())
    text += fmt::format("{:<20} {}\n", name_of(kind), meaning_of(kind));
  return text;
}

std::string algorithms_text(const std::string& name) {
  if (name.empty()) return algorithms_text();
  if (const algorithms::AlgorithmInfo* info = find_algorithm(name)) return algorithm_text(*info);
  stop_with(unknown_algorithm("NAME", name));
}

}  // namespace

std::vector<std::string> list_kinds() {
  return {"algorithms", "topologies", "collectives", "hardware", "schema"};
}

ExitCode list(const ListCommand& command) {
  if (command.kind != "algorithms" && !command.name.empty()) {
    throw Stop{ExitCode::usage, "collsim: list " + command.kind + " takes no name\n"};
  }
  if (command.kind == "algorithms") write_stdout(algorithms_text(command.name));
  if (command.kind == "topologies") write_stdout(topologies_text());
  if (command.kind == "collectives") write_stdout(collectives_text());
  if (command.kind == "hardware") write_stdout(hardware_text());
  if (command.kind == "schema") write_stdout(experiment_schema(registries()));
  return ExitCode::done;
}

}  // namespace collsim::program
