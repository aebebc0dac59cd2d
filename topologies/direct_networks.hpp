// Full mesh, hypercube and custom links: networks whose points are joined directly.
#pragma once

#include <vector>

#include "topologies/network.hpp"
#include "topologies/shortest_paths.hpp"

namespace collsim::topologies {

// One cable between every two points; the cable is the route.
class FullMeshNetwork final : public Network {
 public:
  explicit FullMeshNetwork(std::int64_t points) : points_(points) {}
  std::int64_t points() const override { return points_; }
  void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const override;
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  Duration latency_max(const CableSpec& cable, std::int64_t used) const override;
  std::vector<PointGroups> groups() const override;

 private:
  std::int64_t points_;
};

// Points differ in one bit along each cable. Routes mend the differing bits from the lowest up; ECMP: in any
// order; spread: in all orders; valiant: over a drawn point.
class Hypercube final : public Network {
 public:
  // REQUIRES: points is a power of two
  Hypercube(std::int64_t points, const Choice& choice);
  std::int64_t points() const override { return points_; }
  void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const override;
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const override;
  Duration latency_max(const CableSpec& cable, std::int64_t used) const override;
  std::vector<PointGroups> groups() const override;

 private:
  // Over the cable of one bit.
  Hop step(Cable first, std::int64_t point, int bit) const;
  void route_by_valiant(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                        std::vector<LinkId>& links) const;

  std::int64_t points_;
  int bits_ = 0;
  Choice choice_;
};

// The links that the user lists; routes by hash over the paths of fewest cables.
class CustomNetwork final : public Network {
 public:
  CustomNetwork(std::int32_t points, const std::vector<CustomLink>& links, const Choice& choice);
  std::int64_t points() const override { return paths_.points(); }
  void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const override;
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override {
    return paths_.route_count(source, target);
  }
  void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const override {
    paths_.numbered_route(first, source, target, flow, number, links);
  }
  // O(points * cables * log points)
  Duration latency_max(const CableSpec& cable, std::int64_t used) const override;
  std::vector<PointGroups> groups() const override;

 private:
  CableSpec spec(std::size_t link, const CableSpec& fabric) const;

  std::vector<CustomLink> links_;
  ShortestPaths paths_;
};

constexpr std::int32_t custom_nodes_max = 4096;  // its table of distances takes 32 MiB

// The lower and the upper half of the points, as a cut.
PointGroups halves(std::int64_t points);

}  // namespace collsim::topologies
