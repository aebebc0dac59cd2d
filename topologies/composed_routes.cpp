#include "topologies/composed_routes.hpp"

#include <utility>

#include "sim/core/check.hpp"

namespace collsim::topologies {

ComposedRoutes::ComposedRoutes(const NodeLayout& layout,
                               std::vector<std::shared_ptr<const Interior>> interiors,
                               std::shared_ptr<const Fabric> fabric)
    : layout_(layout), interiors_(std::move(interiors)), fabric_(std::move(fabric)) {
  COLLSIM_CHECK(interiors_.size() == layout_.groups().size());
}

void ComposedRoutes::route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const {
  const Flow flow{source, target, channel};
  const NodeLayout::Place from = layout_.place_of(source);
  const NodeLayout::Place to = layout_.place_of(target);
  if (from.node == to.node && interiors_[from.group] != nullptr)
    return interiors_[from.group]->route(layout_.first_cable(from.node), from.gpu, to.gpu, flow, links);
  const auto has_nics = [&](const NodeLayout::Place& place) {
    return layout_.groups()[place.group].each.nics > 0;
  };
  if (has_nics(from)) links.push_back(forward(layout_.nic_cable(source, from.group)));
  const std::int64_t first = layout_.endpoint_of(from);
  const std::int64_t last = layout_.endpoint_of(to);
  if (first != last) fabric_->route(first, last, flow, links);
  if (has_nics(to)) links.push_back(backward(layout_.nic_cable(target, to.group)));
}

}  // namespace collsim::topologies
