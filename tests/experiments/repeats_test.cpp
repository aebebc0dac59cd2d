#include "experiments/repeats.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace collsim::program {

TEST_SUITE_BEGIN("experiments");

namespace {

Point point_of(std::int64_t time, std::int64_t healthy) {
  Point point;
  point.time = Duration::picoseconds(time);
  point.healthy_time = Duration::picoseconds(healthy);
  point.fault_costs = {{"a", PointStatus::ok, "", Duration::picoseconds(time + 1)}};
  point.messages = time;
  return point;
}

}  // namespace

TEST_CASE("Quantiles are by nearest rank, and the point is that of the median run") {
  std::vector<std::vector<Point>> runs;
  for (std::int64_t i = 0; i < 100; ++i) runs.push_back({point_of((i * 37) % 100 + 1, 1000 - i)});
  const Point point = over_seeds(runs, 7)[0];
  const auto ps = [](std::int64_t count) { return Duration::picoseconds(count); };
  REQUIRE(point.repeats.has_value());
  CHECK(point.repeats->count == 100);
  CHECK(point.repeats->minimum == ps(1));
  CHECK(point.repeats->percentile_5 == ps(5));
  CHECK(point.repeats->median == ps(50));
  CHECK(point.repeats->percentile_95 == ps(95));
  CHECK(point.repeats->maximum == ps(100));
  CHECK(point.time == ps(50));
  CHECK(point.messages == 50);
  CHECK(runs[point.repeats->median_seed - 7][0].time == ps(50));
  CHECK(point.healthy_time == ps(950));
  CHECK(point.fault_costs[0].time == ps(51));
}

TEST_CASE("Of three runs the second is the median, the first the 5th and the third the 95th percentile") {
  const Point point = over_seeds({{point_of(30, 1)}, {point_of(10, 1)}, {point_of(20, 1)}}, 1)[0];
  CHECK(point.repeats->percentile_5 == Duration::picoseconds(10));
  CHECK(point.repeats->median == Duration::picoseconds(20));
  CHECK(point.repeats->median_seed == 3);
  CHECK(point.repeats->percentile_95 == Duration::picoseconds(30));
}

TEST_CASE("One seed that fails makes the point fail, and is named") {
  Point bad = point_of(5, 5);
  bad.time.reset();
  bad.status = PointStatus::failed;
  bad.reason = "a link is down";
  const Point point = over_seeds({{point_of(3, 3)}, {bad}}, 4)[0];
  CHECK(point.status == PointStatus::failed);
  CHECK(point.reason == "with seed 5: a link is down");
  CHECK(!point.time);
  CHECK(point.repeats->count == 2);
}

TEST_SUITE_END();

}  // namespace collsim::program
