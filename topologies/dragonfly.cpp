#include "topologies/dragonfly.hpp"

#include <algorithm>
#include <iterator>

#include "sim/core/check.hpp"
#include "topologies/alternatives.hpp"
#include "topologies/graph.hpp"
#include "topologies/interior.hpp"
#include "topologies/valiant.hpp"

namespace collsim::topologies {

Dragonfly::Dragonfly(std::int64_t groups, std::int64_t routers, std::int64_t global_links,
                     const Choice& choice)
    : groups_(groups),
      routers_(routers),
      global_links_(global_links),
      cables_a_pair_(groups > 1 ? routers * global_links / (groups - 1) : 0),
      choice_(choice) {
  COLLSIM_CHECK(groups >= 1 && routers >= 1 && (groups == 1 || cables_a_pair_ >= 1));
}

std::int64_t Dragonfly::gateway(std::int64_t group, std::int64_t peer, std::int64_t number) const {
  const std::int64_t place = peer < group ? peer : peer - 1;
  return (place * cables_a_pair_ + number) / global_links_;
}

Cable Dragonfly::global_cable(std::int64_t low_group, std::int64_t high_group, std::int64_t number) const {
  const Cable locals = groups_ * (routers_ * (routers_ - 1) / 2);
  return locals + pair_cable(low_group, high_group, groups_) * cables_a_pair_ + number;
}

void Dragonfly::lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const {
  for (std::int64_t group = 0; group < groups_; ++group)
    for (std::int64_t i = 0; i < routers_; ++i)
      for (std::int64_t j = i + 1; j < routers_; ++j)
        wiring.add_cable(after(first_point, group * routers_ + i), after(first_point, group * routers_ + j),
                         cable);
  for (std::int64_t low = 0; low < groups_; ++low)
    for (std::int64_t high = low + 1; high < groups_; ++high)
      for (std::int64_t number = 0; number < cables_a_pair_; ++number)
        wiring.add_cable(after(first_point, low * routers_ + gateway(low, high, number)),
                         after(first_point, high * routers_ + gateway(high, low, number)), cable);
}

void Dragonfly::local_hop(Cable first, std::int64_t group, std::int64_t from, std::int64_t to,
                          std::vector<LinkId>& links) const {
  if (from == to) return;
  const auto [low, high] = std::minmax(from, to);
  const Cable cable = first + group * (routers_ * (routers_ - 1) / 2) + pair_cable(low, high, routers_);
  links.push_back(from < to ? forward(cable) : backward(cable));
}

std::vector<std::int64_t> Dragonfly::nearest_cables(std::int64_t from, std::int64_t to, bool anywhere) const {
  std::vector<std::int64_t> nearest;
  int fewest = 3;
  for (std::int64_t number = 0; number < cables_a_pair_; ++number) {
    const int before = gateway(group_of(from), group_of(to), number) != from % routers_;
    const int after = !anywhere && gateway(group_of(to), group_of(from), number) != to % routers_;
    if (before + after < fewest) nearest.clear();
    fewest = std::min(fewest, before + after);
    if (before + after == fewest) nearest.push_back(number);
  }
  return nearest;
}

std::int64_t Dragonfly::cross(Cable first, std::int64_t from, std::int64_t to_group, std::int64_t number,
                              std::vector<LinkId>& links) const {
  const std::int64_t from_group = group_of(from);
  local_hop(first, from_group, from % routers_, gateway(from_group, to_group, number), links);
  const auto [low, high] = std::minmax(from_group, to_group);
  const Cable cable = first + global_cable(low, high, number);
  links.push_back(from_group < to_group ? forward(cable) : backward(cable));
  return to_group * routers_ + gateway(to_group, from_group, number);
}

std::int64_t Dragonfly::valiant_group(std::int64_t from, std::int64_t to, const Flow& flow) const {
  if (!choice_.is_valiant() || group_of(from) == group_of(to)) return group_of(to);
  const std::int64_t drawn = choice_.by_hash(flow, {valiant_step, 0}, groups_);
  return drawn == group_of(from) ? group_of(to) : drawn;
}

void Dragonfly::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::vector<LinkId>& links) const {
  numbered_route(first, source, target, flow, 0, links);
}

std::int32_t Dragonfly::route_count(std::int64_t source, std::int64_t target) const {
  if (!choice_.is_spread() || group_of(source) == group_of(target)) return 1;
  return choice_.paths(static_cast<std::int64_t>(nearest_cables(source, target, false).size()));
}

void Dragonfly::numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                               std::int32_t number, std::vector<LinkId>& links) const {
  std::int64_t point = source;
  const std::int64_t middle = valiant_group(source, target, flow);
  if (middle != group_of(target)) {
    const auto cables = nearest_cables(source, middle * routers_, true);
    const std::int64_t drawn = choice_.by_hash(flow, {1, first + point}, std::ssize(cables));
    point = cross(first, point, middle, cables[static_cast<std::size_t>(drawn)], links);
  }
  if (group_of(point) != group_of(target)) {
    const auto cables = nearest_cables(point, target, false);
    const std::int64_t count = std::ssize(cables);
    const std::int64_t drawn = choice_.by_hash(flow, {0, first + point}, count);
    const std::int64_t turned = (drawn + spread_number(number, count)) % count;
    point = cross(first, point, group_of(target), cables[static_cast<std::size_t>(turned)], links);
  }
  local_hop(first, group_of(target), point % routers_, target % routers_, links);
}

Duration Dragonfly::latency_max(const CableSpec& cable, std::int64_t used) const {
  Wiring wiring;
  lay(VertexId(0), cable, wiring);
  const Graph graph(static_cast<std::size_t>(points()), wiring.links);
  std::int64_t largest = 0;
  for (std::int64_t source = 0; source < used; ++source) {
    const std::vector<std::int32_t> hops = graph.hops(after(VertexId(0), source));
    largest = std::max<std::int64_t>(largest, *std::max_element(hops.begin(), hops.begin() + used));
  }
  return cable.latency * largest;
}

std::vector<PointGroups> Dragonfly::groups() const {
  PointGroups result{"group", {}};
  for (std::int64_t point = 0; point < points(); ++point)
    result.group.push_back(static_cast<std::int32_t>(point / routers_));
  return {result};
}

}  // namespace collsim::topologies
