#include "topologies/composed_routes.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {

ComposedRoutes::ComposedRoutes(const NodeLayout& layout,
                               std::vector<std::shared_ptr<const Interior>> interiors,
                               std::shared_ptr<const Fabric> fabric, const RoutingSpec& routing,
                               std::vector<LinkId> memories)
    : layout_(layout),
      interiors_(std::move(interiors)),
      fabric_(std::move(fabric)),
      memories_(std::move(memories)),
      routing_(routing) {
  COLLSIM_CHECK(interiors_.size() == layout_.groups().size());
}

NodeLayout::Place ComposedRoutes::relay(const NodeLayout::Place& from, const NodeLayout::Place& to) const {
  const NodeParts& own = parts(from);
  const std::int64_t wanted = parts(to).endpoint_of(to.gpu);
  if (own.nics == 0 || parts(to).nics == 0 || interiors_[from.group] == nullptr) return from;
  if (own.endpoint_of(from.gpu) == wanted) return from;
  NodeLayout::Place result = from;
  result.gpu = to.gpu;
  if (to.gpu < own.gpus && own.endpoint_of(to.gpu) == wanted) return result;
  for (result.gpu = 0; result.gpu < own.gpus; ++result.gpu)
    if (own.endpoint_of(result.gpu) == wanted) return result;
  return from;  // the node has no GPU at a NIC of that number
}

ComposedRoutes::Way ComposedRoutes::way(Rank source, Rank target) const {
  Way way;
  way.from = layout_.place_of(source);
  way.to = layout_.place_of(target);
  way.is_inside = way.from.node == way.to.node && interiors_[way.from.group] != nullptr;
  way.relay = way.is_inside ? way.to : routing_.rail_local ? relay(way.from, way.to) : way.from;
  return way;
}

void ComposedRoutes::route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const {
  numbered_route(source, target, channel, 0, links);
}

Spreading ComposedRoutes::spreading() const {
  if (routing_.kind == RoutingKind::spray) return Spreading::even;
  return routing_.kind == RoutingKind::adaptive ? Spreading::shortest_queue : Spreading::none;
}

std::int32_t ComposedRoutes::interior_count(const Way& way) const {
  return way.from.gpu == way.relay.gpu ? 1 : interiors_[way.from.group]->route_count();
}

std::int32_t ComposedRoutes::fabric_count(const Way& way) const {
  if (way.is_inside) return 1;
  const std::int64_t from = layout_.endpoint_of(way.relay);
  const std::int64_t to = layout_.endpoint_of(way.to);
  return from == to ? 1 : fabric_->route_count(from, to);
}

// Both parts go through their routes side by side, so those of the longer list make all different.
std::int32_t ComposedRoutes::route_count(Rank source, Rank target, std::int32_t) const {
  if (spreading() == Spreading::none) return 1;
  const Way way = this->way(source, target);
  return std::max(interior_count(way), fabric_count(way));
}

void ComposedRoutes::append_interior(const Way& way, const Flow& flow, std::int32_t number,
                                     std::vector<LinkId>& links) const {
  const auto begin = static_cast<std::ptrdiff_t>(links.size());
  interiors_[way.from.group]->numbered_route(layout_.first_cable(way.from.node), way.from.gpu, way.relay.gpu,
                                             flow, number, links);
  if (memories_.empty()) return;
  const LinkId memory = memories_[static_cast<std::size_t>(way.from.node)];
  if (memory.exists()) links.insert(links.begin() + begin + 1, memory);
}

void ComposedRoutes::numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t number,
                                    std::vector<LinkId>& links) const {
  const Flow flow{source, target, channel};
  const Way way = this->way(source, target);
  if (way.from.gpu != way.relay.gpu) append_interior(way, flow, number % interior_count(way), links);
  if (way.is_inside) return;
  const Rank sender = source + (way.relay.gpu - way.from.gpu);
  if (parts(way.from).nics > 0) links.push_back(forward(layout_.nic_cable(sender, way.relay.group)));
  const std::int64_t first = layout_.endpoint_of(way.relay);
  const std::int64_t last = layout_.endpoint_of(way.to);
  if (first != last) fabric_->numbered_route(first, last, flow, number % fabric_count(way), links);
  if (parts(way.to).nics > 0) links.push_back(backward(layout_.nic_cable(target, way.to.group)));
}

}  // namespace collsim::topologies
