// Replays the corpora of the fuzzers, so that every build checks what fuzzing has found and started from.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/file.hpp"
#include "tests/fuzz/experiment_property.hpp"
#include "tests/fuzz/msccl_property.hpp"

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

TEST_CASE("MSCCL files are proven, refuted or malformed, and it is said why, on every file of their corpus") {
  const std::vector<std::string> paths = corpus("msccl");
  CHECK(paths.size() >= 10);
  int proven = 0;
  for (const std::string& path : paths) {
    CAPTURE(path);
    const auto text = read_file(path);
    REQUIRE(std::holds_alternative<std::string>(text));
    CHECK(fuzz::msccl_property_holds(std::get<std::string>(text)));
    const auto read_text = algorithms::read_msccl(std::get<std::string>(text));
    const auto* file = std::get_if<algorithms::MscclFile>(&read_text);
    if (file == nullptr) continue;
    for (const algorithms::MscclCheck& check : algorithms::check_msccl(*file))
      proven += check.verdict == algorithms::MscclCheck::Verdict::proven ? 1 : 0;
  }
  CHECK(proven >= 5);
  CHECK(proven < static_cast<int>(paths.size()));
}
