// A schedule as explicit lists of operations, to change single ones; and a slow, independent execution of it.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::testing {

using Streams = std::vector<std::vector<std::vector<Operation>>>;  // [rank][stream][index]

inline Streams unroll(const Schedule& schedule) {
  Streams streams(static_cast<std::size_t>(schedule.ranks));
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
      std::vector<Operation>& operations = streams[static_cast<std::size_t>(rank)].emplace_back();
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i)
        operations.push_back(operation(schedule, rank, stream, i));
    }
  return streams;
}

inline ChunkExpression constant(const Chunk& chunk) {
  ChunkExpression expression;
  expression.buffer = chunk.buffer;
  expression.region_offset = chunk.region;
  expression.block_offset = chunk.block;
  expression.block_modulus = 1 << 30;
  expression.span = chunk.span;
  return expression;
}

// One program and one binding a stream, one trip, every operation written out.
inline Schedule roll(const Schedule& frame, const Streams& streams) {
  Schedule schedule = frame;
  schedule.programs.clear();
  auto bindings = std::make_shared<std::vector<std::vector<Binding>>>(streams.size());
  for (std::size_t rank = 0; rank < streams.size(); ++rank)
    for (const std::vector<Operation>& operations : streams[rank]) {
      Binding binding;
      Loop loop;
      const auto slot = [](auto& items, const auto& item) {
        for (std::size_t i = 0; i < items.size(); ++i)
          if (items[i] == item) return static_cast<std::int32_t>(i);
        items.push_back(item);
        return static_cast<std::int32_t>(items.size()) - 1;
      };
      for (const Operation& item : operations) {
        OperationTemplate copy;
        copy.kind = item.kind;
        copy.chunk = constant(item.chunk);
        copy.source = constant(item.source);
        copy.from_source = item.from_source;
        const bool grouped = item.kind == OperationKind::aggregate || item.kind == OperationKind::collect;
        const bool paired = item.kind == OperationKind::send || item.kind == OperationKind::receive ||
                            item.kind == OperationKind::receive_reduce;
        if (grouped) copy.peer = slot(binding.groups, item.group);
        if (paired) copy.peer = slot(binding.peers, item.peer);
        for (const Operation::Wait& wait : item.waits)
          copy.dependencies.push_back(Dependency{slot(binding.streams, wait.stream), wait.operation, 0});
        loop.body.push_back(copy);
      }
      binding.program = static_cast<std::int32_t>(schedule.programs.size());
      schedule.programs.push_back(Program{{loop}});
      (*bindings)[rank].push_back(binding);
    }
  schedule.stream_count = [bindings](Rank rank) {
    return static_cast<std::int32_t>((*bindings)[static_cast<std::size_t>(rank)].size());
  };
  schedule.bind = [bindings](Rank rank, std::int32_t stream, Binding& binding) {
    binding = (*bindings)[static_cast<std::size_t>(rank)][static_cast<std::size_t>(stream)];
  };
  return schedule;
}

enum class ReferenceOutcome { right, wrong, deadlock };

// Executes operation by operation, in a random order, on exact sets of contributions. Only sends, receives
// and waits within the layout.
class Reference {
 public:
  Reference(const Schedule& schedule, std::uint64_t seed)
      : schedule_(schedule), streams_(unroll(schedule)), random_(seed) {
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      done_.emplace_back(streams_[rank].size(), 0);
      for (std::int32_t region = 0; region < schedule.layout.regions(); ++region)
        for (std::int32_t block = 0; block < schedule.layout.blocks(); ++block)
          cells_[{rank, region, block}][{rank, region, block}] = 1;
    }
  }

  ReferenceOutcome run() {
    std::vector<std::pair<std::size_t, std::size_t>> active;
    for (std::size_t rank = 0; rank < streams_.size(); ++rank)
      for (std::size_t stream = 0; stream < streams_[rank].size(); ++stream)
        active.emplace_back(rank, stream);
    std::size_t blocked = 0;  // picks in a row that could not go on
    while (blocked < 50 * (active.size() + 1)) {
      if (active.empty()) return judge();
      const std::size_t pick = static_cast<std::size_t>(random_.below(active.size()));
      const auto [rank, stream] = active[pick];
      if (done_[rank][stream] == streams_[rank][stream].size()) {
        active.erase(active.begin() + static_cast<std::ptrdiff_t>(pick));
      } else if (step(rank, stream)) {
        blocked = 0;
      } else {
        ++blocked;
      }
    }
    return ReferenceOutcome::deadlock;
  }

 private:
  using Cell = std::tuple<std::size_t, std::int32_t, std::int32_t>;  // rank, region, block
  using Set = std::map<Cell, int>;

  bool step(std::size_t rank, std::size_t stream) {
    const Operation& item = streams_[rank][stream][done_[rank][stream]];
    for (const Operation::Wait& wait : item.waits)
      if (static_cast<std::int64_t>(done_[rank][static_cast<std::size_t>(wait.stream)]) <= wait.operation)
        return false;
    const auto own = static_cast<Rank>(rank);
    if (item.kind == OperationKind::send) {
      auto& pipe = pipes_[{own, item.peer.rank, item.peer.channel}];
      if (pipe.size() >= static_cast<std::size_t>(schedule_.slots)) return false;
      std::vector<Set> message;
      for (std::int32_t i = 0; i < item.chunk.span; ++i)
        message.push_back(cells_[{rank, item.chunk.region, item.chunk.block + i}]);
      pipe.push_back(message);
    } else if (item.kind != OperationKind::wait) {
      auto& pipe = pipes_[{item.peer.rank, own, item.peer.channel}];
      if (pipe.empty()) return false;
      for (std::int32_t i = 0; i < item.chunk.span; ++i) {
        Set& cell = cells_[{rank, item.chunk.region, item.chunk.block + i}];
        if (item.kind == OperationKind::receive) cell.clear();
        for (const auto& [key, count] : pipe.front()[static_cast<std::size_t>(i)]) cell[key] += count;
      }
      pipe.erase(pipe.begin());
    }
    ++done_[rank][stream];
    return true;
  }

  ReferenceOutcome judge() const {
    for (const auto& [place, set] : cells_) {
      const auto& [rank, region, block] = place;
      Set wanted;
      for (std::size_t other = 0; other < streams_.size(); ++other) wanted[{other, region, block}] = 1;
      if (set != wanted) return ReferenceOutcome::wrong;
    }
    return ReferenceOutcome::right;
  }

  const Schedule& schedule_;
  Streams streams_;
  Random random_;
  std::vector<std::vector<std::size_t>> done_;
  std::map<Cell, Set> cells_;
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::vector<std::vector<Set>>> pipes_;
};

}  // namespace collsim::testing
