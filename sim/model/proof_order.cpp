#include "sim/model/proof_order.hpp"

#include <algorithm>
#include <unordered_map>

namespace collsim {
namespace {

constexpr std::size_t streams_max = 4096;
constexpr std::size_t clock_words_max = std::size_t{1} << 26;
constexpr std::int64_t records_max = std::int64_t{1} << 22;

// The farthest operations of other streams of the rank that operations from .. until of a stream wait for.
// O(operations of its loops' bodies; of a loop of one trip those in the range only).
template <class Visit>
void visit_waits(const StreamWaits& stream, std::int64_t from, std::int64_t until, Visit visit) {
  std::int64_t first = 0;
  for (const Loop& loop : stream.program->loops) {
    const auto length = static_cast<std::int64_t>(loop.body.size());
    const std::int64_t skipped = loop.trips == 1 ? std::max<std::int64_t>(from - first, 0) : 0;
    for (std::int64_t i = skipped; i < length; ++i) {
      const std::int64_t begin = first + i;
      if (begin > until || loop.trips == 0) break;
      const std::int64_t before = from > begin ? (from - begin + length - 1) / length : 0;  // the first trip
      const std::int64_t trip = std::min(loop.trips - 1, (until - begin) / length);
      if (before > trip) continue;
      for (const Dependency& dependency : loop.body[static_cast<std::size_t>(i)].dependencies) {
        const std::int64_t reach =
            dependency.offset + std::max(before * dependency.stride, trip * dependency.stride);
        visit(Post{stream.targets[dependency.stream_slot], static_cast<std::uint32_t>(reach)});
      }
    }
    first += loop.trips * length;
  }
}

// Memory of the dataflow run that carries clocks: clock[t] = operations of stream t that are known to be
// done.
class ClockMemory {
 public:
  using Payload = Post;

  explicit ClockMemory(const DataflowGraph& graph)
      : graph_(graph),
        width_(graph.streams().size()),
        blocks_(graph.schedule().layout.blocks()),
        scratch_blocks_(graph.schedule().layout.scratch_blocks()),
        output_cells_(graph.schedule().layout.cells()),
        rank_cells_(output_cells_ + graph.schedule().layout.scratch_cells()),
        versions_(width_) {
    const std::int64_t records = rank_cells_ * graph.schedule().ranks;
    full_ = records > records_max;
    if (!full_) records_.resize(static_cast<std::size_t>(records));
  }

  void begin(const Step& step) {
    for (const Dependency& dependency : step.operation->dependencies)
      learn(step.stream, step.index,
            Post{step.waits[dependency.stream_slot],
                 static_cast<std::uint32_t>(dependency.offset + step.trip * dependency.stride)});
  }
  Payload read(const Step& step, const Chunk& chunk) {
    access(step, chunk, false);
    return Post{step.stream, step.index};
  }
  void write(const Step& step, const Chunk&, Payload, bool) {
    arrive(step);
    access(step, step.chunk, true);
  }
  void write_sum(const Step& step, const Chunk&, Payload, const Chunk& source) {
    arrive(step);
    access(step, source, false);
    access(step, step.chunk, true);
  }
  void local(const Step& step, const Chunk& source) {
    access(step, source, false);
    access(step, step.chunk, true);
  }
  void drained(Post post, const std::vector<Post>& posts) {
    for (const Post& other : posts) learn(post.stream, post.index, other);
  }
  void release(Payload, const Chunk&) {}
  void join(Payload, const Chunk&, Payload, const Chunk&) {}

  bool full() const { return full_; }
  const std::vector<ProofFailure>& failures() const { return failures_; }

 private:
  struct Version {
    std::uint32_t index;  // from the end of this operation on
    std::size_t offset;   // in clocks_
  };
  struct Record {
    Post write;
    std::vector<Post> reads;
  };

  void arrive(const Step& step) {
    if (step.posts == nullptr) return learn(step.stream, step.index, step.origin);
    for (const Post& post : *step.posts) learn(step.stream, step.index, post);
  }

  // The clock of a stream after its operation `at.index`; nothing if it knows nothing of others.
  const std::uint32_t* clock_after(Post at) const {
    const std::vector<Version>& versions = versions_[static_cast<std::size_t>(at.stream)];
    auto next =
        std::upper_bound(versions.begin(), versions.end(), at.index,
                         [](std::uint32_t index, const Version& version) { return index < version.index; });
    return next == versions.begin() ? nullptr : clocks_.data() + std::prev(next)->offset;
  }

  bool knows(Post later, Post earlier) const {
    if (earlier.stream < 0 || earlier.stream == later.stream) return true;
    const std::uint32_t* clock = clock_after(later);
    return clock != nullptr && clock[earlier.stream] > earlier.index;
  }

  // Operation `index` of `stream` comes after `event` and all that it comes after.
  void learn(std::int32_t stream, std::uint32_t index, Post event) {
    if (full_ || knows(Post{stream, index}, event)) return;
    std::vector<Version>& versions = versions_[static_cast<std::size_t>(stream)];
    if (versions.empty() || versions.back().index != index) {
      const std::size_t offset = clocks_.size();
      if (offset + width_ > clock_words_max) {
        full_ = true;
        return;
      }
      clocks_.resize(offset + width_);
      if (!versions.empty())
        std::copy_n(clocks_.begin() + static_cast<std::ptrdiff_t>(versions.back().offset), width_,
                    clocks_.begin() + static_cast<std::ptrdiff_t>(offset));
      versions.push_back(Version{index, offset});
    }
    std::uint32_t* clock = clocks_.data() + versions.back().offset;
    if (const std::uint32_t* theirs = clock_after(event))
      for (std::size_t i = 0; i < width_; ++i) clock[i] = std::max(clock[i], theirs[i]);
    std::uint32_t& known = clock[event.stream];
    known = std::max(known, event.index + 1);
  }

  void access(const Step& step, const Chunk& chunk, bool writes) {
    if (full_ || chunk.buffer == Buffer::input) return;
    const Post now{step.stream, step.index};
    for (std::int32_t i = 0; i < chunk.span; ++i) {
      Chunk cell = chunk;
      cell.block += i;
      cell.span = 1;
      const std::int64_t place =
          (chunk.buffer == Buffer::scratch ? output_cells_ + std::int64_t{cell.region} * scratch_blocks_
                                           : std::int64_t{cell.region} * blocks_) +
          cell.block;
      Record& record = records_[static_cast<std::size_t>(step.rank * rank_cells_ + place)];
      check(step, cell, record.write);
      if (writes) {
        for (const Post& read : record.reads) check(step, cell, read);
        record.reads.clear();
        record.write = now;
      } else {
        std::erase_if(record.reads, [&](const Post& read) { return read.stream == now.stream; });
        record.reads.push_back(now);
      }
    }
  }

  void check(const Step& step, const Chunk& cell, Post earlier) {
    if (knows(Post{step.stream, step.index}, earlier) || failures_.size() >= proof_failures_max) return;
    const std::int32_t stream = graph_.local_number(step.stream);
    const std::int32_t other = graph_.local_number(earlier.stream);
    const Operation first = operation(graph_.schedule(), step.rank, other, earlier.index);
    failures_.push_back(
        ProofFailure{step.rank, stream, std::int64_t{step.index},
                     "rank " + std::to_string(step.rank) + ", stream " + std::to_string(stream) + ", step " +
                         std::to_string(step.index) + ": " + name_of(step.operation->kind) + " of " +
                         text_of(cell) + " is not ordered after " + name_of(first.kind) + " in step " +
                         std::to_string(earlier.index) + " of stream " + std::to_string(other)});
  }

  const DataflowGraph& graph_;
  std::size_t width_;
  std::int32_t blocks_;
  std::int32_t scratch_blocks_;
  std::int64_t output_cells_;
  std::int64_t rank_cells_;
  std::vector<std::vector<Version>> versions_;  // [stream], by rising index
  std::vector<std::uint32_t> clocks_;
  std::vector<Record> records_;  // [rank * cells + cell]
  std::vector<ProofFailure> failures_;
  bool full_ = false;
};

}  // namespace

WaitsOf waits_of(const DataflowGraph& graph) {
  return [&graph](std::int32_t stream) {
    const DataflowGraph::Stream& fixed = graph.streams()[static_cast<std::size_t>(stream)];
    return StreamWaits{&graph.program_of(stream), graph.waits_of(fixed)};
  };
}

bool ordered_by_dependencies(const WaitsOf& waits_of, Post earlier, Post later) {
  std::vector<Post> reached = {later};
  std::unordered_map<std::int32_t, std::int64_t> seen;  // [stream]: operations whose waits have been visited
  bool found = false;
  while (!reached.empty() && !found) {
    const Post post = reached.back();
    reached.pop_back();
    std::int64_t& visited = seen[post.stream];
    const std::int64_t from = visited;
    if (from > std::int64_t{post.index}) continue;
    visited = std::int64_t{post.index} + 1;
    visit_waits(waits_of(post.stream), from, post.index, [&](Post wait) {
      found = found || (wait.stream == earlier.stream && wait.index >= earlier.index);
      const auto known = seen.find(wait.stream);
      if (known == seen.end() || known->second <= std::int64_t{wait.index}) reached.push_back(wait);
    });
  }
  return found;
}

bool decide_order(const DataflowGraph& graph, std::vector<ProofFailure>& failures) {
  if (graph.streams().size() > streams_max) return false;
  ClockMemory memory(graph);
  if (memory.full()) return false;
  Dataflow<ClockMemory> run(graph, memory);
  run.run();
  if (memory.full()) return false;
  failures.insert(failures.end(), memory.failures().begin(), memory.failures().end());
  return true;
}

}  // namespace collsim
