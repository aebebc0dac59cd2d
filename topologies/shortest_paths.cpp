#include "topologies/shortest_paths.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {

ShortestPaths::ShortestPaths(std::int32_t points, std::vector<CableEnds> cables, const Choice& choice)
    : points_(points), cables_(std::move(cables)), choice_(choice) {
  COLLSIM_CHECK(points >= 1 && points <= 1 << 15);
  std::vector<std::pair<std::int32_t, Step>> sorted;  // by the point that a step leaves
  for (std::size_t i = 0; i < cables_.size(); ++i) {
    const auto [a, b] = cables_[i];
    sorted.push_back({a, {b, static_cast<std::int32_t>(i), true}});
    sorted.push_back({b, {a, static_cast<std::int32_t>(i), false}});
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& x, const auto& y) {
    return std::tie(x.first, x.second.point, x.second.cable) <
           std::tie(y.first, y.second.point, y.second.cable);
  });
  start_.assign(static_cast<std::size_t>(points) + 1, 0);
  for (const auto& [point, step] : sorted) {
    ++start_[static_cast<std::size_t>(point) + 1];
    steps_.push_back(step);
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(points); ++i) start_[i + 1] += start_[i];
  const auto side = static_cast<std::size_t>(points);
  distance_.assign(side * side, -1);
  for (std::int32_t source = 0; source < points; ++source) search(source);
}

void ShortestPaths::search(std::int32_t source) {
  std::int16_t* const row = distance_.data() + static_cast<std::ptrdiff_t>(source) * points_;
  std::vector<std::int32_t> reached = {source};
  row[source] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto point = static_cast<std::size_t>(reached[i]);
    for (std::uint32_t s = start_[point]; s < start_[point + 1]; ++s) {
      const std::int32_t next = steps_[s].point;
      if (row[next] >= 0) continue;
      row[next] = static_cast<std::int16_t>(row[point] + 1);
      reached.push_back(next);
    }
  }
}

std::int32_t ShortestPaths::distance(std::int64_t source, std::int64_t target) const {
  return distance_[static_cast<std::size_t>(source * points_ + target)];
}

void ShortestPaths::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                          std::vector<LinkId>& links) const {
  auto point = static_cast<std::int32_t>(source);
  for (std::int32_t left = distance(source, target); left > 0; --left) {
    const std::uint32_t begin = start_[static_cast<std::size_t>(point)];
    const std::uint32_t end = start_[static_cast<std::size_t>(point) + 1];
    const auto leads_closer = [&](std::uint32_t s) { return distance(steps_[s].point, target) == left - 1; };
    const auto is_new = [&](std::uint32_t s) { return s == begin || steps_[s].point != steps_[s - 1].point; };
    std::int64_t neighbours = 0;
    for (std::uint32_t s = begin; s < end; ++s) neighbours += leads_closer(s) && is_new(s);
    std::int64_t drawn = choice_.by_hash(flow, 2 * left, neighbours);
    std::uint32_t s = begin;
    while (!leads_closer(s) || !is_new(s) || drawn-- > 0) ++s;
    std::int64_t parallel = 1;
    while (s + parallel < end && steps_[s + static_cast<std::uint32_t>(parallel)].point == steps_[s].point)
      ++parallel;
    const Step& step =
        steps_[s + static_cast<std::uint32_t>(choice_.by_channel(flow, 2 * left + 1, parallel))];
    links.push_back(step.plus ? forward(first + step.cable) : backward(first + step.cable));
    point = step.point;
  }
}

}  // namespace collsim::topologies
