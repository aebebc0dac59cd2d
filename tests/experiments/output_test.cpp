// Where output goes, and that it is the same every time.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

const std::string two_by_three = R"(cluster:
  nodes: 2
  node:
    gpus: 4
    interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}
    nics: {count: 2, bandwidth: 25 GB/s}
  fabric: {kind: switch, bandwidth: 25 GB/s, latency: 1 us}
algorithm: [ring, {name: tree, slices: 4}]
size: {from: 1 KiB, to: 1 MiB, factor: 32}
)";

}  // namespace

TEST_CASE("The same experiment gives the same bytes, also with other numbers of threads") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  for (const char* format : {"--json", "--csv"}) {
    CAPTURE(format);
    const Run first = folder.run({"run", "x.yaml", format, "-", "--explain", "--links", "--threads", "1"});
    REQUIRE(first.exit_code == 0);
    for (const char* threads : {"1", "2", "5"}) {
      CAPTURE(threads);
      CHECK(folder.run({"run", "x.yaml", format, "-", "--explain", "--links", "--threads", threads}).out ==
            first.out);
    }
  }
  const Run table = folder.run({"run", "x.yaml", "--explain", "--links", "--threads", "1"});
  CHECK(folder.run({"run", "x.yaml", "--explain", "--links", "--threads", "2"}).out == table.out);
}

TEST_CASE("JSON has every field of the contract, algorithms outside and sizes inside") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  const Run run = folder.run({"run", "x.yaml", "--json", "-", "--seed", "9", "--links"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.empty());
  const auto json = nlohmann::json::parse(run.out);
  CHECK(json.at("collsim") == "0.1.0");
  CHECK(json.at("seed") == 9);
  const auto& points = json.at("points");
  REQUIRE(points.size() == 6);
  std::set<std::string> fingerprints;
  for (std::size_t i = 0; i < points.size(); ++i) {
    CAPTURE(i);
    const auto& point = points[i];
    CHECK(point.at("algorithm") == (i < 3 ? "ring" : "double_binary_tree"));
    CHECK(point.at("bytes") == std::vector<int>{1024, 32768, 1048576}[i % 3]);
    for (const char* field :
         {"collective",  "ranks",          "nodes",          "datatype",       "network",
          "time_ps",     "algbw_gb_per_s", "busbw_gb_per_s", "lower_bound_ps", "bound_reason",
          "optimality",  "bottleneck",     "links",          "messages",       "events",
          "fingerprint", "proven",         "status",         "reason",         "warnings",
          "channels",    "slices",         "reduction",      "executor",       "streams",
          "classes",     "root",           "options",        "chosen",         "predicted_ps"}) {
      CAPTURE(field);
      CHECK(point.contains(field));
    }
    CHECK(point.at("ranks") == 8);
    CHECK(point.at("nodes") == 2);
    CHECK(point.at("status") == "ok");
    CHECK(point.at("optimality").get<double>() > 0);
    CHECK(point.at("optimality").get<double>() <= 1);
    fingerprints.insert(point.at("fingerprint").get<std::string>());
  }
  CHECK(fingerprints.size() == 6);
}

TEST_CASE("Files are written whole and leave nothing beside them, and the table still goes to stdout") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  folder.write("out.json", "old");
  const Run run = folder.run({"run", "x.yaml", "--json", "out.json", "--csv", "out.csv"});
  CHECK(run.exit_code == 0);
  CHECK(run.out == folder.run({"run", "x.yaml"}).out);
  CHECK(folder.read("out.json") == folder.run({"run", "x.yaml", "--json", "-"}).out);
  CHECK(folder.read("out.csv") == folder.run({"run", "x.yaml", "--csv", "-"}).out);
  CHECK(folder.names() == std::vector<std::string>{"out.csv", "out.json", "x.yaml"});
}

TEST_CASE("A run that fails leaves the old file and nothing beside it") {
  const WorkFolder folder;
  folder.write("x.yaml", "cluster: 1\n");
  folder.write("out.json", "old");
  CHECK(folder.run({"run", "x.yaml", "--json", "out.json"}).exit_code == 65);
  CHECK(folder.read("out.json") == "old");
  CHECK(folder.names() == std::vector<std::string>{"out.json", "x.yaml"});
}

TEST_CASE("An output that is a symbolic link is written where it leads, and two outputs are two files") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  folder.write("real.json", "old");
  std::filesystem::create_symlink("real.json", folder.path() + "/link.json");
  CHECK(folder.run({"run", "x.yaml", "--json", "link.json"}).exit_code == 0);
  CHECK(std::filesystem::is_symlink(folder.path() + "/link.json"));
  CHECK(folder.read("real.json") == folder.run({"run", "x.yaml", "--json", "-"}).out);
  const Run same = folder.run({"run", "x.yaml", "--json", "real.json", "--csv", "link.json"});
  CHECK(same.exit_code == 2);
  CHECK(same.err == "collsim: --json and --csv name the same file\n");
  CHECK(folder.names() == std::vector<std::string>{"link.json", "real.json", "x.yaml"});
}

TEST_CASE("A seed is a whole number of 64 bits") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  for (const char* seed : {"-1", "1.5", "18446744073709551616", "x"}) {
    CAPTURE(seed);
    const Run run = folder.run({"run", "x.yaml", std::string("--seed=") + seed});
    CHECK(run.exit_code == 2);
    CHECK(run.err.find("'" + std::string(seed) + "' is no whole number from 0 to 2^64 - 1") !=
          std::string::npos);
  }
}

TEST_CASE("Several files give the points of each in order") {
  const WorkFolder folder;
  folder.write("a.yaml", two_by_three);
  folder.write("b.yaml", "cluster: {node: {gpus: 1}}\nalgorithm: ring\nsize: 4 B\n");
  const Run run = folder.run({"run", "b.yaml", "a.yaml", "--json", "-"});
  REQUIRE(run.exit_code == 0);
  const auto points = nlohmann::json::parse(run.out).at("points");
  REQUIRE(points.size() == 7);
  CHECK(points[0].at("ranks") == 1);
  CHECK(points[6].at("ranks") == 8);
}

TEST_CASE("Timing goes to stderr and is the only thing there") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  const Run run = folder.run({"run", "x.yaml", "--timing"});
  CHECK(run.exit_code == 0);
  CHECK(run.out == folder.run({"run", "x.yaml"}).out);
  CHECK(run.err.rfind("6 points, ", 0) == 0);
  CHECK(run.err.find(" messages/s, ") != std::string::npos);
  CHECK(run.err.find(" events/s; 0 points folded, ") != std::string::npos);
  const Run plain = folder.run({"run", "x.yaml", "--timing", "--plain"});
  CHECK(plain.err.find(" events/s; 0 points folded, 0 swept\n") != std::string::npos);
}

TEST_CASE("--plain changes how a result is obtained and nothing else") {
  const WorkFolder folder;
  folder.write("x.yaml", two_by_three);
  folder.write(
      "big.yaml",
      "cluster: {preset: dgx-h100, nodes: 8}\nalgorithm: [{name: ring, channels: 1, slices: 8}, ring, "
      "tree, two_shot, cascade, sharp]\nsize: [64 MiB, 1 KiB, 1 MiB]\n");
  const std::vector<std::string> arguments = {"run", "x.yaml", "big.yaml", "--links", "--json", "-"};
  std::vector<std::string> plainly = arguments;
  plainly.emplace_back("--plain");
  auto shortened = nlohmann::json::parse(folder.run(arguments).out);
  auto plain = nlohmann::json::parse(folder.run(plainly).out);
  REQUIRE(plain.at("points").size() == 24);
  REQUIRE(shortened.at("points").size() == 24);
  std::size_t swept = 0;
  std::size_t folded = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    CAPTURE(i);
    auto& quick = shortened.at("points")[i];
    auto& slow = plain.at("points")[i];
    CHECK(slow.at("status") == "ok");
    CHECK(slow.at("executor") == "events");
    CHECK(slow.at("classes") == slow.at("streams"));
    CHECK(quick.at("classes") <= quick.at("streams"));
    if (quick.at("executor") == "sweeps") ++swept;
    if (quick.at("classes") < quick.at("streams")) ++folded;
    for (const char* field : {"executor", "classes", "events"}) {
      quick.erase(field);
      slow.erase(field);
    }
    CHECK(quick == slow);
  }
  CHECK(swept > 0);
  CHECK(folded > 0);
}

TEST_CASE("The table of the quickstart is the one in quickstart.txt") {
  const WorkFolder folder;
  const Run run = folder.run({"run", COLLSIM_SOURCE_DIR "/experiments/quickstart.yaml"});
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  const std::string golden = COLLSIM_SOURCE_DIR "/tests/experiments/quickstart.txt";
  if (std::getenv("COLLSIM_UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << run.out;
  std::ostringstream expected;
  expected << std::ifstream(golden, std::ios::binary).rdbuf();
  CHECK(run.out == expected.str());
}

TEST_SUITE_END();

}  // namespace collsim
