// CpuPool: threads that run a graph of tasks, each after its predecessors. Internal to kernels.
//
// Queue       One queue for all, first in, first out: an array with a place for every task of a run. To push
// is
//             to take the next place and fill it; to pop is to take the next place and wait until it is
//             filled. A thread that ends a task goes on with a successor of it only where nothing waits in
//             the queue, so no task waits for a chain that is longer than others.
// Waiting     A thread without work looks at its place for some microseconds, then sleeps.
// Memory      What a task wrote is seen by its successors (their counters are released and acquired), and by
//             who called run().
// Cost        About 0.1 us a task on one thread; O(tasks + edges) memory for a graph.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim::kernels {

// Who comes after whom, and the state of the run that is going on. Used by one run at a time.
class TaskGraph {
 public:
  // predecessors_of(task) for tasks 0 .. tasks - 1. A predecessor that is listed twice is one.
  // REQUIRES: predecessors are tasks, without a cycle
  using Predecessors = std::function<std::span<const std::int32_t>(std::int32_t task)>;
  TaskGraph(std::int32_t tasks, const Predecessors& predecessors_of);

  std::int32_t tasks() const { return static_cast<std::int32_t>(predecessor_count_.size()); }
  std::span<const std::int32_t> successors_of(std::int32_t task) const {
    const auto at = static_cast<std::size_t>(task);
    return std::span(successors_)
        .subspan(first_successor_[at], first_successor_[at + 1] - first_successor_[at]);
  }

 private:
  friend class CpuPool;
  std::vector<std::int32_t> predecessor_count_;
  std::vector<std::size_t> first_successor_;  // [tasks + 1]
  std::vector<std::int32_t> successors_;

  std::vector<std::atomic<std::int32_t>> pending_;  // predecessors that are not done
  std::vector<std::atomic<std::int32_t>> queue_;    // one run's: a task, empty, or the order to stop
};

class CpuPool {
 public:
  // The caller of run() is one of the threads. REQUIRES: threads >= 1. Throws std::system_error.
  explicit CpuPool(int threads);
  ~CpuPool();
  CpuPool(const CpuPool&) = delete;
  CpuPool& operator=(const CpuPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // work(task) for every task. The time from the start until the last task was done. When work throws, tasks
  // that have not started are left out, and one of the exceptions is thrown here. One run at a time: a second
  // caller waits.
  using Work = std::function<void(std::int32_t task)>;
  Duration run(TaskGraph& graph, const Work& work);

 private:
  struct Run {
    TaskGraph* graph = nullptr;
    const Work* work = nullptr;
    std::exception_ptr error;  // of who set failed
    Duration end;              // since the clock's zero
  };
  void reset(TaskGraph& graph);
  void serve();
  void take_part();
  void work_on(std::int32_t task);
  std::int32_t release_successors(std::int32_t task);
  void push(std::int32_t task);
  std::int32_t pop();
  void count_done(std::int32_t tasks);
  void close();

  std::mutex one_run_;
  Run run_;
  int spins_ = 0;
  // On lines of their own: all threads write them.
  alignas(64) std::atomic<std::int32_t> head_ = 0;  // places of the queue that were taken to pop
  alignas(64) std::atomic<std::int32_t> tail_ = 0;  // ... to push
  alignas(64) std::atomic<std::int32_t> done_ = 0;
  alignas(64) std::atomic<std::int32_t> inside_ = 0;  // workers that have not left the run
  alignas(64) std::atomic<std::int32_t> runs_ = 0;    // starts; the workers wait for the next one
  std::atomic<bool> failed_ = false;
  std::atomic<bool> closing_ = false;
  std::vector<std::thread> workers_;  // last: they use all of the above
};

}  // namespace collsim::kernels
