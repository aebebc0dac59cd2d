// execute: schedules on real buffers, run as a person would run them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "tests/experiments/program_runner.hpp"
#include "tests/experiments/two_gpu_files.hpp"

namespace collsim {

TEST_SUITE_BEGIN("execute");

namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

std::string cluster_of(int gpus) {
  return "cluster:\n  node: {gpus: " + std::to_string(gpus) +
         ", interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}}\n";
}

// Four ranks, a ring, sizes with odd tails.
const std::string four_ranks = cluster_of(4) + "algorithm: ring\nsize: [4 B, 4100 B]\n";

Run execute_in(const WorkFolder& folder, const std::string& yaml, const Words& options) {
  folder.write("x.yaml", yaml);
  Words arguments = {"execute", "x.yaml"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return folder.run(arguments);
}

Run execute(const std::string& yaml, const Words& options = {"--runs", "0"}) {
  const WorkFolder folder;
  return execute_in(folder, yaml, options);
}

Json points_of(const Run& run) { return Json::parse(run.out).at("points"); }

// Points of values only, all of them right.
Json right_points(const std::string& yaml, Words options = {}) {
  options.insert(options.end(), {"--runs", "0", "--json", "-", "--quiet"});
  const Run run = execute(yaml, options);
  CAPTURE(yaml);
  CAPTURE(run.err);
  CAPTURE(run.out);
  REQUIRE(run.exit_code == 0);
  Json points = points_of(run);
  for (const Json& point : points) {
    CAPTURE(point.dump());
    CHECK(point.at("status") == "ok");
    CHECK(point.at("wrong") == 0);
    CHECK(point.at("reason") == "");
    CHECK(point.at("proven") == true);
    CHECK(point.at("time_ps").is_null());
  }
  return points;
}

std::vector<Words> rows_of(const std::string& table) {
  std::vector<Words> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    Words& row = rows.emplace_back();
    for (std::string word; words >> word;) row.push_back(word);
  }
  return rows;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_error(const Run& run, int exit_code, const std::string& message) {
  CHECK(run.exit_code == exit_code);
  CHECK(run.out.empty());
  CHECK(run.err == message);
}

// ---------------------------------------------------------------- MSCCL files

// Both receive before they send.
const std::string stuck_file =
    all_gather_of(gpu(0, step(0, "r", 1) + step(1, "s", 0)) + gpu(1, step(0, "r", 0) + step(1, "s", 1)));

std::string experiment_of_file(const std::string& name) {
  return cluster_of(2) + "collective: all_gather\nalgorithm: " + name + "\nsize: 72 B\n";
}

Run execute_file(const std::string& text, const Words& options) {
  const WorkFolder folder;
  folder.write("mine.xml", text);
  return execute_in(folder, experiment_of_file("mine.xml"), options);
}

}  // namespace

// ---------------------------------------------------------------- tables

TEST_CASE("A table of execute has the columns of nccl-tests and the algorithm behind them") {
  const Run run = execute(four_ranks, {"--runs", "2", "--warmup", "1", "--workers", "2"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const std::vector<Words> rows = rows_of(run.out);
  REQUIRE(rows.size() == 2);
  for (const Words& row : rows) {
    REQUIRE(row.size() == 14);
    CHECK(Words(row.begin() + 2, row.begin() + 5) == Words{"float", "sum", "-1"});
    CHECK(Words(row.begin() + 5, row.begin() + 9) == Words(4, "N/A"));  // a ring is in place
    CHECK(std::strtod(row[9].c_str(), nullptr) > 0);
    CHECK(row[12] == "0");
    CHECK(row[13] == "ring");
  }
  CHECK(rows[0][0] == "4");
  CHECK(rows[1][0] == "4100");
  CHECK(rows[1][1] == "1025");
  CHECK(has(run.out, "# all_reduce on cpu ("));
  CHECK(has(run.out, "# time: the median of 2 runs after at least 1 warm-up (nccl-tests prints the mean)\n"));
  CHECK(has(run.out, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "));
  CHECK(has(run.out, "# 2 points ok\n"));
}

TEST_CASE("The half of a row that the schedule does not do is not applicable") {
  const Run run = execute(cluster_of(4) + "collective: all_to_all\nalgorithm: pairwise\nsize: 4 KiB\n");
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const std::vector<Words> rows = rows_of(run.out);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0] == Words{"4096", "256", "float", "none", "-1", "N/A", "N/A", "N/A", "0", "N/A", "N/A", "N/A",
                         "N/A", "pairwise"});
  CHECK(has(run.out, "# Avg bus bandwidth    : N/A\n"));
}

TEST_CASE("A barrier has no values and says so") {
  const Run run = execute(cluster_of(4) + "collective: barrier\nalgorithm: recursive_doubling\n");
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  const std::vector<Words> rows = rows_of(run.out);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0][0] == "0");
  CHECK(std::count(rows[0].begin(), rows[0].end(), "N/A") == 8);
}

TEST_CASE("execute compares with the simulation that run makes") {
  const std::string yaml = cluster_of(4) + "algorithm: [ring, two_shot]\nsize: [4 KiB, 20 KiB]\n";
  const Words options = {"--runs", "1", "--warmup", "0", "--compare"};
  const Run run = execute(yaml, options);
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.out, "  predicted     error  algorithm\n"));
  for (const Words& row : rows_of(run.out)) {
    REQUIRE(row.size() == 16);
    CHECK(row[14].find_first_of("+-") == 0);
    CHECK(row[14].back() == '%');
  }
  const Json simulated = Json::parse(report_of(yaml, 0)).at("points");
  Words with_json = options;
  with_json.insert(with_json.end(), {"--json", "-"});
  const Json points = points_of(execute(yaml, with_json));
  REQUIRE(points.size() == simulated.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double predicted = points[i].at("predicted_ps");
    const double measured = points[i].at("time_ps").at("median");
    CHECK(points[i].at("predicted_ps") == simulated[i].at("time_ps"));
    CHECK(points[i].at("error").get<double>() == doctest::Approx((predicted - measured) / measured));
  }
}

TEST_CASE("Times are of as many runs as were asked for, and bandwidths belong to them") {
  const Run run = execute(four_ranks, {"--runs", "3", "--warmup", "0", "--json", "-"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  for (const Json& point : points_of(run)) {
    const Json& times = point.at("time_ps");
    CHECK(times.at("runs") == 3);
    CHECK(times.at("warmups") >= times.at("buffer_sets"));
    CHECK(times.at("min") > 0);
    CHECK(times.at("min") <= times.at("median"));
    CHECK(times.at("median") <= times.at("max"));
    const double bandwidth = point.at("bytes").get<double>() / times.at("median").get<double>() * 1e3;
    CHECK(point.at("algbw_gb_per_s").get<double>() == doctest::Approx(bandwidth));
    CHECK(point.at("busbw_gb_per_s").get<double>() == doctest::Approx(bandwidth * 1.5));
  }
}

// ---------------------------------------------------------------- values

TEST_CASE("Without timed runs the JSON is the same twice") {
  const std::string yaml = cluster_of(4) + "algorithm: [ring, double_binary_tree]\nsize: [20 B, 4100 B]\n";
  const Words options = {"--runs", "0", "--json", "-", "--seed", "7"};
  const Run first = execute(yaml, options);
  REQUIRE(first.exit_code == 0);
  CHECK(first.out == execute(yaml, options).out);
  const Json report = Json::parse(first.out);
  CHECK(report.at("device") == "cpu");
  CHECK(report.at("seed") == 7);
  const Json& point = report.at("points")[3];
  CHECK(point.at("algorithm") == "double_binary_tree");
  CHECK(point.at("checked") == 4 * 1025);
  Json runs = Json::array();
  for (const Json& each : point.at("checks"))
    runs.push_back(each.at("inputs").get<std::string>() + " " + each.at("order").get<std::string>());
  CHECK(runs ==
        Json{"exact as planned", "exact latest first", "exact random", "exact parallel", "random parallel"});
  CHECK(point.at("error_of_bound") < 1);
  CHECK(point.at("tasks") > 0);
  CHECK(point.at("traffic_bytes") > 0);
}

TEST_CASE("Inputs are exact or random as asked for") {
  const auto inputs_of = [](const std::string& inputs) {
    const Json points = right_points(four_ranks, {"--inputs", inputs});
    std::vector<std::string> seen;
    for (const Json& check : points[1].at("checks")) seen.push_back(check.at("inputs"));
    return seen;
  };
  CHECK(inputs_of("exact") == std::vector<std::string>(4, "exact"));
  CHECK(inputs_of("random") == std::vector<std::string>(1, "random"));
}

TEST_CASE("Every collective gives the values that it is for, at odd sizes") {
  const std::vector<std::string> lines = {
      "collective: all_reduce\nalgorithm: [ring, tree, recursive_doubling, two_shot, cascade]\n",
      "collective: reduce_scatter\nalgorithm: [ring, bruck, pat]\n",
      "collective: all_gather\nalgorithm: [ring, bruck, pat]\n",
      "collective: broadcast\nroot: 2\nalgorithm: [binomial_tree, ring, chain]\n",
      "collective: reduce\nroot: 3\nalgorithm: [binomial_tree, chain]\n",
      "collective: scatter\nroot: 1\nalgorithm: [direct, binomial_tree]\n",
      "collective: gather\nroot: 4\nalgorithm: [direct, binomial_tree]\n",
      "collective: all_to_all\nalgorithm: [pairwise, bruck]\n",
      "collective: send_recv\nalgorithm: direct\n"};
  for (const std::string& line : lines) {
    const Json points = right_points(cluster_of(5) + line + "size: [20 B, 2020 B]\n");
    for (const Json& point : points) CHECK(point.at("checked") > 0);
  }
}

TEST_CASE("Datatypes and reductions are those of the experiment") {
  for (const std::string type : {"bfloat16", "int8", "uint64", "float64"})
    for (const std::string reduction : {"sum", "max", "avg"}) {
      const Json points = right_points(cluster_of(3) + "algorithm: ring\nsize: 1000 B\ndatatype: " + type +
                                       "\nreduction: " + reduction + "\n");
      CHECK(points[0].at("datatype") == type);
      CHECK(points[0].at("reduction") == reduction);
    }
}

TEST_CASE("Results that do not round are checked with exact inputs alone, and named so") {
  const std::vector<std::string> lines = {"collective: all_gather\nalgorithm: ring\nsize: 1000 B\n",
                                          "algorithm: ring\nsize: 1000 B\ndatatype: int32\n",
                                          "algorithm: ring\nsize: 1000 B\nreduction: max\n"};
  for (const std::string& line : lines) {
    Json point = right_points(cluster_of(3) + line)[0];
    REQUIRE(point.at("checks").size() == 4);
    for (const Json& check : point.at("checks")) CHECK(check.at("inputs") == "exact");
    CHECK(point.at("error_of_bound").is_null());
    CHECK(point.at("notes").empty());
    point = right_points(cluster_of(3) + line, {"--inputs", "random"})[0];
    REQUIRE(point.at("checks").size() == 4);
    for (const Json& check : point.at("checks")) CHECK(check.at("inputs") == "exact");
    CHECK(point.at("notes") == Json{"exact inputs in place of random ones: nothing is rounded"});
  }
}

TEST_CASE("Where a result could lack a contribution within its bound, exact inputs are used too") {
  const auto checked = [](int ranks, const std::string& more) {
    return right_points(cluster_of(ranks) + "algorithm: ring\nsize: 1000 B\n" + more,
                        {"--inputs", "random"})[0];
  };
  for (const std::string more : {"datatype: bfloat16\n", "datatype: bfloat16\nreduction: avg\n"}) {
    const Json point = checked(64, more);
    REQUIRE(point.at("checks").size() == 5);
    CHECK(point.at("checks")[0].at("inputs") == "random");
    CHECK(point.at("checks")[1].at("inputs") == "exact");
    CHECK(point.at("notes") ==
          Json{"exact inputs too: within the bound of the error, random ones may lack a contribution"});
    CHECK(checked(4, more).at("checks").size() == 1);
  }
  CHECK(checked(4, "reduction: prod\n").at("checks").size() == 5);
  CHECK(checked(64, "datatype: float32\n").at("checks").size() == 1);
}

TEST_CASE("Where random inputs have no bound, exact ones are used and a note says so") {
  const Json points = right_points(cluster_of(20) + "algorithm: ring\nsize: 1000 B\ndatatype: float8_e5m2\n",
                                   {"--inputs", "random"});
  CHECK(points[0].at("error_of_bound").is_null());
  CHECK(points[0].at("checks")[0].at("inputs") == "exact");
  REQUIRE(points[0].at("notes").size() == 1);
  CHECK(has(points[0].at("notes")[0], "not run with random inputs: there is no bound of the error"));
}

TEST_CASE("Fused tasks are fewer and give the same values") {
  const std::string yaml = cluster_of(4) + "algorithm: ring\nsize: 4100 B\n";
  const std::int64_t plain = right_points(yaml)[0].at("tasks");
  CHECK(right_points(yaml, {"--fused"})[0].at("tasks") < plain);
}

TEST_CASE("What a selection takes is executed and named") {
  const Json points =
      right_points(cluster_of(4) + "algorithm: [auto, {name: nccl, form: hopper}]\nsize: 4 KiB\n");
  for (const Json& point : points) CHECK(point.at("chosen") != "");
}

TEST_CASE("Ranks that sit elsewhere and parts of a cluster are executed") {
  const Json points =
      right_points(cluster_of(4) + "algorithm: [ring, tree]\nsize: 4 KiB\nplacement: [3, 1, 0]\n");
  for (const Json& point : points) CHECK(point.at("ranks") == 3);
}

TEST_CASE("execute.yaml has the right values") {
  const WorkFolder folder;
  const Run run =
      folder.run({"execute", COLLSIM_SOURCE_DIR "/experiments/execute.yaml", "--runs", "0", "--json", "-"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  for (const Json& point : points_of(run)) CHECK(point.at("wrong") == 0);
}

// ---------------------------------------------------------------- what is wrong

TEST_CASE("A file that is right is executed like a built-in algorithm") {
  const Run run = execute_file(good_file, {"--runs", "0"});
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  REQUIRE(rows_of(run.out).size() == 1);
  CHECK(rows_of(run.out)[0].back() == "mine.xml");
}

TEST_CASE("A file that its proof refutes is executed, and both say what is wrong") {
  const Run run = execute_file(wrong_file, {});
  CAPTURE(run.out);
  CHECK(run.exit_code == 1);
  CHECK(run.err.empty());
  CHECK(has(run.out, "# mine.xml, 72 B: wrong: "));
  CHECK(has(run.out, "#   the proof and the execution agree: both refute it\n"));
  CHECK(has(run.out, "#   proof: "));
  CHECK(has(run.out, "#   execution: "));
  CHECK(has(run.out, "#   run: exact inputs, as planned: "));
  CHECK(has(run.out, "#   value: rank 0, region 0, block 0, element 0: expected "));
  CHECK(has(run.out, " FAILED\n"));
  CHECK(!has(run.out, "OK\n"));
  CHECK(has(run.out, "# 0 of 1 points ok\n"));
  const std::vector<Words> rows = rows_of(run.out);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0][9] == "N/A");  // no time of what is wrong
  // Nobody writes block 1 of rank 0, and block 0 is written over: all 18 elements of rank 0.
  CHECK(rows[0][12] == "18");
}

TEST_CASE("The JSON of a wrong point has the findings of the proof, of the counts and of the values") {
  const Run run = execute_file(wrong_file, {"--runs", "0", "--json", "-"});
  REQUIRE(run.exit_code == 1);
  const Json point = points_of(run)[0];
  CHECK(point.at("status") == "wrong");
  CHECK(point.at("proof") == "refuted");
  CHECK(point.at("agreement") == "the proof and the execution agree: both refute it");
  CHECK(point.at("time_ps").is_null());
  std::vector<std::string> by;
  for (const Json& finding : point.at("findings")) by.push_back(finding.at("by"));
  for (const char* each : {"proof", "execution", "values"})
    CHECK(std::find(by.begin(), by.end(), each) != by.end());
  CHECK(point.at("notes")[0] == "not run in parallel, and not timed: it is not proven");
}

TEST_CASE("What is not simulated has no prediction, and a note says why") {
  const Words options = {"--runs", "0", "--compare"};
  const std::string why = "not predicted: unproven: the schedule does not compute its collective";
  const Run table = execute_file(wrong_file, options);
  CAPTURE(table.out);
  CHECK(table.exit_code == 1);
  CHECK(has(table.out, "# mine.xml: " + why));
  REQUIRE(rows_of(table.out).size() == 1);
  CHECK(rows_of(table.out)[0][13] == "N/A");
  const Json point = points_of(execute_file(wrong_file, {"--runs", "0", "--compare", "--json", "-"}))[0];
  CHECK(point.at("predicted_ps").is_null());
  CHECK(has(point.at("notes").back(), why));
  // Executed neither, for the same reason: it is said once.
  const Run both = execute(cluster_of(4) + "algorithm: sharp\nsize: 4 KiB\n", options);
  CHECK(has(both.out, "# sharp, 4096 B: impossible: "));
  CHECK(!has(both.out, "not predicted"));
}

TEST_CASE("A file that deadlocks is no plan and does not hang") {
  const Run run = execute_file(stuck_file, {"--runs", "0", "--json", "-"});
  CAPTURE(run.out);
  CHECK(run.exit_code == 1);
  const Json point = points_of(run)[0];
  CHECK(point.at("status") == "impossible");
  CHECK(point.at("reason") == "the file deadlocks with any number of slots");
  CHECK(point.at("wrong").is_null());
}

TEST_CASE("An algorithm that the cluster cannot run is a point with a reason, and the others are executed") {
  const Run run = execute(cluster_of(4) + "algorithm: [sharp, ring]\nsize: 4 KiB\n");
  CHECK(run.exit_code == 1);
  CHECK(has(run.out, "# sharp, 4096 B: impossible: "));
  CHECK(has(run.out, "# Out of bounds values : 0 INCOMPLETE\n"));
  CHECK(has(run.out, "# 1 of 2 points ok\n"));
  CHECK(rows_of(run.out)[0][12] == "N/A");
  CHECK(rows_of(run.out)[1][12] == "0");
}

// ---------------------------------------------------------------- limits

TEST_CASE("What does not fit the memory says how much it needs, and the other points are executed") {
  const std::string yaml = cluster_of(4) + "algorithm: ring\nsize: [1 TiB, 4 KiB]\n";
  Run run = execute(yaml);
  CAPTURE(run.out);
  CHECK(run.exit_code == 75);
  CHECK(has(run.out, "# ring, 1099511627776 B: limit: it needs 4.00 TiB of memory; "));
  CHECK(has(run.out, "B are free\n"));
  run = execute(yaml, {"--runs", "0", "--json", "-"});
  const Json points = points_of(run);
  CHECK(points[0].at("status") == "limit");
  CHECK(points[0].at("reason") == "it needs 4.00 TiB of memory");
  CHECK(points[1].at("status") == "ok");
}

TEST_CASE("A cluster of thousands of ranks is a limit, at once") {
  const Run run =
      execute("cluster: {preset: dgx-h100, nodes: 1024}\nalgorithm: [ring, cascade]\nsize: 32 KiB\n",
              {"--runs", "0", "--json", "-", "--quiet"});
  CAPTURE(run.err);
  CHECK(run.exit_code == 75);
  for (const Json& point : points_of(run)) {
    CHECK(point.at("status") == "limit");
    CHECK(point.at("reason") == "it has more than 20,000,000 operations");
  }
}

// ---------------------------------------------------------------- input

TEST_CASE("execute refuses an experiment with jobs, at its line") {
  check_error(execute(cluster_of(2) + "jobs: [{algorithm: ring, size: 4 KiB}]\n"), 65,
              "x.yaml:3:7: error: jobs: execute runs one collective at a time\n"
              "  jobs: [{algorithm: ring, size: 4 KiB}]\n"
              "        ^\n"
              "  expected collective, algorithm and size\n");
}

TEST_CASE("execute says what of an experiment it does not do") {
  const std::string yaml = four_ranks +
                           "faults: [{rank: 1, speed: 0.5}]\nskew: [{rank: 2, delay: 1 us}]\n"
                           "jitter: {distribution: exponential, mean: 1 us}\nrepeat: 3\n";
  CHECK(execute(yaml).err ==
        "warning: faults: not executed, and not in a predicted time\nwarning: skew: not executed, and not in "
        "a predicted time\nwarning: jitter: not executed, and not in a predicted time\n"
        "warning: repeat: not executed, and not in a predicted time\n");
  CHECK(execute(yaml, {"--runs", "0", "--quiet"}).err.empty());
}

TEST_CASE("execute reads its file and opens its outputs before it runs anything") {
  const WorkFolder folder;
  check_error(folder.run({"execute", "missing.yaml"}), 66, "missing.yaml: error: no such file\n");
  check_error(execute(four_ranks, {"--json", "none/x.json"}), 2,
              "collsim: cannot write 'none/x.json': No such file or directory\n");
  check_error(execute(four_ranks, {"--json", "-", "--csv", "-"}), 2,
              "collsim: --json - and --csv - both ask for standard output\n");
  CHECK(execute(four_ranks, {"--set", "sizes=1"}).exit_code == 65);
}

TEST_CASE("Options of execute are checked") {
  const std::string help = "Run with --help for more information.\n";
  const auto usage = [&](const Words& options) {
    const Run run = execute(four_ranks, options);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(usage({"--device", "tpu"}) == "collsim: --device: tpu not in {cpu,cuda}\n" + help);
  CHECK(usage({"--inputs", "zero"}) == "collsim: --inputs: zero not in {exact,random,both}\n" + help);
  CHECK(usage({"--runs", "-1"}) == "collsim: --runs: '-1' is no whole number below 10^9\n" + help);
  CHECK(has(usage({"--device", "cuda", "--workers", "2"}), "only --device cpu has workers"));
}

TEST_CASE("Without a GPU, execute on cuda says what is missing") {
  const std::string why = kernels::why_no_cuda();
  if (why.empty()) {
    MESSAGE("skipped: there is a GPU");
    return;
  }
  check_error(execute(four_ranks, {"--device", "cuda"}), 69, "collsim: " + why + "\n");
}

TEST_CASE("CSV has a row a point under its names") {
  const Run run = execute(four_ranks, {"--runs", "1", "--warmup", "0", "--csv", "-"});
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  std::istringstream lines(run.out);
  int count = 0;
  std::ptrdiff_t commas = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto seen = std::count(line.begin(), line.end(), ',');
    if (count == 0) commas = seen;
    CHECK(seen == commas);
  }
  CHECK(count == 3);
  CHECK(run.out.find("device,collective,algorithm,") == 0);
}

TEST_SUITE_END();

}  // namespace collsim
