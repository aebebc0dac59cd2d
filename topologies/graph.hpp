// Graph: the vertices and links of a topology as a Boost.Graph, with the measures that need one.
//
// Immutable. Memory O(vertices + links). Boost stays inside graph.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

class Graph {
 public:
  // REQUIRES: every link joins vertices below `vertices`
  Graph(std::size_t vertices, std::span<const Link> links);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::int64_t link_count() const;
  // Per vertex the fewest links from `source` to it; -1 where there is no path. Breadth-first search.
  std::vector<std::int32_t> hops(VertexId source) const;
  // Per vertex the least latency from `source` to it; unreached_latency where there is no path. Dijkstra.
  std::vector<Duration> latencies(VertexId source) const;

  static constexpr Duration unreached_latency = Duration::picoseconds(-1);

 private:
  struct Storage;
  std::unique_ptr<const Storage> storage_;
};

}  // namespace collsim::topologies
