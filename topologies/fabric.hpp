// Fabric: what joins the endpoints of all nodes: its switches, its cables, its routes.
//
// An endpoint is a NIC, or the GPU itself where a node has no NIC; endpoints are numbered node by node and
// are consecutive vertices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/choice.hpp"
#include "topologies/wiring.hpp"

namespace collsim::topologies {

struct Endpoints {
  VertexId first;
  std::int32_t nodes = 1;
  std::int32_t per_node = 1;
  std::int64_t count() const { return std::int64_t{nodes} * per_node; }
};

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
  // Partitions by node and coarser, finest first.
  virtual std::vector<Grouping> groupings() const = 0;
};

// Every node a group by itself.
Grouping node_grouping(std::int32_t nodes);
// "bisection": the lower and the upper half of the nodes. Its stages are those of `finer` groupings, with the
// switches of every group that lies in one half.
Grouping bisection_of(std::int32_t nodes, const std::vector<Grouping>& finer);

}  // namespace collsim::topologies
