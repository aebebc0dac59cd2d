// FlowBounds: lower bounds on the time of every collective on one topology, by maximum flow where the graph
// is small.
#pragma once

#include <memory>

#include "sim/model/bounds.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

// Keeps a reference to the topology. Flows are computed when a collective is first asked for, once for all
// sizes; safe to share between threads.
class FlowBounds {
 public:
  explicit FlowBounds(const Topology& topology);
  ~FlowBounds();
  FlowBounds(const FlowBounds&) = delete;
  FlowBounds& operator=(const FlowBounds&) = delete;

  // Never below lower_bound(), which it is where the graph is too large for flows.
  LowerBound of(const Collective& collective) const;

 private:
  struct Storage;
  std::unique_ptr<Storage> storage_;
};

}  // namespace collsim::topologies
