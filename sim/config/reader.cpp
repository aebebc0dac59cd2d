#include "sim/config/reader.hpp"

#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "sim/config/binder.hpp"
#include "sim/config/checker.hpp"
#include "sim/config/document.hpp"
#include "sim/config/findings.hpp"
#include "sim/config/layers.hpp"
#include "sim/config/table.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim {
namespace {

using config::Key;
using config::Node;
using config::NodePtr;
using config::Where;

const config::Entry* find_entry(const NodePtr& node, std::string_view key) {
  if (!node || node->kind != Node::Kind::map) return nullptr;
  for (const config::Entry& entry : node->entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

NodePtr overridden(NodePtr root, const Key& table, const std::vector<Override>& overrides,
                   Diagnostics& diagnostics) {
  for (const Override& override_ : overrides)
    root = config::with_override(root, table, override_, diagnostics);
  return root;
}

// The preset in the file whose path is `name`.
NodePtr document_in_file(const Node& name, const std::string& path, const Registries& registries,
                         Diagnostics& diagnostics) {
  const std::string file = config::path_of(name);
  const auto content = registries.preset_file(file);
  if (const auto* text = std::get_if<std::string>(&content))
    return config::parse_preset(*text, file, diagnostics);
  const auto& problem = std::get<Diagnostic>(content);
  diagnostics.add(
      diagnostic_at(name.where, path, "the file " + quoted(file) + ": " + problem.message, problem.expected));
  return nullptr;
}

// The preset that `name` (of key `path`) names, as a document; null if there is none to read.
NodePtr document_of(const Node& name, const std::string& path, const Registries& registries,
                    Diagnostics& diagnostics) {
  if (name.kind != Node::Kind::scalar) return nullptr;
  if (!config::contains(registries.presets, name.text)) {
    const std::string& suffix = registries.preset_suffix;
    const bool is_file = !suffix.empty() && name.text.size() > suffix.size() && name.text.ends_with(suffix);
    return is_file ? document_in_file(name, path, registries, diagnostics) : nullptr;
  }
  if (!registries.preset_text) return nullptr;
  const auto text = registries.preset_text(name.text);
  if (text) return config::parse_preset(text->first, text->second, diagnostics);
  diagnostics.add(diagnostic_at(name.where, path, "the preset " + quoted(name.text) + " cannot be read"));
  return nullptr;
}

// The preset that the file with its overrides names.
NodePtr preset_of(const NodePtr& file, const Key& table, const std::vector<Override>& overrides,
                  const Registries& registries, Diagnostics& diagnostics) {
  Diagnostics ignored;  // they come again when the overrides are applied for good
  const NodePtr root = overridden(file, table, overrides, ignored);
  const config::Entry* cluster = find_entry(root, "cluster");
  const config::Entry* preset = cluster ? find_entry(cluster->value, "preset") : nullptr;
  return preset ? document_of(*preset->value, "cluster.preset", registries, diagnostics) : nullptr;
}

// Each group of unlike nodes with the node that it stands for; a preset is read once.
NodePtr grouped(const NodePtr& root, const Key& table, const Registries& registries,
                Diagnostics& diagnostics) {
  std::map<std::string, NodePtr> nodes;
  const auto preset_node = [&](const Node& name) -> NodePtr {
    const auto [found, is_new] = nodes.emplace(name.text, nullptr);
    if (!is_new) return found->second;
    const NodePtr document = document_of(name, "cluster.nodes", registries, diagnostics);
    const config::Entry* cluster = find_entry(document, "cluster");
    const config::Entry* node = cluster ? find_entry(cluster->value, "node") : nullptr;
    return found->second = node ? node->value : nullptr;
  };
  return config::with_groups(root, table, preset_node, diagnostics);
}

void warn_repeated(const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  std::map<std::string, const Override*> last;
  for (const Override& override_ : overrides) last[override_.key] = &override_;
  for (const Override& override_ : overrides) {
    if (last[override_.key] == &override_) continue;
    Diagnostic diagnostic;
    diagnostic.severity = Severity::warning;
    diagnostic.place.file = config::place_name(override_);
    diagnostic.key = override_.key;
    diagnostic.message = "may have no effect, because a later --set gives the same key";
    diagnostics.add(std::move(diagnostic));
  }
}

Key table_for(const Registries& registries, ReadFor purpose) {
  Key table = config::experiment_table(registries);
  if (purpose == ReadFor::cluster)
    for (Key& key : table.keys) key.required = key.name == "cluster";
  return table;
}

// Jobs bring their own algorithm and size, and a barrier needs no size.
void relax(const NodePtr& root, Key& table) {
  if (find_entry(root, "jobs"))
    for (Key& key : table.keys)
      if (key.name == "size" || key.name == "algorithm") key.required = false;
  const config::Entry* collective = find_entry(root, "collective");
  if (!collective || collective->value->kind != Node::Kind::scalar) return;
  if (collective->value->text != name_of(CollectiveKind::barrier)) return;
  for (Key& key : table.keys)
    if (key.name == "size") key.required = false;
}

// "cluster.fabric.links[2].to" -> "cluster.fabric.links[2]" -> "cluster.fabric.links" -> ... -> "".
std::string_view enclosing(std::string_view key) {
  const std::size_t end = key.find_last_of(".[");
  return end == std::string_view::npos ? std::string_view() : key.substr(0, end);
}

Diagnostic diagnostic_for(const config::Places& places, const std::string& file, std::string_view key) {
  for (std::string_view path = key; !path.empty(); path = enclosing(path)) {
    const auto found = places.find(path);
    if (found != places.end()) return diagnostic_at(found->second, std::string(key), "");
  }
  Diagnostic result;
  result.place.file = file;
  result.key = std::string(key);
  return result;
}

}  // namespace

ReadResult read_experiment(std::string_view text, const std::string& file,
                           const std::vector<Override>& overrides, const Registries& registries,
                           ReadFor purpose) {
  ReadResult result;
  auto places = std::make_shared<config::Places>();
  result.at = [places, file](std::string_view key) { return diagnostic_for(*places, file, key); };
  Diagnostics& diagnostics = result.diagnostics;
  Key table = table_for(registries, purpose);
  const auto source = config::make_source(file, config::Layer::file, text);
  const Where whole{source, 0, 0};

  NodePtr root = config::parse_document(source, "", diagnostics);
  if (!root && diagnostics.has_errors()) return result;
  if (!root || root->kind == Node::Kind::null) {
    diagnostics.add(diagnostic_at(whole, "", "the file is empty", config::form_text(table)));
    return result;
  }
  if (root->kind == Node::Kind::map) {
    const NodePtr preset = preset_of(root, table, overrides, registries, diagnostics);
    root = overridden(config::merged(preset, root, &table), table, overrides, diagnostics);
    warn_repeated(overrides, diagnostics);
    root = grouped(root, table, registries, diagnostics);
    relax(root, table);
  }
  const config::Value value = config::Checker(diagnostics, *places).check(root, table, "", whole);
  if (diagnostics.has_errors()) return result;
  Experiment experiment = config::experiment_from(value, registries, *places, diagnostics);
  if (!diagnostics.has_errors()) result.experiment = std::move(experiment);
  return result;
}

}  // namespace collsim
