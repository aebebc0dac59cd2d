#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/bind.hpp"
#include "sim/core/quantity_text.hpp"
#include "sim/core/spelling.hpp"

namespace collsim::config {
namespace {

AlgorithmOptions options_from(const Value& value) {
  AlgorithmOptions options;
  options.channels = optional_int(value["channels"]);
  options.slices = optional_int(value["slices"]);
  if (value["slots"].node) options.slots = int_of(value["slots"]);
  options.channel_bandwidth = optional_bandwidth(value["channel_bandwidth"]);
  options.order = value["order"].text == "rank" ? RankOrder::rank : RankOrder::automatic;
  for (const Value& level : value["levels"].items) options.levels.push_back(int_of(level));
  options.root = optional_int(value["root"]);
  options.radix = optional_int(value["radix"]);
  options.servers = optional_int(value["servers"]);
  for (const Value& rate : value["level_bandwidths"].items)
    options.level_bandwidths.push_back(bandwidth_of(rate));
  options.form = value["form"].text;
  return options;
}

const Registries::Algorithm* find_algorithm(const std::string& name, const Registries& registries) {
  for (const Registries::Algorithm& entry : registries.algorithms)
    if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) return &entry;
  return nullptr;
}

void check_options(const Value& value, const Registries::Algorithm& info, const std::string& path,
                   Findings& findings) {
  if (value.node->kind != Node::Kind::map) return;
  std::vector<std::string> options = info.options;
  if (!info.forms.empty() && !contains(options, "form")) options.emplace_back("form");
  for (const Entry& entry : value.node->entries)
    if (entry.key != "name" && !contains(options, entry.key))
      findings.error_at(entry.where, joined_path(path, entry.key), info.name + " does not take this option",
                        options.empty() ? "no options" : "one of " + joined(options));
  const Value& form = value["form"];
  if (form.given && !info.forms.empty() && !contains(info.forms, form.text))
    findings.error_at(form.node->where, joined_path(path, "form"),
                      info.name + " has no form " + quoted(form.text), "one of " + joined(info.forms),
                      nearest(form.text, info.forms));
}

}  // namespace

AlgorithmRequest request_from(const Value& value, const std::string& path, const Registries& registries,
                              Findings& findings) {
  const Value& name = value["name"];
  if (const Registries::Algorithm* info = find_algorithm(name.text, registries)) {
    check_options(value, *info, path, findings);
    return {info->name, options_from(value)};
  }
  COLLSIM_CHECK(!registries.file_suffix.empty());
  check_options(value, {name.text, "", registries.file_options, {}}, path, findings);
  return {path_of(name), options_from(value)};
}

std::string algorithm_name(const std::string& name, const Registries& registries) {
  const Registries::Algorithm* info = find_algorithm(name, registries);
  COLLSIM_CHECK_MSG(info != nullptr, name);
  return info->name;
}

}  // namespace collsim::config
