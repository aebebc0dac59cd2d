#include <fmt/format.h>

#include <string>
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

// The first comment line of a preset says what it is.
std::string hardware_text() {
  std::string text;
  for (const Preset& preset : presets()) {
    std::string_view line = preset.text.substr(0, preset.text.find('\n'));
    if (line.empty() || line.front() != '#') line = {};
    while (!line.empty() && (line.front() == '#' || line.front() == ' ')) line.remove_prefix(1);
    text += fmt::format("{:<20} {}\n", preset.name, line);
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
