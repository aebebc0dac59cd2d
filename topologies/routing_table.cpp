#include "topologies/routing_table.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/choice.hpp"
#include "topologies/routing_entries.hpp"

namespace collsim::topologies {
namespace {

constexpr std::size_t errors_max = 20;
constexpr std::int64_t ranks_times_vertices_max = std::int64_t{1} << 30;

// REQUIRES: the entries have passed check_routing_entries()
class TableRoutes final : public RouteRule {
 public:
  TableRoutes(RoutingEntries entries, std::uint64_t seed)
      : entries_(std::move(entries)), choice_(seed, RoutingKind::ecmp) {}

  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
    const Flow flow{source, target, channel};
    VertexId at(source);
    for (std::int64_t step = 0; at != VertexId(target); ++step) {
      const std::span<const NextHop> next = entries_.next(*entries_.find(at, target));
      const std::int64_t drawn = choice_.by_hash(flow, {step, at.value}, std::ssize(next));
      links.push_back(next[static_cast<std::size_t>(drawn)].link);
      at = next[static_cast<std::size_t>(drawn)].vertex;
    }
  }

 private:
  RoutingEntries entries_;
  Choice choice_;
};

std::vector<TableError> first_of(std::vector<TableError> errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const TableError& a, const TableError& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  if (errors.size() > errors_max) errors.resize(errors_max);
  return errors;
}

}  // namespace

std::variant<Topology, std::vector<TableError>> with_routing_table(Topology topology, std::string_view text,
                                                                   std::uint64_t seed) {
  const auto vertices = static_cast<std::int64_t>(topology.vertex_count());
  if (topology.ranks() * vertices > ranks_times_vertices_max)
    return std::vector<TableError>{{1, 1,
                                    "a cluster of " + std::to_string(topology.ranks()) + " GPUs and " +
                                        std::to_string(vertices) + " vertices is too large for a table",
                                    "a smaller cluster, or routing of another kind", ""}};
  ReadTable table = read_routing_table(topology, text);
  if (!table.errors.empty()) return first_of(std::move(table.errors));
  RoutingEntries entries(topology, std::move(table.entries), std::move(table.next));
  std::vector<TableError> errors = check_routing_entries(topology, entries, table.lines);
  if (!errors.empty()) return first_of(std::move(errors));
  return topology.with_routes(std::make_shared<const TableRoutes>(std::move(entries), seed));
}

namespace {

using Ways = std::set<std::string>;   // names of next vertices
using Column = std::map<Rank, Ways>;  // of one vertex, by target

Ways all_of(const Column& column) {
  const Ways& first = column.begin()->second;
  for (const auto& entry : column)
    if (entry.second != first) return {};
  return first;
}

void write_line(const std::string& at, const std::string& destination, const Ways& ways, std::string& text) {
  text += at + "  " + destination;
  for (const std::string& way : ways) text += "  " + way;
  text += "\n";
}

// One line for all targets where one will do, else one for each node or each of its GPUs.
void write_vertex(const Topology& topology, const std::string& at, const Column& column, std::string& text) {
  if (const Ways ways = all_of(column); !ways.empty()) return write_line(at, "*", ways, text);
  std::map<std::int32_t, Column> nodes;
  for (const auto& entry : column) nodes[topology.placement().node_of(entry.first)].insert(entry);
  for (const auto& node : nodes) {
    if (const Ways ways = all_of(node.second); !ways.empty()) {
      write_line(at, "node" + std::to_string(node.first), ways, text);
      continue;
    }
    for (const auto& entry : node.second)
      write_line(at, topology.vertex_name(VertexId(entry.first)), entry.second, text);
  }
}

}  // namespace

std::string routing_table_of(const Topology& topology) {
  std::map<VertexId, Column> columns;
  std::vector<LinkId> links;
  for (Rank target = 0; target < topology.ranks(); ++target)
    for (Rank source = 0; source < topology.ranks(); ++source) {
      if (source == target) continue;
      links.clear();
      topology.route(source, target, 0, links);
      for (const LinkId link : links) {
        const std::string name = topology.link_name(link);
        columns[topology.link(link).source][target].insert(name.substr(name.find(" -> ") + 4));
      }
    }
  std::string text;
  for (const auto& column : columns)
    write_vertex(topology, topology.vertex_name(column.first), column.second, text);
  return text;
}

}  // namespace collsim::topologies
