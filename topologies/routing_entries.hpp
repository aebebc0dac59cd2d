// RoutingEntries: a routing table once it is read. What with_routing_table() (routing_table.hpp) is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/routing_table.hpp"

namespace collsim::topologies {

// The narrowest comes first.
enum class Breadth : std::uint8_t { gpu, nic, node, all };
struct TableDestination {
  Breadth breadth = Breadth::all;
  std::uint32_t number = 0;  // rank, vertex of the NIC, node
  friend auto operator<=>(const TableDestination&, const TableDestination&) = default;
};

struct NextHop {
  LinkId link;
  VertexId vertex;  // that it leads to
  int column = 1;
};

struct TableEntry {
  VertexId at;
  TableDestination destination;
  int line = 1;
  int column = 1;  // of the destination
  std::uint32_t first_next = 0;
  std::uint32_t next_count = 0;
};

class RoutingEntries {
 public:
  // Sorts the entries. REQUIRES: next_count >= 1
  RoutingEntries(const Topology& topology, std::vector<TableEntry> entries, std::vector<NextHop> next);

  const std::vector<TableEntry>& entries() const { return entries_; }  // by (at, destination, line)
  // What holds at `at` for messages to `target`, or null. O(log entries at the vertex)
  const TableEntry* find(VertexId at, Rank target) const;
  std::span<const NextHop> next(const TableEntry& entry) const {
    return std::span(next_).subspan(entry.first_next, entry.next_count);
  }

 private:
  std::vector<TableEntry> entries_;
  std::vector<NextHop> next_;
  std::vector<std::uint32_t> start_;  // [vertex]: its first entry; one more holds the end
  std::vector<std::uint32_t> nic_;    // [rank]: vertex of its NIC, or that of the GPU
  std::vector<std::uint32_t> node_;   // [rank]
};

struct ReadTable {
  std::vector<TableEntry> entries;
  std::vector<NextHop> next;
  int lines = 0;
  std::vector<TableError> errors;
};
// Understands the text: names, neighbours, repeated entries.
ReadTable read_routing_table(const Topology& topology, std::string_view text);

// Follows all ways from every rank to every other. `lines`: of the text.
std::vector<TableError> check_routing_entries(const Topology& topology, const RoutingEntries& entries,
                                              int lines);

}  // namespace collsim::topologies
