#include "kernels/cuda_issue.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "kernels/backend.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

// A task without work passes on at most so many steps that it waits for.
constexpr std::size_t passed_on_max = 4;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

bool has_work(const Task& task) { return task.kind != TaskKind::nothing && task.bytes > 0; }

// CUDA streams of the (rank, stream)s of the schedule.
class StreamMap {
 public:
  StreamMap(const Plan& plan, const IssueOptions& options);
  std::vector<int> device;  // [stream]
  // The stream of a task; the origin where the task has no work and its stream neither.
  std::int32_t of(const Task& task) const;

 private:
  using Key = std::pair<Rank, std::int32_t>;
  std::vector<Key> keys_;  // sorted
  std::vector<std::int32_t> stream_of_key_;
};

StreamMap::StreamMap(const Plan& plan, const IssueOptions& options) {
  const auto sort_keys = [&] {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  };
  for (const Task& task : plan.tasks)
    if (has_work(task) && task.stream >= 0) keys_.emplace_back(task.rank, task.stream);
  sort_keys();
  std::vector<char> has_stream(at(plan.ranks), 0);
  for (const Key& key : keys_) has_stream[at(key.first)] = 1;
  for (const Task& task : plan.tasks)
    if (has_work(task) && has_stream[at(task.rank)] == 0) keys_.emplace_back(task.rank, task.stream);
  sort_keys();

  std::unordered_map<int, std::int64_t> count;  // keys of a device
  for (const Key& key : keys_) ++count[options.device_of[at(key.first)]];
  std::unordered_map<int, std::int64_t> seen;
  std::unordered_map<int, std::unordered_map<std::int64_t, std::int32_t>> made;
  device.push_back(0);
  for (const Key& key : keys_) {
    const int on = options.device_of[at(key.first)];
    const std::int64_t streams = std::min<std::int64_t>(count[on], options.streams_per_device);
    const std::int64_t number = seen[on]++ * streams / count[on];
    const auto [found, is_new] = made[on].try_emplace(number, static_cast<std::int32_t>(device.size()));
    if (is_new) device.push_back(on);
    stream_of_key_.push_back(found->second);
  }
}

std::int32_t StreamMap::of(const Task& task) const {
  // The first key of the rank for a task without a stream: lower_bound of (rank, -1).
  const auto found = std::lower_bound(keys_.begin(), keys_.end(), Key(task.rank, task.stream));
  if (found == keys_.end() || found->first != task.rank) return 0;
  if (task.stream >= 0 && found->second != task.stream) return 0;
  return stream_of_key_[static_cast<std::size_t>(found - keys_.begin())];
}

// Where a task with work stands in the order of issue.
struct Entry {
  std::int32_t key = 0;     // tasks with work at level L: 2 L + 1; without, after those of level L: 2 L + 2
  std::int32_t stream = 0;  // of tasks with work
  std::int32_t task = 0;
};

std::vector<Entry> entries_of(const Plan& plan, const StreamMap& streams) {
  std::vector<Entry> entries(plan.tasks.size());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = plan.tasks[i];
    std::int32_t level = 0;
    for (const std::int32_t before : plan.predecessors_of(task)) {
      COLLSIM_CHECK(at(before) < i);
      level = std::max(level, (entries[at(before)].key + 1) / 2);
    }
    const bool works = has_work(task);
    entries[i] = {2 * level + (works ? 1 : 0), works ? streams.of(task) : 0, static_cast<std::int32_t>(i)};
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.stream != b.stream ? a.stream < b.stream : a.task < b.task;
  });
  return entries;
}

// What one stream does at one level: it waits, then launches.
struct Step {
  std::int32_t stream = 0;
  std::int32_t position = 0;        // of the stream's steps, from 1
  std::vector<std::int32_t> waits;  // steps of other streams
  std::int32_t first_task = 0;      // into Issue::tasks
  std::int32_t task_count = 0;
};

// Makes steps and finds out which of them wait for which.
class Ties {
 public:
  Ties(const Plan& plan, const StreamMap& streams);
  // REQUIRES: called in the order of entries_of; the entries are of one key and one stream
  void add_work(std::span<const Entry> entries, std::int32_t first_task);
  void add_nothing(std::int32_t task);
  std::vector<Step> steps;

 private:
  using Clock = std::vector<std::int32_t>;  // [stream]: position up to which all is done
  void collect(std::int32_t task, std::vector<std::int32_t>& points) const;
  // Those of `points` that `known` does not hold and that no other implies; `known` takes them in.
  std::vector<std::int32_t> needed(std::vector<std::int32_t> points, Clock& known) const;
  void add_step(std::int32_t stream, std::vector<std::int32_t> waits);
  void finish_predecessors(std::int32_t task);
  void drop(std::int32_t step);

  const Plan& plan_;
  const StreamMap& streams_;
  std::vector<Clock> known_;                   // [stream]: before its next step
  std::vector<Clock> done_;                    // [step]: what is done when it is; empty when nobody asks
  std::vector<std::int32_t> holders_;          // [step]: tasks through which somebody may still ask
  std::vector<std::int32_t> step_of_;          // [task]; -1: it passes on
  std::vector<std::int32_t> successors_left_;  // [task]
  std::unordered_map<std::int32_t, std::vector<std::int32_t>> passed_on_;
};

Ties::Ties(const Plan& plan, const StreamMap& streams)
    : plan_(plan),
      streams_(streams),
      known_(streams.device.size(), Clock(streams.device.size(), 0)),
      step_of_(plan.tasks.size(), -1),
      successors_left_(plan.tasks.size(), 0) {
  for (const std::int32_t before : plan.predecessors) ++successors_left_[at(before)];
}

void Ties::collect(std::int32_t task, std::vector<std::int32_t>& points) const {
  for (const std::int32_t before : plan_.predecessors_of(plan_.tasks[at(task)])) {
    if (step_of_[at(before)] >= 0) {
      points.push_back(step_of_[at(before)]);
    } else {
      const std::vector<std::int32_t>& passed = passed_on_.at(before);
      points.insert(points.end(), passed.begin(), passed.end());
    }
  }
}

// The latest first: of two where one implies the other, the implied one was issued earlier.
std::vector<std::int32_t> Ties::needed(std::vector<std::int32_t> points, Clock& known) const {
  std::sort(points.begin(), points.end(), std::greater<>());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  std::vector<std::int32_t> kept;
  for (const std::int32_t point : points) {
    const Step& step = steps[at(point)];
    if (known[at(step.stream)] >= step.position) continue;
    kept.push_back(point);
    const Clock& done = done_[at(point)];
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], done[i]);
  }
  return kept;
}

void Ties::add_step(std::int32_t stream, std::vector<std::int32_t> waits) {
  Clock& known = known_[at(stream)];
  Step step;
  step.stream = stream;
  step.position = ++known[at(stream)];
  step.waits = std::move(waits);
  steps.push_back(std::move(step));
  done_.emplace_back();
  holders_.push_back(0);
}

void Ties::add_work(std::span<const Entry> entries, std::int32_t first_task) {
  const std::int32_t stream = entries.front().stream;
  std::vector<std::int32_t> points;
  for (const Entry& entry : entries) collect(entry.task, points);
  add_step(stream, needed(std::move(points), known_[at(stream)]));
  const auto number = static_cast<std::int32_t>(steps.size()) - 1;
  steps.back().first_task = first_task;
  steps.back().task_count = static_cast<std::int32_t>(entries.size());
  for (const Entry& entry : entries) {
    step_of_[at(entry.task)] = number;
    if (successors_left_[at(entry.task)] > 0) ++holders_[at(number)];
    finish_predecessors(entry.task);
  }
  if (holders_[at(number)] > 0) done_[at(number)] = known_[at(stream)];
}

void Ties::add_nothing(std::int32_t task) {
  if (successors_left_[at(task)] == 0) return finish_predecessors(task);
  std::vector<std::int32_t> points;
  collect(task, points);
  Clock nobody(known_.size(), 0);
  std::vector<std::int32_t> kept = needed(std::move(points), nobody);
  if (kept.size() <= passed_on_max) {
    for (const std::int32_t step : kept) ++holders_[at(step)];
    passed_on_.emplace(task, std::move(kept));
  } else {
    const std::int32_t stream = streams_.of(plan_.tasks[at(task)]);
    add_step(stream, needed(std::move(kept), known_[at(stream)]));
    step_of_[at(task)] = static_cast<std::int32_t>(steps.size()) - 1;
    holders_.back() = 1;
    done_.back() = known_[at(stream)];
  }
  finish_predecessors(task);
}

void Ties::finish_predecessors(std::int32_t task) {
  for (const std::int32_t before : plan_.predecessors_of(plan_.tasks[at(task)])) {
    if (--successors_left_[at(before)] > 0) continue;
    if (step_of_[at(before)] >= 0) {
      drop(step_of_[at(before)]);
    } else {
      for (const std::int32_t step : passed_on_.at(before)) drop(step);
      passed_on_.erase(before);
    }
  }
}

void Ties::drop(std::int32_t step) {
  if (--holders_[at(step)] == 0) Clock().swap(done_[at(step)]);
}

// How a task is done: by the kernel, or as a copy between devices. Throws where neither is possible.
CommandKind command_of(const Plan& plan, const Task& task, const IssueOptions& options) {
  const CommandKind kernel = task.kind == TaskKind::divide ? CommandKind::divide : CommandKind::combine;
  if (!options.reaches) return kernel;
  const int from = options.device_of[at(task.rank)];
  for (const Place& place : plan.places_of(task)) {
    const int to = options.device_of[at(plan.areas[at(place.area)].rank)];
    if (from == to || options.reaches(from, to)) continue;
    if (kernel == CommandKind::combine && task.sources == 1 && task.destinations == 1)
      return CommandKind::peer_copy;
    throw DeviceError(DeviceError::Kind::unsupported,
                      "device " + std::to_string(from) + " has no access to the memory of device " +
                          std::to_string(to) + ", which rank " + std::to_string(task.rank) +
                          " needs for more than a copy");
  }
  return kernel;
}

// Numbers of events, used again when nobody waits any more.
class Events {
 public:
  explicit Events(Issue& issue) : issue_(issue) {}
  std::int32_t take(int device) {
    std::vector<std::int32_t>& free = free_[device];
    if (free.empty()) {
      issue_.event_device.push_back(device);
      return static_cast<std::int32_t>(issue_.event_device.size()) - 1;
    }
    const std::int32_t event = free.back();
    free.pop_back();
    return event;
  }
  void give_back(std::int32_t event) { free_[issue_.event_device[at(event)]].push_back(event); }

 private:
  Issue& issue_;
  std::unordered_map<int, std::vector<std::int32_t>> free_;
};

// Turns steps into commands.
class Writer {
 public:
  Writer(const Plan& plan, const IssueOptions& options, Issue& issue)
      : plan_(plan), options_(options), issue_(issue), events_(issue) {}
  void write(const std::vector<Step>& steps);

 private:
  std::int32_t record(std::int32_t stream);
  void wait(std::int32_t stream, std::int32_t event);
  void write_work(const Step& step);

  const Plan& plan_;
  const IssueOptions& options_;
  Issue& issue_;
  Events events_;
};

std::int32_t Writer::record(std::int32_t stream) {
  Command command;
  command.kind = CommandKind::record;
  command.stream = stream;
  command.event = events_.take(issue_.stream_device[at(stream)]);
  issue_.commands.push_back(command);
  return command.event;
}

void Writer::wait(std::int32_t stream, std::int32_t event) {
  Command command;
  command.kind = CommandKind::wait;
  command.stream = stream;
  command.event = event;
  issue_.commands.push_back(command);
}

// The combine tasks of a step in one launch, what else there is one by one.
void Writer::write_work(const Step& step) {
  const auto begin = issue_.tasks.begin() + step.first_task;
  const auto end = begin + step.task_count;
  const auto kind_of = [&](std::int32_t task) { return command_of(plan_, plan_.tasks[at(task)], options_); };
  const auto others = std::stable_partition(
      begin, end, [&](std::int32_t task) { return kind_of(task) == CommandKind::combine; });
  Command command;
  command.stream = step.stream;
  command.first_task = step.first_task;
  command.task_count = static_cast<std::int32_t>(others - begin);
  command.kind = CommandKind::combine;
  if (command.task_count > 0) issue_.commands.push_back(command);
  for (auto task = others; task != end; ++task) {
    command.kind = kind_of(*task);
    command.first_task = static_cast<std::int32_t>(task - issue_.tasks.begin());
    command.task_count = 1;
    issue_.has_peer_copies = issue_.has_peer_copies || command.kind == CommandKind::peer_copy;
    issue_.commands.push_back(command);
  }
}

void Writer::write(const std::vector<Step>& steps) {
  std::vector<char> is_used(issue_.stream_device.size(), 0);
  std::vector<std::int32_t> waits_left(steps.size(), 0);
  for (const Step& step : steps) {
    is_used[at(step.stream)] = 1;
    for (const std::int32_t before : step.waits) ++waits_left[at(before)];
  }
  const auto streams = static_cast<std::int32_t>(is_used.size());
  if (streams > 1) {
    const std::int32_t begun = record(0);
    for (std::int32_t stream = 1; stream < streams; ++stream)
      if (is_used[at(stream)] != 0) wait(stream, begun);
    events_.give_back(begun);
  }
  std::vector<std::int32_t> event_of(steps.size(), -1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::int32_t before : steps[i].waits) {
      wait(steps[i].stream, event_of[at(before)]);
      if (--waits_left[at(before)] == 0) events_.give_back(event_of[at(before)]);
    }
    write_work(steps[i]);
    if (waits_left[i] > 0) event_of[i] = record(steps[i].stream);
  }
  for (std::int32_t stream = 1; stream < streams; ++stream) {
    if (is_used[at(stream)] == 0) continue;
    const std::int32_t ended = record(stream);
    wait(0, ended);
    events_.give_back(ended);
  }
}

}  // namespace

Issue issue_of(const Plan& plan, const IssueOptions& options) {
  COLLSIM_CHECK(options.streams_per_device >= 1);
  COLLSIM_CHECK(options.device_of.size() == at(plan.ranks));
  const StreamMap streams(plan, options);
  const std::vector<Entry> entries = entries_of(plan, streams);
  Issue issue;
  issue.stream_device = streams.device;
  Ties ties(plan, streams);
  for (std::size_t begin = 0; begin < entries.size();) {
    if (entries[begin].key % 2 == 0) {
      ties.add_nothing(entries[begin++].task);
      continue;
    }
    std::size_t end = begin;
    while (end < entries.size() && entries[end].key == entries[begin].key &&
           entries[end].stream == entries[begin].stream)
      ++end;
    const auto first_task = static_cast<std::int32_t>(issue.tasks.size());
    for (std::size_t i = begin; i < end; ++i) issue.tasks.push_back(entries[i].task);
    ties.add_work(std::span(entries).subspan(begin, end - begin), first_task);
    begin = end;
  }
  Writer(plan, options, issue).write(ties.steps);
  return issue;
}

}  // namespace collsim::kernels
