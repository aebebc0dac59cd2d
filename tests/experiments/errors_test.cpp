// What a person can mistype: whole messages, exit codes, and nothing on stdout.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

const std::string good = R"(cluster:
  node: {gpus: 8, interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}}
algorithm: ring
size: 1 MiB
)";

void check_error(const Run& run, int exit_code, const std::string& message) {
  CHECK(run.exit_code == exit_code);
  CHECK(run.out.empty());
  CHECK(run.err == message);
}

}  // namespace

TEST_CASE("run says where an unknown key is and what was meant") {
  check_error(run_text("cluster:\n  node: {gpus: 8}\n  fabric:\n    kind: switch\n    bandwith: 400 Gbit/s\n"
                       "algorithm: ring\nsize: 1 MiB\n"),
              65,
              "x.yaml:5:5: error: cluster.fabric.bandwith: unknown key\n"
              "      bandwith: 400 Gbit/s\n"
              "      ^\n"
              "  expected one of kind, levels, radix, oversubscription, bandwidth, latency, reduction, "
              "dimensions, routers, nodes_per_router, global_links, links\n"
              "  did you mean 'bandwidth'?\n");
}

TEST_CASE("run says which algorithm does not exist") {
  Run run = run_text("cluster: {node: {gpus: 1}}\nalgorithm: [ring, casade]\nsize: 1 MiB\n");
  check_error(run, 65,
              "x.yaml:2:19: error: algorithm[1]: there is no algorithm 'casade'\n"
              "  algorithm: [ring, casade]\n"
              "                    ^\n"
              "  expected one of " +
                  algorithm_names(false) +
                  ", or a file whose name ends in .xml\n"
                  "  did you mean 'cascade'?\n");
}

TEST_CASE("run says which preset does not exist") {
  check_error(run_text("cluster: {preset: dgx-h10, nodes: 4}\nalgorithm: ring\nsize: 1 MiB\n"), 65,
              "x.yaml:1:19: error: cluster.preset: there is no preset 'dgx-h10'\n"
              "  cluster: {preset: dgx-h10, nodes: 4}\n"
              "                    ^\n"
              "  expected one of dgx-v100, dgx2, dgx-a100, dgx-h100, gb200-nvl72, mi300x, tpu-v4, "
              "or a file whose name ends in .yaml\n"
              "  did you mean 'dgx-h100'?\n");
}

TEST_CASE("run says at the key's place that a fabric is too small") {
  check_error(run_text("cluster:\n  nodes: 100\n  fabric:\n    kind: fat_tree\n    radix: 8\n"
                       "    bandwidth: 50 GB/s\nalgorithm: ring\nsize: 1 MiB\n"),
              65,
              "x.yaml:5:12: error: cluster.fabric.radix: 100 nodes need 100 ports, a 2-level fat_tree of "
              "radix 8 has 32\n"
              "      radix: 8\n"
              "             ^\n"
              "  expected a radix of at least 16\n");
}

TEST_CASE("run says that a size is no whole number of elements") {
  check_error(run_text("cluster: {node: {gpus: 1}}\nalgorithm: ring\nsize: [4 B, 6 B]\n"), 65,
              "x.yaml:3:13: error: size[1]: '6 B' is no whole number of elements of float32\n"
              "  size: [4 B, 6 B]\n"
              "              ^\n"
              "  expected a multiple of 4 B\n");
}

TEST_CASE("run says that a file is missing, is a folder, or is empty") {
  const WorkFolder folder;
  check_error(folder.run({"run", "missing.yaml"}), 66, "missing.yaml: error: no such file\n");
  check_error(folder.run({"run", "."}), 66, ".: error: is a directory\n  expected a file\n");
  folder.write("empty.yaml", "");
  check_error(
      folder.run({"run", "empty.yaml"}), 65,
      "empty.yaml: error: the file is empty\n"
      "  expected a map with cluster, collective, root, algorithm, size, datatype, reduction, network, "
      "routing, "
      "launch_overhead, credit_latency, placement, jobs, faults, skew, jitter, background, repeat, seed\n");
}

TEST_CASE("run reads every file before it simulates the first") {
  const WorkFolder folder;
  folder.write("good.yaml", good);
  check_error(folder.run({"run", "good.yaml", "missing.yaml"}), 66, "missing.yaml: error: no such file\n");
}

TEST_CASE("An override is checked like the file") {
  check_error(run_text(good, {"--set", "cluster.nods=2"}), 65,
              "--set cluster.nods=2: error: cluster.nods: unknown key\n"
              "  expected one of preset, nodes, node, fabric, sites\n"
              "  did you mean 'nodes'?\n");
  check_error(run_text(good, {"--set", "cluster.nodes"}), 2,
              "collsim: --set cluster.nodes: expected key.path=value, for instance cluster.nodes=8\n");
}

TEST_CASE("An algorithm that the cluster cannot run is a point with a reason, and the others still run") {
  const Run run = run_text(good, {"--set", "algorithm=[sharp, ring]", "--json", "-"});
  CHECK(run.exit_code == 1);
  CHECK(run.err.empty());
  const auto points = nlohmann::json::parse(run.out).at("points");
  REQUIRE(points.size() == 2);
  CHECK(points[0].at("status") == "impossible");
  CHECK(points[0].at("reason") == "sharp needs at least 2 nodes; this cluster has 1");
  CHECK(points[0].at("time_ps").is_null());
  CHECK(points[1].at("status") == "ok");
}

TEST_CASE("A fabric whose switches do not reduce cannot run SHARP, and says so under the table") {
  const Run run = run_text(
      "cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 1 GB/s}}\n"
      "algorithm: [sharp, ring]\nsize: [4 B, 1 kB]\n");
  CHECK(run.exit_code == 1);
  CHECK(run.err.empty());
  CHECK(run.out.find("\n# sharp, 4 B to 1000 B: impossible: no switch of the fabric reduces\n"
                     "# 2 of 4 points ok, each schedule proven; ") != std::string::npos);
}

TEST_CASE("An output that cannot be written ends the run before the work, with the path and the reason") {
  const std::string message = "collsim: cannot write 'no/such/folder.json': No such file or directory\n";
  check_error(run_text(good, {"--json", "no/such/folder.json"}), 2, message);
  check_error(run_text(good, {"--csv", "."}), 2, "collsim: cannot write '.': Is a directory\n");
  check_error(run_text(good, {"--json", "-", "--csv", "-"}), 2,
              "collsim: --json - and --csv - both ask for standard output\n");
}

TEST_CASE("A full standard output is noticed") {
  const WorkFolder folder;
  folder.write("x.yaml", good);
  const Run run = folder.run_into("/dev/full", {"run", "x.yaml"});
  CHECK(run.exit_code == 2);
  CHECK(run.err == "collsim: cannot write 'standard output': No space left on device\n");
}

TEST_CASE("A limit on events gives partial results and exit code 75") {
  const Run run = run_text(good, {"--events-max", "20", "--set", "size=[4 B, 1 MiB]", "--json", "-"});
  CHECK(run.exit_code == 75);
  const auto points = nlohmann::json::parse(run.out).at("points");
  REQUIRE(points.size() == 2);
  for (const auto& point : points) {
    CHECK(point.at("status") == "limit");
    CHECK(point.at("events") >= 20);
    CHECK(point.at("reason") == "stopped after " + std::to_string(point.at("events").get<int>()) + " events");
    CHECK(point.at("time_ps").is_null());
    CHECK(point.at("proven") == true);
  }
}

TEST_CASE("Usage errors have exit code 2, say what is wrong, and leave stdout alone") {
  const WorkFolder folder;
  check_error(folder.run({}), 2,
              "collsim: A subcommand is required\nRun with --help for more information.\n");
  check_error(folder.run({"run"}), 2, "collsim: FILE is required\nRun with --help for more information.\n");
  for (const char* word : {"calibrate", "compare", "plan", "sweep", "import"}) {
    CAPTURE(word);
    CHECK(folder.run({word, "x"}).exit_code == 2);
  }
  CHECK(folder.run({"run", "x.yaml", "--threads", "0"}).exit_code == 2);
  CHECK(folder.run({"list", "nothing"}).exit_code == 2);
  CHECK(folder.run({"verify", "ring"}).exit_code == 2);
}

TEST_SUITE_END();

}  // namespace collsim
