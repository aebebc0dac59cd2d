#include "tests/support/exact_sets.hpp"

#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/core/random.hpp"

namespace collsim::testing {
namespace {

// The contribution of (rank, cell), or what was in a cell before anybody had written it: rank -1.
using Origin = std::pair<Rank, std::int64_t>;
using Bag = std::map<Origin, int>;
using Content = std::shared_ptr<const Bag>;
using Contents = std::vector<Content>;

Content added(const Content& one, const Content& other) {
  auto sum = std::make_shared<Bag>(*one);
  for (const auto& [origin, count] : *other) (*sum)[origin] += count;
  return sum;
}

Contents added(Contents one, const Contents& other) {
  for (std::size_t i = 0; i < one.size(); ++i) one[i] = added(one[i], other[i]);
  return one;
}

Content single(Rank rank, std::int64_t cell) { return std::make_shared<Bag>(Bag{{{rank, cell}, 1}}); }

// The definitions of the collectives, one after the other.
class Definition {
 public:
  explicit Definition(const Schedule& schedule)
      : schedule_(schedule),
        kind_(schedule.collective.kind == CollectiveKind::barrier ? schedule.barrier_as
                                                                  : schedule.collective.kind) {}

  bool gives(Rank rank, std::int64_t cell) const {
    using enum CollectiveKind;
    if (kind_ == broadcast || kind_ == scatter) return rank == schedule_.collective.root;
    if (kind_ == all_gather || kind_ == gather) return rank == owner(cell);
    return true;
  }

  // Null: whatever it holds is right.
  Content wanted(Rank rank, std::int64_t cell) const {
    using enum CollectiveKind;
    const Rank root = schedule_.collective.root;
    switch (kind_) {
      case all_reduce:
        return sum(cell);
      case reduce:
        return rank == root ? sum(cell) : nullptr;
      case reduce_scatter:
        return rank == owner(cell) ? sum(cell) : nullptr;
      case broadcast:
        return single(root, cell);
      case scatter:
        return rank == owner(cell) ? single(root, cell) : nullptr;
      case all_gather:
        return single(owner(cell), cell);
      case gather:
        return rank == root ? single(owner(cell), cell) : nullptr;
      case all_to_all:
        return single(owner(cell), transposed(rank, cell));
      case send_recv:
        return single((rank + schedule_.ranks - 1) % schedule_.ranks, cell);
      case barrier:
        return nullptr;
    }
    return nullptr;
  }

 private:
  std::int64_t blocks() const { return schedule_.layout.blocks(); }
  Rank owner(std::int64_t cell) const {
    if (schedule_.owner)
      return schedule_.owner(static_cast<std::int32_t>(cell / blocks()),
                             static_cast<std::int32_t>(cell % blocks()));
    return static_cast<Rank>(cell % blocks() * schedule_.ranks / blocks());
  }
  // In the vector of the owner of `cell`, the cell that goes to `rank`.
  std::int64_t transposed(Rank rank, std::int64_t cell) const {
    const std::int64_t part = blocks() / schedule_.ranks;
    const std::int64_t block = cell % blocks();
    return cell - block + rank * part + block % part;
  }
  Content sum(std::int64_t cell) const {
    auto bag = std::make_shared<Bag>();
    for (Rank rank = 0; rank < schedule_.ranks; ++rank) (*bag)[{rank, cell}] = 1;
    return bag;
  }

  const Schedule& schedule_;
  CollectiveKind kind_;
};

class Execution {
 public:
  Execution(const Schedule& schedule, std::uint64_t seed)
      : schedule_(schedule), definition_(schedule), random_(seed) {
    const std::int64_t cells = schedule.layout.cells() + schedule.layout.scratch_cells();
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      Contents& memory = memory_.emplace_back();
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        const bool given =
            schedule.in_place && cell < schedule.layout.cells() && definition_.gives(rank, cell);
        memory.push_back(single(given ? rank : -1, cell));
      }
      first_.push_back(static_cast<std::int32_t>(streams_.size()));
      for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
        streams_.push_back({rank, stream, operation_count(schedule, rank, stream)});
    }
  }

  std::string run() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < streams_.size(); ++i) order.push_back(i);
    bool moved = true;
    while (moved && failure_.empty()) {
      moved = false;
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random_.below(i))]);
      for (const std::size_t stream : order) moved = run_some(stream) || moved;
    }
    if (!failure_.empty()) return failure_;
    for (const Stream& stream : streams_)
      if (stream.done < stream.count) return where(stream) + " is stuck";
    return judgement();
  }

 private:
  struct Stream {
    Rank rank;
    std::int32_t number;
    std::int64_t count;
    std::int64_t done = 0;
    bool posted = false;
  };
  struct Aggregation {
    std::map<Rank, std::pair<std::size_t, Contents>> posts;  // who stands in it
    std::vector<Contents> results;
    std::map<Rank, std::size_t> collected;
  };

  static std::string where(const Stream& stream) {
    return "rank " + std::to_string(stream.rank) + ", stream " + std::to_string(stream.number) + ", step " +
           std::to_string(stream.done);
  }
  void fail(const Stream& stream, const std::string& text) {
    if (failure_.empty()) failure_ = where(stream) + ": " + text;
  }

  // Up to a random number of operations.
  bool run_some(std::size_t index) {
    Stream& stream = streams_[index];
    bool moved = false;
    for (std::uint64_t left = 1 + random_.below(6); left > 0 && failure_.empty(); --left) {
      if (stream.posted || stream.done == stream.count) return moved;
      const Operation item = operation(schedule_, stream.rank, stream.number, stream.done);
      if (!dependencies_done(stream, item) || !step(index, item)) return moved;
      moved = true;
      if (!stream.posted && item.kind != OperationKind::aggregate) ++stream.done;
    }
    return moved;
  }

  bool dependencies_done(const Stream& stream, const Operation& item) const {
    for (const Operation::Wait& wait : item.waits) {
      const auto other =
          static_cast<std::size_t>(first_[static_cast<std::size_t>(stream.rank)] + wait.stream);
      if (streams_[other].done <= wait.operation) return false;
    }
    return true;
  }

  // The numbers of the cells of a chunk in memory_; scratch lies behind output.
  std::vector<std::size_t> cells_of(const Stream& stream, const Chunk& chunk) {
    const bool scratch = chunk.buffer == Buffer::scratch;
    const std::int32_t blocks = scratch ? schedule_.layout.scratch_blocks() : schedule_.layout.blocks();
    const std::int32_t regions = scratch ? schedule_.layout.scratch_regions() : schedule_.layout.regions();
    std::vector<std::size_t> cells;
    if (chunk.region < 0 || chunk.region >= regions || chunk.block < 0 || chunk.span < 1 ||
        chunk.block + chunk.span > blocks) {
      fail(stream, "outside the layout");
      return cells;
    }
    const std::int64_t start = scratch ? schedule_.layout.cells() : 0;
    for (std::int32_t i = 0; i < chunk.span; ++i)
      cells.push_back(
          static_cast<std::size_t>(start + std::int64_t{chunk.region} * blocks + chunk.block + i));
    return cells;
  }

  Contents read(const Stream& stream, const Chunk& chunk) {
    Contents contents;
    for (const std::size_t cell : cells_of(stream, chunk)) {
      const auto number = static_cast<std::int64_t>(cell);
      if (chunk.buffer != Buffer::input)
        contents.push_back(memory_[static_cast<std::size_t>(stream.rank)][cell]);
      else
        contents.push_back(single(definition_.gives(stream.rank, number) ? stream.rank : -1, number));
    }
    return contents;
  }

  void write(const Stream& stream, const Chunk& chunk, const Contents& contents) {
    const std::vector<std::size_t> cells = cells_of(stream, chunk);
    if (chunk.buffer == Buffer::input) fail(stream, "writes to the input");
    if (cells.size() != contents.size()) fail(stream, "blocks do not fit");
    for (std::size_t i = 0; i < cells.size() && failure_.empty(); ++i)
      memory_[static_cast<std::size_t>(stream.rank)][cells[i]] = contents[i];
  }

  // Whether the operation was done, or posted.
  bool step(std::size_t index, const Operation& item) {
    const Stream& stream = streams_[index];
    switch (item.kind) {
      case OperationKind::send:
        return send(stream, item);
      case OperationKind::receive:
      case OperationKind::receive_reduce:
        return receive(stream, item);
      case OperationKind::copy:
        write(stream, item.chunk, read(stream, item.source));
        return true;
      case OperationKind::reduce:
        write(stream, item.chunk, added(read(stream, item.chunk), read(stream, item.source)));
        return true;
      case OperationKind::aggregate:
        return aggregate(index, item);
      case OperationKind::collect:
        return collect(stream, item);
      case OperationKind::wait:
        return true;
    }
    return false;
  }

  struct Message {
    Contents contents;
    Bytes size;
  };

  bool send(const Stream& stream, const Operation& item) {
    auto& pipe = pipes_[{stream.rank, item.peer.rank, item.peer.channel}];
    if (pipe.size() >= static_cast<std::size_t>(schedule_.slots)) return false;
    pipe.push_back({read(stream, item.chunk), size_of(schedule_.layout, item.chunk)});
    return true;
  }

  bool receive(const Stream& stream, const Operation& item) {
    auto& pipe = pipes_[{item.peer.rank, stream.rank, item.peer.channel}];
    if (pipe.empty()) return false;
    const Message message = pipe.front();
    pipe.pop_front();
    if (message.size != size_of(schedule_.layout, item.chunk) ||
        message.contents.size() != static_cast<std::size_t>(item.chunk.span)) {
      fail(stream, "sizes do not fit");
    } else if (item.kind == OperationKind::receive) {
      write(stream, item.chunk, message.contents);
    } else {
      const Contents local = read(stream, item.from_source ? item.source : item.chunk);
      if (local.size() != message.contents.size())
        fail(stream, "blocks do not fit");
      else
        write(stream, item.chunk, added(local, message.contents));
    }
    return true;
  }

  bool aggregate(std::size_t index, const Operation& item) {
    Stream& stream = streams_[index];
    const AggregationGroup group = schedule_.group(item.group);
    Aggregation& aggregation = aggregations_[item.group];
    if (aggregation.posts.count(stream.rank) > 0) return false;
    aggregation.posts[stream.rank] = {index, read(stream, item.chunk)};
    stream.posted = true;
    if (aggregation.posts.size() < group.members.size()) return true;
    Contents result;
    for (const Rank member : group.members) {
      const Contents& part = aggregation.posts.at(member).second;
      const bool is_root = member == group.members[static_cast<std::size_t>(group.root)];
      if (group.mode == AggregationMode::multicast && !is_root) continue;
      if (!result.empty() && result.size() != part.size()) fail(stream, "blocks do not fit");
      result = result.empty() ? part : added(result, part);
    }
    for (const auto& [rank, post] : aggregation.posts) {
      streams_[post.first].posted = false;
      ++streams_[post.first].done;
    }
    aggregation.posts.clear();
    aggregation.results.push_back(result);
    return true;
  }

  bool collect(const Stream& stream, const Operation& item) {
    Aggregation& aggregation = aggregations_[item.group];
    std::size_t& next = aggregation.collected[stream.rank];
    if (next >= aggregation.results.size()) return false;
    write(stream, item.chunk, aggregation.results[next++]);
    return true;
  }

  static std::string text_of(const Bag& bag) {
    std::string text;
    for (const auto& [origin, count] : bag)
      for (int i = 0; i < count; ++i)
        text += " " + (origin.first < 0 ? std::string("undefined") : std::to_string(origin.first)) + ":" +
                std::to_string(origin.second);
    return text;
  }

  std::string judgement() const {
    for (const auto& [ends, pipe] : pipes_)
      if (!pipe.empty()) return "a message from rank " + std::to_string(std::get<0>(ends)) + " is left";
    for (Rank rank = 0; rank < schedule_.ranks; ++rank)
      for (std::int64_t cell = 0; cell < schedule_.layout.cells(); ++cell) {
        const Content wanted = definition_.wanted(rank, cell);
        const Bag& found = *memory_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cell)];
        if (!wanted || *wanted == found) continue;
        return "rank " + std::to_string(rank) + ", cell " + std::to_string(cell) + ": holds" +
               text_of(found) + ", should hold" + text_of(*wanted);
      }
    return {};
  }

  const Schedule& schedule_;
  Definition definition_;
  Random random_;
  std::vector<Contents> memory_;     // [rank][cell]
  std::vector<std::int32_t> first_;  // [rank]: its first stream
  std::vector<Stream> streams_;
  std::map<std::tuple<Rank, Rank, std::int32_t>, std::deque<Message>> pipes_;
  std::map<std::int32_t, Aggregation> aggregations_;
  std::string failure_;
};

}  // namespace

std::string exact_failure(const Schedule& schedule, std::uint64_t seed) {
  return Execution(schedule, seed).run();
}

}  // namespace collsim::testing
