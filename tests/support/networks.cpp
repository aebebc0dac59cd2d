#include "tests/support/networks.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::testing {
namespace {

class PairRoutes : public RouteRule {
 public:
  PairRoutes(std::map<std::pair<Rank, Rank>, std::uint32_t> first, std::int32_t parallel)
      : first_(std::move(first)), parallel_(parallel) {}
  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
    const auto entry = first_.find({source, target});
    COLLSIM_CHECK(entry != first_.end());
    links.push_back(LinkId(entry->second + static_cast<std::uint32_t>(channel % parallel_)));
  }

 private:
  std::map<std::pair<Rank, Rank>, std::uint32_t> first_;
  std::int32_t parallel_;
};

class PortRoutes : public RouteRule {
 public:
  void route(Rank source, Rank target, std::int32_t, std::vector<LinkId>& links) const override {
    links.push_back(LinkId(2 * source));
    links.push_back(LinkId(2 * target + 1));
  }
};

class PortAggregation : public AggregationRule {
 public:
  PortAggregation(Duration half, VertexId root) : half_(half), root_(root) {}
  std::variant<AggregationPath, Impossible> path(const AggregationGroup& group) const override {
    AggregationPath path;
    for (std::size_t member = 0; member < group.members.size(); ++member) {
      const bool root = static_cast<std::int32_t>(member) == group.root;
      if (group.mode != AggregationMode::multicast || root)
        path.links.push_back(LinkId(2 * group.members[member]));
      if (group.mode != AggregationMode::reduce || root)
        path.links.push_back(LinkId(2 * group.members[member] + 1));
    }
    path.up_latency.assign(group.members.size(), half_);
    path.down_latency.assign(group.members.size(), half_);
    path.root = root_;
    return path;
  }

 private:
  Duration half_;
  VertexId root_;
};

Placement flat_placement(std::int32_t ranks) {
  Placement placement;
  placement.gpus_per_node = ranks;
  placement.interconnect = InterconnectKind::nvswitch;
  return placement;
}

void add_gpus(Topology::Parts& parts, std::int32_t ranks) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) parts.vertices.push_back({VertexKind::gpu, 0, 0, rank});
}

}  // namespace

Topology pair_network(const std::vector<Level>& levels, std::int32_t parallel) {
  Topology::Parts parts;
  std::int32_t ranks = 1;
  for (const Level& level : levels) ranks *= level.members;
  parts.name = "pair network";
  parts.placement = flat_placement(ranks);
  add_gpus(parts, ranks);
  std::map<std::pair<Rank, Rank>, std::uint32_t> first;
  for (Rank source = 0; source < ranks; ++source) {
    std::int32_t unit = 1;
    for (const Level& level : levels) {
      const std::int32_t digit = source / unit % level.members;
      for (std::int32_t other = 0; other < level.members; ++other) {
        if (other == digit) continue;
        const Rank target = source + (other - digit) * unit;
        first[{source, target}] = static_cast<std::uint32_t>(parts.links.size());
        for (std::int32_t copy = 0; copy < parallel; ++copy)
          parts.links.push_back({VertexId(source), VertexId(target), level.bandwidth, level.alpha});
      }
      unit *= level.members;
    }
  }
  parts.routes = std::make_shared<PairRoutes>(std::move(first), parallel);
  return Topology(std::move(parts));
}

Topology port_network(std::int32_t ranks, Duration alpha, Bandwidth bandwidth, GpuSpec gpu) {
  Topology::Parts parts;
  parts.name = "port network";
  parts.placement = flat_placement(ranks);
  parts.placement.node_reduction.enabled = true;
  parts.gpu = gpu;
  add_gpus(parts, ranks);
  parts.vertices.push_back({VertexKind::node_switch, 0, 0, 0});
  const Duration half = Duration::picoseconds(alpha.picoseconds() / 2);
  for (Rank rank = 0; rank < ranks; ++rank) {
    parts.links.push_back({VertexId(rank), VertexId(ranks), bandwidth, half});
    parts.links.push_back({VertexId(ranks), VertexId(rank), bandwidth, half});
  }
  parts.routes = std::make_shared<PortRoutes>();
  parts.aggregations = std::make_shared<PortAggregation>(half, VertexId(ranks));
  return Topology(std::move(parts));
}

}  // namespace collsim::testing
