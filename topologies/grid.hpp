// Grid: torus and mesh of any number of dimensions; a ring is a torus of one.
//
// Point number = x + A * (y + B * z). One cable to each neighbour; a side of 2 has one cable, a side of 1
// none. Routes go dimension by dimension, the shorter way round, ties in the + direction. ECMP draws at every
// point among all steps that bring the message closer, so every shortest path can occur. Spread routes turn
// once a dimension: they are the orders of the dimensions times the ways round of those where both are as
// short. Valiant goes over a drawn point (valiant.hpp).
//
// Complexity  route: O(hops + dimensions); ECMP O(hops * dimensions); valiant O(hops * log hops)
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/alternatives.hpp"
#include "topologies/network.hpp"

namespace collsim::topologies {

enum class GridKind { torus, mesh };

class Grid final : public Network {
 public:
  // REQUIRES: sides >= 1, product below 2^31
  Grid(std::vector<std::int32_t> sides, GridKind kind, const Choice& choice);

  std::int64_t points() const override { return points_; }
  void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const override;
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const override;
  Duration latency_max(const CableSpec& cable, std::int64_t used) const override;
  // Per dimension its planes ("x planes") and its two halves ("x bisection"); those halves that the fewest
  // cables join are "bisection".
  std::vector<PointGroups> groups() const override;
  std::int64_t diameter() const;  // in cables

 private:
  std::size_t tightest_dimension() const;
  struct Dimension {
    std::int64_t side = 1;
    std::int64_t stride = 1;  // of point numbers
    std::int64_t cables = 0;  // along one line: side, or side - 1 where it does not close
    Cable first = 0;          // first cable of this dimension
    bool wraps() const { return cables == side; }
  };
  // Signed number of steps from coordinate a to b; both ways are as short: positive.
  static std::int64_t steps(const Dimension& dimension, std::int64_t a, std::int64_t b);
  static bool tied(const Dimension& dimension, std::int64_t step_count);
  // Steps to walk along one dimension.
  struct Leg {
    std::size_t dimension = 0;
    std::int64_t count = 0;  // signed, not 0
  };
  std::vector<Leg> legs(std::int64_t source, std::int64_t target) const;
  // What distinguishes routes with these legs: which of them comes next, again and again; then the way round
  // of those that are tied.
  Alternatives alternatives(const std::vector<Leg>& legs) const;
  Hop step(Cable first, const Dimension& dimension, std::int64_t point, bool plus) const;
  // Calls take(hop) for every step of one leg; returns the point reached.
  template <class Take>
  std::int64_t walk(Cable first, const Leg& leg, std::int64_t point, Take&& take) const;
  void route_by_ecmp(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                     std::vector<LinkId>& links) const;
  void route_by_valiant(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                        std::vector<LinkId>& links) const;

  std::vector<Dimension> dimensions_;
  std::int64_t points_ = 1;
  Choice choice_;
};

}  // namespace collsim::topologies
