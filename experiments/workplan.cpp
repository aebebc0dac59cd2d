#include "experiments/workplan.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::program {

WorkPlan::WorkPlan(const Topology& topology, std::size_t algorithms, std::size_t sizes)
    : topology_(topology), sizes_(sizes), rows_(algorithms) {}

std::size_t WorkPlan::next_algorithm() const {
  const auto find = [this](auto wanted) {
    return static_cast<std::size_t>(std::find_if(rows_.begin(), rows_.end(), wanted) - rows_.begin());
  };
  std::size_t next = find([&](const Row& row) { return row.taken < sizes_ && !row.idle.empty(); });
  if (next == rows_.size()) next = find([](const Row& row) { return row.taken == 0; });
  if (next < rows_.size()) return next;
  const auto least_taken = [](const Row& a, const Row& b) { return a.taken < b.taken; };
  return static_cast<std::size_t>(std::min_element(rows_.begin(), rows_.end(), least_taken) - rows_.begin());
}

WorkPlan::Task::Task(WorkPlan& plan) : plan_(plan) {
  const std::lock_guard lock(plan_.mutex_);
  algorithm_ = plan_.next_algorithm();
  Row& row = plan_.rows_[algorithm_];
  COLLSIM_CHECK(row.taken < plan_.sizes_);
  size_ = row.taken++;
  if (row.idle.empty()) {
    simulator_ = std::make_unique<Simulator>(plan_.topology_);
  } else {
    simulator_ = std::move(row.idle.back());
    row.idle.pop_back();
  }
}

WorkPlan::Task::~Task() {
  std::vector<std::unique_ptr<Simulator>> unused;  // dies after the lock
  const std::lock_guard lock(plan_.mutex_);
  Row& row = plan_.rows_[algorithm_];
  if (simulator_) row.idle.push_back(std::move(simulator_));
  if (row.taken == plan_.sizes_) unused.swap(row.idle);
}

}  // namespace collsim::program
