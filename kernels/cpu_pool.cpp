#include "kernels/cpu_pool.hpp"

#include <chrono>
#include <utility>

#include "kernels/cpu_machine.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

constexpr std::int32_t empty = -1;
constexpr std::int32_t stop = -2;
constexpr int spins_before_sleep = 1'000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Returns the first value that is not `old`.
std::int32_t wait_while(const std::atomic<std::int32_t>& place, std::int32_t old, int spins) {
  for (int i = 0; i < spins; ++i) {
    const std::int32_t value = place.load(std::memory_order_acquire);
    if (value != old) return value;
    pause();
  }
  for (;;) {
    const std::int32_t value = place.load(std::memory_order_acquire);
    if (value != old) return value;
    place.wait(old, std::memory_order_acquire);
  }
}

Duration now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Duration::nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

TaskGraph::TaskGraph(std::int32_t tasks, const Predecessors& predecessors_of)
    : predecessor_count_(static_cast<std::size_t>(tasks)),
      first_successor_(static_cast<std::size_t>(tasks) + 1),
      pending_(static_cast<std::size_t>(tasks)) {
  for (std::int32_t task = 0; task < tasks; ++task) {
    const auto predecessors = predecessors_of(task);
    predecessor_count_[static_cast<std::size_t>(task)] = static_cast<std::int32_t>(predecessors.size());
    for (const std::int32_t before : predecessors) {
      COLLSIM_CHECK(before >= 0 && before < tasks);
      ++first_successor_[static_cast<std::size_t>(before) + 1];
    }
  }
  for (std::size_t i = 1; i < first_successor_.size(); ++i) first_successor_[i] += first_successor_[i - 1];
  successors_.resize(first_successor_.back());
  std::vector<std::size_t> next(first_successor_.begin(), first_successor_.end() - 1);
  for (std::int32_t task = 0; task < tasks; ++task)
    for (const std::int32_t before : predecessors_of(task))
      successors_[next[static_cast<std::size_t>(before)]++] = task;
}

CpuPool::CpuPool(int threads) {
  COLLSIM_CHECK(threads >= 1);
  // Where threads share processors, one that looks at its place keeps another from its work.
  spins_ = threads <= usable_processors() ? spins_before_sleep : 0;
  workers_.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
  } catch (...) {
    close();
    throw;
  }
}

CpuPool::~CpuPool() { close(); }

void CpuPool::close() {
  closing_ = true;
  ++runs_;
  runs_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Duration CpuPool::run(TaskGraph& graph, const Work& work) {
  if (graph.tasks() == 0) return {};
  const std::lock_guard lock(one_run_);
  reset(graph);
  run_ = {&graph, &work, nullptr, {}};
  inside_ = static_cast<std::int32_t>(workers_.size());
  const Duration start = now();
  ++runs_;
  runs_.notify_all();
  take_part();
  for (std::int32_t inside = inside_; inside != 0; inside = wait_while(inside_, inside, spins_)) {
  }
  if (run_.error) std::rethrow_exception(std::exchange(run_.error, nullptr));
  return run_.end - start;
}

void CpuPool::reset(TaskGraph& graph) {
  const auto tasks = static_cast<std::size_t>(graph.tasks());
  const std::size_t places = tasks + static_cast<std::size_t>(threads());
  if (graph.queue_.size() != places) graph.queue_ = std::vector<std::atomic<std::int32_t>>(places);
  for (auto& place : graph.queue_) place.store(empty, std::memory_order_relaxed);
  std::int32_t ready = 0;
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::int32_t count = graph.predecessor_count_[task];
    graph.pending_[task].store(count, std::memory_order_relaxed);
    if (count != 0) continue;
    graph.queue_[static_cast<std::size_t>(ready)].store(static_cast<std::int32_t>(task),
                                                        std::memory_order_relaxed);
    ++ready;
  }
  head_ = 0;
  tail_ = ready;
  done_ = 0;
  failed_ = false;
}

void CpuPool::serve() {
  for (std::int32_t seen = 0;;) {
    seen = wait_while(runs_, seen, spins_);
    if (closing_) return;
    take_part();
    if (inside_.fetch_sub(1) == 1) inside_.notify_one();
  }
}

void CpuPool::take_part() {
  std::int32_t done = 0;  // that done_ does not count yet
  for (;;) {
    std::int32_t task = pop();
    if (task == stop) return;
    for (; task != empty; ++done) {
      work_on(task);
      task = release_successors(task);
    }
    count_done(std::exchange(done, 0));
  }
}

void CpuPool::work_on(std::int32_t task) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    (*run_.work)(task);
  } catch (...) {
    if (!failed_.exchange(true)) run_.error = std::current_exception();
  }
}

// Returns a successor that is to be run at once, or empty.
std::int32_t CpuPool::release_successors(std::int32_t task) {
  std::int32_t next = empty;
  for (const std::int32_t successor : run_.graph->successors_of(task)) {
    auto& pending = run_.graph->pending_[static_cast<std::size_t>(successor)];
    // The last one needs no exchange: nobody else changes a count of one.
    const bool ready =
        pending.load(std::memory_order_acquire) == 1 || pending.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (!ready) continue;
    const bool nothing_waits = head_.load(std::memory_order_relaxed) >= tail_.load(std::memory_order_relaxed);
    if (next == empty && nothing_waits)
      next = successor;
    else
      push(successor);
  }
  return next;
}

// A sequentially consistent store: notify_one() must not look for sleepers before the place is filled.
void CpuPool::push(std::int32_t task) {
  const auto at = static_cast<std::size_t>(tail_.fetch_add(1, std::memory_order_relaxed));
  auto& place = run_.graph->queue_[at];
  place.store(task);
  place.notify_one();
}

std::int32_t CpuPool::pop() {
  const auto at = static_cast<std::size_t>(head_.fetch_add(1, std::memory_order_relaxed));
  return wait_while(run_.graph->queue_[at], empty, spins_);
}

// Who counts the last task tells everybody to stop.
void CpuPool::count_done(std::int32_t tasks) {
  if (done_.fetch_add(tasks, std::memory_order_acq_rel) + tasks != run_.graph->tasks()) return;
  run_.end = now();
  for (int i = 0; i < threads(); ++i) push(stop);
}

}  // namespace collsim::kernels
