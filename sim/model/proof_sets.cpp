#include "sim/model/proof_sets.hpp"

#include <algorithm>
#include <utility>

#include "sim/model/contract.hpp"
#include "sim/model/contributions.hpp"

namespace collsim {
namespace {

constexpr std::int64_t entries_max = std::int64_t{1} << 24;

Contributions sum(const Contributions& a, const Contributions& b) {
  Contributions result;
  result.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->key() < right->key())) {
      result.push_back(*left++);
    } else if (left == a.end() || right->key() < left->key()) {
      result.push_back(*right++);
    } else {
      result.push_back(Contribution{left->rank, left->cell, left->count + right->count});
      ++left, ++right;
    }
  }
  return result;
}

// Memory of the dataflow run that carries exact sets for the traced cells.
class SetMemory {
 public:
  using Payload = std::size_t;  // index in messages_

  // traced[cell]: row of the cell, or -1.
  SetMemory(const DataflowGraph& graph, std::vector<std::int32_t> traced, std::int32_t rows)
      : contract_(graph.schedule()),
        in_place_(graph.schedule().in_place),
        blocks_(graph.schedule().layout.blocks()),
        scratch_blocks_(graph.schedule().layout.scratch_blocks()),
        output_cells_(graph.schedule().layout.cells()),
        traced_(std::move(traced)),
        rows_(rows),
        cells_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(graph.schedule().ranks)) {
    for (std::size_t cell = 0; cell < traced_.size(); ++cell)
      for (Rank rank = 0; traced_[cell] >= 0 && rank < graph.schedule().ranks; ++rank)
        at(rank, traced_[cell]) = {before(rank, static_cast<std::int64_t>(cell), in_place_)};
  }

  void begin(const Step&) {}
  Payload read(const Step& step, const Chunk& chunk) {
    if (free_.empty()) {
      free_.push_back(messages_.size());
      messages_.emplace_back();
    }
    const Payload payload = free_.back();
    free_.pop_back();
    messages_[payload].resize(static_cast<std::size_t>(chunk.span));
    for (std::int32_t i = 0; i < chunk.span; ++i) {
      const std::int64_t cell = place(chunk) + i;
      const std::int32_t row = traced_[static_cast<std::size_t>(cell)];
      Contributions& item = messages_[payload][static_cast<std::size_t>(i)];
      if (row < 0)
        item.clear();
      else if (chunk.buffer == Buffer::input)
        item = {before(step.rank, cell, true)};
      else
        item = at(step.rank, row);
    }
    return payload;
  }
  void write(const Step& step, const Chunk&, Payload payload, bool adds) {
    for (std::int32_t i = 0; i < step.chunk.span; ++i) {
      const std::int32_t row = traced_[static_cast<std::size_t>(place(step.chunk) + i)];
      if (row < 0) continue;
      Contributions& cell = at(step.rank, row);
      const Contributions& incoming = messages_[payload][static_cast<std::size_t>(i)];
      cell = adds ? sum(cell, incoming) : incoming;
    }
  }
  void write_sum(const Step& step, const Chunk&, Payload payload, const Chunk& source) {
    const Payload own = read(step, source);
    for (std::size_t i = 0; i < messages_[own].size(); ++i)
      messages_[own][i] = sum(messages_[own][i], messages_[payload][i]);
    write(step, source, own, false);
    free_.push_back(own);
  }
  void release(Payload payload, const Chunk&) { free_.push_back(payload); }
  void join(Payload& total, const Chunk& chunk, Payload other, const Chunk&) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(chunk.span); ++i)
      messages_[total][i] = sum(messages_[total][i], messages_[other][i]);
    free_.push_back(other);
  }
  void local(const Step& step, const Chunk& source) {
    const Payload payload = read(step, source);
    write(step, source, payload, step.operation->kind == OperationKind::reduce);
    free_.push_back(payload);
  }
  void drained(Post, const std::vector<Post>&) {}

  const Contributions& result(Rank rank, std::int64_t cell) const {
    return cells_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(rows_) +
                  static_cast<std::size_t>(traced_[static_cast<std::size_t>(cell)])];
  }

 private:
  Contribution before(Rank rank, std::int64_t cell, bool holds) const {
    return held_before(contract_, output_cells_, rank, cell, holds);
  }
  std::int64_t place(const Chunk& chunk) const {
    return (chunk.buffer == Buffer::scratch ? output_cells_ + std::int64_t{chunk.region} * scratch_blocks_
                                            : std::int64_t{chunk.region} * blocks_) +
           chunk.block;
  }
  Contributions& at(Rank rank, std::int32_t row) {
    return cells_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(rows_) +
                  static_cast<std::size_t>(row)];
  }

  Contract contract_;
  bool in_place_;
  std::int32_t blocks_;
  std::int32_t scratch_blocks_;
  std::int64_t output_cells_;
  std::vector<std::int32_t> traced_;
  std::int32_t rows_;
  std::vector<Contributions> cells_;  // [rank * rows + row]
  std::vector<std::vector<Contributions>> messages_;
  std::vector<std::size_t> free_;
};

}  // namespace

void explain(const DataflowGraph& graph, const std::vector<WrongCell>& wrong, bool moves,
             std::vector<ProofFailure>& failures) {
  const Schedule& schedule = graph.schedule();
  const Layout& layout = schedule.layout;
  const std::int64_t cells = layout.cells() + layout.scratch_cells();
  const std::int64_t row_entries = std::int64_t{schedule.ranks} * schedule.ranks;
  std::vector<std::int32_t> traced(static_cast<std::size_t>(cells), -1);
  std::int32_t rows = 0;
  const auto trace = [&](std::int64_t cell) {
    std::int32_t& row = traced[static_cast<std::size_t>(cell)];
    if (row < 0 && (rows + 1) * row_entries <= entries_max) row = rows++;
  };
  if (!moves) {
    for (const WrongCell& item : wrong) trace(item.cell);
  } else if (cells <= entries_max / row_entries) {
    for (std::int64_t cell = 0; cell < cells; ++cell) trace(cell);
  }
  const Contract contract(schedule);
  SetMemory memory(graph, traced, rows);
  Dataflow<SetMemory> run(graph, memory);
  if (rows > 0) run.run();
  for (const WrongCell& item : wrong) {
    const bool known = traced[static_cast<std::size_t>(item.cell)] >= 0;
    const std::string found =
        known ? difference_of(layout, memory.result(item.rank, item.cell),
                              wanted_in(contract, item.rank, item.cell, schedule.ranks), item.cell)
              : "holds a wrong sum";
    const bool written = item.writer.stream >= 0;
    failures.push_back(ProofFailure{
        item.rank, written ? graph.local_number(item.writer.stream) : -1,
        written ? std::int64_t{item.writer.index} : -1,
        "rank " + std::to_string(item.rank) + ": " + text_of_cell(layout, item.cell) + " " + found});
  }
}

}  // namespace collsim
