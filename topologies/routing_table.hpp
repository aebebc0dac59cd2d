// Routing tables: the routes of a cluster as a text says them, entry by entry.
//
//     # at          destination   next [next ...]
//     leaf0         node0         node0/nic0
//     leaf0         *             spine0 spine1
//     leaf1         node1/gpu3    node1/nic0#2
//
// One entry a line, columns separated by blanks; "#" at the beginning of a line or after a blank begins a
// comment. Vertices are named as everywhere (Topology::vertex_name).
//   at           where the message is
//   destination  where it is going: a GPU; a NIC: every GPU that has a cable to it; a node ("node3"): all its
//                GPUs; "*": all. Of several entries that fit the narrowest counts, in this order.
//   next         the vertex to go to. Several: ECMP, one of them by a hash of the flow and of `at`. "#n"
//   names
//                the n-th of parallel links; without it all of them are meant.
//
// Checked     for every pair of ranks: that there is an entry at every vertex on every way that the table
// leaves
//             open, and that no way comes back to a vertex. Every error stands at the line that leads into
//             it; at most 20 are reported, by line.
// Complexity  O(ranks * links that entries use), one search a destination. Refused if ranks * vertices are
// more
//             than 2^30.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::topologies {

struct TableError {
  int line = 1;    // 1-based; the last one and 1 more: something is missing
  int column = 1;  // 1-based, in bytes
  std::string message;
  std::string expected;  // or empty
  std::string hint;      // the nearest right spelling, or empty
};

// The same cluster with the routes of the table; `seed` decides between several ways. Or what is wrong, by
// line and column, never empty.
std::variant<Topology, std::vector<TableError>> with_routing_table(Topology topology, std::string_view text,
                                                                   std::uint64_t seed = 1);

// The table of the topology's own routes, channel 0. A table cannot tell sources and channels apart: where
// routes of different sources go on differently for the same destination (dragonflies with several cables
// between two groups, custom links, ECMP), the entry has all those ways. O(ranks^2 * hops): for small ones.
std::string routing_table_of(const Topology& topology);

}  // namespace collsim::topologies
