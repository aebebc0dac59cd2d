#include <algorithm>
#include <cstddef>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "kernels/plan_orders.hpp"
#include "sim/core/random.hpp"

namespace collsim::kernels {
namespace {

// Numbers of streams, 0 .. count-1, in the order in which tasks name them first. Divisions have one a rank.
std::vector<std::int32_t> streams_of_tasks(const Plan& plan, std::int32_t& count) {
  std::vector<std::pair<Rank, std::int32_t>> keys;
  for (const Task& task : plan.tasks) keys.emplace_back(task.rank, task.stream);
  std::vector<std::pair<Rank, std::int32_t>> distinct = keys;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::int32_t> streams;
  for (const auto& key : keys)
    streams.push_back(static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), key) -
                                                distinct.begin()));
  count = static_cast<std::int32_t>(distinct.size());
  return streams;
}

// Always the ready task with the largest (priority, number).
std::vector<std::int32_t> list_schedule(const Plan& plan, const std::vector<std::uint64_t>& priority) {
  const std::size_t count = plan.tasks.size();
  std::vector<std::int32_t> missing(count);
  std::vector<std::size_t> first(count + 1);  // in successors
  for (const std::int32_t before : plan.predecessors) ++first[static_cast<std::size_t>(before) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int32_t> successors(plan.predecessors.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  using Ready = std::pair<std::uint64_t, std::int32_t>;
  std::priority_queue<Ready> ready;
  for (std::size_t task = 0; task < count; ++task) {
    const auto number = static_cast<std::int32_t>(task);
    missing[task] = plan.tasks[task].predecessor_count;
    for (const std::int32_t before : plan.predecessors_of(plan.tasks[task]))
      successors[next[static_cast<std::size_t>(before)]++] = number;
    if (missing[task] == 0) ready.emplace(priority[task], number);
  }
  std::vector<std::int32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::int32_t number = ready.top().second;
    ready.pop();
    order.push_back(number);
    const auto task = static_cast<std::size_t>(number);
    for (std::size_t i = first[task]; i < first[task + 1]; ++i) {
      const auto after = static_cast<std::size_t>(successors[i]);
      if (--missing[after] == 0) ready.emplace(priority[after], successors[i]);
    }
  }
  return order;
}

// Tasks that write into a rank's buffers come early, those that only read there late.
std::vector<std::uint64_t> writes_first(const Plan& plan) {
  std::vector<std::uint64_t> priority;
  for (const Task& task : plan.tasks) {
    bool writes = false;
    if (task.kind == TaskKind::combine)
      for (const Place& place : plan.places_of(task).subspan(task.sources))
        writes = writes || plan.areas[static_cast<std::size_t>(place.area)].kind != AreaKind::staging;
    priority.push_back(writes || task.kind == TaskKind::divide ? 1 : 0);
  }
  return priority;
}

}  // namespace

std::int32_t stream_count_of(const Plan& plan) {
  std::int32_t count = 0;
  streams_of_tasks(plan, count);
  return count;
}

std::vector<std::int32_t> order_delaying(const Plan& plan, std::int32_t stream) {
  std::int32_t count = 0;
  std::vector<std::uint64_t> priority;
  for (const std::int32_t of_task : streams_of_tasks(plan, count))
    priority.push_back(of_task == stream ? 0 : 1);
  return list_schedule(plan, priority);
}

std::vector<std::int32_t> order_of(const Plan& plan, OrderKind kind, std::uint64_t seed) {
  if (kind == OrderKind::as_planned) {
    std::vector<std::int32_t> order(plan.tasks.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  if (kind == OrderKind::latest_first) return list_schedule(plan, writes_first(plan));
  Random random(seed);
  std::int32_t count = 0;
  const std::vector<std::int32_t> streams = streams_of_tasks(plan, count);
  std::vector<std::uint64_t> of_stream;
  for (std::int32_t i = 0; i < count; ++i) of_stream.push_back(random.next());
  const bool by_stream = random.below(2) == 0;
  std::vector<std::uint64_t> priority;
  for (const std::int32_t stream : streams)
    priority.push_back(by_stream ? of_stream[static_cast<std::size_t>(stream)] : random.next());
  return list_schedule(plan, priority);
}

}  // namespace collsim::kernels
