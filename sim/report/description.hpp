// What a cluster is made of: counts, cuts, diameter, and its lower bounds; as text, JSON and Graphviz.
//
// Complexity  O(vertices + links). What needs a search of the graph is left to whoever has one to fill in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/bounds.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim {

struct SwitchCount {
  std::string kind;  // "node switch", "leaf", "spine", "core", ...
  std::int64_t count = 0;
};

struct SizeBound {
  Collective collective;
  LowerBound bound;
};

struct Description {
  std::string name;
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  std::int64_t nics = 0;
  std::vector<SwitchCount> switches;  // kinds that exist, node switches first, then by level
  std::int64_t links = 0;             // directed
  std::int64_t memories = 0;          // shared by the ranks of a node: one link each, which is no cable
  std::int64_t cables() const { return (links - memories) / 2; }
  std::vector<Cut> cuts;
  // Bytes/s that one half of the nodes can send to the other: of the cut named "bisection", if there is one.
  std::optional<Int128> bisection;
  std::optional<std::int32_t>
      diameter_links;             // most links on a shortest path of two ranks; not by describe()
  Duration latency_max;           // of the shortest path of two ranks
  std::vector<SizeBound> bounds;  // of one kind of collective; not by describe()
};

Description describe(const Topology& topology);

std::string description_text(const Description& description);
std::string description_json(const Description& description, std::string_view version);

// A Graphviz graph: one edge a cable, labelled with its bandwidth; a cluster a node. The same bytes every
// time.
std::string dot_text(const Topology& topology);

}  // namespace collsim
