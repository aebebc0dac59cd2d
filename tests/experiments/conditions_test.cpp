// What goes wrong, from YAML to JSON: faults, skew, jitter, background; what each costs.
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

// Two ranks on one switch: 1 MB each way takes 100 us.
const std::string two = R"(
cluster: {nodes: 2, fabric: {kind: switch, bandwidth: 10 GB/s}}
collective: send_recv
algorithm: direct
size: 1 MB
)";
constexpr std::int64_t us = 1'000'000;

// Four nodes whose switch reduces.
const std::string four = R"(
cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us, reduction: true}}
algorithm: [sharp, ring]
size: 4 MB
)";

}  // namespace

TEST_CASE("Packets are explained also where a message is sooner than on its first route alone") {
  const std::string ring = R"(
cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 50 GB/s, latency: 500 ns}}
algorithm: {name: ring, order: rank}
size: 1 MiB
network: packet
)";
  const std::string torus = R"(
cluster: {fabric: {kind: torus, dimensions: [2, 2, 2], bandwidth: 50 GB/s, latency: 500 ns}}
collective: send_recv
algorithm: direct
size: 1 MiB
network: packet
routing: adaptive
)";
  const std::string link = "node0/gpu0 -> switch0";
  for (const std::string& yaml :
       {ring + "faults: [{link: " + link + ", bandwidth_factor: 1/3}, {link: " + link +
            ", at: 3 us, bandwidth: 50 GB/s}]\n",
        ring + "faults: [{link: " + link + ", at: 3 us, bandwidth_factor: 1/3}]\n", torus,
        torus + "faults: [{link: node0/gpu0 -> node1/gpu0, down: true, reroute: 2 us}]\n"}) {
    const Run run = run_text(yaml, {"--explain"});
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("where the time goes") != std::string::npos);
  }
}

TEST_CASE("An empty message does not cross a link that is down, and goes on when it is re-routed") {
  const std::string barrier = R"(
cluster: {nodes: 4, fabric: {kind: fat_tree, radix: 4, bandwidth: 10 GB/s, latency: 1 us}}
collective: barrier
algorithm: recursive_doubling
)";
  for (const std::string network : {"network: fluid\n", "network: packet\n"}) {
    CAPTURE(network);
    const Json failed =
        points_of(barrier + network + "faults: [{link: node0/gpu0 -> leaf0, down: true}]\n", 1)[0];
    CHECK(failed.at("status") == "failed");
  }
  const Json late = points_of(barrier + "faults: [{switch: spine0, down: true, reroute: 50 us}]\n")[0];
  CHECK(late.at("time_ps") > late.at("healthy_time_ps").get<std::int64_t>() + 40 * us);
}

TEST_CASE("The bottleneck is the link that is slow, by what it could carry during the run") {
  const Json point = points_of(two + "faults: [{link: node1/gpu0 -> switch0, bandwidth_factor: 0.5}]\n")[0];
  CHECK(point.at("time_ps") == 200 * us);
  CHECK(point.at("bottleneck").at("link") == "node1/gpu0 -> switch0");
  CHECK(point.at("bottleneck").at("utilization") == 1.0);
}

TEST_CASE("A failure after the aggregation went down is none of the fall-back") {
  const Json point = points_of(R"(
cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us, reduction: true}}
algorithm: sharp
size: 4 MB
faults:
  - {aggregation: true, at: 10 us, reroute: 5 us, fallback: ring}
  - {link: node0/gpu0 -> switch0, at: 100 us, bandwidth: 5 GB/s}
)")[0];
  CHECK(point.at("status") == "ok");
}

TEST_CASE("Faults of one cable add up, however it is named") {
  const Run run = run_text(two + R"(faults:
  - {link: node0/gpu0 <-> switch0, bandwidth_factor: 0.000001}
  - {link: switch0 -> node0/gpu0, bandwidth_factor: 0.000001}
  - {switch: switch0, bandwidth_factor: 0.000001}
)",
                           {"--set", "size=4 MB"});
  CHECK(run.exit_code == 65);
  CHECK(run.err.find("could take longer than simulated time reaches") != std::string::npos);
}

TEST_CASE("Packets: a tree has room for the latency that its links will have") {
  const std::string yaml = R"(
cluster: {nodes: 4, fabric: {kind: switch, bandwidth: 10 GB/s, latency: 1 us, reduction: true}}
algorithm: sharp
size: 4 MB
network: packet
)";
  const auto time = [&yaml](const std::string& at) {
    return points_of(yaml + "faults: [{switch: switch0, latency: 1 ms, at: " + at + "}]\n")[0]
        .at("time_ps")
        .get<std::int64_t>();
  };
  CHECK(time("10 us") <= time("0 us"));
  CHECK(time("10 us") > 1000 * us);
}

TEST_CASE("An override takes conditions out") {
  const std::string yaml = two + "faults: [{link: node1/gpu0 -> switch0, bandwidth_factor: 0.5}]\n";
  const Run run = run_text(yaml, {"--json", "-", "--set", "faults=[]"});
  CHECK(run.exit_code == 0);
  CHECK(Json::parse(run.out).at("points")[0].at("time_ps") == 100 * us);
}

TEST_CASE("A link that loses half of its bandwidth halfway: 50 us at 10 GB/s and 100 us at 5") {
  const Json point =
      points_of(two + "faults: [{link: node0/gpu0 -> switch0, at: 50 us, bandwidth_factor: 0.5}]\n")[0];
  CHECK(point.at("time_ps") == 150 * us);
  CHECK(point.at("healthy_time_ps") == 100 * us);
  REQUIRE(point.at("conditions").size() == 1);
  CHECK(point.at("conditions")[0].at("what") ==
        "node0/gpu0 -> switch0 at 50 % of its bandwidth from 50 us on");
  CHECK(point.at("conditions")[0].at("time_ps") == 150 * us);
  CHECK(point.at("conditions")[0].at("status") == "ok");
  CHECK(point.at("lower_bound_ps") == 100 * us);
}

TEST_CASE("Each condition is also run by itself, and the table says what it costs") {
  const std::string yaml = two +
                           "faults: [{link: node0/gpu0 -> switch0, bandwidth: 8 GB/s}]\n"
                           "skew: [{rank: 1, delay: 30 us}]\n"
                           "background: [{from: 0, to: 1, rate: 5 GB/s}]\n";
  const Json point = points_of(yaml)[0];
  const Json& conditions = point.at("conditions");
  REQUIRE(conditions.size() == 3);
  CHECK(conditions[0].at("time_ps") == 125 * us);
  CHECK(conditions[1].at("time_ps") == 130 * us);
  CHECK(conditions[2].at("time_ps") == 200 * us);
  CHECK(conditions[1].at("what") == "rank 1 late by 30 us");
  CHECK(conditions[2].at("what") == "background: 5 GB/s from rank 0 to rank 1");
  const Run run = run_text(yaml);
  CHECK(run.out.find("\n# cost of each condition against the healthy run\n#   direct, 1 MB ") !=
        std::string::npos);
  CHECK(run.out.find("\n#     node0/gpu0 -> switch0 at 8 GB/s from the start     125.00   +25.0 %\n") !=
        std::string::npos);
  CHECK(run.out.find("#     all of these") != std::string::npos);
}

TEST_CASE("A link that is down and not re-routed fails the run: exit 1, a reason, and the healthy time") {
  const std::string yaml = two + "faults: [{link: node0/gpu0 -> switch0, at: 50 us, down: true}]\n";
  const Json point = points_of(yaml, 1)[0];
  CHECK(point.at("status") == "failed");
  CHECK(point.at("reason").get<std::string>().find("node0/gpu0 -> switch0") != std::string::npos);
  CHECK(point.at("time_ps").is_null());
  CHECK(point.at("healthy_time_ps") == 100 * us);
  const Run run = run_text(yaml);
  CHECK(run.exit_code == 1);
  CHECK(run.out.find("failed") != std::string::npos);
}

TEST_CASE("A fault after the end costs nothing") {
  const Json point = points_of(two + "faults: [{link: node0/gpu0 -> switch0, at: 1 ms, down: true}]\n")[0];
  CHECK(point.at("time_ps") == 100 * us);
}

TEST_CASE("A link that is better than drawn leaves no bound") {
  const Json point = points_of(two +
                               "faults: [{link: node0/gpu0 <-> switch0, bandwidth: 20 GB/s},\n"
                               "         {link: node1/gpu0 <-> switch0, bandwidth: 20 GB/s}]\n")[0];
  CHECK(point.at("time_ps") == 50 * us);
  CHECK(point.at("lower_bound_ps").is_null());
  CHECK(point.at("optimality").is_null());
}

TEST_CASE("A failed aggregation tree: the fallback runs instead, from the start or from when it failed") {
  const Json healthy = points_of(four);
  const std::int64_t sharp = healthy[0].at("time_ps");
  const std::int64_t ring = healthy[1].at("time_ps");
  const Json from_start = points_of(four + "faults: [{aggregation: true, fallback: ring}]\n");
  CHECK(from_start[0].at("time_ps") == ring);
  CHECK(from_start[0].at("healthy_time_ps") == sharp);
  CHECK(from_start[0].at("warnings")[0] == "sharp: aggregation is down from the start; ring runs instead");
  CHECK(from_start[1].at("time_ps") == ring);
  const Json later =
      points_of(four + "faults: [{aggregation: true, at: 100 us, reroute: 7 us, fallback: ring}]\n");
  CHECK(later[0].at("time_ps") == 107 * us + ring);
  CHECK(later[1].at("time_ps") == ring);
  const Json too_late = points_of(four + "faults: [{aggregation: true, at: 1 s, fallback: ring}]\n");
  CHECK(too_late[0].at("time_ps") == sharp);
}

TEST_CASE("Without a fallback, or with one that aggregates too, the point has failed") {
  const Json none = points_of(four + "faults: [{aggregation: true, down: true}]\n", 1);
  CHECK(none[0].at("status") == "failed");
  CHECK(none[0].at("reason") == "aggregation is down from the start, and there is no fallback");
  CHECK(none[1].at("status") == "ok");
  const Json other = points_of(four + "faults: [{aggregation: true, fallback: collnet_chain}]\n", 1);
  CHECK(other[0].at("status") == "failed");
}

TEST_CASE("Names that do not exist, and a fabric that falls apart, are said at their place") {
  const auto check = [](const std::string& faults, const std::string& start) {
    const Run run = run_text(two + "faults: [" + faults + "]\n");
    CHECK(run.exit_code == 65);
    CHECK(run.out.empty());
    CAPTURE(run.err);
    CHECK(run.err.rfind(start, 0) == 0);
  };
  check("{link: node0/gpu0 -> switch7, down: true}", "x.yaml:6:17: error: faults[0].link: ");
  check("{link: node0/gpu0 -> switch0, bandwidth: 1 GB/s}, {switch: leaf9, down: true}",
        "x.yaml:6:69: error: faults[1].switch: ");
  check("{nic: node0/nic3, down: true}", "x.yaml:6:16: error: faults[0].nic: ");
  check("{link: node0/gpu0 -> switch0, down: true, reroute: 0 s}", "x.yaml:6:17: error: faults[0].link: ");
  check("{rank: 2, speed: 1/2}", "x.yaml:6:17: error: faults[0].rank: ");
  check("{aggregation: true, fallback: auto}", "x.yaml:6:40: error: faults[0].fallback: auto chooses");
}

TEST_SUITE_END();

}  // namespace collsim
