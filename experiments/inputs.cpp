#include "experiments/inputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "experiments/files.hpp"
#include "experiments/presets.hpp"
#include "experiments/schedules.hpp"
#include "topologies/build.hpp"
#include "topologies/conditions.hpp"
#include "topologies/routing_table.hpp"

namespace collsim::program {

namespace {

constexpr const char* command_line = "<command line>";

// A place inside the text that words were turned into means nothing to the user: only the command line is
// left.
Diagnostic without_line(Diagnostic diagnostic) {
  if (diagnostic.place.file != command_line) return diagnostic;
  diagnostic.place.line = 0;
  diagnostic.place.column = 0;
  diagnostic.source.clear();
  return diagnostic;
}

Diagnostics without_lines(const Diagnostics& diagnostics) {
  Diagnostics result;
  for (const Diagnostic& each : diagnostics.items()) result.add(without_line(each));
  return result;
}

// A YAML scalar that means exactly `word`, whatever is in it.
std::string scalar(const std::string& word) {
  std::string text = "'";
  for (const char each : word) {
    if (each == '\'') text += '\'';
    text += each == '\n' ? ' ' : each;
  }
  return text + "'";
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char each : text) {
    if (each == separator) {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

std::string list_yaml(const std::vector<std::string>& words) {
  std::string text = "[";
  for (std::size_t i = 0; i < words.size(); ++i) text += (i > 0 ? ", " : "") + scalar(words[i]);
  return text + "]";
}

std::string sizes_yaml(const std::string& sizes) {
  const std::vector<std::string> parts = split(sizes, ':');
  if (parts.size() == 1) return list_yaml(split(sizes, ','));
  if (parts.size() > 3) {
    throw Stop{ExitCode::usage,
               "collsim: --size " + sizes + ": expected 8MiB,1GiB or from:to or from:to:factor\n"};
  }
  std::string text = "{from: " + scalar(parts[0]) + ", to: " + scalar(parts[1]);
  if (parts.size() == 3) text += ", factor: " + scalar(parts[2]);
  return text + "}";
}

// An experiment file has the key `cluster`; a file in the form of a preset has the keys of a cluster.
bool is_experiment(const std::string& text) {
  return text.rfind("cluster:", 0) == 0 || text.find("\ncluster:") != std::string::npos;
}

const Preset* find_preset(std::string_view name) {
  for (const Preset& preset : presets()) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

bool looks_like_path(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".yaml") || word.ends_with(".yml");
}

// The keys that the words stand for, as YAML.
std::vector<Override> keys_of(const ClusterWords& words) {
  std::vector<Override> keys;
  if (words.nodes != 0) keys.push_back({"cluster.nodes", std::to_string(words.nodes)});
  if (!words.collective.empty()) keys.push_back({"collective", scalar(words.collective)});
  if (!words.algorithms.empty()) keys.push_back({"algorithm", list_yaml(split(words.algorithms, ','))});
  if (!words.sizes.empty()) keys.push_back({"size", sizes_yaml(words.sizes)});
  return keys;
}

[[noreturn]] void stop_at(const ReadResult& read, const topologies::BuildError& error) {
  Diagnostic diagnostic = without_line(read.at(error.key));
  diagnostic.message = error.message;
  diagnostic.expected = error.expected;
  stop_with(std::move(diagnostic));
}

// The same cluster with the routes of a file; what is wrong in it is said at its lines.
Topology with_table(Topology topology, const std::string& path, std::uint64_t seed) {
  const std::string text = read_input(path);
  auto routed = topologies::with_routing_table(std::move(topology), text, seed);
  if (auto* good = std::get_if<Topology>(&routed)) return std::move(*good);
  Diagnostics diagnostics;
  for (const topologies::TableError& error : std::get<std::vector<topologies::TableError>>(routed)) {
    Diagnostic diagnostic;
    diagnostic.place = {path, error.line, error.column};
    diagnostic.message = error.message;
    diagnostic.expected = error.expected;
    diagnostic.hint = error.hint;
    show_line(diagnostic, line_of(text, error.line), error.column);
    diagnostics.add(std::move(diagnostic));
  }
  throw Stop{ExitCode::bad_input, diagnostics.text()};
}

}  // namespace

Registries registries(const std::string& cluster_file) {
  Registries result;
  for (const algorithms::AlgorithmInfo& info : known_algorithms()) {
    Registries::Algorithm entry{std::string(info.name), std::string(info.alias), {}, {}};
    for (const std::string_view option : info.options) entry.options.emplace_back(option);
    for (const std::string_view form : info.forms) entry.forms.emplace_back(form);
    result.algorithms.push_back(std::move(entry));
  }
  result.file_suffix = algorithm_file_suffix;
  result.file_options = algorithm_file_options();
  for (const Preset& preset : presets()) result.presets.emplace_back(preset.name);
  result.preset_suffix = ".yaml";
  result.preset_file = [](const std::string& path) { return read_file(path); };
  if (!cluster_file.empty()) result.presets.push_back(cluster_file);
  result.preset_text =
      [cluster_file](std::string_view name) -> std::optional<std::pair<std::string, std::string>> {
    if (!cluster_file.empty() && name == cluster_file)
      return std::pair(read_input(cluster_file), cluster_file);
    const Preset* preset = find_preset(name);
    if (preset == nullptr) return std::nullopt;
    return std::pair(std::string(preset->text), std::string(preset->path));
  };
  return result;
}

ReadResult read_checked(std::string_view text, const std::string& file,
                        const std::vector<Override>& overrides, bool quiet, ReadFor purpose,
                        const std::string& cluster_file) {
  ReadResult read = read_experiment(text, file, overrides, registries(cluster_file), purpose);
  const Diagnostics diagnostics = without_lines(read.diagnostics);
  if (!read.experiment) throw Stop{ExitCode::bad_input, diagnostics.text()};
  print(diagnostics, quiet);
  return read;
}

Topology build_topology(const ReadResult& read) { return build_topology(read, read.experiment->seed); }

Topology build_topology(const ReadResult& read, std::uint64_t seed) {
  const ClusterSpec& cluster = read.experiment->cluster;
  auto built = topologies::build(cluster, seed);
  if (const auto* error = std::get_if<topologies::BuildError>(&built)) stop_at(read, *error);
  Topology topology = std::get<Topology>(std::move(built));
  if (cluster.routing.kind != RoutingKind::table) return topology;
  return with_table(std::move(topology), cluster.routing.file, seed);
}

topologies::Resolved resolved(const ReadResult& read, const Topology& topology, const ConditionsSpec& spec,
                              std::uint64_t seed) {
  using Errors = std::vector<topologies::ConditionError>;
  auto resolved = topologies::resolve(topology, spec, seed);
  if (auto* good = std::get_if<topologies::Resolved>(&resolved)) return std::move(*good);
  Diagnostics diagnostics;
  for (const topologies::ConditionError& error : std::get<Errors>(resolved)) {
    Diagnostic diagnostic = without_line(read.at(error.key()));
    diagnostic.message = error.message;
    diagnostic.expected = error.expected;
    diagnostic.hint = error.hint;
    diagnostics.add(std::move(diagnostic));
  }
  throw Stop{ExitCode::bad_input, diagnostics.text()};
}

ReadResult read_words(const ClusterWords& words, const std::vector<Override>& overrides, bool quiet) {
  const bool is_file = find_preset(words.cluster) == nullptr && looks_like_path(words.cluster);
  if (is_file) {
    const std::string content = read_input(words.cluster);
    if (is_experiment(content)) {
      std::vector<Override> all = keys_of(words);
      all.insert(all.end(), overrides.begin(), overrides.end());
      return read_checked(content, words.cluster, all, quiet, ReadFor::run);
    }
  }
  std::string text = "cluster:\n  preset: " + scalar(words.cluster) + "\n";
  for (const Override& each : keys_of(words)) {
    const bool of_cluster = each.key == "cluster.nodes";
    text += of_cluster ? "  nodes: " + each.value + "\n" : each.key + ": " + each.value + "\n";
  }
  return read_checked(text, command_line, overrides, quiet, ReadFor::run, is_file ? words.cluster : "");
}

}  // namespace collsim::program
