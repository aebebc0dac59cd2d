#include "algorithms/ring_order.hpp"

#include <algorithm>

#include "algorithms/common.hpp"

namespace collsim::algorithms {
namespace {

// The sides of the grid of nodes, x first; empty where the node number is as good an order as any.
std::vector<std::int32_t> grid_of(const Placement& placement) {
  if (placement.fabric == FabricKind::torus || placement.fabric == FabricKind::mesh)
    return placement.dimensions;
  std::vector<std::int32_t> sides;
  if (placement.fabric == FabricKind::hypercube)
    for (std::int32_t rest = placement.nodes; rest > 1; rest /= 2) sides.push_back(2);
  return sides;
}

std::int32_t at(const std::vector<std::int32_t>& values, std::int32_t index) {
  return values[static_cast<std::size_t>(index)];
}

// The last entry that is at most `value`, of increasing ones.
std::int32_t index_of(const std::vector<std::int32_t>& firsts, std::int32_t value) {
  const auto above = std::upper_bound(firsts.begin(), firsts.end(), value);
  return static_cast<std::int32_t>(above - firsts.begin()) - 1;
}

}  // namespace

RingOrder::RingOrder(const Placement& placement, RankOrder order, std::int32_t channels)
    : gpus_(placement.gpus_per_node),
      by_rank_(order == RankOrder::rank),
      alternate_(placement.fabric == FabricKind::rail_fat_tree) {
  if (by_rank_) return;
  const std::vector<std::int32_t> grid = grid_of(placement);
  // With an even side in front the code ends where that side wraps round, next to its start.
  std::size_t front = grid.empty() ? 0 : grid.size() - 1;
  for (std::size_t axis = 0; axis < grid.size(); ++axis)
    if (grid[axis] % 2 == 0 && (grid[front] % 2 != 0 || grid[axis] < grid[front])) front = axis;
  std::vector<std::size_t> axes;
  for (std::size_t axis = grid.size(); axis-- > 0;)
    if (axis != front) axes.push_back(axis);
  if (!grid.empty()) axes.insert(axes.begin(), front);
  for (const std::size_t axis : axes) {
    dimensions_.push_back(grid[axis]);
    std::int32_t stride = 1;
    for (std::size_t lower = 0; lower < axis; ++lower) stride *= grid[lower];
    strides_.push_back(stride);
  }
  if (!placement.is_even()) {
    set_uneven(placement, channels);
    return;
  }
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    const std::int32_t first = first_gpu_of_nic(placement, channel, gpus_);
    std::vector<std::int32_t> gpus(static_cast<std::size_t>(gpus_));
    for (std::size_t place = 0; place < gpus.size(); ++place) gpus[place] = static_cast<std::int32_t>(place);
    if (!placement.node_rings.empty())
      gpus = placement.node_rings[static_cast<std::size_t>(channel) % placement.node_rings.size()];
    std::rotate(gpus.begin(), std::find(gpus.begin(), gpus.end(), first), gpus.end());
    std::vector<std::int32_t> places(gpus.size());
    for (std::size_t place = 0; place < gpus.size(); ++place)
      places[static_cast<std::size_t>(gpus[place])] = static_cast<std::int32_t>(place);
    gpu_at_.insert(gpu_at_.end(), gpus.begin(), gpus.end());
    place_of_.insert(place_of_.end(), places.begin(), places.end());
  }
}

// Reflected mixed-radix Gray code: a digit runs backwards where the number in front of it is odd.
std::int32_t RingOrder::node_at(std::int32_t position) const {
  if (dimensions_.empty()) return position;
  std::int32_t below = 1;
  for (const std::int32_t side : dimensions_) below *= side;
  std::int32_t node = 0;
  std::int32_t prefix = 0;
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    const std::int32_t side = dimensions_[axis];
    below /= side;
    const std::int32_t digit = position / below % side;
    node += (prefix % 2 == 0 ? digit : side - 1 - digit) * strides_[axis];
    prefix = prefix * side + digit;
  }
  return node;
}

std::int32_t RingOrder::position_of_node(std::int32_t node) const {
  if (dimensions_.empty()) return node;
  std::int32_t prefix = 0;
  for (std::size_t axis = 0; axis < dimensions_.size(); ++axis) {
    const std::int32_t side = dimensions_[axis];
    const std::int32_t coordinate = node / strides_[axis] % side;
    prefix = prefix * side + (prefix % 2 == 0 ? coordinate : side - 1 - coordinate);
  }
  return prefix;
}

void RingOrder::set_uneven(const Placement& placement, std::int32_t channels) {
  first_rank_ = placement.first_rank;
  first_position_ = {0};
  for (std::int32_t turn = 0; turn < placement.nodes; ++turn)
    first_position_.push_back(first_position_.back() + placement.gpus_of(node_at(turn)));
  for (std::int32_t channel = 0; channel < channels; ++channel)
    for (std::int32_t node = 0; node < placement.nodes; ++node)
      entry_.push_back(first_gpu_of_nic(placement, channel, placement.gpus_of(node)));
}

Rank RingOrder::uneven_rank_at(std::int32_t channel, std::int32_t position) const {
  const std::int32_t turn = index_of(first_position_, position);
  const std::int32_t node = node_at(turn);
  const std::int32_t gpus = at(first_rank_, node + 1) - at(first_rank_, node);
  std::int32_t place = position - at(first_position_, turn);
  if (alternate_ && turn % 2 != 0) place = gpus - 1 - place;
  const auto nodes = static_cast<std::int32_t>(first_rank_.size()) - 1;
  return at(first_rank_, node) + (at(entry_, channel * nodes + node) + place) % gpus;
}

std::int32_t RingOrder::uneven_position_of(std::int32_t channel, Rank rank) const {
  const std::int32_t node = index_of(first_rank_, rank);
  const std::int32_t turn = position_of_node(node);
  const std::int32_t gpus = at(first_rank_, node + 1) - at(first_rank_, node);
  const auto nodes = static_cast<std::int32_t>(first_rank_.size()) - 1;
  std::int32_t place = (rank - at(first_rank_, node) - at(entry_, channel * nodes + node) + gpus) % gpus;
  if (alternate_ && turn % 2 != 0) place = gpus - 1 - place;
  return at(first_position_, turn) + place;
}

Rank RingOrder::rank_at(std::int32_t channel, std::int32_t position) const {
  if (by_rank_) return position;
  if (!first_rank_.empty()) return uneven_rank_at(channel, position);
  const std::int32_t turn = position / gpus_;
  std::int32_t place = position % gpus_;
  if (alternate_ && turn % 2 != 0) place = gpus_ - 1 - place;
  return node_at(turn) * gpus_ + gpu_at_[static_cast<std::size_t>(channel * gpus_ + place)];
}

std::int32_t RingOrder::position_of(std::int32_t channel, Rank rank) const {
  if (by_rank_) return rank;
  if (!first_rank_.empty()) return uneven_position_of(channel, rank);
  const std::int32_t turn = position_of_node(rank / gpus_);
  std::int32_t place = place_of_[static_cast<std::size_t>(channel * gpus_ + rank % gpus_)];
  if (alternate_ && turn % 2 != 0) place = gpus_ - 1 - place;
  return turn * gpus_ + place;
}

}  // namespace collsim::algorithms
