#include "sim/execution/refinement.hpp"

#include <algorithm>
#include <numeric>

#include "sim/core/random.hpp"

namespace collsim {

void LabelledGraph::reserve() {
  begin_.resize(degree_.size() + 1);
  for (std::size_t vertex = 0; vertex < degree_.size(); ++vertex)
    begin_[vertex + 1] = begin_[vertex] + degree_[vertex];
  next_.assign(begin_.begin(), begin_.end() - 1);
  edges_.resize(begin_.back());
}

namespace {

// Cells as ranges of one array of vertices.
class Refiner {
 public:
  Refiner(const LabelledGraph& graph, const std::vector<std::uint64_t>& colours)
      : graph_(graph),
        order_(graph.size()),
        place_(graph.size()),
        cell_(graph.size()),
        signature_(graph.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return colours[a] < colours[b]; });
    for (std::uint32_t place = 0; place < order_.size(); ++place) {
      if (place == 0 || colours[order_[place]] != colours[order_[place - 1]]) new_cell(place, 0);
      put(place, order_[place], static_cast<std::uint32_t>(cells_.size() - 1));
      ++cells_.back().size;
    }
    for (std::uint32_t cell = 0; cell < cells_.size(); ++cell) enlist(cell);
  }

  bool refine(std::size_t cells_max) {
    while (!worklist_.empty()) {
      if (cells_.size() > cells_max) return false;
      const std::uint32_t splitter = worklist_.back();
      worklist_.pop_back();
      cells_[splitter].listed = false;
      count_neighbours(splitter);
      split_touched();
    }
    return cells_.size() <= cells_max;
  }

  Partition partition() const {
    std::vector<std::uint32_t> number(cells_.size(), 0xffffffffU);
    Partition result;
    result.cell.resize(cell_.size());
    for (std::uint32_t vertex = 0; vertex < cell_.size(); ++vertex) {
      std::uint32_t& cell = number[cell_[vertex]];
      if (cell == 0xffffffffU) {
        cell = static_cast<std::uint32_t>(result.members.size());
        result.members.emplace_back();
      }
      result.cell[vertex] = cell;
      result.members[cell].push_back(vertex);
    }
    return result;
  }

 private:
  struct Cell {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t touched = 0;  // members with a signature, at the end of the range
    bool listed = false;
  };

  void new_cell(std::uint32_t begin, std::uint32_t size) { cells_.push_back({begin, size, 0, false}); }
  void enlist(std::uint32_t cell) {
    if (cells_[cell].listed) return;
    cells_[cell].listed = true;
    worklist_.push_back(cell);
  }
  void put(std::uint32_t place, std::uint32_t vertex, std::uint32_t cell) {
    order_[place] = vertex;
    place_[vertex] = place;
    cell_[vertex] = cell;
  }

  // Sums a hash of the label into every neighbour of the splitter; moves the touched to the ends of their
  // cells.
  void count_neighbours(std::uint32_t splitter) {
    members_.assign(order_.begin() + cells_[splitter].begin,
                    order_.begin() + cells_[splitter].begin + cells_[splitter].size);
    for (const std::uint32_t member : members_)
      for (const LabelledGraph::Edge& edge : graph_.edges(member)) touch(edge.to, mix64(edge.label + 1));
  }

  void touch(std::uint32_t vertex, std::uint64_t hash) {
    Cell& cell = cells_[cell_[vertex]];
    if (cell.size == 1) return;
    const std::uint32_t first_touched = cell.begin + cell.size - cell.touched;
    if (place_[vertex] < first_touched) {
      if (cell.touched == 0) touched_cells_.push_back(cell_[vertex]);
      const std::uint32_t other = order_[first_touched - 1];
      put(place_[vertex], other, cell_[other]);
      put(first_touched - 1, vertex, cell_[vertex]);
      ++cell.touched;
      signature_[vertex] = 0;
    }
    signature_[vertex] += hash;
  }

  void split_touched() {
    for (const std::uint32_t cell : touched_cells_) split(cell);
    touched_cells_.clear();
  }

  // Cuts a cell into its untouched part and one fragment for each signature.
  void split(std::uint32_t id) {
    const std::uint32_t begin = cells_[id].begin;
    const std::uint32_t end = begin + cells_[id].size;
    const std::uint32_t first_touched = end - cells_[id].touched;
    cells_[id].touched = 0;
    const auto by_signature = [this](std::uint32_t a, std::uint32_t b) {
      return signature_[a] != signature_[b] ? signature_[a] < signature_[b] : a < b;
    };
    const auto first = order_.begin() + first_touched;
    const auto last = order_.begin() + end;
    const bool alike = std::all_of(
        first, last, [&](std::uint32_t vertex) { return signature_[vertex] == signature_[*first]; });
    if (alike && first_touched == begin) return;
    if (!alike) std::sort(first, last, by_signature);
    fragments_.assign(1, id);
    std::uint32_t start = begin;
    for (std::uint32_t place = first_touched; place < end; ++place) {
      const bool same = place > first_touched && signature_[order_[place]] == signature_[order_[place - 1]];
      if (!same && place > begin) {
        close_fragment(start, place);
        start = place;
        new_cell(place, end - place);
        fragments_.push_back(static_cast<std::uint32_t>(cells_.size() - 1));
      }
      put(place, order_[place], fragments_.back());
    }
    enlist_fragments(id);
  }

  void close_fragment(std::uint32_t start, std::uint32_t end) {
    cells_[fragments_.back()].size = end - start;
  }

  void enlist_fragments(std::uint32_t id) {
    if (cells_[id].listed) {
      for (const std::uint32_t fragment : fragments_) enlist(fragment);
      return;
    }
    std::uint32_t largest = id;
    for (const std::uint32_t fragment : fragments_)
      if (cells_[fragment].size > cells_[largest].size) largest = fragment;
    for (const std::uint32_t fragment : fragments_)
      if (fragment != largest) enlist(fragment);
  }

  const LabelledGraph& graph_;
  std::vector<std::uint32_t> order_;      // vertices, cell by cell
  std::vector<std::uint32_t> place_;      // [vertex] in order_
  std::vector<std::uint32_t> cell_;       // [vertex]
  std::vector<std::uint64_t> signature_;  // [vertex], valid while touched
  std::vector<Cell> cells_;
  std::vector<std::uint32_t> worklist_;
  std::vector<std::uint32_t> touched_cells_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> fragments_;
};

using Neighbours = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // (label, cell)

void neighbours_of(const LabelledGraph& graph, const Partition& partition, std::uint32_t vertex,
                   Neighbours& result) {
  result.clear();
  for (const LabelledGraph::Edge& edge : graph.edges(vertex))
    result.emplace_back(edge.label, partition.cell[edge.to]);
  std::sort(result.begin(), result.end());
}

}  // namespace

Partition equitable_partition(const LabelledGraph& graph, const std::vector<std::uint64_t>& colours,
                              std::size_t cells_max) {
  Refiner refiner(graph, colours);
  return refiner.refine(cells_max) ? refiner.partition() : Partition{};
}

bool is_equitable(const LabelledGraph& graph, const Partition& partition) {
  Neighbours first;
  Neighbours other;
  for (const auto& members : partition.members) {
    neighbours_of(graph, partition, members.front(), first);
    for (std::size_t index = 1; index < members.size(); ++index) {
      neighbours_of(graph, partition, members[index], other);
      if (other != first) return false;
    }
  }
  return true;
}

}  // namespace collsim
