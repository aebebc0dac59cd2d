// The experiment of a text that is right and gives no warning.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/fixture.hpp"

namespace collsim {

inline Experiment accepted(const std::string& text, const std::vector<Override>& overrides = {}) {
  const ReadResult result = read(text, overrides);
  CHECK(result.diagnostics.text() == "");
  REQUIRE(result.experiment.has_value());
  return *result.experiment;
}

}  // namespace collsim
