// The CPU as a backend: areas are memory of this process, tasks are loops on its threads.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "kernels/backend.hpp"
#include "kernels/cpu_machine.hpp"
#include "kernels/cpu_pool.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t guard = static_cast<std::size_t>(guard_bytes);
static_assert(guard % alignment == 0);
constexpr std::size_t huge_page = std::size_t{2} << 20;
// A server reports the last-level cache of all its dies together; a core fills that of its own. 128 MiB is
// more than any die of today's has, with stacked memory too (an assumption).
constexpr std::int64_t cache_reach = std::int64_t{128} << 20;

// Another byte at each place, so that a shifted guard is noticed as well.
std::byte guard_byte(std::size_t i) { return static_cast<std::byte>((i * 37 + 0xa5) & 0xff); }

// The bytes of an area between two guards: misalignment, guard, bytes, guard.
class Block {
 public:
  Block(std::size_t bytes, std::size_t misalignment)
      : bytes_(bytes),
        misalignment_(misalignment),
        memory_(::operator new(size(), std::align_val_t(alignment))) {
    prefer_huge_pages();
    std::memset(data(), 0, bytes_);
    for (std::size_t i = 0; i < guard; ++i) {
      (data() - guard)[i] = guard_byte(i);
      (data() + bytes_)[i] = guard_byte(i);
    }
  }

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()) + misalignment_ + guard; }
  std::size_t bytes() const { return bytes_; }
  // The first changed byte of a guard.
  static std::optional<std::size_t> changed(const std::byte* begin) {
    for (std::size_t i = 0; i < guard; ++i)
      if (begin[i] != guard_byte(i)) return i;
    return {};
  }

 private:
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(alignment)); }
  };
  std::size_t size() const { return misalignment_ + guard + bytes_ + guard; }
  // Only a wish: fewer misses of the TLB on large areas.
  void prefer_huge_pages() const {
#ifdef MADV_HUGEPAGE
    if (bytes_ < 2 * huge_page) return;
    const auto first = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::uintptr_t begin = (first + huge_page - 1) / huge_page * huge_page;
    const std::uintptr_t end = (first + size()) / huge_page * huge_page;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  }

  std::size_t bytes_;
  std::size_t misalignment_;
  std::unique_ptr<void, Free> memory_;
};

[[noreturn]] void throw_memory(std::int64_t needed, std::int64_t free) {
  throw DeviceError(DeviceError::Kind::memory, "the buffers need " + memory_text(needed) + " of memory",
                    memory_text(free) + " are free");
}

// Of all sets, with the guards and the graph of tasks. At most 2^62.
std::int64_t needed_bytes(const Plan& plan, const PrepareOptions& options) {
  Int128 areas = 0;
  for (const Area& area : plan.areas) areas += Int128{area.bytes} + 2 * guard_bytes + options.misalignment;
  const Int128 graph = Int128{24} * std::ssize(plan.tasks) + Int128{4} * std::ssize(plan.predecessors);
  return static_cast<std::int64_t>(std::min(areas * options.sets + graph, Int128{1} << 62));
}

class CpuExecution final : public Execution {
 public:
  CpuExecution(const Plan& plan, const PrepareOptions& options, std::shared_ptr<CpuPool> pool)
      : plan_(plan),
        pool_(std::move(pool)),
        graph_(static_cast<std::int32_t>(plan.tasks.size()), [&](std::int32_t task) {
          return plan.predecessors_of(plan.tasks[static_cast<std::size_t>(task)]);
        }) {
    sets_.resize(static_cast<std::size_t>(options.sets));
    for (Set& set : sets_) {
      set.reserve(plan.areas.size());
      for (const Area& area : plan.areas)
        set.emplace_back(static_cast<std::size_t>(area.bytes),
                         static_cast<std::size_t>(options.misalignment));
    }
  }

  void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) override {
    if (!data.empty()) std::memcpy(range(area, offset, data.size()), data.data(), data.size());
  }

  void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) override {
    if (!data.empty()) std::memcpy(data.data(), range(area, offset, data.size()), data.size());
  }

  Duration run() override {
    const Set& set = sets_[next_set_];
    next_set_ = (next_set_ + 1) % sets_.size();
    return pool_->run(graph_, [&](std::int32_t task) { run_task(set, task); });
  }

  void run_in_order(std::span<const std::int32_t> order) override {
    check_order(order);
    for (const std::int32_t task : order) run_task(sets_[0], task);
  }

  std::vector<GuardBreach> breaches() override {
    std::vector<GuardBreach> found;
    for (std::size_t area = 0; area < sets_[0].size(); ++area) {
      const Block& block = sets_[0][area];
      const auto number = static_cast<std::int32_t>(area);
      if (const auto at = Block::changed(block.data() - guard))
        found.push_back({number, true, static_cast<std::int64_t>(*at) - guard_bytes});
      if (const auto at = Block::changed(block.data() + block.bytes()))
        found.push_back({number, false, static_cast<std::int64_t>(block.bytes() + *at)});
    }
    return found;
  }

 private:
  using Set = std::vector<Block>;

  std::byte* range(std::int32_t area, std::int64_t offset, std::size_t bytes) const {
    COLLSIM_CHECK(area >= 0 && area < std::ssize(sets_[0]));
    const Block& block = sets_[0][static_cast<std::size_t>(area)];
    COLLSIM_CHECK(offset >= 0 && static_cast<std::size_t>(offset) <= block.bytes());
    COLLSIM_CHECK(bytes <= block.bytes() - static_cast<std::size_t>(offset));
    return block.data() + offset;
  }

  // No check that places lie inside their areas: that a plan is right is what a run is to show.
  void run_task(const Set& set, std::int32_t number) const {
    const Task& task = plan_.tasks[static_cast<std::size_t>(number)];
    if (task.kind == TaskKind::nothing || task.bytes == 0) return;
    const auto memory = [&](const Place& place) {
      return set[static_cast<std::size_t>(place.area)].data() + place.offset;
    };
    const auto places = plan_.places_of(task);
    if (task.kind == TaskKind::divide)
      return divide_on_cpu(memory(places[0]), task.bytes, plan_.collective.datatype, plan_.ranks);
    COLLSIM_CHECK(task.sources >= 1 && task.sources <= sources_max);
    COLLSIM_CHECK(task.destinations >= 1 && task.destinations <= destinations_max);
    CombineItem item;
    item.source_count = task.sources;
    item.destination_count = task.destinations;
    item.bytes = task.bytes;
    for (std::size_t i = 0; i < task.sources; ++i) item.sources[i] = memory(places[i]);
    for (std::size_t i = 0; i < task.destinations; ++i)
      item.destinations[i] = memory(places[task.sources + i]);
    combine_on_cpu(item, plan_.collective.datatype, plan_.collective.reduction);
  }

  void check_order(std::span<const std::int32_t> order) const {
    COLLSIM_CHECK(order.size() == plan_.tasks.size());
    std::vector<bool> done(order.size());
    for (const std::int32_t task : order) {
      COLLSIM_CHECK(task >= 0 && static_cast<std::size_t>(task) < done.size());
      COLLSIM_CHECK(!done[static_cast<std::size_t>(task)]);
      for (const std::int32_t before : plan_.predecessors_of(plan_.tasks[static_cast<std::size_t>(task)]))
        COLLSIM_CHECK(done[static_cast<std::size_t>(before)]);
      done[static_cast<std::size_t>(task)] = true;
    }
  }

  const Plan& plan_;
  std::shared_ptr<CpuPool> pool_;
  TaskGraph graph_;
  std::vector<Set> sets_;
  std::size_t next_set_ = 0;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : pool_(std::make_shared<CpuPool>(threads)) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override {
    const std::string processor = processor_name();
    return std::to_string(threads()) + (threads() == 1 ? " thread" : " threads") +
           (processor.empty() ? "" : ", " + processor);
  }
  int devices() const override { return 1; }
  int threads() const override { return pool_->threads(); }
  std::int64_t cache_bytes() const override { return std::min(last_cache_bytes(), cache_reach); }
  std::int64_t free_bytes() const override { return free_memory_bytes(); }

  std::unique_ptr<Execution> prepare(const Plan& plan, const PrepareOptions& options) override {
    const int element = element_bytes(plan.collective.datatype);
    COLLSIM_CHECK(options.misalignment >= 0 && options.misalignment < static_cast<int>(alignment));
    COLLSIM_CHECK(options.misalignment % element == 0);
    COLLSIM_CHECK(options.sets >= 1);
    const std::int64_t needed = needed_bytes(plan, options);
    const std::int64_t free = free_bytes();
    if (needed > free) throw_memory(needed, free);
    try {
      return std::make_unique<CpuExecution>(plan, options, pool_);
    } catch (const std::bad_alloc&) {
      throw_memory(needed, free_bytes());
    }
  }

 private:
  std::shared_ptr<CpuPool> pool_;  // of all executions too
};

}  // namespace

std::unique_ptr<Backend> cpu_backend(int threads) {
  COLLSIM_CHECK(threads >= 0);
  const int count = threads == 0 ? usable_processors() : threads;
  try {
    return std::make_unique<CpuBackend>(count);
  } catch (const std::system_error& error) {
    throw DeviceError(DeviceError::Kind::failed,
                      "cannot start " + std::to_string(count) + " threads: " + error.what());
  }
}

}  // namespace collsim::kernels
