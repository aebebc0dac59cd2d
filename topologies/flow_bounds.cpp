#include "topologies/flow_bounds.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/check.hpp"
#include "topologies/flow_cuts.hpp"
#include "topologies/graph.hpp"

namespace collsim::topologies {
namespace {

// A collective takes about as many maximum flows as there are ranks, or some times that: 40 ms at these
// limits.
constexpr std::int32_t ranks_max = 128;
constexpr std::size_t ranks_times_links_max = 200'000;
// Sets of terminals of which all are tried: 2^9 flows.
constexpr std::int32_t all_sets_max = 9;

struct NamedLimit {
  FlowLimit limit;
  std::string reason;
};
using Limits = std::vector<NamedLimit>;

std::string flow_to(Rank rank) { return "max-flow to rank " + std::to_string(rank); }
std::string flow_from(Rank rank) { return "max-flow from rank " + std::to_string(rank); }

// The limits of one topology, by collective.
class Finder {
 public:
  explicit Finder(const Topology& topology)
      : topology_(topology),
        ranks_(topology.ranks()),
        forward_(topology, Terminals::ranks, FlowDirection::forward),
        backward_(topology, Terminals::ranks, FlowDirection::backward) {}

  Limits limits(CollectiveKind kind, Rank root) {
    std::int32_t end = 0;
    switch (kind) {
      case CollectiveKind::all_gather: {
        const FlowLimit limit = gather_limit(forward_, end);
        return {{limit, flow_to(end)}};
      }
      case CollectiveKind::reduce_scatter: {
        const FlowLimit limit = gather_limit(backward_, end);
        return {{limit, flow_from(end)}};
      }
      case CollectiveKind::broadcast: {
        const FlowLimit limit = broadcast_limit(forward_, root, end);
        return {{limit, flow_to(end)}};
      }
      case CollectiveKind::reduce: {
        const FlowLimit limit = broadcast_limit(backward_, root, end);
        return {{limit, flow_from(end)}};
      }
      case CollectiveKind::scatter:
        return {{scatter_limit(forward_, root), flow_from(root)}};
      case CollectiveKind::gather:
        return {{scatter_limit(backward_, root), flow_to(root)}};
      case CollectiveKind::all_reduce:
        return all_reduce();
      case CollectiveKind::all_to_all:
        return all_to_all();
      case CollectiveKind::send_recv:
        return send_recv();
      case CollectiveKind::barrier:
        break;
    }
    return {};
  }

 private:
  Limits all_reduce() {
    Limits result;
    std::int32_t end = 0;
    const FlowLimit there = broadcast_limit(forward_, 0, end);
    result.push_back({there, flow_to(end)});
    const FlowLimit back = broadcast_limit(backward_, 0, end);
    result.push_back({back, flow_from(end)});
    const Placement& placement = topology_.placement();
    // Switches of a node reduce inside it: nodes are the least that surely cannot be reduced outside.
    const Terminals terminals = topology_.has_node_reduction() ? Terminals::nodes : Terminals::ranks;
    if (placement.fabric_reduction.enabled || (terminals == Terminals::nodes && placement.nodes == 1))
      return result;
    std::int32_t groups = 0;
    FlowNetwork network(topology_, terminals, FlowDirection::forward);
    const FlowLimit limit = partition_limit(network, groups);
    result.push_back({limit, "partition into " + std::to_string(groups) + " groups"});
    return result;
  }

  Limits all_to_all() {
    Limits result = {hops(false), hops(true)};
    const auto try_sets = [&](Terminals terminals) {
      FlowNetwork network(topology_, terminals, FlowDirection::forward);
      std::vector<std::int64_t> weight(static_cast<std::size_t>(network.terminals()), 1);
      for (std::int32_t node = 0; node < network.terminals() && terminals == Terminals::nodes; ++node)
        weight[static_cast<std::size_t>(node)] = topology_.placement().gpus_of(node);
      result.push_back(
          {exchange_limit(network, weight, ranks_, all_sets_max), "max-flow between two groups"});
    };
    try_sets(Terminals::ranks);
    if (topology_.placement().nodes > 1 && topology_.placement().gpus_per_node > 1)
      try_sets(Terminals::nodes);
    return result;
  }

  // Every byte occupies as many links as its shortest way has: all links together carry what all pairs send,
  // times their distance. Lengths of links may be chosen at will: all alike, or the time of a byte.
  NamedLimit hops(bool by_time) const {
    std::int64_t widest = 1;
    for (const Link& link : topology_.links()) widest = std::max(widest, link.bandwidth.bytes_per_second());
    std::vector<Link> links;
    Int128 capacity = 0;
    for (Link link : topology_.links()) {
      if (!is_usable(topology_, link)) continue;
      const std::int64_t bandwidth = link.bandwidth.bytes_per_second();
      const std::int64_t length = by_time ? std::min<std::int64_t>(widest / bandwidth, 1 << 20) : 1;
      capacity += Int128{bandwidth} * length;
      link.latency = Duration::picoseconds(length);
      links.push_back(link);
    }
    const Graph graph(topology_.vertex_count(), links);
    Int128 distances = 0;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const std::vector<Duration> distance = graph.latencies(VertexId(rank));
      for (std::size_t other = 0; other < static_cast<std::size_t>(ranks_); ++other)
        distances += distance[other].picoseconds();
    }
    return {{distances, ranks_, capacity}, "all links together"};
  }

  Limits send_recv() {
    Limits result;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const Rank next = (rank + 1) % ranks_;
      std::vector<std::int64_t> supply(static_cast<std::size_t>(ranks_), 0);
      std::vector<std::int64_t> demand = supply;
      supply[static_cast<std::size_t>(rank)] = FlowNetwork::unlimited;
      demand[static_cast<std::size_t>(next)] = FlowNetwork::unlimited;
      const Int128 flow = forward_.maximum(1, supply, demand);
      result.push_back({{1, 1, flow * forward_.capacity_unit()}, flow_to(next)});
    }
    return result;
  }

  const Topology& topology_;
  std::int32_t ranks_;
  FlowNetwork forward_;
  FlowNetwork backward_;
};

bool is_small(const Topology& topology) {
  return topology.ranks() > 1 && topology.ranks() <= ranks_max &&
         topology.link_count() * static_cast<std::size_t>(topology.ranks()) <= ranks_times_links_max &&
         FlowNetwork(topology, Terminals::ranks, FlowDirection::forward).fits(topology.ranks());
}

}  // namespace

struct FlowBounds::Storage {
  explicit Storage(const Topology& of) : topology(of), small(is_small(of)) {}

  const Limits& limits(CollectiveKind kind, Rank root) {
    const std::lock_guard lock(mutex);
    const auto [entry, is_new] = known.try_emplace({kind, has_root(kind) ? root : 0});
    if (is_new) entry->second = Finder(topology).limits(kind, root);
    return entry->second;
  }

  const Topology& topology;
  bool small;
  std::mutex mutex;
  std::map<std::pair<CollectiveKind, Rank>, Limits> known;
};

FlowBounds::FlowBounds(const Topology& topology) : storage_(std::make_unique<Storage>(topology)) {}
FlowBounds::~FlowBounds() = default;

LowerBound FlowBounds::of(const Collective& collective) const {
  LowerBound bound = lower_bound(collective, storage_->topology);
  const Int128 bytes = collective.bytes.count();
  if (!storage_->small || bytes == 0) return bound;
  for (const auto& [limit, reason] : storage_->limits(collective.kind, collective.root)) {
    if (limit.share == 0) continue;
    const Duration time = time_at(bytes * limit.share, limit.parts * limit.capacity);
    if (time > bound.time) bound = {time, reason};
  }
  return bound;
}

}  // namespace collsim::topologies
