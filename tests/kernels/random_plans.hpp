// Random plans in which whatever touches the same memory is ordered, so that every order of tasks that keeps
// predecessors first gives the same bytes. Not of any schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/plan.hpp"
#include "sim/core/random.hpp"

namespace collsim::kernels::testing {

struct RandomPlanShape {
  std::int32_t ranks = 3;
  std::int32_t streams = 3;  // of a rank
  std::int32_t tasks = 60;   // with work
  std::int32_t slots = 4;    // places of an area
  std::int64_t bytes = 24;   // of a place, a multiple of 8
  int nothing_percent = 30;  // of tasks, whose predecessors are collected by a task without work
  int barrier_percent = 3;   // of tasks, before which a task without work waits for all others
  bool copies_only = false;
};

// Builds the plan task by task.
class RandomPlan {
 public:
  RandomPlan(const RandomPlanShape& shape, Datatype datatype, ReductionOp reduction, std::uint64_t seed)
      : shape_(shape), random_(seed) {
    plan_.ranks = shape.ranks;
    plan_.collective.datatype = datatype;
    plan_.collective.reduction = reduction;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      plan_.output.push_back(static_cast<std::int32_t>(plan_.areas.size()));
      plan_.areas.push_back({AreaKind::output, rank, shape.slots * shape.bytes});
    }
    plan_.input.assign(static_cast<std::size_t>(shape.ranks), -1);
    plan_.scratch.assign(static_cast<std::size_t>(shape.ranks), -1);
    for (Rank rank = 0; rank < shape.ranks; ++rank)
      plan_.areas.push_back({AreaKind::staging, rank, shape.slots * shape.bytes});
    slots_.resize(plan_.areas.size() * static_cast<std::size_t>(shape.slots));
    last_.assign(static_cast<std::size_t>(shape.ranks * shape.streams), -1);
  }

  Plan built() {
    for (std::int32_t i = 0; i < shape_.tasks; ++i) add_random();
    return std::move(plan_);
  }

 private:
  struct Slot {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers;  // since then
  };

  std::int32_t drawn(std::int64_t bound) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  // So many different numbers below the number of slots.
  std::vector<std::int32_t> drawn_slots(std::int32_t count) {
    std::vector<std::int32_t> chosen;
    while (static_cast<std::int32_t>(chosen.size()) < count) {
      const std::int32_t slot = drawn(std::ssize(slots_));
      if (std::find(chosen.begin(), chosen.end(), slot) == chosen.end()) chosen.push_back(slot);
    }
    return chosen;
  }
  std::int32_t add(Task task, std::vector<std::int32_t> before) {
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (!before.empty() && before.front() < 0) before.erase(before.begin());
    task.first_predecessor = static_cast<std::int32_t>(plan_.predecessors.size());
    task.predecessor_count = static_cast<std::int32_t>(before.size());
    plan_.predecessors.insert(plan_.predecessors.end(), before.begin(), before.end());
    plan_.tasks.push_back(task);
    return static_cast<std::int32_t>(plan_.tasks.size()) - 1;
  }
  std::int32_t add_nothing(Rank rank, std::int32_t stream, const std::vector<std::int32_t>& before) {
    Task task;
    task.rank = rank;
    task.stream = stream;
    return add(task, before);
  }

  void add_random() {
    Task task;
    task.kind = TaskKind::combine;
    task.rank = drawn(shape_.ranks);
    task.stream = drawn(shape_.streams);
    task.bytes = shape_.bytes;
    task.sources = static_cast<std::uint8_t>(shape_.copies_only ? 1 : 1 + drawn(drawn(4) == 0 ? 8 : 2));
    task.destinations = static_cast<std::uint8_t>(shape_.copies_only ? 1 : 1 + drawn(2));
    const std::vector<std::int32_t> sources = drawn_slots(task.sources);
    const std::vector<std::int32_t> destinations = drawn_slots(task.destinations);
    std::vector<std::int32_t> before;
    for (const std::int32_t slot : sources) before.push_back(slots_[at(slot)].writer);
    for (const std::int32_t slot : destinations) {
      before.push_back(slots_[at(slot)].writer);
      before.insert(before.end(), slots_[at(slot)].readers.begin(), slots_[at(slot)].readers.end());
    }
    std::int32_t& last = last_[at(task.rank * shape_.streams + task.stream)];
    if (drawn(2) == 0) before.push_back(last);
    if (drawn(100) < shape_.nothing_percent) before = {add_nothing(task.rank, task.stream, before)};
    if (drawn(100) < shape_.barrier_percent) before.push_back(add_barrier(task));
    task.first_place = static_cast<std::int32_t>(plan_.places.size());
    for (const std::int32_t slot : sources) plan_.places.push_back(place(slot));
    for (const std::int32_t slot : destinations) plan_.places.push_back(place(slot));
    last = add(task, before);
    for (const std::int32_t slot : sources) slots_[at(slot)].readers.push_back(last);
    for (const std::int32_t slot : destinations) slots_[at(slot)] = {last, {}};
  }
  std::int32_t add_barrier(const Task& task) {
    std::vector<std::int32_t> all(plan_.tasks.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
    return add_nothing(task.rank, task.stream, all);
  }
  Place place(std::int32_t slot) const { return {slot / shape_.slots, slot % shape_.slots * shape_.bytes}; }
  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

  RandomPlanShape shape_;
  Random random_;
  Plan plan_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> last_;  // [rank * streams + stream]
};

inline Plan random_plan(const RandomPlanShape& shape, Datatype datatype, ReductionOp reduction,
                        std::uint64_t seed) {
  return RandomPlan(shape, datatype, reduction, seed).built();
}

}  // namespace collsim::kernels::testing
