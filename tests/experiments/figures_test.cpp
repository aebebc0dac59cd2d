// Figures that can be worked out on paper, from YAML to JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

Json points_of(const std::string& yaml, const std::vector<std::string>& options = {}) {
  const WorkFolder folder;
  folder.write("x.yaml", yaml);
  std::vector<std::string> arguments = {"run", "x.yaml", "--json", "-"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = folder.run(arguments);
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  return Json::parse(run.out).at("points");
}

const std::string one_node = R"(
cluster:
  node: {gpus: 8, interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}}
algorithm: ring
size: 8 MiB
)";

}  // namespace

TEST_CASE("Ring in one NVSwitch node: 14 steps of 1 MiB at 100 GB/s and 1 us") {
  const Json points = points_of(one_node);
  REQUIRE(points.size() == 1);
  const Json& point = points[0];
  CHECK(point.at("time_ps") == 14 * (10'485'760 + 1'000'000));
  CHECK(point.at("messages") == 8 * 14);
  CHECK(point.at("proven") == true);
  CHECK(point.at("status") == "ok");
  CHECK(point.at("ranks") == 8);
  CHECK(point.at("nodes") == 1);
  // 2 * 7/8 of 8 MiB must leave every GPU at 100 GB/s.
  CHECK(point.at("lower_bound_ps") == 146'800'640);
  CHECK(point.at("bound_reason") == "rank");
  CHECK(point.at("bottleneck").at("link") == "node0/gpu0 -> node0/nvswitch0");
  CHECK(point.at("bottleneck").at("utilization") == 146'800'640.0 / 160'800'640.0);
  CHECK(point.at("busbw_gb_per_s").get<double>() ==
        doctest::Approx(8388608.0 * 2 * 7 / 8 / 160.80064e-6 / 1e9).epsilon(1e-12));
}

TEST_CASE("Launch overhead is paid once") {
  CHECK(points_of(one_node, {"--set", "launch_overhead=5 us"})[0].at("time_ps") == 165'800'640);
}

TEST_CASE("Cascade over four nodes of eight, each level in turn") {
  const Json points = points_of(R"(
cluster:
  nodes: 4
  node:
    gpus: 8
    interconnect: {kind: nvswitch, bandwidth: 400 GB/s, latency: 500 ns}
    nics: {count: 8, bandwidth: 50 GB/s, latency: 1.25 us}
  fabric: {kind: switch, bandwidth: 50 GB/s, latency: 1.25 us}
algorithm: cascade
size: 64 MiB
)");
  CHECK(points[0].at("time_ps") == 589'259'520);
}

TEST_CASE("SHARP over a two-level fat tree takes one crossing, ring about twice that") {
  const Json points = points_of(R"(
cluster:
  nodes: 16
  node: {gpus: 1}
  fabric: {kind: fat_tree, levels: 2, radix: 8, bandwidth: 50 GB/s, latency: 250 ns, reduction: true}
algorithm: [sharp, ring]
size: 64 MiB
)");
  REQUIRE(points.size() == 2);
  CHECK(points[0].at("time_ps") == 1'343'177'280);
  CHECK(points[0].at("bottleneck").at("utilization") == 1'342'177'280.0 / 1'343'177'280.0);
  const double ratio = points[1].at("time_ps").get<double>() / 1'343'177'280.0;
  CHECK(ratio > 1.85);
  CHECK(ratio < 2.0);
}

TEST_CASE("One rank is ordinary: it takes launch_overhead") {
  const Json points = points_of(R"(
cluster: {node: {gpus: 1}}
algorithm: [ring, double_binary_tree, binomial_tree, cascade, two_shot, nvls, sharp]
size: [4 B, 1 MiB]
launch_overhead: 7 us
)");
  REQUIRE(points.size() == 14);
  for (const Json& point : points) {
    CAPTURE(point.dump());
    CHECK(point.at("time_ps") == 7'000'000);
    CHECK(point.at("proven") == true);
    CHECK(point.at("messages") == 0);
    CHECK(point.at("busbw_gb_per_s") == 0.0);
    CHECK(point.at("bottleneck").is_null());
  }
}

TEST_CASE("Explanations add up to the time of the point") {
  const Json points = points_of(one_node, {"--explain", "--set", "launch_overhead=5 us"});
  const Json& path = points[0].at("critical_path");
  std::int64_t sum = 0;
  for (const char* part : {"launch_ps", "overhead_ps", "bandwidth_ps", "contention_ps", "latency_ps",
                           "reduction_ps", "waiting_ps"}) {
    sum += path.at(part).get<std::int64_t>();
  }
  CHECK(sum == 165'800'640);
  CHECK(path.at("launch_ps") == 5'000'000);
  CHECK(path.at("latency_ps") == 14'000'000);
  CHECK(path.at("bandwidth_ps") == 146'800'640);
  CHECK(path.at("messages") == 14);
}

TEST_CASE("Links report what each carried: 14 blocks in and 14 out at every GPU") {
  const Json points = points_of(one_node, {"--links"});
  const Json& links = points[0].at("links");
  REQUIRE(links.size() == 16);
  for (const Json& link : links) CHECK(link.at("bytes") == 14 << 20);
}

TEST_SUITE_END();

}  // namespace collsim
