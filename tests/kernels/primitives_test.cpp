// The costs that measure() finds: on a backend whose times are arithmetic they are what it was given; on the
// CPU they are all there.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/primitive_plans.hpp"
#include "kernels/primitives.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

// What operations take on a made-up machine, in picoseconds.
struct MadeUp {
  int devices = 1;
  std::int64_t launch = 5'000'000;
  std::int64_t operation = 200'000;
  std::int64_t handover = 300'000;  // more, where the task before is another rank's
  std::int64_t copy_byte = 100;     // 10 GB/s
  std::int64_t source_byte = 150;   // for each source after the first
  std::int64_t peer_byte = 400;
  std::int64_t peer_latency = 700'000;
  std::int64_t cached_percent = 100;  // of the time of a task whose source the task before has written
};

// Adds up the longest chain of tasks. Chains that run at a time share the machine: twice as many take twice
// as long for their bytes.
class MadeUpExecution final : public Execution {
 public:
  MadeUpExecution(const Plan& plan, const MadeUp& machine, const Backend& backend)
      : plan_(plan), machine_(machine), backend_(backend) {}

  void upload(std::int32_t, std::int64_t, std::span<const std::byte>) override {}
  void download(std::int32_t, std::int64_t, std::span<std::byte>) override {}
  void run_in_order(std::span<const std::int32_t>) override {}
  std::vector<GuardBreach> breaches() override { return {}; }

  Duration run() override {
    const auto chains = std::count_if(plan_.tasks.begin(), plan_.tasks.end(),
                                      [](const Task& task) { return task.predecessor_count == 0; });
    std::vector<std::int64_t> end;
    for (const Task& task : plan_.tasks) {
      std::int64_t begin = 0;
      bool cached = false;
      for (const std::int32_t before : plan_.predecessors_of(task)) {
        const auto index = static_cast<std::size_t>(before);
        const Task& other = plan_.tasks[index];
        begin = std::max(begin, end[index] + (other.rank != task.rank ? machine_.handover : 0));
        cached = cached || writes_source_of(other, task);
      }
      end.push_back(begin + time_of(task, chains, cached ? machine_.cached_percent : 100));
    }
    return Duration::picoseconds(machine_.launch + *std::max_element(end.begin(), end.end()));
  }

 private:
  int device(const Place& place) const {
    return backend_.device_of(plan_.areas[static_cast<std::size_t>(place.area)].rank, plan_.ranks);
  }
  bool writes_source_of(const Task& before, const Task& task) const {
    if (before.kind == TaskKind::nothing || task.kind == TaskKind::nothing) return false;
    const auto written = plan_.places_of(before).subspan(before.sources);
    const auto read = plan_.places_of(task).first(task.sources);
    return std::any_of(written.begin(), written.end(), [&](const Place& place) {
      return std::any_of(read.begin(), read.end(), [&](const Place& source) {
        return source.area == place.area && source.offset == place.offset;
      });
    });
  }
  std::int64_t time_of(const Task& task, std::int64_t chains, std::int64_t percent) const {
    if (task.kind == TaskKind::nothing) return 0;
    const auto places = plan_.places_of(task);
    const bool peer = device(places.front()) != device(places.back());
    const std::int64_t byte = peer ? machine_.peer_byte : machine_.copy_byte;
    const std::int64_t bytes = task.bytes * (byte + (task.sources - 1) * machine_.source_byte);
    return machine_.operation + (peer ? machine_.peer_latency : 0) + bytes * chains * percent / 100;
  }

  const Plan& plan_;
  const MadeUp& machine_;
  const Backend& backend_;
};

class MadeUpBackend final : public Backend {
 public:
  explicit MadeUpBackend(MadeUp machine = {}) : machine_(machine) {}
  std::string name() const override { return "made up"; }
  std::string description() const override { return "of arithmetic"; }
  int devices() const override { return machine_.devices; }
  std::int64_t cache_bytes() const override { return 32 << 20; }
  std::int64_t free_bytes() const override { return free; }
  std::unique_ptr<Execution> prepare(const Plan& plan, const PrepareOptions& options) override {
    if (fails) throw std::bad_alloc();
    largest = std::max(largest, plan.memory_bytes() * options.sets);
    return std::make_unique<MadeUpExecution>(plan, machine_, *this);
  }

  std::int64_t free = std::int64_t{8} << 30;
  std::int64_t largest = 0;  // of all plans, with their sets
  bool fails = false;

 private:
  MadeUp machine_;
};

bool is_near(std::int64_t value, std::int64_t wanted) {
  return value >= wanted - wanted / 50 && value <= wanted + wanted / 50;
}
bool is_near(Bandwidth rate, std::int64_t wanted) { return is_near(rate.bytes_per_second(), wanted); }

using Key = std::tuple<PrimitiveKind, std::int64_t, std::int32_t>;
std::set<Key> keys_of(const MachineCosts& costs) {
  std::set<Key> keys;
  for (const PrimitiveSample& sample : costs.samples)
    keys.insert({sample.kind, sample.bytes, sample.concurrent});
  return keys;
}

void check_places(const Plan& plan) {
  for (const Task& task : plan.tasks) {
    if (task.kind == TaskKind::nothing) continue;
    for (const Place& place : plan.places_of(task)) {
      const Area& area = plan.areas[static_cast<std::size_t>(place.area)];
      CHECK(place.offset >= 0);
      CHECK(place.offset + task.bytes <= area.bytes);
    }
  }
}

constexpr std::int64_t giga = 1'000'000'000;

}  // namespace

TEST_CASE("Costs of a machine of arithmetic are what it was made of") {
  MadeUpBackend backend;
  const MachineCosts costs = measure(backend, {});
  CHECK(costs.device == "made up");
  CHECK(costs.launch == Duration::microseconds(5));
  // Tiny operations have four bytes of 250 ps.
  CHECK(costs.operation == Duration::picoseconds(201'000));
  CHECK(is_near(costs.handover.picoseconds(), 502'000));  // two at a time take twice as long
  CHECK(is_near(costs.copy_one, 10 * giga));
  CHECK(is_near(costs.copy_all, 10 * giga));
  CHECK(is_near(costs.reduce_one, 4 * giga));
  CHECK(is_near(costs.reduce_all, 4 * giga));
  CHECK(!costs.peer);
  CHECK(!costs.peer_latency);
}

TEST_CASE("Warm-up is a number of runs and a time, within a limit") {
  MadeUpBackend backend;  // an empty run takes 5 us
  const Plan plan = empty_plan(1);
  const std::unique_ptr<Execution> execution = backend.prepare(plan, {});
  CHECK(warm_up(*execution, 3, Duration()) == 3);
  CHECK(warm_up(*execution, 3, Duration::microseconds(15)) == 3);
  CHECK(warm_up(*execution, 3, Duration::microseconds(16)) == 4);
  CHECK(warm_up(*execution, 0, Duration()) == 0);
  CHECK(warm_up(*execution, 0, Duration::microseconds(50'000)) == warmup_runs_max);
  CHECK(warm_up(*execution, 1'200, Duration::microseconds(50'000)) == 1'200);
}

TEST_CASE("Rates are those of operations that find their sources in a cache") {
  MadeUp machine;
  machine.cached_percent = 75;
  MadeUpBackend backend(machine);
  MeasureOptions options;
  options.bytes_large = 1 << 20;
  const MachineCosts costs = measure(backend, options);
  // Of 2 copies and a reduction of 100 and 250 ps a byte, what comes second or later takes 75 %.
  const std::int64_t parts = 2 * 100 + 250;
  const std::int64_t round = 100 + (100 + 250) * 75 / 100;
  CHECK(is_near(costs.copy_one, 10 * giga * parts / round));
  CHECK(is_near(costs.copy_all, 10 * giga * parts / round));
  CHECK(is_near(costs.reduce_one, 4 * giga * parts / round));
  CHECK(is_near(costs.reduce_all, 4 * giga * parts / round));
  for (const PrimitiveSample& sample : costs.samples)
    if (sample.kind == PrimitiveKind::copy && sample.bytes == options.bytes_large)
      CHECK(is_near(sample.total, 10 * giga));
}

TEST_CASE("Samples of all kinds are there, sizes ascending, one rank and all") {
  MadeUpBackend backend;
  MeasureOptions options;
  options.ranks = 6;
  options.bytes_large = 1 << 20;
  const MachineCosts costs = measure(backend, options);
  const std::vector<std::int64_t> sizes = {4 << 10, 64 << 10, 1 << 20};
  CHECK(sample_sizes(1 << 20) == sizes);
  const auto keys = keys_of(costs);
  CHECK(keys.size() == costs.samples.size());
  for (const std::int32_t ranks : {1, 6}) {
    for (const auto kind : {PrimitiveKind::copy, PrimitiveKind::reduce, PrimitiveKind::round})
      for (const std::int64_t bytes : sizes) CHECK(keys.count({kind, bytes, ranks}) == 1);
    for (const auto kind : {PrimitiveKind::reduce_many, PrimitiveKind::fused})
      CHECK(keys.count({kind, 1 << 20, ranks}) == 1);
  }
  CHECK(keys.count({PrimitiveKind::copy, 1 << 20, 4}) == 1);
  CHECK(keys.count({PrimitiveKind::copy, 4 << 10, 4}) == 0);
  for (const PrimitiveSample& sample : costs.samples) CHECK(sample.time > Duration());
}

TEST_CASE("Copies between devices are measured where there are several") {
  MadeUp machine;
  machine.devices = 2;
  MadeUpBackend backend(machine);
  const MachineCosts costs = measure(backend, {});
  CHECK(costs.devices == 2);
  REQUIRE(costs.peer);
  REQUIRE(costs.peer_latency);
  CHECK(is_near(*costs.peer, giga * 5 / 2));
  CHECK(is_near(costs.peer_latency->picoseconds(), 700'000));
  CHECK(is_near(costs.copy_one, 10 * giga));
}

TEST_CASE("Little memory is not exceeded by what is measured with") {
  MadeUpBackend backend;
  backend.free = std::int64_t{512} << 20;
  MeasureOptions options;
  options.bytes_large = 1 << 20;
  measure(backend, options);
  CHECK(backend.largest > (16 << 20));
  CHECK(backend.largest <= backend.free / 2);
}

TEST_CASE("Memory that does not suffice is an error before anything is measured") {
  MadeUpBackend backend;
  MeasureOptions options;
  options.ranks = 3;
  options.bytes_large = 1 << 20;
  const auto error_of = [&] {
    try {
      measure(backend, options);
    } catch (const DeviceError& error) {
      CHECK(error.kind() == DeviceError::Kind::memory);
      return std::string(error.what()) + "; " + error.detail();
    }
    return std::string();
  };
  // Eight places of each rank.
  backend.free = std::int64_t{24} << 20;
  CHECK(error_of() == "measuring 3 ranks needs at least 24.00 MiB of memory; 24.00 MiB are free");
  CHECK(backend.largest == 0);
  backend.free += 6 * 2 * guard_bytes;
  CHECK(error_of() == "");
  CHECK(backend.largest == 24 << 20);
  backend.fails = true;
  CHECK(error_of() == "measuring 3 ranks needs at least 24.00 MiB of memory; 24.00 MiB are free");
}

TEST_CASE("The memory of chains is known before they are made") {
  for (const auto kind : {PrimitiveKind::copy, PrimitiveKind::reduce, PrimitiveKind::reduce_many,
                          PrimitiveKind::fused, PrimitiveKind::round, PrimitiveKind::peer_copy})
    for (const std::int32_t chains : {1, 2, 4}) {
      CAPTURE(name_of(kind));
      CAPTURE(chains);
      ChainsSpec spec;
      spec.kind = kind;
      spec.bytes = 12;
      spec.ranks = 4;
      spec.chains = chains;
      spec.length = 7;
      spec.slots = 3;
      spec.device = {0, 0, 1, 1};
      CHECK(memory_bytes(spec) == chains_plan(spec).memory_bytes());
    }
}

TEST_CASE("Many chains keep step through one task between rows") {
  ChainsSpec spec;
  spec.kind = PrimitiveKind::round;
  spec.ranks = 100;
  spec.chains = 100;
  spec.length = 5;
  const Plan plan = chains_plan(spec);
  CHECK(std::ssize(plan.tasks) == 5 * 3 * 100 + 4);
  CHECK(std::ssize(plan.predecessors) == 5 * 2 * 100 + 4 * 200);
  check_places(plan);
  // Three rows of an operation, then a task that comes after the last of them, and so before the next
  // operation.
  std::vector<std::int64_t> row;
  for (const Task& task : plan.tasks) {
    std::int64_t number = 0;
    for (const std::int32_t before : plan.predecessors_of(task))
      number = std::max(number, row[static_cast<std::size_t>(before)] + 1);
    row.push_back(number);
    const bool between = number % 4 == 3;
    CHECK(task.predecessor_count == (number == 0 ? 0 : between ? 100 : 1));
    CHECK((task.kind == TaskKind::nothing) == between);
  }
}

TEST_CASE("Chains are as long as asked, inside their areas, and keep step") {
  for (const auto kind : {PrimitiveKind::copy, PrimitiveKind::reduce, PrimitiveKind::reduce_many,
                          PrimitiveKind::fused, PrimitiveKind::round, PrimitiveKind::peer_copy}) {
    CAPTURE(name_of(kind));
    ChainsSpec spec;
    spec.kind = kind;
    spec.bytes = 12;
    spec.ranks = 3;
    spec.chains = 2;
    spec.length = 7;
    spec.slots = 3;
    spec.device = {0, 0, 1};
    const Plan plan = chains_plan(spec);
    CHECK(std::ssize(plan.tasks) == 2 * 7 * shape_of(kind).tasks);
    check_places(plan);
    const auto first = std::count_if(plan.tasks.begin(), plan.tasks.end(),
                                     [](const Task& task) { return task.predecessor_count == 0; });
    CHECK(first == 2);
    // The first task of an operation comes after both chains, the others after their own.
    CHECK(std::ssize(plan.predecessors) == 2 * (2 * 6 + 7 * (shape_of(kind).tasks - 1)));
    for (std::size_t i = 0; i < plan.tasks.size(); ++i)
      for (const std::int32_t before : plan.predecessors_of(plan.tasks[i]))
        CHECK(before < static_cast<std::int32_t>(i));
    CHECK(plan.traffic_bytes() == 2 * 7 * 12 * shape_of(kind).traffic);
  }
}

TEST_CASE("What the CPU costs is all there") {
  const std::unique_ptr<Backend> backend = cpu_backend(2);
  MeasureOptions options;
  options.bytes_large = 64 << 10;
  options.warmup = 1;
  options.warmup_time = Duration();
  options.runs = 3;
  options.rounds = 1;
  const MachineCosts costs = measure(*backend, options);
  CHECK(costs.device == "cpu");
  CHECK(costs.ranks == 2);
  CHECK(keys_of(costs).size() == (3 * 2 + 2) * 2);
  CHECK(costs.launch > Duration());
  CHECK(costs.operation > Duration());
  for (const Bandwidth rate : {costs.copy_one, costs.copy_all, costs.reduce_one, costs.reduce_all})
    CHECK(rate > Bandwidth());
  for (const PrimitiveSample& sample : costs.samples) CHECK(sample.total > Bandwidth());
  CHECK(!costs.peer);
}
