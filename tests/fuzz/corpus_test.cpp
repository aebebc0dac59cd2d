// Replays the corpora of the fuzzers, so that every build checks what fuzzing has found and started from.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/file.hpp"
#include "tests/fuzz/experiment_property.hpp"

using namespace collsim;

namespace {

std::vector<std::string> corpus(const std::string& name) {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(COLLSIM_SOURCE_DIR "/tests/fuzz/corpus/" + name))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("The reader of experiments keeps its promise on every file of its corpus") {
  const std::vector<std::string> paths = corpus("experiment");
  CHECK(paths.size() >= 10);
  int right = 0;
  for (const std::string& path : paths) {
    CAPTURE(path);
    const auto text = read_file(path);
    REQUIRE(std::holds_alternative<std::string>(text));
    CHECK(fuzz::experiment_property_holds(std::get<std::string>(text)));
    right += read(std::get<std::string>(text)).experiment.has_value() ? 1 : 0;
  }
  CHECK(right >= 5);
  CHECK(right < static_cast<int>(paths.size()));
}
