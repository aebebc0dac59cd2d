#include "topologies/direct_networks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/core/check.hpp"
#include "topologies/alternatives.hpp"
#include "topologies/graph.hpp"
#include "topologies/interior.hpp"
#include "topologies/valiant.hpp"

namespace collsim::topologies {

PointGroups halves(std::int64_t points) {
  PointGroups result{"bisection", {}};
  for (std::int64_t point = 0; point < points; ++point) result.group.push_back(point < points / 2 ? 0 : 1);
  return result;
}

void FullMeshNetwork::lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const {
  for (std::int64_t i = 0; i < points_; ++i)
    for (std::int64_t j = i + 1; j < points_; ++j)
      wiring.add_cable(after(first_point, i), after(first_point, j), cable);
}

void FullMeshNetwork::route(Cable first, std::int64_t source, std::int64_t target, const Flow&,
                            std::vector<LinkId>& links) const {
  const auto [low, high] = std::minmax(source, target);
  const Cable cable = first + pair_cable(low, high, points_);
  links.push_back(source < target ? forward(cable) : backward(cable));
}

Duration FullMeshNetwork::latency_max(const CableSpec& cable, std::int64_t used) const {
  return used > 1 ? cable.latency : Duration();
}

std::vector<PointGroups> FullMeshNetwork::groups() const { return {halves(points_)}; }

Hypercube::Hypercube(std::int64_t points, const Choice& choice) : points_(points), choice_(choice) {
  COLLSIM_CHECK(std::has_single_bit(static_cast<std::uint64_t>(points)));
  bits_ = std::countr_zero(static_cast<std::uint64_t>(points));
}

void Hypercube::lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const {
  for (int bit = 0; bit < bits_; ++bit)
    for (std::int64_t i = 0; i < points_ / 2; ++i) {
      const std::int64_t low = (i >> bit << (bit + 1)) | (i & ((std::int64_t{1} << bit) - 1));
      wiring.add_cable(after(first_point, low), after(first_point, low | (std::int64_t{1} << bit)), cable);
    }
}

Hop Hypercube::step(Cable first, std::int64_t point, int bit) const {
  const std::int64_t mask = std::int64_t{1} << bit;
  const std::int64_t low = point & ~mask;
  const std::int64_t index = (low >> (bit + 1) << bit) | (low & (mask - 1));  // low without its bit
  const Cable cable = first + bit * (points_ / 2) + index;
  return {point == low ? forward(cable) : backward(cable), point ^ mask};
}

namespace {

// The number of the lowest bit that is set after `skip` lower ones.
int set_bit(std::int64_t bits, std::int64_t skip) {
  for (; skip > 0; --skip) bits &= bits - 1;
  return std::countr_zero(static_cast<std::uint64_t>(bits));
}

// The orders in which the set bits can be mended.
Alternatives orders(std::int64_t bits) {
  std::vector<std::int64_t> ways;
  for (std::int64_t left = std::popcount(static_cast<std::uint64_t>(bits)); left > 0; --left)
    ways.push_back(left);
  return Alternatives(std::move(ways));
}

}  // namespace

void Hypercube::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::vector<LinkId>& links) const {
  if (choice_.is_valiant()) return route_by_valiant(first, source, target, flow, links);
  std::int64_t point = source;
  for (std::int64_t decision = 0; point != target; ++decision) {
    const std::int64_t open = point ^ target;
    std::int64_t skip = 0;
    if (choice_.is_ecmp())
      skip =
          choice_.by_hash(flow, {decision, first + point}, std::popcount(static_cast<std::uint64_t>(open)));
    const Hop hop = step(first, point, set_bit(open, skip));
    links.push_back(hop.link);
    point = hop.point;
  }
}

std::int32_t Hypercube::route_count(std::int64_t source, std::int64_t target) const {
  return choice_.is_spread() ? choice_.paths(orders(source ^ target).count()) : 1;
}

void Hypercube::numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                               std::int32_t number, std::vector<LinkId>& links) const {
  if (number == 0) return route(first, source, target, flow, links);
  std::int64_t point = source;
  for (const std::int64_t skip : orders(source ^ target).decisions(number)) {
    const Hop hop = step(first, point, set_bit(point ^ target, skip));
    links.push_back(hop.link);
    point = hop.point;
  }
}

void Hypercube::route_by_valiant(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                                 std::vector<LinkId>& links) const {
  const std::int64_t middle = choice_.by_hash(flow, {valiant_step, 0}, points_);
  std::vector<Hop> hops;
  std::int64_t point = source;
  for (const std::int64_t end : {middle, target})
    for (; point != end; point = hops.back().point)
      hops.push_back(step(first, point, set_bit(point ^ end, 0)));
  append_without_loops(source, hops, links);
}

Duration Hypercube::latency_max(const CableSpec& cable, std::int64_t used) const {
  COLLSIM_CHECK(used == points_);
  return cable.latency * bits_;
}

std::vector<PointGroups> Hypercube::groups() const { return {halves(points_)}; }

namespace {

std::vector<CableEnds> ends_of(const std::vector<CustomLink>& links) {
  std::vector<CableEnds> ends;
  for (const CustomLink& link : links) ends.push_back({link.from, link.to});
  return ends;
}

}  // namespace

CustomNetwork::CustomNetwork(std::int32_t points, const std::vector<CustomLink>& links, const Choice& choice)
    : links_(links), paths_(points, ends_of(links), choice) {}

CableSpec CustomNetwork::spec(std::size_t link, const CableSpec& fabric) const {
  return {links_[link].bandwidth.value_or(fabric.bandwidth), links_[link].latency.value_or(fabric.latency)};
}

void CustomNetwork::lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const {
  for (std::size_t i = 0; i < links_.size(); ++i)
    wiring.add_cable(after(first_point, links_[i].from), after(first_point, links_[i].to), spec(i, cable));
}

void CustomNetwork::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                          std::vector<LinkId>& links) const {
  paths_.route(first, source, target, flow, links);
}

Duration CustomNetwork::latency_max(const CableSpec& cable, std::int64_t used) const {
  COLLSIM_CHECK(used == points());
  Wiring wiring;
  lay(VertexId(0), cable, wiring);
  const Graph graph(static_cast<std::size_t>(used), wiring.links);
  Duration largest;
  for (std::int64_t source = 0; source < used; ++source)
    for (const Duration latency : graph.latencies(after(VertexId(0), source)))
      largest = std::max(largest, latency);
  return largest;
}

std::vector<PointGroups> CustomNetwork::groups() const { return {halves(points())}; }

}  // namespace collsim::topologies
