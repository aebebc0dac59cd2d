// Two leaves with as many GPUs each, joined by some spines: the smallest network with a choice of routes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::testing {

struct SpineShape {
  std::int32_t per_leaf = 1;
  std::int32_t spines = 2;
  std::int32_t ranks() const { return 2 * per_leaf; }
  LinkId from_gpu(Rank rank) const { return LinkId(2 * rank); }
  LinkId to_gpu(Rank rank) const { return LinkId(2 * rank + 1); }
  LinkId up(std::int32_t leaf, std::int32_t spine) const {
    return LinkId(2 * ranks() + 2 * (leaf * spines + spine));
  }
  LinkId down(std::int32_t leaf, std::int32_t spine) const {
    return LinkId(2 * ranks() + 2 * (leaf * spines + spine) + 1);
  }
};

// Over the spines that are listed: by the sum of ranks and channel, or over all of them at once.
class SpineRoutes : public RouteRule {
 public:
  SpineRoutes(SpineShape shape, std::vector<std::int32_t> spines, bool spread = false)
      : shape_(shape), spines_(std::move(spines)), spread_(spread) {}
  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
    const auto choice = static_cast<std::size_t>(source + target + channel) % spines_.size();
    go(source, target, spines_[spread_ ? 0 : choice], links);
  }
  Spreading spreading() const override { return spread_ ? Spreading::even : Spreading::none; }
  std::int32_t route_count(Rank source, Rank target, std::int32_t) const override {
    const bool same_leaf = source / shape_.per_leaf == target / shape_.per_leaf;
    return spread_ && !same_leaf ? static_cast<std::int32_t>(spines_.size()) : 1;
  }
  void numbered_route(Rank source, Rank target, std::int32_t, std::int32_t number,
                      std::vector<LinkId>& links) const override {
    go(source, target, spines_[static_cast<std::size_t>(number)], links);
  }

 private:
  void go(Rank source, Rank target, std::int32_t spine, std::vector<LinkId>& links) const {
    const std::int32_t from = source / shape_.per_leaf;
    const std::int32_t to = target / shape_.per_leaf;
    links.push_back(shape_.from_gpu(source));
    if (from != to) {
      links.push_back(shape_.up(from, spine));
      links.push_back(shape_.down(to, spine));
    }
    links.push_back(shape_.to_gpu(target));
  }
  SpineShape shape_;
  std::vector<std::int32_t> spines_;
  bool spread_;
};

inline Topology spine_network(SpineShape shape, Bandwidth port, Bandwidth spine, Duration latency,
                              std::shared_ptr<const RouteRule> routes, const GpuSpec& gpu = {}) {
  Topology::Parts parts;
  parts.name = "two leaves";
  parts.placement.gpus_per_node = 1;
  parts.placement.nodes = shape.ranks();
  parts.placement.fabric = FabricKind::fat_tree;
  parts.placement.fabric_bandwidth = port;
  parts.gpu = gpu;
  const auto ranks = static_cast<std::uint32_t>(shape.ranks());
  for (std::int32_t rank = 0; rank < shape.ranks(); ++rank)
    parts.vertices.push_back({VertexKind::gpu, 0, rank, 0});
  for (std::int32_t leaf = 0; leaf < 2; ++leaf)
    parts.vertices.push_back({VertexKind::fabric_switch, 1, -1, leaf});
  for (std::int32_t number = 0; number < shape.spines; ++number)
    parts.vertices.push_back({VertexKind::fabric_switch, 2, -1, number});
  const auto join = [&](std::uint32_t a, std::uint32_t b, Bandwidth bandwidth) {
    parts.links.push_back({VertexId(a), VertexId(b), bandwidth, latency});
    parts.links.push_back({VertexId(b), VertexId(a), bandwidth, latency});
  };
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    join(rank, ranks + rank / static_cast<std::uint32_t>(shape.per_leaf), port);
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf)
    for (std::uint32_t number = 0; number < static_cast<std::uint32_t>(shape.spines); ++number)
      join(ranks + leaf, ranks + 2 + number, spine);
  parts.routes = std::move(routes);
  return Topology(std::move(parts));
}

}  // namespace collsim::testing
