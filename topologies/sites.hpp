// Sites: clusters joined by long links. Every site has a fat tree (or a switch) for its own nodes; a border
// switch hangs on all its highest switches, and the border switches are joined pair by pair.
//
// A message to another site climbs its tree to a highest switch as it would inside (by the slot that the
// target has in its own tree, or by ECMP), crosses the borders by one of the parallel long cables (by
// channel; ECMP: by hash), and goes down from the highest switch that d-mod-k (or ECMP) gives for the target.
// Spread: over all of these ways.
//
// Order       Vertices: switches of the trees, site by site; borders. Cables: those of the trees, site by
// site;
//             from highest switches to their border, site by site; long cables, by pair of sites.
#pragma once

#include <memory>
#include <vector>

#include "topologies/alternatives.hpp"
#include "topologies/fat_tree.hpp"

namespace collsim::topologies {

class Sites final : public Fabric {
 public:
  struct Site {
    std::shared_ptr<FatTree> tree;
    std::int32_t nodes = 0;
    std::int64_t endpoints = 0;
  };
  Sites(std::vector<Site> sites, const CableSpec& long_cable, std::int32_t long_cables, const Choice& choice);

  void lay(const CableSpec& cable, Wiring& wiring) override;
  void route(std::int64_t source, std::int64_t target, const Flow& flow,
             std::vector<LinkId>& links) const override;
  std::int32_t route_count(std::int64_t source, std::int64_t target) const override;
  void numbered_route(std::int64_t source, std::int64_t target, const Flow& flow, std::int32_t number,
                      std::vector<LinkId>& links) const override;
  // "node", then what the trees are cut by, then "site" and "bisection".
  std::vector<Grouping> groupings() const override;

  std::int32_t count() const { return static_cast<std::int32_t>(sites_.size()); }
  const FatTree& tree(std::int32_t site) const { return *sites_[static_cast<std::size_t>(site)].tree; }
  std::shared_ptr<const FatTree> shared_tree(std::int32_t site) const {
    return sites_[static_cast<std::size_t>(site)].tree;
  }
  std::int32_t site_of(std::int64_t endpoint) const;
  std::int64_t first_endpoint(std::int32_t site) const {
    return first_endpoint_[static_cast<std::size_t>(site)];
  }
  // The switches of a site's tree are consecutive vertices from here to those of the next, or to the borders.
  VertexId first_switch(std::int32_t site) const { return first_switch_[static_cast<std::size_t>(site)]; }
  VertexId border(std::int32_t site) const { return after(first_border_, site); }

 private:
  Alternatives ways_between(std::int32_t from, std::int32_t to) const;
  // Every tree's grouping of this name, or by node where a tree has none.
  Grouping combined(const std::string& name, const std::vector<std::vector<Grouping>>& of_sites) const;
  Grouping by_site() const;

  std::vector<Site> sites_;
  CableSpec long_cable_;
  std::int32_t long_cables_;
  Choice choice_;
  std::vector<std::int64_t> first_endpoint_;
  std::vector<VertexId> first_switch_;  // [site], and of the borders
  VertexId first_border_;
  std::vector<Cable> first_up_;  // [site]: from its first highest switch to its border
  Cable first_long_ = 0;
};

// How many nodes each site has. REQUIRES: check() found nothing
std::vector<std::int32_t> nodes_of_sites(const ClusterSpec& cluster);

}  // namespace collsim::topologies
