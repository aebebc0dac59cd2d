// Every collective from the file to the report: sizes, root, what is warned of, and which algorithm wins.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "experiments/schedules.hpp"
#include "experiments/selection.hpp"
#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

// Three GPUs on one switch: 100 GB/s, no latency.
const std::string three =
    "cluster:\n  node: {gpus: 3, interconnect: {kind: nvswitch, bandwidth: 100 GB/s}}\n";

Run run_three(const std::string& rest, const std::vector<std::string>& options = {}) {
  return run_text(three + rest, options);
}

}  // namespace

TEST_CASE("Sizes are rounded down to equal parts with one warning, and points carry what is run") {
  const Run run =
      run_three("collective: all_gather\nalgorithm: [ring, bruck]\nsize: [100 B, 1 KiB]\n", {"--json", "-"});
  REQUIRE(run.exit_code == 0);
  CHECK(run.err ==
        "x.yaml:5:7: warning: size: rounded down to equal parts for 3 ranks: "
        "100 B to 96 B, 1 KiB to 1020 B\n"
        "  size: [100 B, 1 KiB]\n"
        "        ^\n");
  const Json points = Json::parse(run.out).at("points");
  REQUIRE(points.size() == 4);
  CHECK(points[0].at("bytes") == 96);
  CHECK(points[1].at("bytes") == 1020);
  CHECK(points[3].at("bytes") == 1020);
  CHECK(points[0].at("reduction").is_null());
  CHECK(points[0].at("root").is_null());
  CHECK(points[0].at("numerics").is_null());
}

TEST_CASE("busbw goes by the collective, as nccl-tests defines it") {
  const auto ratio = [](const std::string& collective) {
    const Run run = run_three("collective: " + collective + "\nalgorithm: " +
                                  (collective == "all_to_all" ? "direct" : "ring") + "\nsize: 3 MB\n",
                              {"--json", "-"});
    REQUIRE(run.exit_code == 0);
    const Json point = Json::parse(run.out).at("points")[0];
    return point.at("busbw_gb_per_s").get<double>() / point.at("algbw_gb_per_s").get<double>();
  };
  CHECK(ratio("all_reduce") == doctest::Approx(4.0 / 3));
  CHECK(ratio("all_gather") == doctest::Approx(2.0 / 3));
  CHECK(ratio("reduce_scatter") == doctest::Approx(2.0 / 3));
  CHECK(ratio("all_to_all") == doctest::Approx(2.0 / 3));
  CHECK(ratio("broadcast") == doctest::Approx(1));
}

TEST_CASE("A root is reported, and one that does not exist is refused at its place") {
  const Run run = run_three("collective: broadcast\nroot: 2\nalgorithm: ring\nsize: 1 MB\n", {"--json", "-"});
  REQUIRE(run.exit_code == 0);
  CHECK(Json::parse(run.out).at("points")[0].at("root") == 2);
  const Run wrong = run_three("collective: broadcast\nroot: 3\nalgorithm: ring\nsize: 1 MB\n");
  CHECK(wrong.exit_code == 65);
  CHECK(wrong.err ==
        "x.yaml:4:7: error: root: there is no rank 3\n"
        "  root: 3\n"
        "        ^\n"
        "  expected a rank from 0 to 2\n");
}

TEST_CASE("A barrier needs no size and shows its time alone") {
  const Run run = run_three("collective: barrier\nalgorithm: bruck\n");
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(run.out.find("# barrier on ") == 0);
  CHECK(run.out.find("algbw") == std::string::npos);
  CHECK(run.out.find("\n# algorithm ") != std::string::npos);
}

TEST_CASE("An algorithm says that it does not do a collective, and the others still run") {
  const Run run = run_three("collective: all_to_all\nalgorithm: [direct, ring]\nsize: 12 B\n");
  CHECK(run.exit_code == 1);
  CHECK(run.out.find("\n# ring, 12 B: impossible: ring does not do all_to_all\n# 1 of 2 points ok") !=
        std::string::npos);
}

TEST_CASE("auto takes the fastest of the algorithms, and the table says which at which size") {
  const Run run = run_three("algorithm: [auto, ring, two_shot]\nsize: [12 B, 30 MB]\n", {"--json", "-"});
  REQUIRE(run.exit_code == 0);
  const Json points = Json::parse(run.out).at("points");
  for (const std::size_t size : {0U, 1U}) {
    CAPTURE(size);
    CHECK(points[size].at("algorithm") == "auto");
    CHECK(points[size].at("chosen").is_string());
    CHECK(points[size].at("proven") == true);
    for (const std::size_t other : {2U, 4U})
      CHECK(points[size].at("time_ps") <= points[other + size].at("time_ps"));
  }
  CHECK(points[2].at("chosen").is_null());
  CHECK(run_three("algorithm: auto\nsize: [12 B, 30 MB]\n").out.find("\n# auto takes\n#   ") !=
        std::string::npos);
}

TEST_CASE("nccl says what NCCL takes and how long it thinks that this takes") {
  const WorkFolder folder;
  folder.write("x.yaml", "cluster: {preset: dgx-h100, nodes: 2}\nalgorithm: nccl\nsize: [1 KiB, 1 GiB]\n");
  const Run run = folder.run({"run", "x.yaml", "--json", "-"});
  REQUIRE(run.exit_code == 0);
  const Json report = Json::parse(run.out);
  for (const Json& point : report.at("points")) {
    CHECK(point.at("chosen").get<std::string>().find(", ") != std::string::npos);  // algorithm, protocol
    CHECK(point.at("predicted_ps").get<std::int64_t>() > 0);
  }
  CHECK(folder.run({"run", "x.yaml", "--explain"}).out.find("\n  predicted by NCCL's model: ") !=
        std::string::npos);
}

TEST_CASE("synthesized runs on a cluster that no algorithm was made for") {
  const WorkFolder folder;
  folder.write("x.yaml",
               "cluster:\n  nodes: 4\n  fabric:\n    kind: custom\n    bandwidth: 10 GB/s\n"
               "    links: [{from: 0, to: 1}, {from: 1, to: 2}, {from: 2, to: 3}, {from: 3, to: 0}, "
               "{from: 0, to: 2, bandwidth: 20 GB/s}]\n"
               "collective: all_gather\nalgorithm: [{name: synthesized, slices: 16}, ring]\nsize: 400 MB\n");
  const Run run = folder.run({"run", "x.yaml", "--json", "-"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const Json points = Json::parse(run.out).at("points");
  CHECK(points[0].at("options") == "slices: 16");
  CHECK(points[0].at("proven") == true);
  CHECK(points[0].at("time_ps") <= points[1].at("time_ps"));
}

TEST_CASE("Results of sums say whether ranks and runs agree, in JSON and with --explain") {
  const std::string two_shot = "algorithm: two_shot\nsize: 12 B\n";
  const Json numerics = Json::parse(run_three(two_shot, {"--json", "-"}).out).at("points")[0].at("numerics");
  CHECK(numerics.at("exact") == false);
  CHECK(numerics.at("same_on_all_ranks") == true);
  CHECK(numerics.at("repeats") == true);
  CHECK(numerics.at("error_bound").get<double>() > 0);
  CHECK(run_three(two_shot, {"--explain"})
            .out.find("\n  numbers: float32 sum: every rank gets bitwise the same, every run the same; error "
                      "at most ") != std::string::npos);
  CHECK(run_three(two_shot + "datatype: int32\n", {"--explain"})
            .out.find("\n  numbers: int32 sum: exact, in any order\n") != std::string::npos);
  const Json one_shot =
      Json::parse(run_three("algorithm: one_shot\nsize: 12 B\n", {"--json", "-"}).out).at("points")[0];
  CHECK(one_shot.at("numerics").at("same_on_all_ranks") == false);
}

TEST_CASE(
    "every_algorithm.yaml has every algorithm of an all-reduce but nvls, which its cluster cannot run") {
  std::ostringstream text;
  text << std::ifstream(COLLSIM_SOURCE_DIR "/experiments/every_algorithm.yaml").rdbuf();
  const std::string list = text.str().substr(text.str().find("algorithm: ["));
  for (const auto& info : program::known_algorithms()) {
    if (!program::does(info, CollectiveKind::all_reduce) || program::is_selection(info.name)) continue;
    const auto has = [&](const std::string& before, const std::string& after) {
      return list.find(before + std::string(info.name) + after) != std::string::npos;
    };
    const bool listed = has(" ", ",") || has("[", ",") || has(" ", "]");
    CHECK_MESSAGE(listed == (info.name != "nvls"), info.name);
  }
}

TEST_SUITE_END();

}  // namespace collsim
