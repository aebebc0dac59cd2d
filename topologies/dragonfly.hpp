// Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of all-to-all routers, groups joined by global
// cables.
//
// There are as many groups as the nodes need. The a * h global ports of a group serve its peers in the order
// of their numbers, floor(a * h / (groups - 1)) cables to each ("absolute" arrangement); port q is on router
// q / h. Routes are minimal in the sense of the paper: at most one global cable, and a local one before and
// after it where needed; among several global cables between two groups one on a shortest such route, by
// hash. Spread: over all of those. Valiant: between two groups over a drawn third one, by a cable into it
// that starts at the source's router if there is one, and minimally from there; within a group minimally.
//
// Complexity  route: O(global cables between two groups)
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.hpp"

namespace collsim::topologies {

class Dragonfly final : public Network {
 public:
  // REQUIRES: routers, groups >= 1; groups <= routers * global_links + 1
  Dragonfly(std::int64_t groups, std::int64_t routers, std::int64_t global_links, const Choice& choice);

  std::int64_t points() const override { return groups_ * routers_; }
  void lay(VertexId first_point, const CableSpec& cable, Wiring& wiring) const override;
  void route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(Cable first, std::int64_t source, std::int64_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const override;
  // O(points * cables): paths over several global cables can be shorter than routes.
  Duration latency_max(const CableSpec& cable, std::int64_t used) const override;
  std::vector<PointGroups> groups() const override;

 private:
  std::int64_t group_of(std::int64_t point) const { return point / routers_; }
  // The router, within `group`, that holds global cable `number` to group `peer`.
  std::int64_t gateway(std::int64_t group, std::int64_t peer, std::int64_t number) const;
  Cable global_cable(std::int64_t low_group, std::int64_t high_group, std::int64_t number) const;
  // The global cables from the group of router `from` that begin a shortest way to router `to` of another
  // group, or to anywhere in the group of `to`.
  std::vector<std::int64_t> nearest_cables(std::int64_t from, std::int64_t to, bool anywhere) const;
  // Appends the links over global cable `number` into `to_group`; returns the router reached.
  std::int64_t cross(Cable first, std::int64_t from, std::int64_t to_group, std::int64_t number,
                     std::vector<LinkId>& links) const;
  // The group in between, or that of `to`.
  std::int64_t valiant_group(std::int64_t from, std::int64_t to, const Flow& flow) const;
  void local_hop(Cable first, std::int64_t group, std::int64_t from, std::int64_t to,
                 std::vector<LinkId>& links) const;

  std::int64_t groups_;
  std::int64_t routers_;
  std::int64_t global_links_;
  std::int64_t cables_a_pair_;  // global cables between two groups
  Choice choice_;
};

}  // namespace collsim::topologies
