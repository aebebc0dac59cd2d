// What must hold of the reader for any input. Shared by the fuzzer and the replay of its corpus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/config/fixture.hpp"

namespace collsim::fuzz {

// The last line, if it starts with "#set ", is an override "#set key=value", so that these are fuzzed, too.
inline std::vector<Override> overrides_in(std::string_view text) {
  const std::size_t start = text.rfind("#set ");
  if (start == std::string_view::npos) return {};
  const std::string_view line = text.substr(start + 5);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return {};
  std::string_view value = line.substr(equals + 1);
  if (!value.empty() && value.back() == '\n') value.remove_suffix(1);
  return {{std::string(line.substr(0, equals)), std::string(value)}};
}

// Exactly one of an experiment and errors; the same words for the same bytes; errors have words.
inline bool experiment_property_holds(std::string_view text) {
  const std::vector<Override> overrides = overrides_in(text);
  const ReadResult result = read(text, overrides);
  if (result.experiment.has_value() == result.diagnostics.has_errors()) return false;
  const std::string said = result.diagnostics.text();
  if (result.diagnostics.has_errors() && said.empty()) return false;
  if (result.experiment && result.experiment->sizes.empty() && result.experiment->jobs.empty()) return false;
  return read(text, overrides).diagnostics.text() == said;
}

}  // namespace collsim::fuzz
