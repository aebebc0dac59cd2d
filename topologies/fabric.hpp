// Fabric: what joins the endpoints of all nodes: its switches, its cables, its routes.
//
// An endpoint is a NIC, or the GPU itself where a node has no NIC; endpoints are numbered node by node
// (endpoints.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/choice.hpp"
#include "topologies/endpoints.hpp"
#include "topologies/wiring.hpp"

namespace collsim::topologies {

// A partition of the nodes for a cut. Stage s additionally puts fabric switches into the groups:
// stages[s][switch] is a group or -1. Every stage is a valid cut by itself; the one with the least exit
// counts.
struct Grouping {
  std::string name;
  std::vector<std::int32_t> node_group;
  std::vector<std::vector<std::int32_t>> stages;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  // Adds the switches, then the cables. Called once, after all other vertices have been added.
  virtual void lay(const CableSpec& cable, Wiring& wiring) = 0;
  // Appends the links from endpoint `source` to another endpoint `target`.
  virtual void route(std::int64_t source, std::int64_t target, const Flow& flow,
                     std::vector<LinkId>& links) const = 0;
  // How many routes a connection is spread over: different ones, number 0 is route(). 1 unless spread.
  virtual std::int32_t route_count(std::int64_t /*source*/, std::int64_t /*target*/) const { return 1; }
  virtual void numbered_route(std::int64_t source, std::int64_t target, const Flow& flow,
                              std::int32_t /*number*/, std::vector<LinkId>& links) const {
    route(source, target, flow, links);
  }
  // Partitions by node and coarser, finest first.
  virtual std::vector<Grouping> groupings() const = 0;
};

// Every node a group by itself.
Grouping node_grouping(std::int32_t nodes);
// "bisection": the lower and the upper half of the nodes. Its stages are those of `finer` groupings, with the
// switches of every group that lies in one half.
Grouping bisection_of(std::int32_t nodes, const std::vector<Grouping>& finer);

}  // namespace collsim::topologies
