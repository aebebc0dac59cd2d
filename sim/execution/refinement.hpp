// The coarsest equitable partition of a labelled graph that refines given colours.
//
// A partition is equitable if all vertices of a cell have, for every label and every cell, equally many
// neighbours in that cell over edges of that label. Found by splitting cells against a worklist of splitters,
// all but the largest fragment of a cell going back onto the list (Hopcroft; Paige and Tarjan, SIAM J.
// Comput. 16(6), 1987; McKay 1981 calls it refinement): O((V + E) log V). Neighbour counts are compared by
// 64-bit hashes while splitting; a last exact pass compares whole lists of neighbours, so no collision can
// reach a result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace collsim {

class LabelledGraph {
 public:
  struct Edge {
    std::uint32_t to;
    std::uint32_t label;
  };
  explicit LabelledGraph(std::size_t vertices) : degree_(vertices) {}

  // Edges are declared twice: first all with count_edge, then, after reserve(), all with add_edge. `label` is
  // what the edge looks like from either end; `back` gives it another look from the far end.
  void count_edge(std::uint32_t from, std::uint32_t to) {
    ++degree_[from];
    ++degree_[to];
  }
  void reserve();
  void add_edge(std::uint32_t from, std::uint32_t to, std::uint32_t label, std::uint32_t back) {
    edges_[next_[from]++] = {to, label};
    edges_[next_[to]++] = {from, back};
  }
  std::size_t size() const { return degree_.size(); }
  std::span<const Edge> edges(std::uint32_t vertex) const {
    return {edges_.data() + begin_[vertex], degree_[vertex]};
  }

 private:
  std::vector<std::uint32_t> degree_;
  std::vector<std::size_t> begin_;
  std::vector<std::size_t> next_;
  std::vector<Edge> edges_;
};

struct Partition {
  std::vector<std::uint32_t> cell;                  // [vertex]
  std::vector<std::vector<std::uint32_t>> members;  // [cell], increasing; cells by their first members
};

// Vertices of equal colour start in one cell. Gives up, with no cells, when more than `cells_max` are
// reached.
Partition equitable_partition(const LabelledGraph& graph, const std::vector<std::uint64_t>& colours,
                              std::size_t cells_max);

// Whether the partition is equitable, compared exactly: no hashes.
bool is_equitable(const LabelledGraph& graph, const Partition& partition);

}  // namespace collsim
