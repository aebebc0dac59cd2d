// The CPU's loops on buffers beyond the cache: bytes_per_second counts what is read and written, n sources
// and the destinations.
//
//   memcpy   the standard library's, of as many bytes
//   copy     combine_on_cpu of one source
//   reduce   of n sources; with two destinations: "fused". in_place: the first source is a destination, as in
//            a receive_reduce
//   in_cache reduce of two sources in buffers of 16 KiB, over and over
//   tasks    chains of tasks without work through the pool: items_per_second are tasks
//
// of_copy: the bandwidth over that of a copy, both the best of many runs one after the other, so that the
// load of the machine meets both. The copy is the best of memcpy's and ours.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/combine.hpp"
#include "kernels/cpu_pool.hpp"

namespace {

using namespace collsim;
using namespace collsim::kernels;

constexpr std::int64_t place_bytes = std::int64_t{64} << 20;

// Ten places, on huge pages where there are any, as the backend's areas are. Touched once.
std::byte* place(int index) {
  static std::vector<std::byte*> places(10);
  std::byte*& memory = places[static_cast<std::size_t>(index)];
  if (memory == nullptr) {
    constexpr auto bytes = static_cast<std::size_t>(place_bytes);
    memory = static_cast<std::byte*>(std::aligned_alloc(std::size_t{2} << 20, bytes));
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    std::memset(memory, 0, bytes);
  }
  return memory;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One task a thread, each on its part of all places.
class Parts {
 public:
  explicit Parts(int threads)
      : pool_(threads), graph_(threads, [](std::int32_t) { return none(); }), times_(graph_size(threads)) {}

  using Work = std::function<void(std::int64_t begin, std::int64_t bytes)>;
  double seconds(const Work& work) {
    const std::int64_t part = place_bytes / pool_.threads();
    pool_.run(graph_, [&](std::int32_t task) {
      const double start = thread_seconds();
      work(task * part, part);
      times_[static_cast<std::size_t>(task)] = thread_seconds() - start;
    });
    return *std::max_element(times_.begin(), times_.end());
  }

 private:
  static std::span<const std::int32_t> none() { return {}; }
  static std::size_t graph_size(int threads) { return static_cast<std::size_t>(threads); }
  CpuPool pool_;
  TaskGraph graph_;
  std::vector<double> times_;  // of each part
};

// In place: the first destination is the first source, as of receive_reduce.
CombineItem item_of(int sources, int destinations, std::int64_t begin, std::int64_t bytes,
                    bool in_place = false) {
  CombineItem item;
  item.source_count = sources;
  item.destination_count = destinations;
  item.bytes = bytes;
  for (int k = 0; k < sources; ++k) item.sources[static_cast<std::size_t>(k)] = place(k) + begin;
  for (int k = 0; k < destinations; ++k)
    item.destinations[static_cast<std::size_t>(k)] = place(sources_max + k) + begin;
  if (in_place) item.destinations[0] = place(0) + begin;
  return item;
}

struct Case {
  const char* name;
  int sources;
  int destinations;
  Datatype datatype;
  bool in_place = false;
};

void large(benchmark::State& state, const Case& which, int threads) {
  for (int k = 0; k < 10; ++k) place(k);
  Parts parts(threads);
  const auto combine = [&](std::int64_t begin, std::int64_t bytes) {
    combine_on_cpu(item_of(which.sources, which.destinations, begin, bytes, which.in_place), which.datatype,
                   ReductionOp::sum);
  };
  const auto copy = [&](std::int64_t begin, std::int64_t bytes) {
    combine_on_cpu(item_of(1, 1, begin, bytes), Datatype::float32, ReductionOp::sum);
  };
  const auto memcpy_part = [&](std::int64_t begin, std::int64_t bytes) {
    std::memcpy(place(sources_max) + begin, place(0) + begin, static_cast<std::size_t>(bytes));
  };
  const int moved = which.sources == 0 ? 2 : which.sources + which.destinations;
  std::vector<double> of_copy;
  for (auto _ : state) {
    const double copy_time = parts.seconds(copy);
    const double time = which.sources == 0 ? parts.seconds(memcpy_part) : parts.seconds(combine);
    of_copy.push_back(moved * copy_time / (2 * time));
    state.SetIterationTime(time);
  }
  state.SetBytesProcessed(state.iterations() * moved * place_bytes);
  std::nth_element(of_copy.begin(), of_copy.begin() + std::ssize(of_copy) / 2, of_copy.end());
  state.counters["of_copy"] = of_copy[of_copy.size() / 2];
}

void in_cache(benchmark::State& state, Datatype datatype) {
  constexpr std::int64_t bytes = 16 << 10;
  CombineItem item = item_of(2, 1, 0, bytes);
  for (auto _ : state) {
    combine_on_cpu(item, datatype, ReductionOp::sum);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * bytes);
}

void tasks(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  const auto chains = static_cast<std::int32_t>(state.range(1));
  const std::int32_t count = 40'000 / chains * chains;
  std::vector<std::int32_t> before(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) before[static_cast<std::size_t>(i)] = i - chains;
  TaskGraph graph(count, [&](std::int32_t task) {
    return std::span(before).subspan(static_cast<std::size_t>(task), task < chains ? 0 : 1);
  });
  CpuPool pool(threads);
  for (auto _ : state)
    state.SetIterationTime(static_cast<double>(pool.run(graph, [](std::int32_t) {}).picoseconds()) * 1e-12);
  state.SetItemsProcessed(state.iterations() * count);
}

const bool registered = [] {
  const std::vector<Case> cases = {
      {"memcpy", 0, 1, Datatype::float32},
      {"copy", 1, 1, Datatype::float32},
      {"copy_to_two", 1, 2, Datatype::float32},
      {"reduce_in_place/float32/2", 2, 1, Datatype::float32, true},
      {"reduce_in_place/float32/3", 3, 1, Datatype::float32, true},
      {"reduce_in_place/float32/8", 8, 1, Datatype::float32, true},
      {"fused_in_place/float32", 2, 2, Datatype::float32, true},
      {"reduce/float32/2", 2, 1, Datatype::float32},
      {"reduce/float32/3", 3, 1, Datatype::float32},
      {"reduce/float32/8", 8, 1, Datatype::float32},
      {"fused/float32", 2, 2, Datatype::float32},
      {"reduce/bfloat16/2", 2, 1, Datatype::bfloat16},
      {"reduce/bfloat16/3", 3, 1, Datatype::bfloat16},
      {"reduce/bfloat16/8", 8, 1, Datatype::bfloat16},
      {"fused/bfloat16", 2, 2, Datatype::bfloat16},
      {"reduce/float16/2", 2, 1, Datatype::float16},
      {"reduce/float8_e4m3/2", 2, 1, Datatype::float8_e4m3},
      {"reduce/int64/2", 2, 1, Datatype::int64},
  };
  for (const Case& which : cases)
    for (const int threads : {1, 2})
      benchmark::RegisterBenchmark(
          (std::string(which.name) + "/threads:" + std::to_string(threads)).c_str(),
          [which, threads](benchmark::State& state) { large(state, which, threads); })
          ->UseManualTime();
  for (const Datatype datatype :
       {Datatype::float32, Datatype::bfloat16, Datatype::float16, Datatype::float8_e4m3, Datatype::int8})
    benchmark::RegisterBenchmark(("in_cache/" + std::string(name_of(datatype))).c_str(),
                                 [datatype](benchmark::State& state) { in_cache(state, datatype); });
  return true;
}();

BENCHMARK(tasks)->ArgNames({"threads", "chains"})->ArgsProduct({{1, 2}, {1, 2, 8, 64}})->UseManualTime();

}  // namespace
