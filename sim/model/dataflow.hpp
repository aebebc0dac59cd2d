// Dataflow: a schedule executed without time, for proofs. Internal to sim/model.
//
// DataflowGraph resolves bindings once: streams, connections, groups, all in flat arrays. Dataflow<Memory>
// runs the streams with bounded connections and aggregations as barriers. Streams are deterministic and
// connections deliver in order, so the outcome (values or deadlock) does not depend on the order of execution
// (Kahn, 1974); this one runs a woken stream at once, which keeps few messages in flight.
//
// Memory      says what is moved: tokens, exact sets or clocks. It defines Payload and
//               void begin(step)                              its dependencies are done; may come repeatedly
//               Payload read(step, chunk)                     what a message takes along
//               void write(step, chunk, payload, adds)        `payload` of `chunk` arrives at step.chunk
//               void write_sum(step, chunk, payload, source)  step.chunk = `source` of the rank + payload
//               void release(payload, chunk)                  nobody needs it any more
//               void join(payload, chunk, payload2, chunk2)   aggregation: adds and releases the second
//               void local(step, source)                      copy and reduce on one rank
//               void drained(post, posts)                     an aggregation is over for one poster
// Complexity  O(operations) time; O(streams + peers + messages in flight) memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

constexpr std::size_t proof_failures_max = 20;

// "block 2 of region 0", "blocks 2 to 5 of region 0 of scratch"
std::string text_of(const Chunk& chunk);

// The same cells of the vector, be it in input or output; or the same of scratch.
inline bool same_cells(const Chunk& a, const Chunk& b) {
  return a.region == b.region && a.block == b.block && a.span == b.span &&
         (a.buffer == Buffer::scratch) == (b.buffer == Buffer::scratch);
}

// A poster of an aggregation: its stream and the index of its operation.
struct Post {
  std::int32_t stream = -1;
  std::uint32_t index = 0;
};

// The operation that a stream is about to complete.
struct Step {
  std::int32_t stream = -1;  // number in the whole graph
  Rank rank = 0;
  std::uint32_t index = 0;
  const OperationTemplate* operation = nullptr;
  std::int64_t trip = 0;
  const std::int32_t* waits = nullptr;       // Binding::streams as numbers in the whole graph
  Post origin;                               // receive: the send; collect: the own post
  const std::vector<Post>* posts = nullptr;  // collect: all posts of the aggregation
  Chunk chunk;
};

class DataflowGraph {
 public:
  struct Stream {
    std::int32_t program = 0;
    Rank rank = 0;
    std::uint32_t first_base = 0;
    std::uint32_t first_link = 0;  // in links(): two for each peer, outgoing and incoming connection
    std::uint32_t first_wait = 0;
    std::uint32_t first_group = 0;
  };
  struct Connection {
    Rank source = 0;
    Rank target = 0;
    std::int32_t channel = 0;
    std::int32_t sender = -1;
    std::int32_t receiver = -1;
  };
  struct Membership {
    std::int32_t group = -1;
    std::int32_t member = -1;
  };

  // Collects what is wrong in `failures`; the graph can be run only if there is nothing.
  explicit DataflowGraph(const Schedule& schedule);

  const Schedule& schedule() const { return schedule_; }
  const std::vector<ProofFailure>& failures() const { return failures_; }
  // A failure is only that a program is longer than can be followed.
  bool too_large() const { return too_large_; }
  const std::vector<Stream>& streams() const { return streams_; }
  const std::vector<Connection>& connections() const { return connections_; }
  const std::vector<AggregationGroup>& groups() const { return groups_; }
  const std::vector<std::int32_t>& collectors() const { return collectors_; }
  const Program& program_of(std::int32_t stream) const {
    return schedule_.programs[static_cast<std::size_t>(streams_[static_cast<std::size_t>(stream)].program)];
  }
  const std::int64_t* bases_of(const Stream& stream) const { return bases_.data() + stream.first_base; }
  const std::int32_t* links_of(const Stream& stream) const { return links_.data() + stream.first_link; }
  const std::int32_t* waits_of(const Stream& stream) const { return waits_.data() + stream.first_wait; }
  const Membership* groups_of(const Stream& stream) const { return memberships_.data() + stream.first_group; }
  std::int32_t local_number(std::int32_t stream) const {
    return stream - stream_start_[static_cast<std::size_t>(streams_[static_cast<std::size_t>(stream)].rank)];
  }
  std::int64_t messages() const { return messages_; }
  // Whether the stream, or one that it exchanges anything with, may name one of the cells
  // [first, first + count) of output. Every stream does for some part of the cells.
  bool touches(std::int32_t stream, std::int64_t first, std::int64_t count) const;
  // Every chunk of every program is a single block.
  bool single_blocks() const { return single_blocks_; }

 private:
  struct ProgramFacts;
  struct End;  // one side of a connection
  struct GroupUse;

  void check_program(std::size_t number);
  void add_stream(Rank rank, std::int32_t number, const Binding& binding, std::vector<End>& ends,
                  std::vector<GroupUse>& uses);
  void add_ends(Rank rank, std::int32_t number, const Binding& binding, std::vector<End>& ends);
  void check_waits(Rank rank);
  void connect(std::vector<End>& ends);
  void join_pair(const End* sender, const End* receiver);
  std::vector<std::uint32_t> order_by_group(const std::vector<GroupUse>& uses) const;
  void resolve_groups(const std::vector<GroupUse>& uses);
  bool number_members(std::int32_t group, std::vector<std::int32_t>& member_of);
  void check_uses(const std::vector<GroupUse>& uses, std::span<const std::uint32_t> chosen,
                  const std::vector<std::int32_t>& member_of);
  void find_components(const std::vector<GroupUse>& uses);
  void fail(Rank rank, std::int32_t stream, std::int64_t step, std::string text);

  const Schedule& schedule_;
  std::vector<ProgramFacts> facts_;
  std::vector<ProofFailure> failures_;
  std::vector<Stream> streams_;
  std::vector<std::int32_t> stream_start_;  // [rank]
  std::vector<std::int64_t> bases_;
  std::vector<std::int32_t> links_;
  std::vector<std::int32_t> waits_;
  std::vector<Membership> memberships_;
  std::vector<Connection> connections_;
  std::vector<AggregationGroup> groups_;
  std::vector<std::int32_t> collectors_;  // [group]: members that collect
  std::vector<std::int32_t> posters_;     // [member] of the group that is checked
  std::vector<std::int32_t> takers_;
  struct RegionRange {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = -1;
  };
  std::vector<std::int32_t> components_;    // [stream]: number of those that depend on each other
  std::vector<RegionRange> region_ranges_;  // [component]
  std::int64_t messages_ = 0;
  bool single_blocks_ = true;
  bool too_large_ = false;

 public:
  ~DataflowGraph();
  DataflowGraph(const DataflowGraph&) = delete;
  DataflowGraph& operator=(const DataflowGraph&) = delete;
};

enum class DataflowOutcome { finished, deadlock, aborted };

template <class Memory>
class Dataflow {
 public:
  // With the schedule's slots, or others.
  Dataflow(const DataflowGraph& graph, Memory& memory) : Dataflow(graph, memory, graph.schedule().slots) {}
  Dataflow(const DataflowGraph& graph, Memory& memory, std::int32_t slots);

  // Runs the streams that touch the cells [first, first + count); the default is all.
  DataflowOutcome run(std::int64_t first = 0, std::int64_t count = std::numeric_limits<std::int32_t>::max());
  // outcome deadlock: the waiting streams; aborted: what is wrong. At most proof_failures_max.
  const std::vector<ProofFailure>& failures() const { return failures_; }
  // So far, everything was received, joined or stored as the very cells that it was given as.
  bool same_chunks() const { return same_chunks_; }
  // No message and no result of an aggregation is left.
  bool drained() const;

 private:
  using Payload = typename Memory::Payload;
  struct Position {
    const Loop* loop = nullptr;  // == end: the stream has ended, or does not run
    const Loop* end = nullptr;
    std::uint32_t trip = 0;  // operations are below 2^29
    std::uint32_t body = 0;
    std::uint32_t done = 0;
    std::int32_t first_waiter = -1;  // streams that wait for an operation of this one
    std::int32_t next_waiter = -1;
    std::uint32_t wanted = 0;        // the operation that this one waits for
    std::uint32_t least_wanted = 0;  // of the streams that wait for this one
    bool posted = false;             // stands in an aggregation
  };
  struct Pipe {
    std::int32_t head = -1;
    std::int32_t tail = -1;
    std::int32_t count = 0;
    bool sender_waits = false;
    bool receiver_waits = false;
  };
  struct Message {
    Payload payload{};
    Chunk chunk;
    std::uint32_t index = 0;
    std::int32_t next = -1;
  };
  struct Result {
    Payload payload{};
    Chunk chunk;
    std::int32_t collectors = 0;  // that have not taken it
    std::vector<Post> posts;      // [member]
  };
  struct Aggregation {
    std::vector<Post> posts;  // [member]; stream -1 = not posted
    std::int32_t posted = 0;
    Payload sum{};
    bool any = false;               // sum holds a contribution
    Chunk chunk;                    // of the first contribution, or of the first post
    std::int32_t poster = -1;       // who gave that
    std::int64_t first_result = 0;  // number of results[0]
    std::vector<Result> results;
    std::size_t taken = 0;                 // of results, by all
    std::vector<std::int64_t> collected;   // [member]
    std::vector<std::int32_t> collectors;  // [member]: stream that waits for a result, or -1
  };

  const OperationTemplate& operation_at(std::int32_t stream) const {
    const Position& at = positions_[static_cast<std::size_t>(stream)];
    return at.loop->body[at.body];
  }
  bool ended(std::int32_t stream) const {
    const Position& at = positions_[static_cast<std::size_t>(stream)];
    return at.loop == at.end;
  }
  static void skip_empty_loops(Position& at);
  void drain();
  void run_stream(std::int32_t stream);
  bool execute(Step& step);
  bool dependencies_done(const Step& step);
  bool send(Step& step, std::int32_t link);
  bool receive(Step& step, std::int32_t link, bool adds);
  bool aggregate(Step& step, DataflowGraph::Membership place);
  bool collect(Step& step, DataflowGraph::Membership place);
  void complete(std::int32_t group);
  void forget_taken(Aggregation& aggregation);
  void advance(std::int32_t stream);
  void wake_waiters(Position& at);
  bool inside(const Step& step, const Chunk& chunk);
  bool inside_rare(const Step& step, const Chunk& chunk);
  bool same_size(const Step& step, const Chunk& theirs, std::int32_t other);
  bool same_size_rare(const Step& step, const Chunk& theirs, std::int32_t other);
  Chunk chunk_of(const Step& step, const ChunkExpression& expression) const {
    return resolve(expression, graph_.bases_of(graph_.streams()[static_cast<std::size_t>(step.stream)]),
                   step.trip);
  }
  void wake(std::int32_t stream) { ready_.push_back(stream); }
  void abort(const Step& step, const std::string& text);
  void report_deadlock();
  std::string reason(std::int32_t stream) const;

  const DataflowGraph& graph_;
  Memory& memory_;
  const std::int32_t slots_;
  std::vector<Position> positions_;
  std::vector<Pipe> pipes_;
  std::vector<Message> messages_;  // in flight, linked lists
  std::int32_t free_message_ = -1;
  std::vector<Aggregation> aggregations_;
  std::vector<std::int32_t> ready_;
  std::vector<ProofFailure> failures_;
  bool aborted_ = false;
  bool same_chunks_ = true;
};

template <class Memory>
Dataflow<Memory>::Dataflow(const DataflowGraph& graph, Memory& memory, std::int32_t slots)
    : graph_(graph),
      memory_(memory),
      slots_(slots),
      positions_(graph.streams().size()),
      pipes_(graph.connections().size()),
      aggregations_(graph.groups().size()) {
  for (std::size_t group = 0; group < aggregations_.size(); ++group) {
    const std::size_t members = graph.groups()[group].members.size();
    aggregations_[group].posts.resize(members);
    aggregations_[group].collected.resize(members);
    aggregations_[group].collectors.assign(members, -1);
  }
}

template <class Memory>
DataflowOutcome Dataflow<Memory>::run(std::int64_t first, std::int64_t count) {
  const auto streams = static_cast<std::int32_t>(positions_.size());
  for (std::int32_t stream = 0; stream < streams && !aborted_; ++stream) {
    if (!graph_.touches(stream, first, count)) continue;
    Position& at = positions_[static_cast<std::size_t>(stream)];
    const std::vector<Loop>& loops = graph_.program_of(stream).loops;
    at.loop = loops.data();
    at.end = loops.data() + loops.size();
    skip_empty_loops(at);
    ready_.push_back(stream);
    drain();
  }
  if (aborted_) return DataflowOutcome::aborted;
  report_deadlock();
  return failures_.empty() ? DataflowOutcome::finished : DataflowOutcome::deadlock;
}

template <class Memory>
bool Dataflow<Memory>::drained() const {
  for (const Pipe& pipe : pipes_)
    if (pipe.count > 0) return false;
  for (const Aggregation& aggregation : aggregations_)
    if (!aggregation.results.empty()) return false;
  return true;
}

template <class Memory>
void Dataflow<Memory>::drain() {
  while (!ready_.empty() && !aborted_) {
    const std::int32_t stream = ready_.back();
    ready_.pop_back();
    run_stream(stream);
  }
}

template <class Memory>
void Dataflow<Memory>::run_stream(std::int32_t stream) {
  const DataflowGraph::Stream& fixed = graph_.streams()[static_cast<std::size_t>(stream)];
  Step step;
  step.stream = stream;
  step.rank = fixed.rank;
  step.waits = graph_.waits_of(fixed);
  Position& at = positions_[static_cast<std::size_t>(stream)];
  while (!aborted_ && !at.posted && at.loop != at.end) {
    step.index = at.done;
    step.trip = at.trip;
    step.operation = &operation_at(stream);
    if (!dependencies_done(step)) return;
    memory_.begin(step);
    if (!execute(step)) return;
    advance(stream);
  }
}

// Whether the operation was completed; if not, something will wake the stream.
template <class Memory>
bool Dataflow<Memory>::execute(Step& step) {
  const DataflowGraph::Stream& fixed = graph_.streams()[static_cast<std::size_t>(step.stream)];
  const OperationTemplate& operation = *step.operation;
  const auto link = [&](int side) { return graph_.links_of(fixed)[2 * operation.peer + side]; };
  switch (operation.kind) {
    case OperationKind::send:
      return send(step, link(0));
    case OperationKind::receive:
      return receive(step, link(1), false);
    case OperationKind::receive_reduce:
      return receive(step, link(1), true);
    case OperationKind::aggregate:
      return aggregate(step, graph_.groups_of(fixed)[operation.peer]);
    case OperationKind::collect:
      return collect(step, graph_.groups_of(fixed)[operation.peer]);
    case OperationKind::copy:
    case OperationKind::reduce: {
      step.chunk = chunk_of(step, operation.chunk);
      const Chunk source = chunk_of(step, operation.source);
      if (!inside(step, step.chunk) || !inside(step, source) || !same_size(step, source, step.stream))
        return false;
      memory_.local(step, source);
      return true;
    }
    case OperationKind::wait:
      return true;
  }
  return false;
}

template <class Memory>
bool Dataflow<Memory>::dependencies_done(const Step& step) {
  for (const Dependency& dependency : step.operation->dependencies) {
    const std::int32_t target = step.waits[dependency.stream_slot];
    const auto wanted = static_cast<std::uint32_t>(dependency.offset + step.trip * dependency.stride);
    Position& other = positions_[static_cast<std::size_t>(target)];
    if (other.done > wanted) continue;
    Position& own = positions_[static_cast<std::size_t>(step.stream)];
    own.wanted = wanted;
    other.least_wanted = other.first_waiter < 0 ? wanted : std::min(other.least_wanted, wanted);
    own.next_waiter = other.first_waiter;
    other.first_waiter = step.stream;
    return false;
  }
  return true;
}

template <class Memory>
bool Dataflow<Memory>::send(Step& step, std::int32_t link) {
  Pipe& pipe = pipes_[static_cast<std::size_t>(link)];
  if (pipe.count >= slots_) {
    pipe.sender_waits = true;
    return false;
  }
  step.chunk = chunk_of(step, step.operation->chunk);
  if (!inside(step, step.chunk)) return false;
  std::int32_t number = free_message_;
  if (number < 0) {
    number = static_cast<std::int32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    free_message_ = messages_[static_cast<std::size_t>(number)].next;
  }
  Message& message = messages_[static_cast<std::size_t>(number)];
  message.payload = memory_.read(step, step.chunk);
  message.chunk = step.chunk;
  message.index = step.index;
  message.next = -1;
  if (pipe.count++ == 0)
    pipe.head = number;
  else
    messages_[static_cast<std::size_t>(pipe.tail)].next = number;
  pipe.tail = number;
  if (pipe.receiver_waits) {
    pipe.receiver_waits = false;
    wake(graph_.connections()[static_cast<std::size_t>(link)].receiver);
  }
  return true;
}

template <class Memory>
bool Dataflow<Memory>::receive(Step& step, std::int32_t link, bool adds) {
  Pipe& pipe = pipes_[static_cast<std::size_t>(link)];
  if (pipe.count == 0) {
    pipe.receiver_waits = true;
    return false;
  }
  const std::int32_t number = pipe.head;
  Message& message = messages_[static_cast<std::size_t>(number)];
  const std::int32_t sender = graph_.connections()[static_cast<std::size_t>(link)].sender;
  step.chunk = chunk_of(step, step.operation->chunk);
  step.origin = Post{sender, message.index};
  if (!inside(step, step.chunk) || !same_size(step, message.chunk, sender)) return false;
  if (adds && step.operation->from_source) {
    const Chunk source = chunk_of(step, step.operation->source);
    if (!inside(step, source) || !same_size(step, source, step.stream)) return false;
    memory_.write_sum(step, message.chunk, message.payload, source);
  } else {
    memory_.write(step, message.chunk, message.payload, adds);
  }
  memory_.release(message.payload, message.chunk);
  pipe.head = message.next;
  --pipe.count;
  message.next = free_message_;
  free_message_ = number;
  if (pipe.sender_waits) {
    pipe.sender_waits = false;
    wake(sender);
  }
  return true;
}

template <class Memory>
bool Dataflow<Memory>::aggregate(Step& step, DataflowGraph::Membership place) {
  Aggregation& aggregation = aggregations_[static_cast<std::size_t>(place.group)];
  const AggregationGroup& group = graph_.groups()[static_cast<std::size_t>(place.group)];
  step.chunk = chunk_of(step, step.operation->chunk);
  if (!inside(step, step.chunk)) return false;
  if (aggregation.posted > 0 && !same_size(step, aggregation.chunk, aggregation.poster)) return false;
  aggregation.posts[static_cast<std::size_t>(place.member)] = Post{step.stream, step.index};
  positions_[static_cast<std::size_t>(step.stream)].posted = true;
  ++aggregation.posted;
  if (group.mode != AggregationMode::multicast || place.member == group.root) {
    const Payload own = memory_.read(step, step.chunk);
    if (aggregation.any) {
      memory_.join(aggregation.sum, aggregation.chunk, own, step.chunk);
    } else {
      aggregation.sum = own;
      aggregation.chunk = step.chunk;
      aggregation.poster = step.stream;
    }
    aggregation.any = true;
  } else if (aggregation.posted == 1) {
    aggregation.chunk = step.chunk;
    aggregation.poster = step.stream;
  }
  if (aggregation.posted == static_cast<std::int32_t>(aggregation.posts.size())) complete(place.group);
  return false;
}

// All members have posted: they go on, and the result waits for those that collect it.
template <class Memory>
void Dataflow<Memory>::complete(std::int32_t group) {
  Aggregation& aggregation = aggregations_[static_cast<std::size_t>(group)];
  Result result{aggregation.sum, aggregation.chunk, graph_.collectors()[static_cast<std::size_t>(group)],
                aggregation.posts};
  aggregation.posted = 0;
  aggregation.any = false;
  for (Post& post : aggregation.posts) {
    memory_.drained(post, result.posts);
    positions_[static_cast<std::size_t>(post.stream)].posted = false;
    advance(post.stream);
    wake(post.stream);
    post = Post{};
  }
  if (result.collectors == 0) {
    memory_.release(result.payload, result.chunk);
    ++aggregation.first_result;
    return;
  }
  aggregation.results.push_back(std::move(result));
  for (std::int32_t& collector : aggregation.collectors)
    if (collector >= 0) {
      wake(collector);
      collector = -1;
    }
}

template <class Memory>
bool Dataflow<Memory>::collect(Step& step, DataflowGraph::Membership place) {
  Aggregation& aggregation = aggregations_[static_cast<std::size_t>(place.group)];
  const auto member = static_cast<std::size_t>(place.member);
  const std::int64_t offset = aggregation.collected[member] - aggregation.first_result;
  if (offset >= static_cast<std::int64_t>(aggregation.results.size())) {
    aggregation.collectors[member] = step.stream;
    return false;
  }
  Result& result = aggregation.results[static_cast<std::size_t>(offset)];
  step.chunk = chunk_of(step, step.operation->chunk);
  step.origin = result.posts[member];
  step.posts = &result.posts;
  if (!inside(step, step.chunk) || !same_size(step, result.chunk, step.origin.stream)) return false;
  memory_.write(step, result.chunk, result.payload, false);
  step.posts = nullptr;
  ++aggregation.collected[member];
  --result.collectors;
  forget_taken(aggregation);
  return true;
}

// Releases the results that nobody will ask for; moves the rest up once it is the smaller half.
template <class Memory>
void Dataflow<Memory>::forget_taken(Aggregation& aggregation) {
  std::vector<Result>& results = aggregation.results;
  while (aggregation.taken < results.size() && results[aggregation.taken].collectors == 0) {
    memory_.release(results[aggregation.taken].payload, results[aggregation.taken].chunk);
    ++aggregation.taken;
  }
  if (2 * aggregation.taken < results.size()) return;
  results.erase(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(aggregation.taken));
  aggregation.first_result += static_cast<std::int64_t>(aggregation.taken);
  aggregation.taken = 0;
}

template <class Memory>
void Dataflow<Memory>::skip_empty_loops(Position& at) {
  while (at.loop != at.end && (at.loop->trips == 0 || at.loop->body.empty())) ++at.loop;
}

template <class Memory>
void Dataflow<Memory>::advance(std::int32_t stream) {
  Position& at = positions_[static_cast<std::size_t>(stream)];
  const std::uint32_t done = ++at.done;
  if (++at.body == at.loop->body.size()) {
    at.body = 0;
    if (std::int64_t{++at.trip} == at.loop->trips) {
      at.trip = 0;
      ++at.loop;
      skip_empty_loops(at);
    }
  }
  if (at.first_waiter >= 0 && at.least_wanted < done) wake_waiters(at);
}

template <class Memory>
void Dataflow<Memory>::wake_waiters(Position& at) {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  std::int32_t* link = &at.first_waiter;
  while (*link >= 0) {
    Position& waiter = positions_[static_cast<std::size_t>(*link)];
    if (waiter.wanted < at.done) {
      wake(*link);
      *link = waiter.next_waiter;
      waiter.next_waiter = -1;
    } else {
      least = std::min(least, waiter.wanted);
      link = &waiter.next_waiter;
    }
  }
  at.least_wanted = least;
}

template <class Memory>
inline bool Dataflow<Memory>::inside(const Step& step, const Chunk& chunk) {
  const Schedule& schedule = graph_.schedule();
  if (chunk.buffer == Buffer::output && chunk.region >= 0 && chunk.region < schedule.layout.regions() &&
      chunk.block >= 0 && chunk.span >= 1 && chunk.block <= schedule.layout.blocks() - chunk.span) [[likely]]
    return true;
  return inside_rare(step, chunk);
}

// Scratch, input, and what lies outside.
template <class Memory>
bool Dataflow<Memory>::inside_rare(const Step& step, const Chunk& chunk) {
  const Schedule& schedule = graph_.schedule();
  const OperationKind kind = step.operation->kind;
  const bool written =
      &chunk == &step.chunk && kind != OperationKind::send && kind != OperationKind::aggregate;
  if (written && chunk.buffer == Buffer::input) {
    abort(step, std::string(name_of(kind)) + " writes to the input");
    return false;
  }
  if (chunk.buffer == Buffer::input && schedule.in_place) {
    abort(step, std::string(name_of(kind)) +
                    " reads the input, but a schedule in place has none beside its output");
    return false;
  }
  const std::int32_t regions =
      chunk.buffer == Buffer::scratch ? schedule.layout.scratch_regions() : schedule.layout.regions();
  const std::int32_t blocks =
      chunk.buffer == Buffer::scratch ? schedule.layout.scratch_blocks() : schedule.layout.blocks();
  if (chunk.region >= 0 && chunk.region < regions && chunk.block >= 0 && chunk.span >= 1 &&
      chunk.block <= blocks - chunk.span)
    return true;
  abort(step, std::string(name_of(kind)) + " of " + text_of(chunk) + " is outside the " +
                  std::to_string(regions) + " regions of " + std::to_string(blocks) + " blocks");
  return false;
}

template <class Memory>
inline bool Dataflow<Memory>::same_size(const Step& step, const Chunk& theirs, std::int32_t other) {
  return same_cells(theirs, step.chunk) || same_size_rare(step, theirs, other);
}

template <class Memory>
bool Dataflow<Memory>::same_size_rare(const Step& step, const Chunk& theirs, std::int32_t other) {
  same_chunks_ = false;
  const Layout& layout = graph_.schedule().layout;
  if (theirs.span == step.chunk.span && size_of(layout, theirs) == size_of(layout, step.chunk)) return true;
  const auto size = [&](const Chunk& chunk) {
    return text_of(chunk) + " (" + std::to_string(size_of(layout, chunk).count()) + " bytes)";
  };
  abort(step, std::string(name_of(step.operation->kind)) + " of " + size(step.chunk) +
                  " does not fit what rank " +
                  std::to_string(graph_.streams()[static_cast<std::size_t>(other)].rank) + " gives, " +
                  size(theirs));
  return false;
}

template <class Memory>
void Dataflow<Memory>::abort(const Step& step, const std::string& text) {
  const std::int32_t number = graph_.local_number(step.stream);
  aborted_ = true;
  failures_.push_back(ProofFailure{step.rank, number, std::int64_t{step.index},
                                   "rank " + std::to_string(step.rank) + ", stream " +
                                       std::to_string(number) + ", step " + std::to_string(step.index) +
                                       ": " + text});
}

template <class Memory>
void Dataflow<Memory>::report_deadlock() {
  for (std::size_t stream = 0; stream < positions_.size(); ++stream) {
    if (failures_.size() >= proof_failures_max) return;
    const auto number = static_cast<std::int32_t>(stream);
    if (ended(number)) continue;
    const Rank rank = graph_.streams()[stream].rank;
    const std::int32_t local = graph_.local_number(number);
    const std::uint32_t done = positions_[stream].done;
    failures_.push_back(ProofFailure{rank, local, std::int64_t{done},
                                     "rank " + std::to_string(rank) + ", stream " + std::to_string(local) +
                                         ", step " + std::to_string(done) + ": " + reason(number)});
  }
}

// What a stream of a deadlock waits for.
template <class Memory>
std::string Dataflow<Memory>::reason(std::int32_t stream) const {
  const DataflowGraph::Stream& fixed = graph_.streams()[static_cast<std::size_t>(stream)];
  const OperationTemplate& operation = operation_at(stream);
  const std::int64_t trip = positions_[static_cast<std::size_t>(stream)].trip;
  const std::string name = name_of(operation.kind);
  for (const Dependency& dependency : operation.dependencies) {
    const std::int32_t target = graph_.waits_of(fixed)[dependency.stream_slot];
    const std::int64_t wanted = dependency.offset + trip * dependency.stride;
    if (std::int64_t{positions_[static_cast<std::size_t>(target)].done} <= wanted)
      return name + " waits for step " + std::to_string(wanted) + " of stream " +
             std::to_string(graph_.local_number(target));
  }
  if (operation.kind == OperationKind::send) {
    const std::int32_t link = graph_.links_of(fixed)[2 * operation.peer];
    const DataflowGraph::Connection& to = graph_.connections()[static_cast<std::size_t>(link)];
    return name + " waits for a free slot to rank " + std::to_string(to.target) + " on channel " +
           std::to_string(to.channel);
  }
  if (operation.kind == OperationKind::receive || operation.kind == OperationKind::receive_reduce) {
    const std::int32_t link = graph_.links_of(fixed)[2 * operation.peer + 1];
    const DataflowGraph::Connection& from = graph_.connections()[static_cast<std::size_t>(link)];
    return name + " waits for a message from rank " + std::to_string(from.source) + " on channel " +
           std::to_string(from.channel);
  }
  const DataflowGraph::Membership place = graph_.groups_of(fixed)[operation.peer];
  const Aggregation& aggregation = aggregations_[static_cast<std::size_t>(place.group)];
  if (operation.kind == OperationKind::collect)
    return name + " waits for aggregation " +
           std::to_string(aggregation.collected[static_cast<std::size_t>(place.member)]) + " of group " +
           std::to_string(place.group);
  std::size_t missing = 0;
  while (missing + 1 < aggregation.posts.size() && aggregation.posts[missing].stream >= 0) ++missing;
  return name + " waits for rank " +
         std::to_string(graph_.groups()[static_cast<std::size_t>(place.group)].members[missing]) +
         " in group " + std::to_string(place.group);
}

}  // namespace collsim
