#include "topologies/graph.hpp"

#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <utility>

namespace collsim::topologies {
namespace {

struct Edge {
  std::int64_t latency_ps = 0;
};
using Compressed = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Edge,
                                                      boost::no_property, std::uint32_t>;

Compressed compress(std::size_t vertices, std::span<const Link> links) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  std::vector<Edge> edges;
  ends.reserve(links.size());
  edges.reserve(links.size());
  for (const Link& link : links) {
    ends.emplace_back(link.source.value, link.target.value);
    edges.push_back({link.latency.picoseconds()});
  }
  return Compressed(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), edges.begin(),
                    static_cast<std::uint32_t>(vertices));
}

}  // namespace

struct Graph::Storage {
  Compressed graph;
};

Graph::Graph(std::size_t vertices, std::span<const Link> links)
    : storage_(std::make_unique<const Storage>(Storage{compress(vertices, links)})) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

std::int64_t Graph::link_count() const { return boost::num_edges(storage_->graph); }

std::vector<std::int32_t> Graph::hops(VertexId source) const {
  const Compressed& graph = storage_->graph;
  std::vector<std::int32_t> result(boost::num_vertices(graph), -1);
  result[source.value] = 0;
  const auto map = boost::make_iterator_property_map(result.begin(), boost::get(boost::vertex_index, graph));
  boost::breadth_first_search(
      graph, source.value,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(map, boost::on_tree_edge()))));
  return result;
}

std::vector<Duration> Graph::latencies(VertexId source) const {
  const Compressed& graph = storage_->graph;
  constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> distance(boost::num_vertices(graph), infinite);
  const auto map =
      boost::make_iterator_property_map(distance.begin(), boost::get(boost::vertex_index, graph));
  boost::dijkstra_shortest_paths_no_color_map(
      graph, source.value,
      boost::weight_map(boost::get(&Edge::latency_ps, graph)).distance_map(map).distance_inf(infinite));
  std::vector<Duration> result;
  result.reserve(distance.size());
  for (const std::int64_t ps : distance)
    result.push_back(ps == infinite ? unreached_latency : Duration::picoseconds(ps));
  return result;
}

}  // namespace collsim::topologies
