// Detours: the routes of a topology, led around dead links.
//
// A route of the topology that crosses no dead link stays as it is; of a connection with several routes those
// that cross one are left out. Where none is left, a path of fewest live links is taken. A path leads over
// the fabric and over vertices of the two nodes only: GPUs relay within their own node, NICs serve the GPUs
// that have a cable to them. Where GPUs or NICs are points of the fabric themselves (a torus of single GPUs)
// they forward as ever. Among paths as short the next vertex is drawn at every step by a hash of (source,
// target, channel), so that the traffic of a lost NIC spreads over the others of its node.
//
// Threads     Safe to share; paths found are kept, behind a mutex, at most 2^20 of them.
// Complexity  A path that is not kept yet: O(vertices + links of the fabric and of the two nodes).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::topologies {

class Detours final : public RouteRule {
 public:
  // dead[link]. REQUIRES: every pair of ranks that is asked for has a path (split_by() finds none)
  Detours(std::shared_ptr<const Topology> base, std::vector<bool> dead);
  ~Detours() override;

  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override;
  Spreading spreading() const override;
  std::int32_t route_count(Rank source, Rank target, std::int32_t channel) const override;
  void numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t number,
                      std::vector<LinkId>& links) const override;

 private:
  struct Paths;
  bool is_live(const std::vector<LinkId>& links) const;

  std::shared_ptr<const Topology> base_;
  std::vector<bool> dead_;
  std::unique_ptr<Paths> paths_;
};

// Two ranks between which no such path is left, if there are any.
std::optional<std::pair<Rank, Rank>> split_by(const Topology& topology, const std::vector<bool>& dead);

}  // namespace collsim::topologies
