#include "topologies/dragonfly.hpp"

#include <algorithm>

#include "sim/core/check.hpp"
#include "topologies/graph.hpp"
#include "topologies/interior.hpp"

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

void Dragonfly::route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::vector<LinkId>& links) const {
  const std::int64_t from_group = source / routers_;
  const std::int64_t to_group = target / routers_;
  const std::int64_t from = source % routers_;
  const std::int64_t to = target % routers_;
  if (from_group == to_group) return local_hop(first, from_group, from, to, links);

  const auto local_hops = [&](std::int64_t number) {
    return int{gateway(from_group, to_group, number) != from} +
           int{gateway(to_group, from_group, number) != to};
  };
  int fewest = 2;
  std::int64_t equal = 0;
  for (std::int64_t number = 0; number < cables_a_pair_; ++number) {
    const int hops = local_hops(number);
    if (hops < fewest) fewest = hops, equal = 0;
    equal += hops == fewest;
  }
  std::int64_t drawn = choice_.by_hash(flow, 0, equal);
  std::int64_t number = 0;
  while (local_hops(number) != fewest || drawn-- > 0) ++number;

  local_hop(first, from_group, from, gateway(from_group, to_group, number), links);
  const auto [low, high] = std::minmax(from_group, to_group);
  const Cable cable = first + global_cable(low, high, number);
  links.push_back(from_group < to_group ? forward(cable) : backward(cable));
  local_hop(first, to_group, gateway(to_group, from_group, number), to, links);
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
