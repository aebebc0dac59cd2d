// What tests of topologies share: building, and an independent view of the links through Boost.Graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/build.hpp"

namespace collsim::testing {

// The built cluster; a doctest failure with the message if it is refused.
Topology built(const ClusterSpec& cluster, std::uint64_t seed = 1);

// Nodes of one GPU on a fabric, 50 GB/s and 250 ns a link.
ClusterSpec fabric_of(FabricKind kind, std::int32_t nodes);
// One node of `gpus`, 100 GB/s and 500 ns a link.
ClusterSpec node_of(InterconnectKind kind, std::int32_t gpus);
// Nodes of `gpus` on NVSwitch (or `inside`) with `nics` NICs (200 GB/s, 1 us) each on a fabric.
ClusterSpec cluster_of(FabricKind kind, std::int32_t nodes, std::int32_t gpus, std::int32_t nics,
                       InterconnectKind inside = InterconnectKind::nvswitch);
ClusterSpec tree_of(FabricKind kind, int levels, int radix, std::int32_t nodes, std::int32_t gpus,
                    std::int32_t nics);

// "fat_tree, 12 nodes of 4 GPUs and 2 NICs, levels 2, radix 6": for CAPTURE
std::string text_of(const ClusterSpec& cluster);

using LinkFilter = bool (*)(const Topology&, const Link&);
bool any_link(const Topology& topology, const Link& link);
// Between GPUs and switches of one node.
bool inside_node(const Topology& topology, const Link& link);
bool outside_nodes(const Topology& topology, const Link& link);

// Per vertex the fewest links of those that pass `filter` from `source`, or -1.
std::vector<std::int32_t> hops_from(const Topology& topology, VertexId source, LinkFilter filter);
// Per vertex the least latency from `source` in picoseconds.
std::vector<std::int64_t> latencies_from(const Topology& topology, VertexId source, LinkFilter filter);

std::vector<LinkId> route_of(const Topology& topology, Rank source, Rank target, std::int32_t channel = 0);
// Where each of the links leads to.
std::vector<std::string> names_of(const Topology& topology, const std::vector<LinkId>& links);

// How short routes from one rank can be, and how many are that short: by breadth-first search over the links
// inside the node or outside of nodes; of a dragonfly over at most one global cable, tried one by one.
class ShortestRoutes {
 public:
  ShortestRoutes(const Topology& topology, const ClusterSpec& cluster, Rank source);
  struct Answer {
    std::size_t links = 0;
    std::int64_t routes = 0;
  };
  Answer to(Rank target) const;

 private:
  struct Search {
    std::vector<std::int32_t> hops;
    std::vector<std::int64_t> routes;
  };
  Search search(LinkFilter filter) const;
  Answer dragonfly(Rank target) const;

  const Topology& topology_;
  ClusterSpec cluster_;
  Rank source_;
  Search inside_;
  Search outside_;
};

// What is wrong with a route, or "" if it is a path without repeated links from one GPU to the other.
std::string path_fault(const Topology& topology, Rank source, Rank target, const std::vector<LinkId>& route);

}  // namespace collsim::testing
