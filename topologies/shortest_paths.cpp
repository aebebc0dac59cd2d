#include "topologies/shortest_paths.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/core/check.hpp"
#include "topologies/alternatives.hpp"

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

std::uint32_t ShortestPaths::next_step(Cable first, std::int32_t point, std::int64_t target,
                                       std::int32_t left, const Flow& flow) const {
  const std::uint32_t begin = start_[static_cast<std::size_t>(point)];
  const std::uint32_t end = start_[static_cast<std::size_t>(point) + 1];
  const bool is_ecmp = choice_.is_ecmp();
  const auto is_way = [&](std::uint32_t s) {
    const bool is_new = is_ecmp || s == begin || steps_[s].point != steps_[s - 1].point;
    return is_new && leads_closer(s, target, left);
  };
  std::int64_t ways = 0;
  for (std::uint32_t s = begin; s < end; ++s) ways += is_way(s);
  std::int64_t drawn = choice_.by_hash(flow, {2 * left, first + point}, ways);
  std::uint32_t s = begin;
  while (!is_way(s) || drawn-- > 0) ++s;
  if (is_ecmp) return s;
  std::uint32_t parallel = 1;
  while (s + parallel < end && steps_[s + parallel].point == steps_[s].point) ++parallel;
  return s + static_cast<std::uint32_t>(choice_.by_channel(flow, {2 * left + 1, first + point}, parallel));
}

void ShortestPaths::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                          std::vector<LinkId>& links) const {
  auto point = static_cast<std::int32_t>(source);
  for (std::int32_t left = distance(source, target); left > 0; --left) {
    const Step& step = steps_[next_step(first, point, target, left, flow)];
    links.push_back(step.plus ? forward(first + step.cable) : backward(first + step.cable));
    point = step.point;
  }
}

std::vector<std::int64_t> ShortestPaths::count_paths(std::int64_t source, std::int64_t target) const {
  std::vector<std::int64_t> paths(static_cast<std::size_t>(points_), 0);
  std::vector<bool> is_found(static_cast<std::size_t>(points_), false);
  std::vector<std::int32_t> found = {static_cast<std::int32_t>(source)};  // nearest to the source first
  const auto for_each_way = [&](std::int32_t point, auto&& use) {
    const std::int32_t left = distance(point, target);
    for (std::uint32_t s = start_[static_cast<std::size_t>(point)];
         s < start_[static_cast<std::size_t>(point) + 1]; ++s)
      if (leads_closer(s, target, left)) use(steps_[s].point);
  };
  for (std::size_t i = 0; i < found.size(); ++i)
    for_each_way(found[i], [&](std::int32_t next) {
      if (is_found[static_cast<std::size_t>(next)]) return;
      is_found[static_cast<std::size_t>(next)] = true;
      found.push_back(next);
    });
  paths[static_cast<std::size_t>(target)] = 1;
  for (std::size_t i = found.size(); i-- > 0;) {
    std::int64_t& count = paths[static_cast<std::size_t>(found[i])];
    for_each_way(found[i], [&](std::int32_t next) {
      count = std::min(count + paths[static_cast<std::size_t>(next)], alternatives_max);
    });
  }
  return paths;
}

std::int32_t ShortestPaths::route_count(std::int64_t source, std::int64_t target) const {
  if (!choice_.is_spread()) return 1;
  return choice_.paths(count_paths(source, target)[static_cast<std::size_t>(source)]);
}

void ShortestPaths::numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                                   std::int32_t number, std::vector<LinkId>& links) const {
  if (number == 0) return route(first, source, target, flow, links);
  const std::vector<std::int64_t> paths = count_paths(source, target);
  // Paths in order of their first steps, those that begin as route() does first; and so on at every point.
  std::int64_t before = spread_number(number, paths[static_cast<std::size_t>(source)]);
  auto point = static_cast<std::int32_t>(source);
  for (std::int32_t left = distance(source, target); left > 0; --left) {
    const std::uint32_t begin = start_[static_cast<std::size_t>(point)];
    const std::uint32_t end = start_[static_cast<std::size_t>(point) + 1];
    const auto paths_over = [&](std::uint32_t s) {
      return leads_closer(s, target, left) ? paths[static_cast<std::size_t>(steps_[s].point)] : 0;
    };
    std::uint32_t s = next_step(first, point, target, left, flow);
    while (paths_over(s) <= before) {
      before -= paths_over(s);
      s = s + 1 == end ? begin : s + 1;
    }
    const Step& step = steps_[s];
    links.push_back(step.plus ? forward(first + step.cable) : backward(first + step.cable));
    point = step.point;
  }
}

}  // namespace collsim::topologies
