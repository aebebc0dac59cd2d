// Several collectives at once, and ranks that sit elsewhere, from YAML to JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

Json points_of(const std::string& yaml, int exit_code = 0) {
  return Json::parse(report_of(yaml, exit_code)).at("points");
}

constexpr std::int64_t us = 1'000'000;

// 1 MB over a link takes 100 us.
const std::string four = "cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 10 GB/s}}\n";

// Two nodes of two GPUs that share a NIC.
const std::string pairs = R"(
cluster:
  nodes: 2
  node: {gpus: 2, interconnect: {kind: nvswitch, bandwidth: 100 GB/s}, nics: {count: 1, bandwidth: 10 GB/s}}
  fabric: {kind: switch, bandwidth: 10 GB/s}
)";

}  // namespace

TEST_CASE("A job that a fault does not concern comes to its end, whatever becomes of the others") {
  const std::string jobs = R"(jobs:
  - {name: a, ranks: [0, 1], algorithm: ring, size: 1 MB}
  - {name: b, ranks: [2, 3], algorithm: ring, size: 1 MB}
  - {name: c, ranks: [0, 1], algorithm: ring, size: 1 MB, after: a}
  - {name: d, ranks: [0, 1], algorithm: ring, size: 1 MB, after: b}
faults: [{link: node2/gpu0 -> switch0, down: true}]
)";
  for (const std::string network : {"network: fluid\n", "network: packet\n"}) {
    CAPTURE(network);
    const Json points = points_of(four + network + jobs, 1);
    CHECK(points[0].at("status") == "ok");
    CHECK(points[0].at("time_ps") == points[0].at("healthy_time_ps"));
    CHECK(points[1].at("status") == "failed");
    CHECK(points[2].at("status") == "ok");
    CHECK(points[2].at("job").at("start_ps") == points[0].at("job").at("finish_ps"));
    CHECK(points[3].at("status") == "failed");
  }
}

TEST_CASE("Jobs on the same links take twice as long, one after another begins when that is done") {
  const std::string yaml = four + R"(
collective: send_recv
algorithm: direct
size: 1 MB
jobs:
  - {name: a, ranks: [0, 1]}
  - {name: b, ranks: [0, 1]}
  - {name: apart, ranks: [2, 3], start: 10 us}
  - {name: next, ranks: [0, 1], after: a}
)";
  const Json points = points_of(yaml);
  REQUIRE(points.size() == 4);
  const auto check = [&](std::size_t i, const char* name, std::int64_t start, std::int64_t time,
                         double slower) {
    CAPTURE(name);
    const Json& job = points[i].at("job");
    CHECK(job.at("name") == name);
    CHECK(job.at("start_ps") == start);
    CHECK(job.at("finish_ps") == start + time);
    CHECK(points[i].at("time_ps") == time);
    CHECK(job.at("alone_ps") == 100 * us);
    CHECK(job.at("slow_down") == slower);
    CHECK(points[i].at("ranks") == 2);
    CHECK(points[i].at("proven") == true);
    CHECK(points[i].at("lower_bound_ps") == 100 * us);
  };
  check(0, "a", 0, 200 * us, 2.0);
  check(1, "b", 0, 200 * us, 2.0);
  check(2, "apart", 10 * us, 100 * us, 1.0);
  check(3, "next", 200 * us, 100 * us, 1.0);
  const Run run = run_text(yaml);
  CHECK(run.out.rfind("# 4 jobs on 4 x 1 GPU on switch: network fluid, seed 1\n", 0) == 0);
  CHECK(run.out.find("slow-down") != std::string::npos);
  CHECK(run.out.find("# 4 points ok, each schedule proven") != std::string::npos);
}

TEST_CASE("A job that cannot run keeps the others from running, and each says why") {
  const Json points = points_of(four + R"(
algorithm: ring
size: 1 MB
jobs: [{name: good, ranks: [0, 1]}, {name: bad, ranks: [2, 3], algorithm: nvls}]
)",
                                1);
  REQUIRE(points.size() == 2);
  CHECK(points[0].at("status") == "impossible");
  CHECK(points[0].at("reason") == "not run, because bad cannot");
  CHECK(points[1].at("status") == "impossible");
  CHECK(points[1].at("job").at("start_ps").is_null());
}

TEST_CASE("Where ranks sit decides how far they send: packed, round robin, listed") {
  const std::string send = "collective: send_recv\nalgorithm: direct\nsize: 1 MB\n";
  CHECK(points_of(pairs + send)[0].at("time_ps") == 100 * us);
  const Json spread = points_of(pairs + send + "placement: round_robin\n")[0];
  CHECK(spread.at("time_ps") == 200 * us);
  CHECK(spread.at("placement") == "round_robin");
  CHECK(points_of(pairs + send + "placement: [0, 2, 1, 3]\n")[0].at("time_ps") == 200 * us);
  const Json part = points_of(pairs + send + "placement: [3, 2]\n")[0];
  CHECK(part.at("ranks") == 2);
  CHECK(part.at("nodes") == 1);
  CHECK(part.at("time_ps") == 10 * us);
}

TEST_CASE(
    "An algorithm that sees to nodes takes as long wherever its ranks sit, with the root where it was put") {
  for (const char* rest :
       {"algorithm: ring\nsize: 4 MB\n", "collective: broadcast\nroot: 1\nalgorithm: chain\nsize: 1 MB\n"}) {
    CAPTURE(rest);
    const Json packed = points_of(pairs + rest)[0];
    const Json listed = points_of(pairs + rest + std::string("placement: [3, 1, 2, 0]\n"))[0];
    CHECK(packed.at("time_ps") == listed.at("time_ps"));
  }
}

TEST_CASE("A rank twice in a group or a placement is an error at its place") {
  const auto check = [](const std::string& yaml, const std::string& start) {
    const Run run = run_text(yaml);
    CAPTURE(run.err);
    CHECK(run.exit_code == 65);
    CHECK(run.err.rfind(start, 0) == 0);
  };
  check(four + "algorithm: ring\nsize: 1 MB\njobs: [{ranks: [0, 1, 1]}]\n", "x.yaml:4:");
  check(four + "algorithm: ring\nsize: 1 MB\nplacement: [0, 2, 0]\n", "x.yaml:4:");
}

TEST_SUITE_END();

}  // namespace collsim
