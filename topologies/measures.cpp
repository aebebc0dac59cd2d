#include "topologies/measures.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <limits>

#include "sim/core/check.hpp"
#include "topologies/graph.hpp"

namespace collsim::topologies {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct FlowVertex {
  Traits::edge_descriptor predecessor;
  boost::default_color_type color = boost::white_color;
  std::int64_t distance = 0;
};
struct FlowEdge {
  std::int64_t capacity = 0;
  std::int64_t residual = 0;
  Traits::edge_descriptor reverse;
};
using FlowGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, FlowVertex, FlowEdge>;

// An edge and its reverse, which Boost asks for; the reverse carries nothing by itself.
void add_edge(FlowGraph& graph, std::size_t from, std::size_t to, std::int64_t capacity) {
  const auto edge = boost::add_edge(from, to, graph).first;
  const auto reverse = boost::add_edge(to, from, graph).first;
  graph[edge].capacity = capacity;
  graph[edge].reverse = reverse;
  graph[reverse].reverse = edge;
}

// The letters that a vertex name ends in, without its number: "node3/nvswitch0" -> "nvswitch".
std::string kind_name(const std::string& vertex_name) {
  const std::size_t slash = vertex_name.find('/');
  std::string name = slash == std::string::npos ? vertex_name : vertex_name.substr(slash + 1);
  name.erase(name.find_last_not_of("0123456789") + 1);
  return name;
}

void count_vertices(const Topology& topology, ClusterFacts& facts) {
  for (std::uint32_t i = 0; i < topology.vertex_count(); ++i) {
    const VertexKind kind = topology.vertex(VertexId(i)).kind;
    if (kind == VertexKind::nic) ++facts.nics;
    if (kind != VertexKind::node_switch && kind != VertexKind::fabric_switch) continue;
    const std::string name = kind_name(topology.vertex_name(VertexId(i)));
    const auto same = std::find_if(facts.switches.begin(), facts.switches.end(),
                                   [&](const SwitchCount& entry) { return entry.name == name; });
    if (same != facts.switches.end())
      ++same->count;
    else
      facts.switches.push_back({name, 1});
  }
}

// The links that messages can take: within a node with an interconnect, which is all there is, not those of
// its NICs.
std::vector<Link> usable_links(const Topology& topology) {
  const bool inside =
      topology.placement().nodes == 1 && topology.placement().interconnect != InterconnectKind::none;
  std::vector<Link> links;
  for (const Link& link : topology.links())
    if (!inside || (topology.vertex(link.source).kind != VertexKind::nic &&
                    topology.vertex(link.target).kind != VertexKind::nic))
      links.push_back(link);
  return links;
}

}  // namespace

Int128 maximum_flow(const Topology& topology, const std::vector<VertexId>& sources,
                    const std::vector<VertexId>& sinks) {
  COLLSIM_CHECK(!sources.empty() && !sinks.empty());
  const std::size_t source = topology.vertex_count();
  const std::size_t sink = source + 1;
  FlowGraph graph(sink + 1);
  // The links of one end can carry no more than all of them, which stays below 2^63 for every cluster built.
  std::int64_t unlimited = 0;
  for (const Link& link : usable_links(topology)) {
    add_edge(graph, link.source.value, link.target.value, link.bandwidth.bytes_per_second());
    COLLSIM_CHECK(link.bandwidth.bytes_per_second() <=
                  std::numeric_limits<std::int64_t>::max() / 4 - unlimited);
    unlimited += link.bandwidth.bytes_per_second();
  }
  for (const VertexId id : sources) add_edge(graph, source, id.value, unlimited);
  for (const VertexId id : sinks) add_edge(graph, id.value, sink, unlimited);
  return boost::boykov_kolmogorov_max_flow(
      graph, boost::get(&FlowEdge::capacity, graph), boost::get(&FlowEdge::residual, graph),
      boost::get(&FlowEdge::reverse, graph), boost::get(&FlowVertex::predecessor, graph),
      boost::get(&FlowVertex::color, graph), boost::get(&FlowVertex::distance, graph),
      boost::get(boost::vertex_index, graph), source, sink);
}

ClusterFacts measure(const Topology& topology) {
  ClusterFacts facts;
  facts.ranks = topology.ranks();
  facts.nodes = topology.placement().nodes;
  facts.links = static_cast<std::int64_t>(topology.link_count());
  facts.cables = facts.links / 2;
  facts.latency_max = topology.latency_max();
  count_vertices(topology, facts);
  std::vector<VertexId> low;
  std::vector<VertexId> high;
  const std::vector<Link> links = usable_links(topology);
  const Graph graph(topology.vertex_count(), links);
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    (rank < topology.ranks() / 2 ? low : high).push_back(VertexId(rank));
    const std::vector<std::int32_t> hops = graph.hops(VertexId(rank));
    facts.diameter =
        std::max(facts.diameter, *std::max_element(hops.begin(), hops.begin() + topology.ranks()));
  }
  if (!low.empty()) facts.bisection = maximum_flow(topology, low, high);
  return facts;
}

}  // namespace collsim::topologies
