// Memory of the dataflow runs that carry tokens: sums and the order of accesses. Internal to sim/model.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"
#include "sim/model/proof_order.hpp"
#include "sim/model/proof_sets.hpp"

namespace collsim {

constexpr std::uint64_t token_modulus = (std::uint64_t{1} << 61) - 1;
inline std::uint64_t add_tokens(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= token_modulus ? sum - token_modulus : sum;
}

// The contribution of a rank to a cell.
inline std::uint64_t token(Rank rank, std::int64_t cell) {
  const std::uint64_t word =
      mix64(mix64(static_cast<std::uint64_t>(rank)) ^ static_cast<std::uint64_t>(cell));
  const std::uint64_t value = word >> 3;
  return value == token_modulus ? 0 : value;
}

// What lies in a cell that nobody has given or written. Scratch cells come after those of output.
inline std::uint64_t undefined_token(Rank rank, std::int64_t cell) {
  return token(rank, cell ^ (std::int64_t{1} << 62));
}

// One cell of one rank: what it holds, and who wrote and read it last.
struct TokenCell {
  std::uint64_t value = 0;
  std::int32_t write_stream = -1;
  std::int32_t read_stream = -1;  // a read since the last write; -1: none
  std::uint32_t write_index = 0;
  std::uint32_t read_index : 29 = 0;
  std::uint32_t more_reads : 1 = 0;  // since the last write, listed in TokenMemory::more_
  std::uint32_t reads_ever : 2 = 0;  // 0, 1, 2 = more
};
static_assert(sizeof(TokenCell) == 24);

// Two accesses that neither the dependencies nor the value orders.
struct Conflict {
  Post later;
  Post earlier;
  Rank rank;
  Chunk chunk;
};

// Values of messages that span several cells. Blocks of a power of two items, reused.
template <class Item>
class BlockPool {
 public:
  std::size_t allocate(std::size_t count) {
    std::vector<std::size_t>& spare = free_[size_class(count)];
    if (!spare.empty()) {
      const std::size_t offset = spare.back();
      spare.pop_back();
      return offset;
    }
    const std::size_t offset = items_.size();
    items_.resize(offset + (std::size_t{1} << size_class(count)));
    return offset;
  }
  void release(std::size_t offset, std::size_t count) { free_[size_class(count)].push_back(offset); }
  Item* at(std::size_t offset) { return items_.data() + offset; }

 private:
  static std::size_t size_class(std::size_t count) {
    return static_cast<std::size_t>(std::bit_width(count - 1));
  }
  std::vector<Item> items_;
  std::array<std::vector<std::size_t>, 64> free_;
};

// Memory of the dataflow run that carries tokens for the cells [first, first + count) of every rank.
//
// Order of accesses: a read must come after the last write, a write after the reads since then (or after the
// last write, where there are none; a read that passed is after it anyway). Shown by (1) being one stream,
// (2) a dependency of the operation itself, (3) for a collect its own post, (4) for a received complete sum:
// it contains this rank's contribution, and if the cell was read only once, the contribution can have left
// only by that read, (5) the dependencies of the rank followed transitively. What none shows is a Conflict.
class TokenMemory {
 public:
  using Payload = std::uint64_t;  // the value itself for one cell, else an offset in the pool

  // side_by_side: every chunk is one block, so that it travels from rank to rank.
  TokenMemory(const Schedule& schedule, WaitsOf waits_of, bool side_by_side, std::int64_t first,
              std::int64_t count)
      : waits_of_(std::move(waits_of)),
        contract_(schedule),
        in_place_(schedule.in_place),
        sums_(contract_.sums()),
        ranks_(schedule.ranks),
        blocks_(schedule.layout.blocks()),
        scratch_blocks_(schedule.layout.scratch_blocks()),
        output_cells_(schedule.layout.cells()),
        first_(first),
        count_(count) {
    const auto ranks = static_cast<std::size_t>(ranks_);
    rank_stride_ = side_by_side ? 1 : static_cast<std::size_t>(count);
    place_stride_ = side_by_side ? ranks : 1;
    cells_.resize(ranks * static_cast<std::size_t>(count));
    expected_.resize(static_cast<std::size_t>(count));
    givers_.resize(static_cast<std::size_t>(count), nobody);
    for (std::size_t i = 0; i < givers_.size() && first + static_cast<std::int64_t>(i) < output_cells_; ++i)
      givers_[i] = contract_.giver(first + static_cast<std::int64_t>(i));
    for (std::size_t rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < expected_.size(); ++i) {
        const auto owner = static_cast<Rank>(rank);
        const std::int64_t cell = first + static_cast<std::int64_t>(i);
        const std::uint64_t given = gives(owner, i) ? token(owner, cell) : 0;
        cell_at(owner, i).value = gives(owner, i) && in_place_ ? given : undefined_token(owner, cell);
        expected_[i] = add_tokens(expected_[i], given);
      }
  }

  void begin(const Step&) {}
  void drained(Post, const std::vector<Post>&) {}

  Payload read(const Step& step, const Chunk& chunk) {
    const Range range = range_of(chunk);
    if (range.count == 0) return 0;
    if (range.count == 1) return read_cell(step, chunk.buffer, range.first);
    const std::size_t offset = pool_.allocate(range.count);
    for (std::size_t i = 0; i < range.count; ++i)
      pool_.at(offset)[i] = read_cell(step, chunk.buffer, range.first + i);
    return offset;
  }

  void write(const Step& step, const Chunk& theirs, Payload payload, bool adds) {
    const Range range = range_of(step.chunk);
    moves_ = moves_ || !same_cells(theirs, step.chunk);
    if (moves_ && range_of(theirs).count != range.count) return;
    if (range.count == 1) return write_cell(step, range.first, payload, adds);
    for (std::size_t i = 0; i < range.count; ++i)
      write_cell(step, range.first + i, pool_.at(payload)[i], adds);
  }

  // receive_reduce from_source: step.chunk = source + payload.
  void write_sum(const Step& step, const Chunk& theirs, Payload payload, const Chunk& source) {
    moves_ = moves_ || !same_cells(theirs, step.chunk) || !same_cells(source, step.chunk);
    const Range range = range_of(step.chunk);
    const Payload own = read(step, source);
    if (range_of(theirs).count == range.count && range_of(source).count == range.count)
      for (std::size_t i = 0; i < range.count; ++i) {
        const std::uint64_t a = range.count == 1 ? payload : pool_.at(payload)[i];
        const std::uint64_t b = range.count == 1 ? own : pool_.at(own)[i];
        write_cell(step, range.first + i, add_tokens(a, b), false);
      }
    release(own, source);
  }

  void release(Payload payload, const Chunk& chunk) {
    const Range range = range_of(chunk);
    if (range.count > 1) pool_.release(payload, range.count);
  }

  void join(Payload& total, const Chunk& chunk, Payload other, const Chunk& theirs) {
    moves_ = moves_ || !same_cells(chunk, theirs);
    const Range range = range_of(chunk);
    if (range.count == range_of(theirs).count) {
      if (range.count == 1) total = add_tokens(total, other);
      for (std::size_t i = 0; range.count > 1 && i < range.count; ++i)
        pool_.at(total)[i] = add_tokens(pool_.at(total)[i], pool_.at(other)[i]);
    }
    release(other, theirs);
  }

  void local(const Step& step, const Chunk& source) {
    const Payload payload = read(step, source);
    write(step, source, payload, step.operation->kind == OperationKind::reduce);
    release(payload, source);
  }

  // Contents move between cells: a pass over some of them would not follow them. From input to the same cell
  // of output is no such move.
  bool moves() const { return moves_; }
  const std::vector<Conflict>& conflicts() const { return conflicts_; }

  void find_wrong(std::vector<WrongCell>& wrong) const {
    const std::int64_t count = std::min(count_, output_cells_ - first_);
    std::vector<Rank> takers;  // [cell - first]
    for (std::int64_t i = 0; i < count; ++i) takers.push_back(contract_.taker(first_ + i));
    for (Rank rank = 0; rank < ranks_; ++rank)
      for (std::size_t i = 0; i < takers.size(); ++i) {
        if (takers[i] != Contract::everybody && takers[i] != rank) continue;
        const TokenCell& cell = cells_[static_cast<std::size_t>(rank) * rank_stride_ + i * place_stride_];
        if (cell.value == wanted(rank, i)) continue;
        if (wrong.size() >= proof_failures_max) return;
        wrong.push_back(
            {rank, first_ + static_cast<std::int64_t>(i), Post{cell.write_stream, cell.write_index}});
      }
  }

 private:
  static constexpr Rank nobody = -2;  // of scratch

  bool gives(Rank rank, std::size_t place) const {
    return givers_[place] == Contract::everybody || givers_[place] == rank;
  }
  // What a rank that wants the cell must hold in it.
  std::uint64_t wanted(Rank rank, std::size_t place) const {
    if (!contract_.differs_by_rank()) return expected_[place];
    const Contract::Origin origin = contract_.origin(rank, first_ + static_cast<std::int64_t>(place));
    return token(origin.rank, origin.cell);
  }

  struct Range {
    std::size_t first = 0;  // in the batch
    std::size_t count = 0;
  };

  Range range_of(const Chunk& chunk) const {
    std::int64_t begin =
        (chunk.buffer == Buffer::scratch ? output_cells_ + std::int64_t{chunk.region} * scratch_blocks_
                                         : std::int64_t{chunk.region} * blocks_) +
        chunk.block - first_;
    const std::int64_t end = std::min(begin + chunk.span, count_);
    begin = std::max<std::int64_t>(begin, 0);
    if (begin >= end) return {};
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
  }

  TokenCell& cell_at(Rank rank, std::size_t place) {
    return cells_[static_cast<std::size_t>(rank) * rank_stride_ + place * place_stride_];
  }

  std::uint64_t read_cell(const Step& step, Buffer buffer, std::size_t place) {
    if (buffer == Buffer::input) {
      const std::int64_t number = first_ + static_cast<std::int64_t>(place);
      return gives(step.rank, place) ? token(step.rank, number) : undefined_token(step.rank, number);
    }
    TokenCell& cell = cell_at(step.rank, place);
    const Post written{cell.write_stream, cell.write_index};
    if (!shown(step, written) && !shown_by_others(step, written)) conflict(step, place, written);
    if (cell.read_stream >= 0 && !shown(step, Post{cell.read_stream, cell.read_index})) {
      more_[key(step.rank, place)].push_back(Post{cell.read_stream, cell.read_index});
      cell.more_reads = 1;
    }
    cell.read_stream = step.stream;
    cell.read_index = step.index & 0x1fffffffU;
    if (cell.reads_ever < 2) ++cell.reads_ever;
    return cell.value;
  }

  void write_cell(const Step& step, std::size_t place, std::uint64_t value, bool adds) {
    TokenCell& cell = cell_at(step.rank, place);
    const Post read{cell.read_stream, cell.read_index};
    const Post written{cell.write_stream, cell.write_index};
    const bool complete =
        sums_ && in_place_ && !adds && value == expected_[place] && cell.reads_ever == 1 && read.stream >= 0;
    const Post earlier = read.stream >= 0 ? read : written;
    if (!shown(step, earlier) && !complete && !shown_by_others(step, earlier)) conflict(step, place, earlier);
    if (cell.more_reads) [[unlikely]] {
      for (const Post& post : more_[key(step.rank, place)])
        if (!shown(step, post) && !shown_by_others(step, post)) conflict(step, place, post);
      more_.erase(key(step.rank, place));
      cell.more_reads = 0;
    }
    cell.value = adds ? add_tokens(cell.value, value) : value;
    cell.write_stream = step.stream;
    cell.write_index = step.index;
    cell.read_stream = -1;
  }

  // By rules (1) to (3).
  static bool shown(const Step& step, Post earlier) {
    if (earlier.stream < 0 || earlier.stream == step.stream) return true;
    if (step.posts != nullptr && step.origin.stream == earlier.stream)
      return step.origin.index >= earlier.index;
    for (const Dependency& dependency : step.operation->dependencies)
      if (step.waits[dependency.stream_slot] == earlier.stream &&
          dependency.offset + step.trip * dependency.stride >= std::int64_t{earlier.index})
        return true;
    return false;
  }
  bool shown_by_others(const Step& step, Post earlier) const {
    return ordered_by_dependencies(waits_of_, earlier, Post{step.stream, step.index});
  }

  std::uint64_t key(Rank rank, std::size_t place) const {
    return static_cast<std::uint64_t>(rank) * expected_.size() + place;
  }

  void conflict(const Step& step, std::size_t place, Post earlier) {
    if (conflicts_.size() >= proof_failures_max) return;
    const std::int64_t cell = first_ + static_cast<std::int64_t>(place);
    const std::int64_t in_buffer = cell < output_cells_ ? cell : cell - output_cells_;
    Chunk chunk;
    chunk.buffer = cell < output_cells_ ? Buffer::output : Buffer::scratch;
    const std::int32_t blocks = cell < output_cells_ ? blocks_ : scratch_blocks_;
    chunk.region = static_cast<std::int32_t>(in_buffer / blocks);
    chunk.block = static_cast<std::int32_t>(in_buffer % blocks);
    conflicts_.push_back({Post{step.stream, step.index}, earlier, step.rank, chunk});
  }

  const WaitsOf waits_of_;
  const Contract contract_;
  const bool in_place_;
  const bool sums_;
  const std::int32_t ranks_;
  const std::int32_t blocks_;
  const std::int32_t scratch_blocks_;
  const std::int64_t output_cells_;
  const std::int64_t first_;
  const std::int64_t count_;
  // Where every message is one block, the ranks of a cell lie side by side: a block travels from rank to
  // rank.
  std::size_t rank_stride_ = 1;
  std::size_t place_stride_ = 1;
  std::vector<TokenCell> cells_;
  std::vector<std::uint64_t> expected_;  // [cell - first]: the sum of what is given
  std::vector<Rank> givers_;             // [cell - first]
  BlockPool<std::uint64_t> pool_;
  std::unordered_map<std::uint64_t, std::vector<Post>> more_;  // reads beside the one in TokenCell
  std::vector<Conflict> conflicts_;
  bool moves_ = false;
};

}  // namespace collsim
