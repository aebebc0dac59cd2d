#include "topologies/flow.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <map>
#include <numeric>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/model/bounds.hpp"

namespace collsim::topologies {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Point {
  Traits::edge_descriptor predecessor;
  boost::default_color_type color = boost::white_color;
  std::int64_t distance = 0;
};
struct Arc {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse;
};
using Network = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Point, Arc>;
using Edge = Traits::edge_descriptor;

constexpr std::int64_t sum_max = std::int64_t{1} << 62;

// Two arcs between the same points, one each way, as Boost wants them.
std::pair<Edge, Edge> add_arcs(Network& network, std::size_t from, std::size_t to) {
  const Edge there = boost::add_edge(from, to, network).first;
  const Edge back = boost::add_edge(to, from, network).first;
  network[there].reverse = back;
  network[back].reverse = there;
  return {there, back};
}

}  // namespace

struct FlowNetwork::Storage {
  struct Capacity {
    Edge edge;
    std::int64_t units;
  };
  Network network;
  std::vector<Capacity> links;
  std::vector<Edge> supply;  // [terminal]
  std::vector<Edge> demand;  // [terminal]
  std::size_t source = 0;
  std::size_t sink = 0;
};

FlowNetwork::FlowNetwork(const Topology& topology, Terminals terminals, FlowDirection direction)
    : storage_(std::make_unique<Storage>()) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const Placement& placement = topology.placement();
  terminals_ = terminals == Terminals::ranks ? topology.ranks() : placement.nodes;
  const auto count = static_cast<std::size_t>(terminals_);
  // Points: terminals, then the vertices that are no rank.
  const auto point_of = [&](VertexId id) {
    if (id.value >= ranks) return count + id.value - ranks;
    if (terminals == Terminals::ranks) return std::size_t{id.value};
    return static_cast<std::size_t>(placement.node_of(static_cast<Rank>(id.value)));
  };
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> capacities;  // bytes/s between two points
  unit_ = 0;
  for (const Link& link : topology.links()) {
    std::size_t from = point_of(link.source);
    std::size_t to = point_of(link.target);
    if (from == to || !is_usable(topology, link)) continue;
    if (direction == FlowDirection::backward) std::swap(from, to);
    const std::int64_t bandwidth = link.bandwidth.bytes_per_second();
    capacities[{from, to}] += bandwidth;
    unit_ = std::gcd(unit_, bandwidth);
  }
  unit_ = std::max<std::int64_t>(unit_, 1);
  Storage& storage = *storage_;
  storage.source = count + topology.vertex_count() - ranks;
  storage.sink = storage.source + 1;
  storage.network = Network(storage.sink + 1);
  for (const auto& [ends, capacity] : capacities) {
    total_ += capacity / unit_;
    const auto opposite = capacities.find({ends.second, ends.first});
    if (opposite != capacities.end() && ends.second < ends.first) continue;  // laid with its opposite
    const auto [there, back] = add_arcs(storage.network, ends.first, ends.second);
    storage.links.push_back({there, capacity / unit_});
    storage.links.push_back({back, opposite == capacities.end() ? 0 : opposite->second / unit_});
  }
  for (std::size_t terminal = 0; terminal < count; ++terminal) {
    storage.supply.push_back(add_arcs(storage.network, storage.source, terminal).first);
    storage.demand.push_back(add_arcs(storage.network, terminal, storage.sink).first);
  }
}

FlowNetwork::~FlowNetwork() = default;
FlowNetwork::FlowNetwork(FlowNetwork&&) noexcept = default;
FlowNetwork& FlowNetwork::operator=(FlowNetwork&&) noexcept = default;

bool FlowNetwork::fits(std::int64_t scale) const { return Int128{total_} * scale < sum_max / 2; }

std::int64_t FlowNetwork::maximum(std::int64_t scale, const std::vector<std::int64_t>& supply,
                                  const std::vector<std::int64_t>& demand) {
  COLLSIM_CHECK(fits(scale));
  Storage& storage = *storage_;
  Network& network = storage.network;
  for (const Storage::Capacity& link : storage.links) network[link.edge].capacity = link.units * scale;
  // No flow is larger than all links together.
  const std::int64_t everything = total_ * scale + 1;
  for (std::size_t terminal = 0; terminal < supply.size(); ++terminal) {
    const auto limit = [&](std::int64_t value) { return value == unlimited ? everything : value; };
    network[storage.supply[terminal]].capacity = limit(supply[terminal]);
    network[storage.demand[terminal]].capacity = limit(demand[terminal]);
  }
  return boost::boykov_kolmogorov_max_flow(
      network, boost::get(&Arc::capacity, network), boost::get(&Arc::residual, network),
      boost::get(&Arc::reverse, network), boost::get(&Point::predecessor, network),
      boost::get(&Point::color, network), boost::get(&Point::distance, network),
      boost::get(boost::vertex_index, network), storage.source, storage.sink);
}

bool FlowNetwork::on_source_side(std::int32_t terminal) const {
  const Network& network = storage_->network;
  return network[static_cast<std::size_t>(terminal)].color == network[storage_->source].color;
}

}  // namespace collsim::topologies
