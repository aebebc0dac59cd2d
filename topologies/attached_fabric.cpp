#include "topologies/attached_fabric.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {

AttachedFabric::AttachedFabric(std::unique_ptr<const Network> network, const Endpoints& endpoints,
                               bool routers, std::int32_t nodes_per_point)
    : network_(std::move(network)),
      endpoints_(endpoints),
      routers_(routers),
      nodes_per_point_(nodes_per_point) {
  COLLSIM_CHECK(routers || (endpoints.groups().size() == 1 && endpoints.per_node_max() == 1));
  COLLSIM_CHECK(routers || nodes_per_point == 1);
  COLLSIM_CHECK(network_->points() * nodes_per_point >= endpoints.nodes());
}

void AttachedFabric::lay(const CableSpec& cable, Wiring& wiring) {
  first_point_ = endpoints_.vertex(0);
  first_attachment_ = wiring.next_cable();
  if (routers_) {
    first_point_ = wiring.next_vertex();
    for (std::int64_t point = 0; point < network_->points(); ++point)
      wiring.add_vertex(VertexKind::fabric_switch, 1, -1, static_cast<std::int32_t>(point));
    for (std::int64_t endpoint = 0; endpoint < endpoints_.count(); ++endpoint)
      wiring.add_cable(endpoints_.vertex(endpoint), after(first_point_, point_of(endpoint)), cable);
  }
  first_cable_ = wiring.next_cable();
  network_->lay(first_point_, cable, wiring);
}

void AttachedFabric::route(std::int64_t source, std::int64_t target, const Flow& flow,
                           std::vector<LinkId>& links) const {
  numbered_route(source, target, flow, 0, links);
}

std::int32_t AttachedFabric::route_count(std::int64_t source, std::int64_t target) const {
  const std::int64_t from = point_of(source);
  const std::int64_t to = point_of(target);
  return from == to ? 1 : network_->route_count(from, to);
}

void AttachedFabric::numbered_route(std::int64_t source, std::int64_t target, const Flow& flow,
                                    std::int32_t number, std::vector<LinkId>& links) const {
  const std::int64_t from = point_of(source);
  const std::int64_t to = point_of(target);
  if (routers_) links.push_back(forward(first_attachment_ + source));
  if (from != to) network_->numbered_route(first_cable_, from, to, flow, number, links);
  if (routers_) links.push_back(backward(first_attachment_ + target));
}

Duration AttachedFabric::point_latency_max(const CableSpec& cable) const {
  return network_->latency_max(cable, point_of_node(endpoints_.nodes() - 1) + 1);
}

Grouping AttachedFabric::grouping(const PointGroups& points) const {
  Grouping result{points.name, {}, {}};
  for (std::int32_t node = 0; node < endpoints_.nodes(); ++node)
    result.node_group.push_back(points.group[static_cast<std::size_t>(point_of_node(node))]);
  if (routers_) result.stages.push_back(points.group);
  return result;
}

std::vector<Grouping> AttachedFabric::groupings() const {
  PointGroups each{nodes_per_point_ == 1 ? "node" : "router", {}};
  for (std::int64_t point = 0; point < network_->points(); ++point)
    each.group.push_back(static_cast<std::int32_t>(point));
  std::vector<Grouping> result;
  if (nodes_per_point_ > 1) result.push_back(node_grouping(endpoints_.nodes()));
  result.push_back(grouping(each));
  for (const PointGroups& points : network_->groups()) result.push_back(grouping(points));
  const auto is_bisection = [](const Grouping& grouping) { return grouping.name == "bisection"; };
  if (std::none_of(result.begin(), result.end(), is_bisection))
    result.push_back(bisection_of(endpoints_.nodes(), result));
  return result;
}

}  // namespace collsim::topologies
