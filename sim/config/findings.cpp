#include "sim/config/findings.hpp"

namespace collsim::config {

void Findings::error(const std::string& key, std::string message, std::string expected, std::string hint) {
  std::string around = key;
  while (!around.empty() && !is_written(around)) {
    const std::size_t end = around.find_last_of(".[");
    around.resize(end == std::string::npos ? 0 : end);
  }
  error_at(place(around), key, std::move(message), std::move(expected), std::move(hint));
}

void Findings::error_at(const Where& where, std::string key, std::string message, std::string expected,
                        std::string hint) {
  diagnostics_.add(
      diagnostic_at(where, std::move(key), std::move(message), std::move(expected), std::move(hint)));
}

void Findings::warn(const std::string& key, std::string message) {
  const Where& where = place(key);
  if (!where.source || where.source->layer == Layer::preset) return;
  Diagnostic diagnostic = diagnostic_at(where, key, std::move(message));
  diagnostic.severity = Severity::warning;
  diagnostics_.add(std::move(diagnostic));
}

const Where& Findings::place(const std::string& key) const {
  static const Where nowhere;
  const auto found = places_.find(key);
  return found == places_.end() ? nowhere : found->second;
}

std::vector<std::pair<std::string, const Value*>> each(const Value& value, const std::string& path) {
  std::vector<std::pair<std::string, const Value*>> result;
  if (!value.given) return result;
  if (value.items.empty()) return {{path, &value}};
  for (std::size_t i = 0; i < value.items.size(); ++i)
    result.emplace_back(indexed_path(path, i), &value.items[i]);
  return result;
}

std::string path_of(const Value& name) { return path_of(*name.node); }

std::string path_of(const Node& name) {
  const Source& source = *name.where.source;
  const std::size_t folder = source.layer == Layer::file ? source.name.rfind('/') : std::string::npos;
  if (folder == std::string::npos || name.text.front() == '/') return name.text;
  return source.name.substr(0, folder + 1) + name.text;
}

bool exists(std::int64_t rank, std::int64_t ranks, const std::string& key, Findings& findings) {
  if (rank < ranks) return true;
  findings.error(key, "there is no rank " + std::to_string(rank),
                 "a rank from 0 to " + std::to_string(ranks - 1));
  return false;
}

std::vector<std::int32_t> distinct_numbers(const Value& value, const std::string& path, std::int64_t count,
                                           const std::string& noun, Findings& findings) {
  std::vector<std::int32_t> result;
  std::vector<bool> seen(static_cast<std::size_t>(count));
  for (const auto& [entry_path, entry] : each(value, path)) {
    for (std::int64_t number = entry->number; number <= entry->last; number += entry->step) {
      if (number >= count) {
        findings.error(entry_path, "there is no " + noun + " " + std::to_string(number),
                       "a " + noun + " from 0 to " + std::to_string(count - 1));
        break;
      }
      if (seen[static_cast<std::size_t>(number)]) {
        findings.error(entry_path, noun + " " + std::to_string(number) + " stands here twice",
                       "every " + noun + " once");
        break;
      }
      seen[static_cast<std::size_t>(number)] = true;
      result.push_back(static_cast<std::int32_t>(number));
    }
  }
  return result;
}

}  // namespace collsim::config
