#include "kernels/plan_draft.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "sim/model/contract.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int64_t place_unit = 256;  // places of staging memory are whole multiples

std::int64_t vector_bytes(const Layout& layout) {
  return layout.offset_bytes(layout.regions() - 1, layout.blocks());
}

bool overlap(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.region == b.region && a.block < b.block + b.span &&
         b.block < a.block + a.span;
}

// Memory of the dataflow run that records operations as tasks.
class Recorder {
 public:
  struct Payload {
    std::int32_t task = -1;         // a message's send
    std::int32_t staged = -1;       // of a message that is not empty
    std::int32_t aggregation = -1;  // number in aggregations_
  };

  Recorder(const DataflowGraph& graph, Draft& draft);

  void begin(const Step& step);
  Payload read(const Step& step, const Chunk& chunk);
  void write(const Step& step, const Chunk& theirs, const Payload& payload, bool adds);
  void write_sum(const Step& step, const Chunk& theirs, const Payload& payload, const Chunk& source);
  void release(const Payload& payload, const Chunk& chunk);
  void join(Payload&, const Chunk&, const Payload&, const Chunk&) {}
  void local(const Step& step, const Chunk& source);
  void drained(Post post, const std::vector<Post>& posts);

  // After the run: the divisions of an average.
  void divide();

 private:
  // The post of a stream that stands in an aggregation.
  struct Posted {
    Step step;
    Chunk chunk;
    std::int32_t group = -1;
  };
  struct Aggregation {
    std::int32_t reducer = -1;  // its last task
    std::int32_t staged = -1;
    std::vector<std::int32_t> collects;
  };
  struct Group {
    std::int32_t open = -1;          // the aggregation that is not complete
    std::int32_t missing = 0;        // posts that have not drained
    std::int32_t places = 0;         // of results
    std::vector<std::int32_t> free;  // aggregations whose places are free, those free longest first
  };

  std::size_t operation_number(std::int32_t stream, std::uint32_t index) const {
    return first_operation_[static_cast<std::size_t>(stream)] + index;
  }
  std::int32_t link_of(const Step& step, int side) const {
    const DataflowGraph::Stream& fixed = graph_.streams()[static_cast<std::size_t>(step.stream)];
    return graph_.links_of(fixed)[2 * step.operation->peer + side];
  }
  std::int64_t bytes_of(const Chunk& chunk) const { return size_of(graph_.schedule().layout, chunk).count(); }
  Place place_of(Rank rank, const Chunk& chunk) const;
  Place staged_place(std::int32_t number) const { return Place{-1 - number, 0}; }
  std::int32_t stage(std::int32_t owner, std::int32_t place, std::int64_t bytes);

  void after(const Step& step);
  std::int32_t add(const Step& step, std::span<const Place> sources, const Place& destination,
                   std::int64_t bytes);
  std::int32_t add_nothing(const Step& step) { return add(step, {}, Place{}, 0); }
  void done(const Step& step, std::int32_t task) {
    task_of_[operation_number(step.stream, step.index)] = task;
  }
  Place apart(const Step& step, const Chunk& source);
  void move(const Step& step, std::span<const Place> sources);
  void reduce_all(Group& group, const std::vector<Post>& posts);
  std::int32_t result_place(std::int32_t group, std::int64_t bytes);

  const DataflowGraph& graph_;
  Draft& draft_;
  std::int32_t slots_;
  std::vector<std::size_t> first_operation_;         // [stream]
  std::vector<std::int32_t> task_of_;                // [operation]
  std::vector<std::int64_t> sent_;                   // [connection]: messages
  std::vector<std::vector<std::int32_t>> receives_;  // [connection]: tasks
  std::vector<Posted> posted_;                       // [stream]
  std::vector<Group> groups_;
  std::vector<Aggregation> aggregations_;
  std::vector<std::int32_t> predecessors_;  // of the task that comes next
};

Recorder::Recorder(const DataflowGraph& graph, Draft& draft)
    : graph_(graph),
      draft_(draft),
      slots_(graph.schedule().slots),
      sent_(graph.connections().size()),
      receives_(graph.connections().size()),
      posted_(graph.groups().empty() ? 0 : graph.streams().size()),
      groups_(graph.groups().size()) {
  std::size_t operations = 0;
  for (std::size_t stream = 0; stream < graph.streams().size(); ++stream) {
    first_operation_.push_back(operations);
    operations +=
        static_cast<std::size_t>(graph.program_of(static_cast<std::int32_t>(stream)).operation_count());
  }
  task_of_.assign(operations, -1);
  draft_.plan.tasks.reserve(operations);
  draft_.kinds.reserve(operations);
}

Place Recorder::place_of(Rank rank, const Chunk& chunk) const {
  const Plan& plan = draft_.plan;
  const std::vector<std::int32_t>& areas = chunk.buffer == Buffer::output  ? plan.output
                                           : chunk.buffer == Buffer::input ? plan.input
                                                                           : plan.scratch;
  return Place{areas[static_cast<std::size_t>(rank)], offset_of(graph_.schedule().layout, chunk)};
}

std::int32_t Recorder::stage(std::int32_t owner, std::int32_t place, std::int64_t bytes) {
  Staged item;
  item.owner = owner;
  item.place = place;
  item.bytes = bytes;
  draft_.staged.push_back(item);
  return static_cast<std::int32_t>(draft_.staged.size()) - 1;
}

// The next task comes after the operation before `step` in its stream, and after what `step` waits for.
void Recorder::after(const Step& step) {
  if (step.index > 0) predecessors_.push_back(task_of_[operation_number(step.stream, step.index - 1)]);
  for (const Dependency& dependency : step.operation->dependencies) {
    const std::int64_t wanted = dependency.offset + step.trip * dependency.stride;
    predecessors_.push_back(
        task_of_[operation_number(step.waits[dependency.stream_slot], static_cast<std::uint32_t>(wanted))]);
  }
}

// A task for `step` after predecessors_, which it takes. Without sources or bytes: one without work.
std::int32_t Recorder::add(const Step& step, std::span<const Place> sources, const Place& destination,
                           std::int64_t bytes) {
  Plan& plan = draft_.plan;
  Task task;
  task.rank = step.rank;
  task.stream = graph_.local_number(step.stream);
  task.step = step.index;
  task.first_place = static_cast<std::int32_t>(plan.places.size());
  if (!sources.empty() && bytes > 0) {
    task.kind = TaskKind::combine;
    task.sources = static_cast<std::uint8_t>(sources.size());
    task.destinations = 1;
    task.bytes = bytes;
    plan.places.insert(plan.places.end(), sources.begin(), sources.end());
    plan.places.push_back(destination);
  }
  std::sort(predecessors_.begin(), predecessors_.end());
  const auto end = std::unique(predecessors_.begin(), predecessors_.end());
  task.first_predecessor = static_cast<std::int32_t>(plan.predecessors.size());
  task.predecessor_count = static_cast<std::int32_t>(end - predecessors_.begin());
  plan.predecessors.insert(plan.predecessors.end(), predecessors_.begin(), end);
  predecessors_.clear();
  plan.tasks.push_back(task);
  draft_.kinds.push_back(step.operation->kind);
  return static_cast<std::int32_t>(plan.tasks.size()) - 1;
}

void Recorder::begin(const Step& step) {
  if (step.operation->kind == OperationKind::wait) {
    after(step);
    done(step, add_nothing(step));
  } else if (step.operation->kind == OperationKind::aggregate) {
    const DataflowGraph::Stream& fixed = graph_.streams()[static_cast<std::size_t>(step.stream)];
    const std::int32_t number = graph_.groups_of(fixed)[step.operation->peer].group;
    posted_[static_cast<std::size_t>(step.stream)] = Posted{step, {}, number};
    Group& group = groups_[static_cast<std::size_t>(number)];
    if (group.open >= 0) return;
    group.open = static_cast<std::int32_t>(aggregations_.size());
    group.missing =
        static_cast<std::int32_t>(graph_.groups()[static_cast<std::size_t>(number)].members.size());
    aggregations_.emplace_back();
  }
}

// A send, or the post of one whose chunk an aggregation takes.
Recorder::Payload Recorder::read(const Step& step, const Chunk& chunk) {
  Payload payload;
  if (step.operation->kind == OperationKind::aggregate) {
    Posted& posted = posted_[static_cast<std::size_t>(step.stream)];
    posted.chunk = chunk;
    payload.aggregation = groups_[static_cast<std::size_t>(posted.group)].open;
    return payload;
  }
  const std::int32_t link = link_of(step, 0);
  const std::int64_t number = sent_[static_cast<std::size_t>(link)]++;
  after(step);
  if (number >= slots_)
    predecessors_.push_back(
        receives_[static_cast<std::size_t>(link)][static_cast<std::size_t>(number - slots_)]);
  const std::int64_t bytes = bytes_of(chunk);
  const std::array<Place, 1> source = {place_of(step.rank, chunk)};
  if (bytes > 0) payload.staged = stage(link, -1, bytes);
  payload.task = add(step, source, staged_place(payload.staged), bytes);
  if (bytes > 0) draft_.staged.back().send = payload.task;
  done(step, payload.task);
  return payload;
}

// A receive or a collect.
void Recorder::write(const Step& step, const Chunk&, const Payload& payload, bool adds) {
  after(step);
  const bool collects = step.operation->kind == OperationKind::collect;
  const Place own = place_of(step.rank, step.chunk);
  std::int32_t staged = payload.staged;
  if (collects) {
    const Aggregation& aggregation = aggregations_[static_cast<std::size_t>(payload.aggregation)];
    staged = aggregation.staged;
    predecessors_.push_back(aggregation.reducer);
  } else {
    predecessors_.push_back(payload.task);
  }
  const std::array<Place, 2> sources = {own, staged_place(staged)};
  const auto all = std::span<const Place>(sources);
  const std::int32_t task = add(step, adds ? all : all.last(1), own, bytes_of(step.chunk));
  done(step, task);
  if (collects) {
    aggregations_[static_cast<std::size_t>(payload.aggregation)].collects.push_back(task);
    return;
  }
  receives_[static_cast<std::size_t>(link_of(step, 1))].push_back(task);
}

// `source`, or a copy of it where it shares some but not all of its elements with what the step writes.
Place Recorder::apart(const Step& step, const Chunk& source) {
  const Place place = place_of(step.rank, source);
  if (source == step.chunk || !overlap(source, step.chunk)) return place;
  const auto owner =
      static_cast<std::int32_t>(graph_.connections().size() + graph_.groups().size()) + step.stream;
  const std::int64_t bytes = bytes_of(source);
  const Place copy = staged_place(stage(owner, 0, bytes));
  const std::int32_t task = add(step, std::span(&place, 1), copy, bytes);
  predecessors_.push_back(task);
  return copy;
}

void Recorder::write_sum(const Step& step, const Chunk&, const Payload& payload, const Chunk& source) {
  after(step);
  predecessors_.push_back(payload.task);
  const std::array<Place, 2> sources = {apart(step, source), staged_place(payload.staged)};
  const std::int32_t task = add(step, sources, place_of(step.rank, step.chunk), bytes_of(step.chunk));
  done(step, task);
  receives_[static_cast<std::size_t>(link_of(step, 1))].push_back(task);
}

void Recorder::local(const Step& step, const Chunk& source) {
  after(step);
  const Place own = place_of(step.rank, step.chunk);
  const std::array<Place, 2> sources = {own, apart(step, source)};
  const auto all = std::span<const Place>(sources);
  const bool adds = step.operation->kind == OperationKind::reduce;
  done(step, add(step, adds ? all : all.last(1), own, bytes_of(step.chunk)));
}

// Nobody needs a result any more: its place is free.
void Recorder::release(const Payload& payload, const Chunk&) {
  if (payload.aggregation < 0) return;
  const std::int32_t staged = aggregations_[static_cast<std::size_t>(payload.aggregation)].staged;
  if (staged < 0) return;
  const std::int32_t owner = draft_.staged[static_cast<std::size_t>(staged)].owner;
  groups_[static_cast<std::size_t>(owner) - graph_.connections().size()].free.push_back(payload.aggregation);
}

// A place for the next result of a group. As many as a connection has slots are made before one is used
// again: then the reduction comes after those that collected what was there.
std::int32_t Recorder::result_place(std::int32_t number, std::int64_t bytes) {
  Group& group = groups_[static_cast<std::size_t>(number)];
  const auto owner = static_cast<std::int32_t>(graph_.connections().size()) + number;
  if (group.places < slots_ || group.free.empty()) return stage(owner, group.places++, bytes);
  Aggregation& old = aggregations_[static_cast<std::size_t>(group.free.front())];
  group.free.erase(group.free.begin());
  predecessors_.insert(predecessors_.end(), old.collects.begin(), old.collects.end());
  old.collects.clear();
  return stage(owner, draft_.staged[static_cast<std::size_t>(old.staged)].place, bytes);
}

// All members have posted.
void Recorder::reduce_all(Group& group, const std::vector<Post>& posts) {
  Aggregation& aggregation = aggregations_[static_cast<std::size_t>(group.open)];
  const auto posted = [this](const Post& post) -> const Posted& {
    return posted_[static_cast<std::size_t>(post.stream)];
  };
  const Step& first = posted(posts.front()).step;
  const std::int32_t number = posted(posts.front()).group;
  const AggregationGroup& members = graph_.groups()[static_cast<std::size_t>(number)];
  std::vector<Place> sources;
  std::int64_t bytes = 0;
  for (std::size_t member = 0; member < posts.size(); ++member) {
    const Posted& post = posted(posts[member]);
    after(post.step);
    if (members.mode == AggregationMode::multicast && static_cast<std::int32_t>(member) != members.root)
      continue;
    sources.push_back(place_of(post.step.rank, post.chunk));
    bytes = bytes_of(post.chunk);
  }
  if (bytes == 0 || graph_.collectors()[static_cast<std::size_t>(number)] == 0) {
    aggregation.reducer = add_nothing(first);
    return;
  }
  aggregation.staged = result_place(number, bytes);
  const Place result = staged_place(aggregation.staged);
  const auto all = std::span<const Place>(sources);
  std::size_t taken = std::min<std::size_t>(all.size(), sources_max);
  aggregation.reducer = add(first, all.first(taken), result, bytes);
  while (taken < all.size()) {
    const std::size_t count = std::min<std::size_t>(all.size() - taken, sources_max - 1);
    std::vector<Place> some = {result};
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(taken),
                all.begin() + static_cast<std::ptrdiff_t>(taken + count));
    predecessors_.push_back(aggregation.reducer);
    aggregation.reducer = add(first, some, result, bytes);
    taken += count;
  }
}

void Recorder::drained(Post post, const std::vector<Post>& posts) {
  const Posted& posted = posted_[static_cast<std::size_t>(post.stream)];
  Group& group = groups_[static_cast<std::size_t>(posted.group)];
  const auto number = static_cast<std::size_t>(group.open);
  if (aggregations_[number].reducer < 0) reduce_all(group, posts);
  predecessors_.push_back(aggregations_[number].reducer);
  done(posted.step, add_nothing(posted.step));
  if (--group.missing == 0) group.open = -1;
}

void Recorder::divide() {
  const Schedule& schedule = graph_.schedule();
  const Contract contract(schedule);
  const Layout& layout = schedule.layout;
  if (schedule.collective.reduction != ReductionOp::avg || !contract.sums()) return;
  Plan& plan = draft_.plan;
  const auto wants = [&](Rank rank, std::int64_t cell) {
    return cell < layout.cells() && contract.wants(rank, cell) == Contract::Wants::sum;
  };
  const auto offset = [&](std::int64_t cell) {
    if (cell == layout.cells()) return vector_bytes(layout);
    return layout.offset_bytes(static_cast<std::int32_t>(cell / layout.blocks()),
                               static_cast<std::int32_t>(cell % layout.blocks()));
  };
  std::vector<std::vector<std::int32_t>> last(static_cast<std::size_t>(schedule.ranks));  // [rank]: tasks
  for (std::size_t stream = 0; stream < graph_.streams().size(); ++stream) {
    const std::size_t end =
        stream + 1 < first_operation_.size() ? first_operation_[stream + 1] : task_of_.size();
    if (end > first_operation_[stream])
      last[static_cast<std::size_t>(graph_.streams()[stream].rank)].push_back(task_of_[end - 1]);
  }
  for (std::vector<std::int32_t>& tasks : last) std::sort(tasks.begin(), tasks.end());
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int64_t cell = 0; cell < layout.cells(); ++cell) {
      if (!wants(rank, cell)) continue;
      const std::int64_t begin = offset(cell);
      while (wants(rank, cell + 1)) ++cell;
      const std::int64_t end = offset(cell + 1);
      if (begin == end) continue;
      Task task;
      task.kind = TaskKind::divide;
      task.rank = rank;
      task.bytes = end - begin;
      task.first_place = static_cast<std::int32_t>(plan.places.size());
      plan.places.push_back(Place{plan.output[static_cast<std::size_t>(rank)], begin});
      const std::vector<std::int32_t>& before = last[static_cast<std::size_t>(rank)];
      task.first_predecessor = static_cast<std::int32_t>(plan.predecessors.size());
      task.predecessor_count = static_cast<std::int32_t>(before.size());
      plan.predecessors.insert(plan.predecessors.end(), before.begin(), before.end());
      plan.tasks.push_back(task);
      draft_.kinds.push_back(OperationKind::wait);
    }
}

// The areas of all ranks' buffers.
void add_buffers(const Schedule& schedule, Plan& plan) {
  const std::int64_t bytes = vector_bytes(schedule.layout);
  const auto add = [&plan](AreaKind kind, Rank rank, std::int64_t size) {
    plan.areas.push_back(Area{kind, rank, size});
    return static_cast<std::int32_t>(plan.areas.size()) - 1;
  };
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    plan.output.push_back(add(AreaKind::output, rank, bytes));
    plan.input.push_back(schedule.in_place ? -1 : add(AreaKind::input, rank, bytes));
    plan.scratch.push_back(schedule.layout.scratch_cells() == 0
                               ? -1
                               : add(AreaKind::scratch, rank, scratch_bytes(schedule.layout)));
  }
}

}  // namespace

std::variant<Draft, NoPlan> draft_of(const Schedule& schedule, const DataflowGraph& graph) {
  Draft draft;
  draft.plan.collective = schedule.collective;
  draft.plan.ranks = schedule.ranks;
  add_buffers(schedule, draft.plan);
  Recorder recorder(graph, draft);
  Dataflow<Recorder> run(graph, recorder);
  const DataflowOutcome outcome = run.run();
  NoPlan none;
  if (outcome != DataflowOutcome::finished) {
    none.deadlock = outcome == DataflowOutcome::deadlock;
    none.failures = run.failures();
    return none;
  }
  recorder.divide();
  return draft;
}

Plan finish(Draft draft, const DataflowGraph& graph) {
  struct Memory {
    std::int64_t messages = 0;
    std::int64_t places = 0;
    std::int64_t unit = 0;  // bytes of a place
    std::int32_t area = -1;
  };
  const std::size_t connections = graph.connections().size();
  const std::size_t groups = graph.groups().size();
  std::vector<Memory> memories(connections + groups + graph.streams().size());
  const std::int64_t slots = graph.schedule().slots;
  for (Staged& item : draft.staged) {
    if (item.direct) continue;
    Memory& memory = memories[static_cast<std::size_t>(item.owner)];
    if (item.place < 0) item.place = static_cast<std::int32_t>(memory.messages++ % slots);
    memory.places = std::max(memory.places, std::int64_t{item.place} + 1);
    memory.unit = std::max(memory.unit, (item.bytes + place_unit - 1) / place_unit * place_unit);
  }
  Plan& plan = draft.plan;
  for (std::size_t owner = 0; owner < memories.size(); ++owner) {
    Memory& memory = memories[owner];
    if (memory.places == 0) continue;
    memory.area = static_cast<std::int32_t>(plan.areas.size());
    const Rank rank = owner < connections            ? graph.connections()[owner].target
                      : owner < connections + groups ? graph.groups()[owner - connections].members.front()
                                                     : graph.streams()[owner - connections - groups].rank;
    plan.areas.push_back(Area{AreaKind::staging, rank, memory.places * memory.unit});
  }
  for (Place& place : plan.places) {
    if (place.area >= 0) continue;
    const Staged& item = draft.staged[static_cast<std::size_t>(-1 - place.area)];
    const Memory& memory = memories[static_cast<std::size_t>(item.owner)];
    place = Place{memory.area, item.place * memory.unit};
  }
  return std::move(plan);
}

}  // namespace collsim::kernels
