#include "sim/execution/refinement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/core/random.hpp"

using namespace collsim;

namespace {

struct Edges {
  std::uint32_t vertices = 0;
  struct One {
    std::uint32_t from, to, label, back;
  };
  std::vector<One> list;
};

LabelledGraph graph_of(const Edges& edges) {
  LabelledGraph graph(edges.vertices);
  for (const auto& edge : edges.list) graph.count_edge(edge.from, edge.to);
  graph.reserve();
  for (const auto& edge : edges.list) graph.add_edge(edge.from, edge.to, edge.label, edge.back);
  return graph;
}

// Rounds of comparing whole neighbour lists until nothing splits any more.
std::vector<std::uint32_t> slow_partition(const LabelledGraph& graph,
                                          const std::vector<std::uint64_t>& colours) {
  std::vector<std::uint64_t> colour = colours;
  for (;;) {
    using Look = std::pair<std::uint64_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>>;
    std::map<Look, std::uint64_t> numbers;
    std::vector<Look> looks;
    for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
      Look look{colour[vertex], {}};
      for (const auto& edge : graph.edges(vertex)) look.second.emplace_back(edge.label, colour[edge.to]);
      std::sort(look.second.begin(), look.second.end());
      numbers.try_emplace(look, numbers.size());
      looks.push_back(look);
    }
    std::vector<std::uint64_t> next;
    for (const Look& look : looks) next.push_back(numbers[look]);
    const auto count = [](std::vector<std::uint64_t> values) {
      std::sort(values.begin(), values.end());
      return std::unique(values.begin(), values.end()) - values.begin();
    };
    const bool stable = count(next) == count(colour);
    colour = next;
    if (stable) break;
  }
  std::map<std::uint64_t, std::uint32_t> order;
  std::vector<std::uint32_t> result;
  for (const std::uint64_t value : colour)
    result.push_back(order.try_emplace(value, static_cast<std::uint32_t>(order.size())).first->second);
  return result;
}

}  // namespace

TEST_SUITE("sim/execution") {
  TEST_CASE("equitable_partition finds the coarsest partition, as rounds of comparing neighbours do") {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      Edges edges;
      edges.vertices = static_cast<std::uint32_t>(1 + random.below(30));
      const auto count = random.below(3 * edges.vertices);
      for (std::uint64_t index = 0; index < count; ++index) {
        const auto label = static_cast<std::uint32_t>(random.below(2));
        const auto from = static_cast<std::uint32_t>(random.below(edges.vertices));
        // Half of the graphs are circulant, so that there is symmetry to find.
        const auto to = static_cast<std::uint32_t>(random.below(edges.vertices));
        if (seed % 2 == 0) {
          edges.list.push_back({from, to, label, label + 2});
        } else {
          const std::uint32_t shift = 1 + to % 3;
          for (std::uint32_t vertex = 0; vertex < edges.vertices; ++vertex)
            edges.list.push_back({vertex, (vertex + shift) % edges.vertices, label, label + 2});
          if (index > 2) break;
        }
      }
      std::vector<std::uint64_t> colours(edges.vertices);
      for (auto& colour : colours) colour = seed % 3 == 0 ? random.below(2) : 0;
      const LabelledGraph graph = graph_of(edges);
      const Partition partition = equitable_partition(graph, colours, edges.vertices);
      CHECK(is_equitable(graph, partition));
      CHECK(partition.cell == slow_partition(graph, colours));
    }
  }

  TEST_CASE("equitable_partition gives up beyond its limit of cells") {
    Edges path;
    path.vertices = 100;
    for (std::uint32_t vertex = 0; vertex + 1 < path.vertices; ++vertex)
      path.list.push_back({vertex, vertex + 1, 0, 1});
    const LabelledGraph graph = graph_of(path);
    const std::vector<std::uint64_t> colours(path.vertices);
    CHECK(equitable_partition(graph, colours, 50).members.empty());
    CHECK(equitable_partition(graph, colours, 100).members.size() == 100);
  }

  TEST_CASE("is_equitable refuses a partition that is too coarse") {
    Edges path;
    path.vertices = 3;
    path.list = {{0, 1, 0, 0}, {1, 2, 0, 0}};
    Partition partition;
    partition.cell = {0, 0, 0};
    partition.members = {{0, 1, 2}};
    CHECK_FALSE(is_equitable(graph_of(path), partition));
  }
}
