// Memory of the dataflow runs that carry the order of additions beside the tokens. Internal to sim/model.
//
// A cell holds the hash of the expression that it came from, which is equal for a + b and b + a and different
// (up to collisions of 64 bits) for any other order, and how many additions the deepest contribution went
// through. What switches add is an expression of its own for each time, because its order is the hardware's;
// of two operands it is an addition like any other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"
#include "sim/model/numerics.hpp"
#include "sim/model/proof_tokens.hpp"

namespace collsim {

struct Number {
  std::uint64_t hash = 0;
  std::uint32_t deep = 0;
  std::uint32_t joined = 0;  // by an aggregation that is not finished
};

inline Number added(const Number& a, const Number& b) {
  return Number{mix64(mix64(a.hash) + mix64(b.hash)), std::max(a.deep, b.deep) + 1, 0};
}

// For the cells [first, first + count) of every rank.
class NumberMemory {
 public:
  struct Payload {
    Number one;              // of a single cell
    std::size_t offset = 0;  // in the pool, of several
  };

  // scope_of(stream, operation): of the group of an aggregation.
  using ScopeOf = std::function<AggregationScope(std::int32_t, const OperationTemplate&)>;

  NumberMemory(const Schedule& schedule, ScopeOf scope_of, std::int64_t first, std::int64_t count)
      : contract_(schedule),
        scope_of_(std::move(scope_of)),
        ranks_(schedule.ranks),
        blocks_(schedule.layout.blocks()),
        scratch_blocks_(schedule.layout.scratch_blocks()),
        output_cells_(schedule.layout.cells()),
        first_(first),
        count_(static_cast<std::size_t>(count)),
        cells_(static_cast<std::size_t>(ranks_) * count_) {
    for (Rank rank = 0; rank < ranks_; ++rank)
      for (std::size_t i = 0; i < count_; ++i) cell_at(rank, i) = contribution(rank, i);
  }

  Payload read(const Step& step, const Chunk& chunk) {
    const Range range = range_of(chunk);
    Payload payload;
    if (range.count == 1) payload.one = read_cell(step.rank, chunk.buffer, range.first);
    if (range.count <= 1) return payload;
    payload.offset = pool_.allocate(range.count);
    for (std::size_t i = 0; i < range.count; ++i)
      pool_.at(payload.offset)[i] = read_cell(step.rank, chunk.buffer, range.first + i);
    return payload;
  }

  void write(const Step& step, const Chunk& theirs, const Payload& payload, bool adds) {
    const Range range = range_of(step.chunk);
    if (range_of(theirs).count != range.count) return;
    for (std::size_t i = 0; i < range.count; ++i) {
      Number& cell = cell_at(step.rank, range.first + i);
      Number number = range.count == 1 ? payload.one : pool_.at(payload.offset)[i];
      if (number.joined > 0) number = finished(step, number);
      cell = adds ? added(cell, number) : number;
    }
  }

  void write_sum(const Step& step, const Chunk& theirs, const Payload& payload, const Chunk& source) {
    const Range range = range_of(step.chunk);
    const Range from = range_of(source);
    if (range_of(theirs).count != range.count || from.count != range.count) return;
    for (std::size_t i = 0; i < range.count; ++i)
      cell_at(step.rank, range.first + i) =
          added(read_cell(step.rank, source.buffer, from.first + i),
                range.count == 1 ? payload.one : pool_.at(payload.offset)[i]);
  }

  void release(const Payload& payload, const Chunk& chunk) {
    const Range range = range_of(chunk);
    if (range.count > 1) pool_.release(payload.offset, range.count);
  }

  void join(Payload& total, const Chunk& chunk, const Payload& other, const Chunk& theirs) {
    const Range range = range_of(chunk);
    if (range.count == range_of(theirs).count) {
      if (range.count == 1) join_number(total.one, other.one);
      for (std::size_t i = 0; range.count > 1 && i < range.count; ++i)
        join_number(pool_.at(total.offset)[i], pool_.at(other.offset)[i]);
    }
    release(other, theirs);
  }

  void local(const Step& step, const Chunk& source) {
    const Payload payload = read(step, source);
    write(step, source, payload, step.operation->kind == OperationKind::reduce);
    release(payload, source);
  }

  // Adds what it has found to `numerics`.
  void report(Numerics& numerics) const {
    numerics.node_switches_add = numerics.node_switches_add || node_switches_add_;
    numerics.fabric_switches_add = numerics.fabric_switches_add || fabric_switches_add_;
    numerics.repeats = numerics.repeats && !node_switches_add_ && !fabric_switches_add_;
    const std::int64_t outputs = std::min(static_cast<std::int64_t>(count_), output_cells_ - first_);
    for (std::int64_t i = 0; i < outputs; ++i) {
      const Rank only = contract_.taker(first_ + i);
      const Rank begin = only == Contract::everybody ? 0 : only;
      const Rank end = only == Contract::everybody ? ranks_ : only + 1;
      const auto place = static_cast<std::size_t>(i);
      const Number& one = cells_[static_cast<std::size_t>(begin) * count_ + place];
      for (Rank rank = begin; rank < end; ++rank) {
        const Number& number = cells_[static_cast<std::size_t>(rank) * count_ + place];
        numerics.same_on_all_ranks = numerics.same_on_all_ranks && number.hash == one.hash;
        numerics.additions_deep = std::max<std::int64_t>(numerics.additions_deep, number.deep);
      }
    }
  }

 private:
  struct Range {
    std::size_t first = 0;  // in the batch
    std::size_t count = 0;
  };

  Range range_of(const Chunk& chunk) const {
    std::int64_t begin =
        (chunk.buffer == Buffer::scratch ? output_cells_ + std::int64_t{chunk.region} * scratch_blocks_
                                         : std::int64_t{chunk.region} * blocks_) +
        chunk.block - first_;
    const std::int64_t end = std::min(begin + chunk.span, static_cast<std::int64_t>(count_));
    begin = std::max<std::int64_t>(begin, 0);
    if (begin >= end) return {};
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
  }
  Number& cell_at(Rank rank, std::size_t place) {
    return cells_[static_cast<std::size_t>(rank) * count_ + place];
  }
  // Of a sum every rank gives every cell; what lies in output otherwise never gets into a proven result.
  Number contribution(Rank rank, std::size_t place) const {
    return Number{token(rank, first_ + static_cast<std::int64_t>(place)), 0, 0};
  }
  Number read_cell(Rank rank, Buffer buffer, std::size_t place) {
    return buffer == Buffer::input ? contribution(rank, place) : cell_at(rank, place);
  }
  static void join_number(Number& total, const Number& other) {
    if (total.joined++ == 0) total.hash = mix64(total.hash);
    total.hash += mix64(other.hash);
    total.deep = std::max(total.deep, other.deep);
  }
  // The result of an aggregation, as one of its members collects it.
  Number finished(const Step& step, const Number& sum) {
    if (sum.joined == 1) return Number{mix64(sum.hash), sum.deep + 1, 0};
    const bool in_node = scope_of_(step.stream, *step.operation) == AggregationScope::node;
    (in_node ? node_switches_add_ : fabric_switches_add_) = true;
    const Post& first = step.posts->front();  // names the aggregation
    const auto name = (static_cast<std::uint64_t>(first.stream) << 32U) | std::uint64_t{first.index};
    return Number{mix64(sum.hash ^ mix64(name)), sum.deep + sum.joined, 0};
  }

  const Contract contract_;
  const ScopeOf scope_of_;
  const std::int32_t ranks_;
  const std::int32_t blocks_;
  const std::int32_t scratch_blocks_;
  const std::int64_t output_cells_;
  const std::int64_t first_;
  const std::size_t count_;
  std::vector<Number> cells_;  // [rank * count + cell - first]
  BlockPool<Number> pool_;
  bool node_switches_add_ = false;
  bool fabric_switches_add_ = false;
};

// Both in one run.
class TokensAndNumbers {
 public:
  struct Payload {
    TokenMemory::Payload token{};
    NumberMemory::Payload number;
  };

  TokensAndNumbers(TokenMemory& tokens, NumberMemory& numbers) : tokens_(tokens), numbers_(numbers) {}

  void begin(const Step&) {}
  void drained(Post, const std::vector<Post>&) {}
  Payload read(const Step& step, const Chunk& chunk) {
    return Payload{tokens_.read(step, chunk), numbers_.read(step, chunk)};
  }
  void write(const Step& step, const Chunk& theirs, const Payload& payload, bool adds) {
    tokens_.write(step, theirs, payload.token, adds);
    numbers_.write(step, theirs, payload.number, adds);
  }
  void write_sum(const Step& step, const Chunk& theirs, const Payload& payload, const Chunk& source) {
    tokens_.write_sum(step, theirs, payload.token, source);
    numbers_.write_sum(step, theirs, payload.number, source);
  }
  void release(const Payload& payload, const Chunk& chunk) {
    tokens_.release(payload.token, chunk);
    numbers_.release(payload.number, chunk);
  }
  void join(Payload& total, const Chunk& chunk, const Payload& other, const Chunk& theirs) {
    tokens_.join(total.token, chunk, other.token, theirs);
    numbers_.join(total.number, chunk, other.number, theirs);
  }
  void local(const Step& step, const Chunk& source) {
    tokens_.local(step, source);
    numbers_.local(step, source);
  }

 private:
  TokenMemory& tokens_;
  NumberMemory& numbers_;
};

}  // namespace collsim
