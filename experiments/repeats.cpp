#include "experiments/repeats.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/core/check.hpp"

namespace collsim::program {

namespace {

// The smallest of the sorted values that at least `percent` of all do not exceed.
std::size_t nearest_rank(std::size_t count, std::size_t percent) {
  return std::max<std::size_t>(1, (count * percent + 99) / 100) - 1;
}

// By `time` of each run; nothing where one has none.
std::optional<Duration> median(const std::vector<const Point*>& runs,
                               const std::function<std::optional<Duration>(const Point&)>& time) {
  std::vector<Duration> times;
  for (const Point* run : runs) {
    const std::optional<Duration> each = time(*run);
    if (!each) return std::nullopt;
    times.push_back(*each);
  }
  std::sort(times.begin(), times.end());
  return times[nearest_rank(times.size(), 50)];
}

Repeats repeats_of(const std::vector<std::size_t>& order, const std::vector<const Point*>& runs,
                   std::uint64_t first_seed) {
  const auto at = [&](std::size_t percent) { return order[nearest_rank(order.size(), percent)]; };
  const auto time = [&](std::size_t run) { return *runs[run]->time; };
  return {static_cast<std::int32_t>(runs.size()),
          time(order.front()),
          time(at(5)),
          time(at(50)),
          time(at(95)),
          time(order.back()),
          first_seed + at(50)};
}

void take_costs(Point& point, const std::vector<const Point*>& runs) {
  if (point.healthy_time)
    point.healthy_time = median(runs, [](const Point& run) { return run.healthy_time; });
  for (std::size_t i = 0; i < point.fault_costs.size(); ++i) {
    FaultCost& cost = point.fault_costs[i];
    cost.time = median(runs, [i](const Point& run) { return run.fault_costs[i].time; });
    for (const Point* run : runs) {
      if (cost.time || run->fault_costs[i].status == PointStatus::ok) continue;
      cost = run->fault_costs[i];
      break;
    }
  }
  if (point.job)
    point.job->alone = median(runs, [](const Point& run) { return run.job ? run.job->alone : std::nullopt; });
}

Point over_seeds(const std::vector<const Point*>& runs, std::uint64_t first_seed) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (runs[run]->status == PointStatus::ok) continue;
    Point point = *runs[run];
    point.repeats.emplace();
    point.repeats->count = static_cast<std::int32_t>(runs.size());
    if (run > 0) point.reason = "with seed " + std::to_string(first_seed + run) + ": " + point.reason;
    return point;
  }
  std::vector<std::size_t> order(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) order[run] = run;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return *runs[a]->time < *runs[b]->time; });
  Point point = *runs[order[nearest_rank(order.size(), 50)]];
  point.repeats = repeats_of(order, runs, first_seed);
  take_costs(point, runs);
  return point;
}

}  // namespace

std::vector<Point> over_seeds(const std::vector<std::vector<Point>>& runs, std::uint64_t first_seed) {
  COLLSIM_CHECK(!runs.empty());
  std::vector<Point> points;
  for (std::size_t i = 0; i < runs.front().size(); ++i) {
    std::vector<const Point*> same;
    for (const std::vector<Point>& run : runs) same.push_back(&run[i]);
    points.push_back(over_seeds(same, first_seed));
  }
  return points;
}

}  // namespace collsim::program
