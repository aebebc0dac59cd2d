#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "experiments/commands.hpp"
#include "experiments/files.hpp"
#include "experiments/presets.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/collective.hpp"
#include "topologies/kinds.hpp"

namespace collsim::program {

namespace {

std::string algorithms_text() {
  std::string text;
  for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
    const std::string alias = info.alias.empty() ? "" : fmt::format(" (alias {})", info.alias);
    text += fmt::format("{:<20} {}{}\n", info.name, info.summary, alias);
  }
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

std::string collectives_text() {
  return fmt::format("{:<20} every rank gets the reduction of all vectors\n",
                     name_of(CollectiveKind::all_reduce));
}

}  // namespace

std::vector<std::string> list_kinds() {
  return {"algorithms", "topologies", "collectives", "hardware", "schema"};
}

ExitCode list(const ListCommand& command) {
  if (command.kind == "algorithms") write_stdout(algorithms_text());
  if (command.kind == "topologies") write_stdout(topologies_text());
  if (command.kind == "collectives") write_stdout(collectives_text());
  if (command.kind == "hardware") write_stdout(hardware_text());
  if (command.kind == "schema") write_stdout(experiment_schema(registries()));
  return ExitCode::done;
}

}  // namespace collsim::program
