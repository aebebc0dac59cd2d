#include "topologies/grid.hpp"

#include <array>

#include "sim/core/check.hpp"

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

std::int64_t Grid::step(Cable first, const Dimension& dimension, std::int64_t point, bool plus,
                        std::vector<LinkId>& links) const {
  const std::int64_t block = dimension.stride * dimension.side;
  const std::int64_t start = point / block * block;
  const std::int64_t move = plus ? dimension.stride : block - dimension.stride;
  const std::int64_t reached = start + (point - start + move) % block;
  // A cable is numbered by the point from which it leads in the + direction.
  const std::int64_t owner = plus ? point : reached;
  const Cable cable = first + dimension.first + start / dimension.side * dimension.cables + (owner - start);
  links.push_back(plus ? forward(cable) : backward(cable));
  return reached;
}

void Grid::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                 std::vector<LinkId>& links) const {
  if (choice_.hashed()) return route_hashed(first, source, target, flow, links);
  std::int64_t point = source;
  for (const Dimension& dimension : dimensions_) {
    const std::int64_t from = source / dimension.stride % dimension.side;
    const std::int64_t to = target / dimension.stride % dimension.side;
    const std::int64_t count = steps(dimension, from, to);
    for (std::int64_t i = 0; i < (count < 0 ? -count : count); ++i)
      point = step(first, dimension, point, count > 0, links);
  }
}

void Grid::route_hashed(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                        std::vector<LinkId>& links) const {
  std::vector<std::int64_t> left;  // per dimension, signed
  std::int64_t total = 0;
  std::int64_t decision = 0;
  for (const Dimension& dimension : dimensions_) {
    std::int64_t count = steps(dimension, source / dimension.stride % dimension.side,
                               target / dimension.stride % dimension.side);
    if (tied(dimension, count) && choice_.by_hash(flow, decision++, 2) == 1) count = -count;
    left.push_back(count);
    total += count < 0 ? -count : count;
  }
  std::int64_t point = source;
  for (; total > 0; --total) {
    std::int64_t open = 0;
    for (const std::int64_t count : left) open += count != 0;
    std::int64_t drawn = choice_.by_hash(flow, decision++, open);
    std::size_t k = 0;
    while (left[k] == 0 || drawn-- > 0) ++k;
    point = step(first, dimensions_[k], point, left[k] > 0, links);
    left[k] += left[k] > 0 ? -1 : 1;
  }
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
