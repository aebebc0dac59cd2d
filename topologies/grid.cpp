#include "topologies/grid.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/check.hpp"
#include "topologies/valiant.hpp"

namespace collsim::topologies {
namespace {

std::string dimension_name(std::size_t k) {
  constexpr std::array<const char*, 3> letters = {"x", "y", "z"};
  return k < letters.size() ? letters[k] : "dimension " + std::to_string(k + 1);
}

}  // namespace

Grid::Grid(std::vector<std::int32_t> sides, GridKind kind, const Choice& choice) : choice_(choice) {
  for (const std::int32_t side : sides) {
    COLLSIM_CHECK(side >= 1);
    const bool closes = kind == GridKind::torus && side > 2;
    dimensions_.push_back({side, points_, closes ? side : side - 1, 0});
    points_ *= side;
  }
  Cable first = 0;
  for (Dimension& dimension : dimensions_) {
    dimension.first = first;
    first += points_ / dimension.side * dimension.cables;
  }
}

void Grid::lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const {
  for (const Dimension& dimension : dimensions_) {
    const std::int64_t block = dimension.stride * dimension.side;
    for (std::int64_t start = 0; start < points_; start += block)
      for (std::int64_t offset = 0; offset < dimension.cables * dimension.stride; ++offset) {
        const std::int64_t next = (offset + dimension.stride) % block;
        wiring.add_cable(after(first_point, start + offset), after(first_point, start + next), cable);
      }
  }
}

std::int64_t Grid::steps(const Dimension& dimension, std::int64_t a, std::int64_t b) {
  const std::int64_t distance = b - a;
  if (!dimension.wraps()) return distance;
  const std::int64_t plus = distance < 0 ? distance + dimension.side : distance;
  return 2 * plus <= dimension.side ? plus : plus - dimension.side;
}

bool Grid::tied(const Dimension& dimension, std::int64_t step_count) {
  return dimension.wraps() && 2 * step_count == dimension.side;
}

std::vector<Grid::Leg> Grid::legs(std::int64_t source, std::int64_t target) const {
  std::vector<Leg> result;
  for (std::size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& dimension = dimensions_[k];
    const std::int64_t count = steps(dimension, source / dimension.stride % dimension.side,
                                     target / dimension.stride % dimension.side);
    if (count != 0) result.push_back({k, count});
  }
  return result;
}

Hop Grid::step(Cable first, const Dimension& dimension, std::int64_t point, bool plus) const {
  const std::int64_t block = dimension.stride * dimension.side;
  const std::int64_t start = point / block * block;
  const std::int64_t move = plus ? dimension.stride : block - dimension.stride;
  const std::int64_t reached = start + (point - start + move) % block;
  // A cable is numbered by the point from which it leads in the + direction.
  const std::int64_t owner = plus ? point : reached;
  const Cable cable = first + dimension.first + start / dimension.side * dimension.cables + (owner - start);
  return {plus ? forward(cable) : backward(cable), reached};
}

template <class Take>
std::int64_t Grid::walk(Cable first, const Leg& leg, std::int64_t point, Take&& take) const {
  for (std::int64_t left = leg.count < 0 ? -leg.count : leg.count; left > 0; --left) {
    const Hop hop = step(first, dimensions_[leg.dimension], point, leg.count > 0);
    take(hop);
    point = hop.point;
  }
  return point;
}

void Grid::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                 std::vector<LinkId>& links) const {
  if (choice_.is_ecmp()) return route_by_ecmp(first, source, target, flow, links);
  if (choice_.is_valiant()) return route_by_valiant(first, source, target, flow, links);
  numbered_route(first, source, target, flow, 0, links);
}

Alternatives Grid::alternatives(const std::vector<Leg>& legs) const {
  std::vector<std::int64_t> ways;
  for (std::size_t left = legs.size(); left > 0; --left) ways.push_back(static_cast<std::int64_t>(left));
  for (const Leg& leg : legs)
    if (tied(dimensions_[leg.dimension], leg.count)) ways.push_back(2);
  return Alternatives(std::move(ways));
}

std::int32_t Grid::route_count(std::int64_t source, std::int64_t target) const {
  return choice_.is_spread() ? choice_.paths(alternatives(legs(source, target)).count()) : 1;
}

void Grid::numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                          std::int32_t number, std::vector<LinkId>& links) const {
  if (choice_.is_ecmp() || choice_.is_valiant()) return route(first, source, target, flow, links);
  std::vector<Leg> left = legs(source, target);
  if (number > 0) {
    const std::vector<std::int64_t> ways = alternatives(left).decisions(number);
    std::size_t tie = left.size();
    for (Leg& leg : left)
      if (tied(dimensions_[leg.dimension], leg.count) && ways[tie++] == 1) leg.count = -leg.count;
    for (std::size_t k = 0; k + 1 < left.size(); ++k) {
      const auto from = left.begin() + static_cast<std::ptrdiff_t>(k);
      std::rotate(from, from + ways[k], from + ways[k] + 1);
    }
  }
  std::int64_t point = source;
  for (const Leg& leg : left)
    point = walk(first, leg, point, [&](const Hop& hop) { links.push_back(hop.link); });
}

void Grid::route_by_ecmp(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                         std::vector<LinkId>& links) const {
  std::int64_t point = source;
  for (std::int64_t decision = 0; point != target; ++decision) {
    std::vector<Leg> ways;  // of each the first step
    for (const Leg& leg : legs(point, target)) {
      ways.push_back(leg);
      if (tied(dimensions_[leg.dimension], leg.count)) ways.push_back({leg.dimension, -leg.count});
    }
    const std::int64_t drawn =
        choice_.by_hash(flow, {decision, first + point}, static_cast<std::int64_t>(ways.size()));
    const Leg& way = ways[static_cast<std::size_t>(drawn)];
    const Hop hop = step(first, dimensions_[way.dimension], point, way.count > 0);
    links.push_back(hop.link);
    point = hop.point;
  }
}

void Grid::route_by_valiant(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                            std::vector<LinkId>& links) const {
  const std::int64_t middle = choice_.by_hash(flow, {valiant_step, 0}, points_);
  std::vector<Hop> hops;
  std::int64_t point = source;
  for (const std::int64_t end : {middle, target})
    for (const Leg& leg : legs(point, end))
      point = walk(first, leg, point, [&](const Hop& hop) { hops.push_back(hop); });
  append_without_loops(source, hops, links);
}

Duration Grid::latency_max(const CableSpec& cable, std::int64_t used) const {
  COLLSIM_CHECK(used == points_);
  return cable.latency * diameter();
}

std::vector<PointGroups> Grid::groups() const {
  std::vector<PointGroups> result;
  const std::size_t tightest = tightest_dimension();
  for (std::size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& dimension = dimensions_[k];
    if (dimension.side < 2) continue;
    PointGroups planes{dimension_name(k) + " planes", {}};
    PointGroups halves{k == tightest ? "bisection" : dimension_name(k) + " bisection", {}};
    for (std::int64_t point = 0; point < points_; ++point) {
      const std::int64_t plane = point / dimension.stride % dimension.side;
      planes.group.push_back(static_cast<std::int32_t>(plane));
      halves.group.push_back(2 * plane < dimension.side - dimension.side % 2 ? 0 : 1);
    }
    // Planes of one point are the nodes, which have a cut of their own.
    if (dimension.side < points_) result.push_back(std::move(planes));
    result.push_back(std::move(halves));
  }
  return result;
}

// The dimension whose halves are joined by the fewest cables; the first of equals.
std::size_t Grid::tightest_dimension() const {
  std::size_t tightest = 0;
  std::int64_t fewest = points_ * 2;
  for (std::size_t k = 0; k < dimensions_.size(); ++k) {
    const Dimension& dimension = dimensions_[k];
    const std::int64_t cables = points_ / dimension.side * (dimension.wraps() ? 2 : 1);
    if (dimension.side < 2 || cables >= fewest) continue;
    tightest = k;
    fewest = cables;
  }
  return tightest;
}

std::int64_t Grid::diameter() const {
  std::int64_t sum = 0;
  for (const Dimension& dimension : dimensions_)
    sum += dimension.wraps() ? dimension.side / 2 : dimension.side - 1;
  return sum;
}

}  // namespace collsim::topologies
