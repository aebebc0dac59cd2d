// MSCCL files as algorithms of an experiment.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"
#include "tests/experiments/two_gpu_files.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

std::string experiment(const std::string& algorithm, const std::string& collective = "all_gather",
                       int gpus = 2) {
  return "cluster:\n  node: {gpus: " + std::to_string(gpus) +
         ", interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}}\ncollective: " +
         collective + "\nalgorithm: " + algorithm + "\nsize: 2 MB\n";
}

}  // namespace

TEST_CASE("A file beside the experiment is an algorithm: proven, timed, and named without its folder") {
  const WorkFolder folder;
  folder.write("mine.xml", good_file);
  folder.write("x.yaml", experiment("[mine.xml, ring]"));
  const Run run = folder.run({"run", "x.yaml", "--json", "-"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const Json points = Json::parse(run.out).at("points");
  CHECK(points[0].at("algorithm") == "mine.xml");
  CHECK(points[0].at("proven") == true);
  // 1 MB at 100 GB/s and two links of 500 ns.
  CHECK(points[0].at("time_ps") == 11'000'000);
  CHECK(folder.run({"run", "x.yaml"}).out.find(" mine.xml ") != std::string::npos);
  // predict takes a file, too.
  folder.write("cluster.yaml", "node: {gpus: 2, interconnect: {kind: nvswitch, bandwidth: 100 GB/s}}\n");
  CHECK(folder
            .run({"predict", "all_gather", "--cluster", "cluster.yaml", "--algorithms", "mine.xml", "--size",
                  "2MB"})
            .exit_code == 0);
}

TEST_CASE("A file is impossible on another number of ranks and for another collective, with the reason") {
  const WorkFolder folder;
  folder.write("mine.xml", good_file);
  const auto reason = [&](const std::string& text) {
    folder.write("x.yaml", text);
    const Run run = folder.run({"run", "x.yaml", "--json", "-"});
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 1);
    const Json point = Json::parse(run.out).at("points")[0];
    CHECK(point.at("status") == "impossible");
    return point.at("reason").get<std::string>();
  };
  CHECK(reason(experiment("mine.xml", "all_gather", 4)).find("2") != std::string::npos);
  CHECK(reason(experiment("mine.xml", "all_reduce")).find("all_gather") != std::string::npos);
}

TEST_CASE("A file that does not compute its collective is a point that says so") {
  const WorkFolder folder;
  folder.write("wrong.xml", wrong_file);
  folder.write("x.yaml", experiment("wrong.xml"));
  const Run run = folder.run({"run", "x.yaml", "--json", "-"});
  CHECK(run.exit_code == 1);
  const Json point = Json::parse(run.out).at("points")[0];
  CHECK(point.at("status") == "unproven");
  CHECK(point.at("proven") == false);
  CHECK(point.at("reason") ==
        "the schedule does not compute its collective; collsim verify wrong.xml names the steps");
}

TEST_CASE("A file that is missing or malformed ends the run before the first point") {
  const WorkFolder folder;
  folder.write("x.yaml", experiment("[ring, none.xml]"));
  Run run = folder.run({"run", "x.yaml"});
  CHECK(run.exit_code == 66);
  CHECK(run.out.empty());
  CHECK(run.err == "none.xml: error: no such file\n");
  folder.write("none.xml", "<algo name=\"x\">\n");
  run = folder.run({"run", "x.yaml"});
  CHECK(run.exit_code == 65);
  CHECK(run.out.empty());
  CHECK(run.err.rfind("none.xml:", 0) == 0);
  CHECK(run.err.find("error: ") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace collsim
