// simulate_points(): long points, memory, and that a point does not depend on what ran before it.
#include "experiments/pipeline.hpp"

#include <doctest/doctest.h>

#include <new>
#include <string>
#include <variant>
#include <vector>

#include "experiments/forecast.hpp"
#include "experiments/workplan.hpp"
#include "sim/core/check.hpp"
#include "topologies/build.hpp"

namespace collsim::program {

TEST_SUITE_BEGIN("experiments");

namespace {

AlgorithmRequest request(const std::string& name, std::int32_t slices) {
  AlgorithmRequest result;
  result.name = name;
  result.options.slices = slices;
  return result;
}

// 2 nodes of 8 GPUs, NICs that all share.
Experiment experiment_of(std::vector<AlgorithmRequest> algorithms, std::vector<Bytes> sizes) {
  Experiment experiment;
  NodeSpec& node = experiment.cluster.node;
  experiment.cluster.nodes = 2;
  node.gpus = 8;
  node.interconnect.kind = InterconnectKind::nvswitch;
  node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(100);
  node.nics.count = 2;
  node.nics.bandwidth = Bandwidth::gigabytes_per_second(25);
  experiment.cluster.fabric.kind = FabricKind::single_switch;
  experiment.cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(25);
  experiment.cluster.fabric.latency = Duration::microseconds(1);
  experiment.algorithms = std::move(algorithms);
  experiment.sizes = std::move(sizes);
  return experiment;
}

std::vector<Point> points_of(const Experiment& experiment, const PipelineOptions& options) {
  const auto built = topologies::build(experiment.cluster);
  ScheduleCache schedules;
  return simulate_points(experiment, std::get<Topology>(built), schedules, options);
}

constexpr std::int64_t mebibyte = 1 << 20;

}  // namespace

TEST_CASE("A point that would take too long is not run, says why, and the others still run") {
  // 2 channels * 1024 slices * 2 * 24 * 23 messages, one event after the other, are more than a second.
  Experiment experiment = experiment_of({request("ring", 1024), request("ring", 1)}, {Bytes(64 * mebibyte)});
  experiment.cluster.nodes = 3;
  PipelineOptions options;
  options.shortcuts = Shortcuts::plain;
  options.refused_seconds = 0;
  std::vector<std::string> lines;
  options.announce = [&](const std::string& line) { lines.push_back(line); };
  const std::vector<Point> points = points_of(experiment, options);
  REQUIRE(points.size() == 2);
  CHECK(points[0].status == PointStatus::limit);
  CHECK(points[0].reason ==
        "it would take about 1 s (2,260,992 messages, 96 streams, events); --allow-long runs it");
  CHECK(!points[0].time);
  CHECK(!points[0].method);
  CHECK(points[0].proven);
  CHECK(points[1].status == PointStatus::ok);
  CHECK(lines.empty());
}

TEST_CASE("A point that takes some time is announced before it runs, also one that is allowed to be long") {
  const Experiment experiment = experiment_of({request("ring", 1)}, {Bytes(3 * mebibyte)});
  PipelineOptions options;
  options.shortcuts = Shortcuts::plain;
  options.announced_seconds = -1;
  std::vector<std::string> lines;
  options.announce = [&](const std::string& line) { lines.push_back(line); };
  for (const bool long_one : {false, true}) {
    CAPTURE(long_one);
    lines.clear();
    options.refused_seconds = long_one ? -1 : 0;
    options.allow_long = long_one;
    CHECK(points_of(experiment, options)[0].status == PointStatus::ok);
    CHECK(lines == std::vector<std::string>{"ring, 3 MiB: about 0 s (960 messages, 64 streams, events)\n"});
  }
  options.announce = nullptr;
  CHECK(points_of(experiment, options)[0].status == PointStatus::ok);
}

TEST_CASE("A point that runs out of memory has status limit, and the others still run") {
  const Experiment experiment = experiment_of({request("ring", 1)}, {Bytes(mebibyte), Bytes(2 * mebibyte)});
  PipelineOptions options;
  options.announced_seconds = -1;
  options.announce = [](const std::string& line) {
    if (line.rfind("ring, 1 MiB", 0) == 0) throw std::bad_alloc();
  };
  const std::vector<Point> points = points_of(experiment, options);
  CHECK(points[0].status == PointStatus::limit);
  CHECK(points[0].reason == "out of memory");
  CHECK(!points[0].time);
  CHECK(points[1].status == PointStatus::ok);
}

TEST_CASE("A point does not depend on the points before it, nor on threads") {
  const std::vector<Bytes> sizes = {Bytes(64 * mebibyte), Bytes(100), Bytes(mebibyte), Bytes(4),
                                    Bytes(999'996)};
  std::vector<AlgorithmRequest> algorithms(3);
  algorithms[0].name = "ring";
  algorithms[1].name = "double_binary_tree";
  algorithms[2].name = "two_shot";
  const Experiment experiment = experiment_of(algorithms, sizes);
  PipelineOptions options;
  options.links = true;
  for (const std::size_t threads : {1U, 2U, 7U}) {
    options.threads = threads;
    const std::vector<Point> points = points_of(experiment, options);
    REQUIRE(points.size() == 15);
    for (std::size_t i = 0; i < points.size(); ++i) {
      CAPTURE(threads);
      CAPTURE(i);
      options.threads = 1;
      const Point alone = points_of(experiment_of({algorithms[i / 5]}, {sizes[i % 5]}), options)[0];
      CHECK(points[i].algorithm == alone.algorithm);
      CHECK(points[i].status == PointStatus::ok);
      CHECK(points[i].time == alone.time);
      CHECK(points[i].messages == alone.messages);
      CHECK(points[i].fingerprint == alone.fingerprint);
      REQUIRE(points[i].links->size() == alone.links->size());
      for (std::size_t link = 0; link < alone.links->size(); ++link)
        CHECK((*points[i].links)[link].bytes == (*alone.links)[link].bytes);
    }
  }
}

TEST_CASE("A point whose proof would cost too much says so at once") {
  AlgorithmRequest one_shot;
  one_shot.name = "one_shot";
  Experiment experiment = experiment_of({one_shot}, {Bytes(mebibyte)});
  experiment.cluster.nodes = 4096;
  const std::vector<Point> points = points_of(experiment, PipelineOptions());
  CHECK(points[0].status == PointStatus::unproven);
  CHECK(points[0].reason ==
        "there is no proof: executing all cells of 1073741824 streams is beyond what a proof attempts");
  CHECK(!points[0].time);
}

TEST_CASE("WorkPlan keeps one Simulator with its algorithm, and begins all before it makes a second") {
  const Experiment experiment = experiment_of({}, {});
  const Topology topology = std::get<Topology>(topologies::build(experiment.cluster));
  WorkPlan plan(topology, 2, 3);
  const Simulator* first = nullptr;
  {
    WorkPlan::Task task(plan);
    CHECK(task.algorithm() == 0);
    CHECK(task.size() == 0);
    first = &task.simulator();
  }
  WorkPlan::Task second(plan);
  CHECK(second.algorithm() == 0);
  CHECK(second.size() == 1);
  CHECK(&second.simulator() == first);
  WorkPlan::Task third(plan);
  CHECK(third.algorithm() == 1);
  CHECK(third.size() == 0);
  WorkPlan::Task fourth(plan);
  CHECK(fourth.algorithm() == 1);
  CHECK(fourth.size() == 1);
  CHECK(&fourth.simulator() != &third.simulator());
  WorkPlan::Task fifth(plan);
  CHECK(fifth.algorithm() == 0);
  CHECK(fifth.size() == 2);
  WorkPlan::Task sixth(plan);
  CHECK(sixth.algorithm() == 1);
  CHECK(sixth.size() == 2);
  CHECK_THROWS_AS(WorkPlan::Task{plan}, InternalError);
}

TEST_CASE("Forecasts are in the largest unit of which there are two, with grouped digits") {
  CHECK(rough_time_text(0) == "0 s");
  CHECK(rough_time_text(119) == "119 s");
  CHECK(rough_time_text(120) == "2 min");
  CHECK(rough_time_text(7199) == "120 min");
  CHECK(rough_time_text(7200) == "2 h");
  CHECK(rough_time_text(9000) == "3 h");
  CHECK(rough_time_text(172'800) == "2 days");
  CHECK(rough_time_text(172'800'000) == "2,000 days");
  CHECK(grouped_text(0) == "0");
  CHECK(grouped_text(999) == "999");
  CHECK(grouped_text(1000) == "1,000");
  CHECK(grouped_text(34'359'476'224) == "34,359,476,224");
  CHECK(grouped_text(-123'456) == "-123,456");
  Estimate estimate;
  estimate.method = {true, 262'144, 8'192};
  estimate.messages = 34'359'476'224;
  estimate.seconds = 45;
  CHECK(notice_text("ring", Bytes(1 << 30), estimate) ==
        "ring, 1 GiB: about 45 s (34,359,476,224 messages, 8,192 of 262,144 streams, sweeps)\n");
}

TEST_SUITE_END();

}  // namespace collsim::program
