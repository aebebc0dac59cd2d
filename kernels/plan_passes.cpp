#include "kernels/plan_passes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

namespace collsim::kernels {
namespace {

// Tasks by (level, number).
std::vector<std::int32_t> by_level(const Plan& plan) {
  std::vector<std::int32_t> level(plan.tasks.size());
  std::vector<std::size_t> next;  // [level]: where its next task goes
  for (std::size_t task = 0; task < level.size(); ++task) {
    for (const std::int32_t before : plan.predecessors_of(plan.tasks[task]))
      level[task] = std::max(level[task], level[static_cast<std::size_t>(before)] + 1);
    next.resize(std::max(next.size(), static_cast<std::size_t>(level[task]) + 2));
    ++next[static_cast<std::size_t>(level[task]) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::int32_t> order(level.size());
  for (std::size_t task = 0; task < level.size(); ++task)
    order[next[static_cast<std::size_t>(level[task])]++] = static_cast<std::int32_t>(task);
  return order;
}

}  // namespace

PlanPasses::PlanPasses(Draft& draft, const Layout& layout)
    : draft_(draft),
      order_(by_level(draft.plan)),
      position_(order_.size()),
      merged_(order_.size(), -1),
      second_(order_.size(), -1) {
  for (std::size_t i = 0; i < order_.size(); ++i)
    position_[static_cast<std::size_t>(order_[i])] = static_cast<std::int32_t>(i);
  for (std::int32_t region = 0; region < layout.regions(); ++region)
    for (std::int32_t block = 0; block < layout.blocks(); ++block)
      output_start_.push_back(layout.offset_bytes(region, block));
  for (std::int32_t region = 0; region < layout.scratch_regions(); ++region)
    for (std::int32_t block = 0; block < layout.scratch_blocks(); ++block)
      scratch_start_.push_back(offset_of(layout, Chunk{Buffer::scratch, region, block, 1}));
}

// The cells of a place that have elements; none of input, which nobody writes, and of staging memory.
std::span<PlanPasses::Users> PlanPasses::users_of(const Place& place, std::int64_t bytes) {
  if (place.area < 0 || bytes == 0) return {};
  const AreaKind kind = draft_.plan.areas[static_cast<std::size_t>(place.area)].kind;
  if (kind != AreaKind::output && kind != AreaKind::scratch) return {};
  const std::vector<std::int64_t>& start = kind == AreaKind::output ? output_start_ : scratch_start_;
  std::vector<Users>& users = users_[static_cast<std::size_t>(place.area)];
  users.resize(start.size());
  // Of cells that start at one byte all but the last are empty.
  const auto first = std::upper_bound(start.begin(), start.end(), place.offset) - 1;
  const auto end = std::lower_bound(first, start.end(), place.offset + bytes);
  return std::span(users).subspan(static_cast<std::size_t>(first - start.begin()),
                                  static_cast<std::size_t>(end - first));
}

void PlanPasses::forget_reads(Users& users) {
  while (users.first_read >= 0) {
    Read& read = reads_[static_cast<std::size_t>(users.first_read)];
    const std::int32_t next = read.next;
    read.next = free_read_;
    free_read_ = users.first_read;
    users.first_read = next;
  }
}

// Notes what a task reads and writes.
void PlanPasses::use(std::int32_t number) {
  const Task& task = draft_.plan.tasks[static_cast<std::size_t>(number)];
  if (task.kind == TaskKind::nothing) return;
  const std::span<const Place> places = draft_.plan.places_of(task);
  for (std::size_t i = 0; i < places.size(); ++i)
    for (Users& users : users_of(places[i], task.bytes)) {
      if (i >= task.sources) {
        forget_reads(users);
        users.write = number;
        continue;
      }
      std::int32_t read = free_read_;
      if (read < 0) {
        read = static_cast<std::int32_t>(reads_.size());
        reads_.push_back(Read{});
      } else {
        free_read_ = reads_[static_cast<std::size_t>(read)].next;
      }
      reads_[static_cast<std::size_t>(read)] = Read{number, users.first_read};
      users.first_read = read;
    }
}

// Lets the send of a plain receive write into the receive's chunk, if that can be.
bool PlanPasses::write_directly(std::int32_t receive) {
  Plan& plan = draft_.plan;
  Task& task = plan.tasks[static_cast<std::size_t>(receive)];
  if (draft_.kinds[static_cast<std::size_t>(receive)] != OperationKind::receive ||
      task.kind != TaskKind::combine)
    return false;
  const Place target = plan.places[static_cast<std::size_t>(task.first_place) + 1];
  Staged& message = draft_.staged[static_cast<std::size_t>(-1 - plan.places_of(task).front().area)];
  const std::span<Users> cells = users_of(target, task.bytes);
  earlier_.clear();
  for (const Users& users : cells) {
    if (users.first_read < 0 && users.write >= 0) earlier_.push_back(users.write);
    for (std::int32_t read = users.first_read; read >= 0; read = reads_[static_cast<std::size_t>(read)].next)
      earlier_.push_back(reads_[static_cast<std::size_t>(read)].task);
  }
  for (const std::int32_t user : earlier_)
    if (position(user) >= position(message.send)) return false;
  std::sort(earlier_.begin(), earlier_.end());
  earlier_.erase(std::unique(earlier_.begin(), earlier_.end()), earlier_.end());
  for (const std::int32_t user : earlier_) added_.emplace_back(message.send, user);
  for (Users& users : cells) {
    forget_reads(users);
    users.write = message.send;
  }
  const Task& send = plan.tasks[static_cast<std::size_t>(message.send)];
  plan.places[static_cast<std::size_t>(send.first_place) + 1] = target;
  message.direct = true;
  task.kind = TaskKind::nothing;
  task.sources = task.destinations = 0;
  task.bytes = 0;
  return true;
}

void PlanPasses::direct() {
  users_.resize(draft_.plan.areas.size());
  for (const std::int32_t task : order_)
    if (!write_directly(task)) use(task);
}

void PlanPasses::index_added() {
  std::sort(added_.begin(), added_.end());
  first_added_.assign(order_.size() + 1, 0);
  for (const auto& [task, before] : added_) ++first_added_[static_cast<std::size_t>(task) + 1];
  std::partial_sum(first_added_.begin(), first_added_.end(), first_added_.begin());
}

void PlanPasses::predecessors_of(std::int32_t task, std::vector<std::int32_t>& found) const {
  const auto place = static_cast<std::size_t>(task);
  for (const std::int32_t before : draft_.plan.predecessors_of(draft_.plan.tasks[place]))
    found.push_back(now(before));
  for (std::size_t i = first_added_[place]; i < first_added_[place + 1]; ++i)
    found.push_back(now(added_[i].second));
}

void PlanPasses::fuse_send(std::int32_t send) {
  const Plan& plan = draft_.plan;
  const Task& task = plan.tasks[static_cast<std::size_t>(send)];
  if (draft_.kinds[static_cast<std::size_t>(send)] != OperationKind::send || task.kind != TaskKind::combine)
    return;
  earlier_.clear();
  predecessors_of(send, earlier_);
  if (earlier_.empty()) return;
  const std::int32_t last =
      *std::max_element(earlier_.begin(), earlier_.end(),
                        [this](std::int32_t a, std::int32_t b) { return position(a) < position(b); });
  const auto place = static_cast<std::size_t>(last);
  const Task& before = plan.tasks[place];
  const OperationKind kind = draft_.kinds[place];
  if ((kind != OperationKind::receive && kind != OperationKind::receive_reduce) ||
      before.kind != TaskKind::combine || before.bytes != task.bytes || second_[place] >= 0)
    return;
  const Place& written = plan.places_of(before).back();
  const Place& read = plan.places_of(task).front();
  if (written.area != read.area || written.offset != read.offset) return;
  merged_[static_cast<std::size_t>(send)] = last;
  second_[place] = send;
}

void PlanPasses::fuse() {
  index_added();
  for (const std::int32_t task : order_) fuse_send(task);
}

void PlanPasses::rebuild() {
  index_added();
  const Plan& old = draft_.plan;
  Plan plan;
  std::vector<std::int32_t> number(order_.size(), -1);  // [old task]
  std::vector<std::int32_t> before;
  for (const std::int32_t from : order_) {
    const auto index = static_cast<std::size_t>(from);
    if (merged_[index] >= 0) continue;
    Task task = old.tasks[index];
    const std::span<const Place> places = old.places_of(task);
    task.first_place = static_cast<std::int32_t>(plan.places.size());
    plan.places.insert(plan.places.end(), places.begin(), places.end());
    before.clear();
    predecessors_of(from, before);
    if (const std::int32_t send = second_[index]; send >= 0) {
      plan.places.push_back(old.places_of(old.tasks[static_cast<std::size_t>(send)]).back());
      ++task.destinations;
      predecessors_of(send, before);
      std::erase(before, from);
    }
    for (std::int32_t& task_before : before) task_before = number[static_cast<std::size_t>(task_before)];
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    task.first_predecessor = static_cast<std::int32_t>(plan.predecessors.size());
    task.predecessor_count = static_cast<std::int32_t>(before.size());
    plan.predecessors.insert(plan.predecessors.end(), before.begin(), before.end());
    number[index] = static_cast<std::int32_t>(plan.tasks.size());
    plan.tasks.push_back(task);
  }
  draft_.plan.tasks = std::move(plan.tasks);
  draft_.plan.places = std::move(plan.places);
  draft_.plan.predecessors = std::move(plan.predecessors);
}

}  // namespace collsim::kernels
