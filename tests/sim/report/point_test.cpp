#include "sim/report/point.hpp"

#include <doctest/doctest.h>

#include "sim/core/check.hpp"
#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

bool equal(const std::optional<Ratio>& ratio, Int128 numerator, Int128 denominator) {
  return ratio && ratio->numerator * denominator == numerator * ratio->denominator;
}

RunResult cable_result() {
  RunResult result;
  result.time = Duration::microseconds(2);
  result.messages = 2;
  result.events = 4;
  result.fingerprint = 77;
  result.method = RunMethod{true, 6, 3};
  result.link_bytes = {Bytes(500), Bytes(1000)};
  return result;
}

}  // namespace

TEST_CASE("Point bandwidths are those of nccl-tests") {
  const Point point = ring_point();
  // algbw = 8 MiB / 160.80064 us; busbw = algbw * 2 * 7 / 8.
  CHECK(equal(algorithm_bandwidth_gb(point), Int128{8388608} * 1000, 160'800'640));
  CHECK(equal(bus_bandwidth_gb(point), Int128{8388608} * 1000 * 7, Int128{160'800'640} * 4));
  CHECK(equal(optimality(point), 146'800'640, 160'800'640));
  // The links are busy all the time but for the 14 latencies of 1 us.
  CHECK(equal(utilization(point, *point.bottleneck), 146'800'640, 160'800'640));
}

TEST_CASE("Point of one rank without launch takes no time and has no bandwidth") {
  Point point = ring_point();
  point.ranks = 1;
  point.time = Duration();
  point.bound = {Duration(), "latency"};
  CHECK(!algorithm_bandwidth_gb(point));
  CHECK(!bus_bandwidth_gb(point));
  CHECK(equal(optimality(point), 1, 1));
  point.time = Duration::microseconds(1);
  CHECK(equal(bus_bandwidth_gb(point), 0, 1));
  CHECK(equal(optimality(point), 0, 1));
}

TEST_CASE("Point figures are absent where there is no time") {
  const Point point = impossible_point(Bytes(8));
  CHECK(!algorithm_bandwidth_gb(point));
  CHECK(!bus_bandwidth_gb(point));
  CHECK(!optimality(point));
}

TEST_CASE("take_result finds the busiest link and keeps all links only on request") {
  const Topology topology = cable_topology();
  Point point;
  take_result(point, topology, cable_result(), false);
  CHECK(point.status == PointStatus::ok);
  CHECK(point.time == Duration::microseconds(2));
  CHECK(point.messages == 2);
  CHECK(point.events == 4);
  CHECK(point.fingerprint == 77U);
  REQUIRE(point.method);
  CHECK(point.method->sweeps);
  CHECK(point.method->streams == 6);
  CHECK(point.method->classes == 3);
  REQUIRE(point.bottleneck);
  CHECK(point.bottleneck->name == "node1/gpu0 -> node0/gpu0");
  CHECK(equal(utilization(point, *point.bottleneck), 1, 2));
  CHECK(!point.links);

  Point detailed;
  take_result(detailed, topology, cable_result(), true);
  REQUIRE(detailed.links);
  REQUIRE(detailed.links->size() == 2);
  CHECK(detailed.links->front().name == "node0/gpu0 -> node1/gpu0");
  CHECK(detailed.links->front().bytes == Bytes(500));
}

TEST_CASE("take_result names the lowest link at ties, and none where nothing was sent") {
  RunResult result = cable_result();
  result.link_bytes = {Bytes(1000), Bytes(1000)};
  Point tie;
  take_result(tie, cable_topology(), result, false);
  REQUIRE(tie.bottleneck);
  CHECK(tie.bottleneck->name == "node0/gpu0 -> node1/gpu0");
  result.link_bytes = {Bytes(0), Bytes(0)};
  Point idle;
  take_result(idle, cable_topology(), result, false);
  CHECK(!idle.bottleneck);
}

TEST_CASE("take_result turns a deadlock into a status, a reason and the streams that wait") {
  RunResult result = cable_result();
  result.status = RunStatus::deadlock;
  result.blocked = {{0, 1, 0, 3, "a free slot to rank 0"}};
  Point point;
  take_result(point, cable_topology(), result, true);
  CHECK(point.status == PointStatus::deadlock);
  CHECK(point.reason == "1 stream waits for ever");
  CHECK(!point.time);
  CHECK(!point.links);
  REQUIRE(point.blocked.size() == 1);
  CHECK(point.blocked.front().waits_for == "a free slot to rank 0");
}

TEST_CASE("take_result says after how many events a limit stopped the run") {
  RunResult result = cable_result();
  result.status = RunStatus::limit;
  Point point;
  take_result(point, cable_topology(), result, false);
  CHECK(point.status == PointStatus::limit);
  CHECK(point.reason == "stopped after 4 events");
  CHECK(!point.time);
  CHECK(point.messages == 2);
}

TEST_CASE("check_bound lets a point meet its bound, with its launch on top, and never beat it") {
  Point point = ring_point();
  const Duration launch = Duration::microseconds(1);
  point.time = point.bound.time + launch;
  CHECK_NOTHROW(check_bound(point, launch));
  CHECK_NOTHROW(check_bound(point, Duration()));
  point.time = point.bound.time + launch - Duration::picoseconds(1);
  CHECK_THROWS_AS(check_bound(point, launch), InternalError);
  CHECK_NOTHROW(check_bound(impossible_point(Bytes(8)), launch));
}

TEST_CASE("take_result refuses a result of another topology") {
  RunResult result = cable_result();
  result.link_bytes.emplace_back(1);
  Point point;
  CHECK_THROWS_AS(take_result(point, cable_topology(), result, false), InternalError);
}

TEST_SUITE_END();

}  // namespace collsim
