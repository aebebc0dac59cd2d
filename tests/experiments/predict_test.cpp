// predict: the same without a file.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "experiments/schedules.hpp"
#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

Json points_of(const std::vector<std::string>& words, int exit_code = 0) {
  const WorkFolder folder;
  std::vector<std::string> arguments = {"predict", "all_reduce"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  arguments.insert(arguments.end(), {"--json", "-"});
  const Run run = folder.run(arguments);
  CAPTURE(run.err);
  REQUIRE(run.exit_code == exit_code);
  return Json::parse(run.out).at("points");
}

}  // namespace

TEST_CASE("predict shows the usual algorithms from 1 KiB to 4 GiB and notes what is impossible") {
  const Json points = points_of({"--cluster", "dgx-h100", "--nodes", "2", "--set", "cluster.node.gpus=2",
                                 "--set", "cluster.node.nics.count=2"});
  std::vector<std::string> names;
  for (const auto& info : program::known_algorithms())
    if (info.in_predict && program::does(info, CollectiveKind::all_reduce)) names.emplace_back(info.name);
  for (const char* usual :
       {"ring", "double_binary_tree", "binomial_tree", "cascade", "two_shot", "nvls", "sharp"}) {
    CAPTURE(usual);
    CHECK(std::count(names.begin(), names.end(), usual) == 1);
  }
  REQUIRE(points.size() == names.size() * 23);
  for (std::size_t i = 0; i < points.size(); ++i) {
    CAPTURE(i);
    CHECK(points[i].at("algorithm") == names[i / 23]);
    CHECK(points[i].at("bytes") == std::int64_t{1024} << (i % 23));
    CHECK(points[i].at("status") == (names[i / 23] == "nvls" ? "impossible" : "ok"));
  }
}

TEST_CASE("predict knows every collective, and shows algorithms that do it") {
  const WorkFolder folder;
  for (const CollectiveKind kind : collective_kinds()) {
    const std::string name(name_of(kind));
    CAPTURE(name);
    for (const bool all : {false, true}) {
      CAPTURE(all);
      std::vector<std::string> words = {"predict", name, "--cluster", "dgx-h100", "--json", "-"};
      if (kind != CollectiveKind::barrier) words.insert(words.end(), {"--size", "8 KiB"});
      if (all) words.insert(words.end(), {"--algorithms", "all"});
      const Run run = folder.run(words);
      CAPTURE(run.err);
      REQUIRE(run.exit_code == 0);
      const Json points = Json::parse(run.out).at("points");
      std::vector<std::string> shown;
      for (const Json& point : points) {
        CAPTURE(point.at("algorithm"));
        CHECK(point.at("collective") == name);
        CHECK((point.at("status") == "ok" || point.at("status") == "impossible"));
        shown.push_back(point.at("algorithm"));
        CHECK(program::does(*program::find_algorithm(shown.back()), kind));
      }
      for (const auto& info : program::known_algorithms())
        if (all && program::does(info, kind) && info.make != nullptr)
          CHECK_MESSAGE(std::count(shown.begin(), shown.end(), info.name) == 1, info.name);
    }
  }
}

TEST_CASE("predict takes algorithms, sizes and settings from the command line") {
  const Json points =
      points_of({"--cluster", "dgx-a100", "--algorithms", "tree,ring", "--size", "8MiB,1 KiB"});
  REQUIRE(points.size() == 4);
  CHECK(points[0].at("algorithm") == "double_binary_tree");
  CHECK(points[0].at("bytes") == 8 << 20);
  CHECK(points[1].at("bytes") == 1024);
  CHECK(points[2].at("algorithm") == "ring");
  CHECK(points[2].at("nodes") == 1);
  const Json range = points_of({"--cluster", "dgx-a100", "--algorithms", "ring", "--size", "1KiB:64KiB:8"});
  REQUIRE(range.size() == 3);
  CHECK(range[2].at("bytes") == 65536);
}

TEST_CASE("predict agrees with run on the same cluster") {
  const WorkFolder folder;
  folder.write("x.yaml", "cluster: {preset: dgx-h100, nodes: 2}\nalgorithm: [ring, cascade]\nsize: 1 MiB\n");
  const Run run = folder.run({"run", "x.yaml", "--json", "-"});
  REQUIRE(run.exit_code == 0);
  const Json predicted =
      points_of({"--cluster", "dgx-h100", "--nodes", "2", "--algorithms", "ring,cascade", "--size", "1MiB"});
  CHECK(Json::parse(run.out).at("points") == predicted);
}

TEST_CASE("predict reads a cluster from a file in the form of a preset, or of an experiment") {
  const WorkFolder folder;
  const std::string keys = "node: {gpus: 4, interconnect: {kind: nvswitch, bandwidth: 10 GB/s}}\n";
  folder.write("mine.yaml", keys);
  folder.write("experiment.yaml", "cluster:\n  " + keys + "algorithm: tree\nsize: 4 B\n");
  for (const char* file : {"mine.yaml", "experiment.yaml"}) {
    CAPTURE(file);
    const Run run = folder.run(
        {"predict", "all_reduce", "--cluster", file, "--algorithms", "ring", "--size", "4MB", "--json", "-"});
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    // 6 steps of 1 MB at 10 GB/s.
    CHECK(Json::parse(run.out).at("points")[0].at("time_ps") == 600'000'000);
  }
}

TEST_CASE("predict of nothing that is possible is a negative outcome") {
  const Json points =
      points_of({"--cluster", "dgx-h100", "--nodes", "2", "--algorithms", "nvls", "--size", "1MiB"}, 1);
  CHECK(points[0].at("reason") == "nvls works inside one node; this cluster has 2");
}

TEST_CASE("The large experiments are right, and the torus of 131,072 ranks gives what their README shows") {
  const WorkFolder folder;
  const std::string large = COLLSIM_SOURCE_DIR "/experiments/large/";
  const Run described = folder.run({"describe", large + "ring_131072.yaml", "--json", "-"});
  REQUIRE(described.exit_code == 0);
  CHECK(Json::parse(described.out).at("ranks") == 131072);
  const Run run = folder.run({"run", large + "torus_131072.yaml"});
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  std::ostringstream readme;
  readme << std::ifstream(large + "README.md").rdbuf();
  CHECK(readme.str().find("$ build/release/collsim run experiments/large/torus_131072.yaml\n" + run.out +
                          "```\n") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace collsim
