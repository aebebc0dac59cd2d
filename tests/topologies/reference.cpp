#include "tests/topologies/reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <set>

namespace collsim::testing {

Topology built(const ClusterSpec& cluster, std::uint64_t seed) {
  auto result = topologies::build(cluster, seed);
  if (const auto* error = std::get_if<topologies::BuildError>(&result))
    FAIL(error->key << ": " << error->message << "; expected " << error->expected);
  return std::get<Topology>(std::move(result));
}

ClusterSpec fabric_of(FabricKind kind, std::int32_t nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.fabric.kind = kind;
  cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(50);
  cluster.fabric.latency = Duration::nanoseconds(250);
  return cluster;
}

ClusterSpec node_of(InterconnectKind kind, std::int32_t gpus) {
  ClusterSpec cluster;
  cluster.node.gpus = gpus;
  cluster.node.interconnect.kind = kind;
  cluster.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(100);
  cluster.node.interconnect.latency = Duration::nanoseconds(500);
  if (kind == InterconnectKind::shared_memory)
    cluster.node.interconnect.total = Bandwidth::gigabytes_per_second(250);
  return cluster;
}

ClusterSpec cluster_of(FabricKind kind, std::int32_t nodes, std::int32_t gpus, std::int32_t nics,
                       InterconnectKind inside) {
  ClusterSpec cluster = fabric_of(kind, nodes);
  cluster.node = node_of(inside, gpus).node;
  cluster.node.nics.count = nics;
  cluster.node.nics.bandwidth = Bandwidth::gigabytes_per_second(200);
  cluster.node.nics.latency = Duration::microseconds(1);
  return cluster;
}

ClusterSpec tree_of(FabricKind kind, int levels, int radix, std::int32_t nodes, std::int32_t gpus,
                    std::int32_t nics) {
  ClusterSpec cluster = cluster_of(kind, nodes, gpus, nics);
  if (nics == 0) cluster.node.interconnect.kind = InterconnectKind::none;
  cluster.fabric.levels = levels;
  cluster.fabric.radix = radix;
  return cluster;
}

std::string text_of(const ClusterSpec& cluster) {
  std::string text = std::string(name_of(cluster.node.interconnect.kind)) + ", " +
                     name_of(cluster.fabric.kind) + ", nodes " + std::to_string(cluster.nodes) + ", GPUs " +
                     std::to_string(cluster.node.gpus) + ", NICs " + std::to_string(cluster.node.nics.count) +
                     ", levels " + std::to_string(cluster.fabric.levels) + ", radix " +
                     std::to_string(cluster.fabric.radix) + ", oversubscription " +
                     std::to_string(cluster.fabric.oversubscription_numerator) + ", " +
                     name_of(cluster.routing.kind) + (cluster.routing.rail_local ? ", rail-local" : "");
  for (const int side : cluster.fabric.dimensions) text += ", side " + std::to_string(side);
  return text;
}

namespace {

using Reference = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                        boost::property<boost::edge_weight_t, std::int64_t>>;

Reference reference(const Topology& topology, LinkFilter filter) {
  Reference graph(topology.vertex_count());
  for (const Link& link : topology.links())
    if (filter(topology, link))
      boost::add_edge(link.source.value, link.target.value, link.latency.picoseconds(), graph);
  return graph;
}

}  // namespace

bool any_link(const Topology&, const Link&) { return true; }

bool inside_node(const Topology& topology, const Link& link) {
  const Vertex& a = topology.vertex(link.source);
  const Vertex& b = topology.vertex(link.target);
  return a.node >= 0 && a.node == b.node && a.kind != VertexKind::nic && b.kind != VertexKind::nic;
}

bool outside_nodes(const Topology& topology, const Link& link) { return !inside_node(topology, link); }

std::vector<std::int32_t> hops_from(const Topology& topology, VertexId source, LinkFilter filter) {
  const Reference graph = reference(topology, filter);
  std::vector<std::int32_t> hops(topology.vertex_count(), -1);
  hops[source.value] = 0;
  boost::breadth_first_search(
      graph, source.value,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(hops.data(), boost::on_tree_edge()))));
  return hops;
}

std::vector<std::int64_t> latencies_from(const Topology& topology, VertexId source, LinkFilter filter) {
  const Reference graph = reference(topology, filter);
  std::vector<std::int64_t> distance(topology.vertex_count());
  boost::dijkstra_shortest_paths(graph, source.value, boost::distance_map(distance.data()));
  return distance;
}

std::vector<LinkId> route_of(const Topology& topology, Rank source, Rank target, std::int32_t channel) {
  std::vector<LinkId> links;
  topology.route(source, target, channel, links);
  return links;
}

std::vector<std::string> names_of(const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<std::string> names;
  for (const LinkId id : links) names.push_back(topology.vertex_name(topology.link(id).target));
  return names;
}

ShortestRoutes::ShortestRoutes(const Topology& topology, const ClusterSpec& cluster, Rank source)
    : topology_(topology),
      cluster_(cluster),
      source_(source),
      inside_(search(inside_node)),
      outside_(search(outside_nodes)) {}

ShortestRoutes::Search ShortestRoutes::search(LinkFilter filter) const {
  Search result{hops_from(topology_, VertexId(source_), filter), {}};
  result.routes.assign(topology_.vertex_count(), 0);
  result.routes[static_cast<std::size_t>(source_)] = 1;
  std::vector<Link> links;
  for (const Link& link : topology_.links())
    if (filter(topology_, link) && result.hops[link.source.value] >= 0 &&
        result.hops[link.target.value] == result.hops[link.source.value] + 1)
      links.push_back(link);
  std::stable_sort(links.begin(), links.end(), [&](const Link& a, const Link& b) {
    return result.hops[a.source.value] < result.hops[b.source.value];
  });
  for (const Link& link : links) result.routes[link.target.value] += result.routes[link.source.value];
  return result;
}

ShortestRoutes::Answer ShortestRoutes::to(Rank target) const {
  const auto index = static_cast<std::size_t>(target);
  const bool same_node = topology_.vertex(VertexId(source_)).node == topology_.vertex(VertexId(target)).node;
  const bool has_interior = topology_.placement().interconnect != InterconnectKind::none;
  if (same_node && has_interior)
    return {static_cast<std::size_t>(inside_.hops[index]), inside_.routes[index]};
  if (cluster_.fabric.kind == FabricKind::dragonfly && !same_node) return dragonfly(target);
  return {static_cast<std::size_t>(outside_.hops[index]), outside_.routes[index]};
}

ShortestRoutes::Answer ShortestRoutes::dragonfly(Rank target) const {
  const auto router_of = [&](Rank rank) {
    return rank / cluster_.node.gpus / cluster_.fabric.dragonfly_nodes;
  };
  const auto group_of = [&](std::int32_t router) { return router / cluster_.fabric.dragonfly_routers; };
  const std::int32_t from = router_of(source_);
  const std::int32_t to = router_of(target);
  const std::size_t ends = cluster_.node.nics.count > 0 ? 4 : 2;
  if (group_of(from) == group_of(to)) return {ends + (from == to ? 0 : 1), 1};
  Answer answer{99, 0};
  for (const Link& link : topology_.links()) {
    const Vertex& a = topology_.vertex(link.source);
    const Vertex& b = topology_.vertex(link.target);
    if (a.kind != VertexKind::fabric_switch || b.kind != VertexKind::fabric_switch) continue;
    if (group_of(a.index) != group_of(from) || group_of(b.index) != group_of(to)) continue;
    const std::size_t links = ends + 1 + (a.index == from ? 0 : 1) + (b.index == to ? 0 : 1);
    if (links < answer.links) answer = {links, 0};
    if (links == answer.links) ++answer.routes;
  }
  return answer;
}

std::string path_fault(const Topology& topology, Rank source, Rank target, const std::vector<LinkId>& route) {
  VertexId place(source);
  std::set<LinkId> seen;
  for (const LinkId id : route) {
    if (id.value >= topology.link_count()) return "no such link";
    if (!seen.insert(id).second) return "repeats " + topology.link_name(id);
    if (topology.link(id).source != place) return "breaks off at " + topology.vertex_name(place);
    place = topology.link(id).target;
  }
  return place == VertexId(target) ? "" : "ends at " + topology.vertex_name(place);
}

}  // namespace collsim::testing
