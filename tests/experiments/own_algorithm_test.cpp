// MSCCL files as algorithms of an experiment.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

std::string step(int number, const std::string& type, int chunk) {
  const std::string at = std::to_string(chunk);
  return "<step s=\"" + std::to_string(number) + "\" type=\"" + type + "\" srcbuf=\"o\" srcoff=\"" + at +
         "\" dstbuf=\"o\" dstoff=\"" + at + "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n";
}

std::string gpu(int id, const std::string& steps) {
  const std::string other = std::to_string(1 - id);
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\">\n" +
         "<tb id=\"0\" send=\"" + other + "\" recv=\"" + other + "\" chan=\"0\">\n" + steps +
         "</tb>\n</gpu>\n";
}

std::string file_of(const std::string& gpus) {
  return "<algo name=\"mine\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" "
         "coll=\"allgather\" "
         "inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n" +
         gpus + "</algo>\n";
}

// An all-gather of two gpus, one chunk each, in place; and one whose gpu 0 receives over its own chunk.
const std::string second_gpu = gpu(1, step(0, "s", 1) + step(1, "r", 0));
const std::string all_gather = file_of(gpu(0, step(0, "s", 0) + step(1, "r", 1)) + second_gpu);
const std::string wrong_place = file_of(gpu(0, step(0, "s", 0) + step(1, "r", 0)) + second_gpu);

std::string experiment(const std::string& algorithm, const std::string& collective = "all_gather",
                       int gpus = 2) {
  return "cluster:\n  node: {gpus: " + std::to_string(gpus) +
         ", interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}}\ncollective: " +
         collective + "\nalgorithm: " + algorithm + "\nsize: 2 MB\n";
}

}  // namespace

TEST_CASE("A file beside the experiment is an algorithm: proven, timed, and named without its folder") {
  const WorkFolder folder;
  folder.write("mine.xml", all_gather);
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
  folder.write("mine.xml", all_gather);
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
  folder.write("wrong.xml", wrong_place);
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
