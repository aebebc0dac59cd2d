#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cpu_machine.hpp"
#include "kernels/cpu_pool.hpp"
#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

using Predecessors = std::vector<std::vector<std::int32_t>>;

TaskGraph graph_of(const Predecessors& predecessors) {
  return TaskGraph(static_cast<std::int32_t>(predecessors.size()), [&](std::int32_t task) {
    return std::span<const std::int32_t>(predecessors[static_cast<std::size_t>(task)]);
  });
}

// Up to `most` predecessors of each task, drawn among the `window` tasks before it.
Predecessors random_predecessors(std::int32_t tasks, std::uint64_t most, std::int32_t window,
                                 Random& random) {
  Predecessors predecessors(static_cast<std::size_t>(tasks));
  for (std::int32_t task = 1; task < tasks; ++task) {
    const std::uint64_t count = random.below(most + 1);
    for (std::uint64_t k = 0; k < count; ++k) {
      const auto back =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(std::min(window, task))));
      predecessors[static_cast<std::size_t>(task)].push_back(task - 1 - back);
    }
  }
  return predecessors;
}

// Runs the graph and returns how many tasks ran not exactly once, or before one of their predecessors.
std::int64_t faults_of_run(CpuPool& pool, TaskGraph& graph, const Predecessors& predecessors) {
  std::vector<std::atomic<int>> times(predecessors.size());
  std::atomic<std::int64_t> early = 0;
  pool.run(graph, [&](std::int32_t task) {
    for (const std::int32_t before : predecessors[static_cast<std::size_t>(task)])
      if (times[static_cast<std::size_t>(before)].load(std::memory_order_relaxed) != 1) ++early;
    times[static_cast<std::size_t>(task)].fetch_add(1, std::memory_order_relaxed);
  });
  return early + std::count_if(times.begin(), times.end(), [](const auto& count) { return count != 1; });
}

// Makes plans by hand.
struct PlanMaker {
  Plan plan;

  explicit PlanMaker(Datatype datatype = Datatype::uint64, ReductionOp reduction = ReductionOp::sum) {
    plan.collective.datatype = datatype;
    plan.collective.reduction = reduction;
  }
  std::int32_t area(std::int64_t bytes) {
    plan.areas.push_back({AreaKind::output, 0, bytes});
    return static_cast<std::int32_t>(plan.areas.size()) - 1;
  }
  // The last `destinations` places are destinations.
  std::int32_t combine(const std::vector<Place>& places, int destinations, std::int64_t bytes,
                       const std::vector<std::int32_t>& after) {
    Task task;
    task.kind = TaskKind::combine;
    task.sources = static_cast<std::uint8_t>(static_cast<int>(places.size()) - destinations);
    task.destinations = static_cast<std::uint8_t>(destinations);
    task.bytes = bytes;
    return add(task, places, after);
  }
  std::int32_t add(Task task, const std::vector<Place>& places, const std::vector<std::int32_t>& after) {
    task.first_place = static_cast<std::int32_t>(plan.places.size());
    task.first_predecessor = static_cast<std::int32_t>(plan.predecessors.size());
    task.predecessor_count = static_cast<std::int32_t>(after.size());
    plan.places.insert(plan.places.end(), places.begin(), places.end());
    plan.predecessors.insert(plan.predecessors.end(), after.begin(), after.end());
    plan.tasks.push_back(task);
    return static_cast<std::int32_t>(plan.tasks.size()) - 1;
  }
};

std::vector<std::byte> contents(Execution& execution, const Plan& plan) {
  std::vector<std::byte> all;
  for (std::size_t area = 0; area < plan.areas.size(); ++area) {
    std::vector<std::byte> data(static_cast<std::size_t>(plan.areas[area].bytes));
    execution.download(static_cast<std::int32_t>(area), 0, data);
    all.insert(all.end(), data.begin(), data.end());
  }
  return all;
}

void fill_areas(Execution& execution, const Plan& plan, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t area = 0; area < plan.areas.size(); ++area) {
    std::vector<std::byte> data(static_cast<std::size_t>(plan.areas[area].bytes));
    for (std::byte& byte : data) byte = static_cast<std::byte>(random.next() & 0xff);
    execution.upload(static_cast<std::int32_t>(area), 0, data);
  }
}

std::vector<std::int32_t> ascending(const Plan& plan) {
  std::vector<std::int32_t> order(plan.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Reductions between random cells. Each comes after all earlier ones that write what it touches, or read what
// it writes; such a predecessor is left out now and then where another one is known to come after it anyway.
Plan random_plan(std::int32_t tasks, std::int32_t cells, std::int64_t bytes, Random& random) {
  PlanMaker maker;
  std::vector<std::int32_t> areas;
  for (int a = 0; a < 4; ++a) areas.push_back(maker.area(cells * bytes));
  struct Use {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers;
  };
  std::vector<Use> uses(static_cast<std::size_t>(4 * cells));
  for (std::int32_t task = 0; task < tasks; ++task) {
    const int sources = 1 + static_cast<int>(random.below(3));
    const int destinations = 1 + static_cast<int>(random.below(2));
    std::vector<std::size_t> touched;
    while (std::ssize(touched) < sources + destinations) {
      const auto cell = static_cast<std::size_t>(random.below(uses.size()));
      if (std::find(touched.begin(), touched.end(), cell) == touched.end()) touched.push_back(cell);
    }
    std::vector<Place> places;
    std::vector<std::int32_t> after;
    for (std::size_t i = 0; i < touched.size(); ++i) {
      Use& use = uses[touched[i]];
      const auto cell = static_cast<std::int32_t>(touched[i]);
      places.push_back({areas[static_cast<std::size_t>(cell / cells)], cell % cells * bytes});
      if (use.writer >= 0) after.push_back(use.writer);
      if (static_cast<int>(i) < sources) {
        use.readers.push_back(task);
      } else {
        after.insert(after.end(), use.readers.begin(), use.readers.end());
        use.readers.clear();
        use.writer = task;
      }
    }
    maker.combine(places, destinations, bytes, after);
  }
  return maker.plan;
}

}  // namespace

TEST_CASE("Pool runs chains, diamonds and tasks that nothing orders, each task once and in order") {
  Predecessors chain(500);
  for (std::int32_t i = 1; i < 500; ++i) chain[static_cast<std::size_t>(i)] = {i - 1};
  Predecessors diamonds(301);
  for (std::int32_t i = 0; i < 300; i += 3) {
    if (i > 0) diamonds[static_cast<std::size_t>(i)] = {i - 1, i - 2};
    diamonds[static_cast<std::size_t>(i + 1)] = {i};
    diamonds[static_cast<std::size_t>(i + 2)] = {i};
  }
  diamonds[300] = {299, 298, 299};  // twice the same
  const Predecessors loose(200);
  Predecessors star(200);
  for (std::int32_t i = 1; i < 199; ++i) {
    star[static_cast<std::size_t>(i)] = {0};
    star[199].push_back(i);
  }
  for (int threads = 1; threads <= 8; ++threads) {
    CpuPool pool(threads);
    CHECK(pool.threads() == threads);
    for (const Predecessors& predecessors : {chain, diamonds, loose, star, Predecessors(1)}) {
      TaskGraph graph = graph_of(predecessors);
      for (int i = 0; i < 20; ++i) CHECK(faults_of_run(pool, graph, predecessors) == 0);
    }
  }
}

TEST_CASE("Pool runs random graphs, each task once and in order") {
  for (const int threads : {1, 2, 3, 8}) {
    CpuPool pool(threads);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(threads);
      CAPTURE(seed);
      Random random(seed);
      const auto tasks = static_cast<std::int32_t>(1 + random.below(400));
      const std::uint64_t most = 1 + random.below(4);
      const auto window = static_cast<std::int32_t>(1 + random.below(60));
      const Predecessors predecessors = random_predecessors(tasks, most, window, random);
      TaskGraph graph = graph_of(predecessors);
      for (int i = 0; i < 3; ++i) CHECK(faults_of_run(pool, graph, predecessors) == 0);
    }
  }
}

TEST_CASE("Pool with nothing to do takes no time") {
  CpuPool pool(2);
  TaskGraph graph = graph_of({});
  CHECK(pool.run(graph, [](std::int32_t) {}) == Duration());
}

TEST_CASE("Pool goes on with the oldest ready task while others wait") {
  CpuPool pool(1);
  // Two chains: 0 2 4 6 8 and 1 3 5 7 9.
  Predecessors chains(10);
  for (std::int32_t i = 2; i < 10; ++i) chains[static_cast<std::size_t>(i)] = {i - 2};
  TaskGraph graph = graph_of(chains);
  std::vector<std::int32_t> ran;
  pool.run(graph, [&](std::int32_t task) { ran.push_back(task); });
  CHECK(ran == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("Pool throws what a task throws, leaves out the tasks after it, and can run again") {
  for (const int threads : {1, 2, 4}) {
    CpuPool pool(threads);
    Predecessors chain(100);
    for (std::int32_t i = 1; i < 100; ++i) chain[static_cast<std::size_t>(i)] = {i - 1};
    TaskGraph graph = graph_of(chain);
    for (int i = 0; i < 10; ++i) {
      std::atomic<int> ran = 0;
      const auto work = [&](std::int32_t task) {
        if (task == 30) throw std::runtime_error("task 30");
        ++ran;
      };
      CHECK_THROWS_WITH_AS(pool.run(graph, work), "task 30", std::runtime_error);
      CHECK(ran == 30);
      CHECK(faults_of_run(pool, graph, chain) == 0);
    }
  }
}

TEST_CASE("Graph of tasks refuses predecessors that do not exist") {
  CHECK_THROWS_AS(graph_of({{1}}), InternalError);
  CHECK_THROWS_AS(graph_of({{}, {-1}}), InternalError);
}

TEST_CASE("CPU backend says what it is") {
  const auto backend = cpu_backend(3);
  CHECK(backend->name() == "cpu");
  CHECK(backend->threads() == 3);
  CHECK(backend->devices() == 1);
  CHECK(backend->device_of(5, 8) == 0);
  CHECK(backend->description().rfind("3 threads", 0) == 0);
  CHECK(cpu_backend(1)->description().rfind("1 thread", 0) == 0);
  CHECK(cpu_backend(1)->description().rfind("1 threads", 0) != 0);
  CHECK(cpu_backend()->threads() == usable_processors());
  CHECK(backend->cache_bytes() >= 1 << 16);
  CHECK(backend->free_bytes() >= 1 << 20);
}

TEST_CASE("CPU backend runs a chain: copies, a reduction with two destinations, a division") {
  PlanMaker maker(Datatype::int32, ReductionOp::avg);
  maker.plan.ranks = 3;
  const auto a = maker.area(12);
  const auto b = maker.area(12);
  const auto c = maker.area(24);
  const auto copy = maker.combine({{a, 0}, {c, 12}}, 1, 12, {});
  const auto sum = maker.combine({{c, 12}, {b, 0}, {c, 0}, {a, 0}}, 2, 12, {copy});
  const auto wait = maker.add({}, {}, {sum});
  Task divide;
  divide.kind = TaskKind::divide;
  divide.bytes = 8;
  maker.add(divide, {{c, 4}}, {wait});
  maker.combine({{a, 0}, {b, 0}}, 1, 0, {});
  for (int threads = 1; threads <= 4; ++threads) {
    const auto execution = cpu_backend(threads)->prepare(maker.plan, {});
    const std::array<std::int32_t, 3> first = {1, 20, -30};
    const std::array<std::int32_t, 3> second = {5, 6, 7};
    execution->upload(a, 0, std::as_bytes(std::span(first)));
    execution->upload(b, 0, std::as_bytes(std::span(second)));
    execution->run();
    std::array<std::int32_t, 6> result{};
    execution->download(c, 0, std::as_writable_bytes(std::span(result)));
    CHECK(result == std::array<std::int32_t, 6>{6, 26 / 3, -23 / 3, 1, 20, -30});
    std::array<std::int32_t, 2> sums{};
    execution->download(a, 4, std::as_writable_bytes(std::span(sums)));
    CHECK(sums == std::array<std::int32_t, 2>{26, -23});
    CHECK(execution->breaches().empty());
  }
}

TEST_CASE("CPU backend gives on any number of threads what one task after the other gives") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    const Plan plan = random_plan(150, 6, 8 * static_cast<std::int64_t>(1 + random.below(300)), random);
    const auto serial = cpu_backend(1)->prepare(plan, {});
    fill_areas(*serial, plan, seed);
    serial->run_in_order(ascending(plan));
    const std::vector<std::byte> expected = contents(*serial, plan);
    for (int threads = 1; threads <= 8; ++threads) {
      CAPTURE(seed);
      CAPTURE(threads);
      const auto execution = cpu_backend(threads)->prepare(plan, {.misalignment = threads % 4 * 8});
      for (int i = 0; i < 3; ++i) {
        fill_areas(*execution, plan, seed);
        execution->run();
        CHECK(contents(*execution, plan) == expected);
      }
      CHECK(execution->breaches().empty());
    }
  }
}

TEST_CASE("CPU backend hands large pieces from one thread to another, written past the cache") {
  constexpr std::int64_t bytes = std::int64_t{5} << 20;
  PlanMaker maker;
  std::vector<std::int32_t> areas;
  for (int i = 0; i < 4; ++i) areas.push_back(maker.area(bytes));
  std::vector<std::int32_t> last;
  for (int round = 0; round < 4; ++round) {
    const auto from = areas[static_cast<std::size_t>(round % 2)];
    const auto to = areas[static_cast<std::size_t>(1 - round % 2)];
    const auto third = areas[static_cast<std::size_t>(2 + round % 2)];
    // Two tasks a round, that any two threads may run and whose results others read in the next one.
    const auto one = maker.combine({{from, 0}, {third, 0}, {to, 0}}, 1, bytes, last);
    last = {one,
            maker.combine({{from, 0}, {areas[static_cast<std::size_t>(3 - round % 2)], 0}}, 1, bytes, last)};
  }
  const auto serial = cpu_backend(1)->prepare(maker.plan, {});
  fill_areas(*serial, maker.plan, 1);
  serial->run_in_order(ascending(maker.plan));
  const auto execution = cpu_backend(3)->prepare(maker.plan, {});
  fill_areas(*execution, maker.plan, 1);
  execution->run();
  CHECK(contents(*execution, maker.plan) == contents(*serial, maker.plan));
}

TEST_CASE("CPU backend refuses orders in which a task comes before its predecessor, or not once") {
  PlanMaker maker;
  const auto area = maker.area(16);
  const auto first = maker.combine({{area, 0}, {area, 8}}, 1, 8, {});
  maker.combine({{area, 8}, {area, 0}}, 1, 8, {first});
  const auto execution = cpu_backend(1)->prepare(maker.plan, {});
  const auto run = [&](const std::vector<std::int32_t>& order) { execution->run_in_order(order); };
  CHECK_NOTHROW(run({0, 1}));
  CHECK_THROWS_AS(run({1, 0}), InternalError);
  CHECK_THROWS_AS(run({0, 0}), InternalError);
  CHECK_THROWS_AS(run({0}), InternalError);
  CHECK_THROWS_AS(run({0, 2}), InternalError);
  CHECK_THROWS_AS(run({0, -1}), InternalError);
}

TEST_CASE("CPU backend notices what is written outside an area, by one byte on either side") {
  for (const std::int32_t misalignment : {0, 4, 252}) {
    PlanMaker maker(Datatype::uint8);
    const auto source = maker.area(100);
    const auto target = maker.area(100);
    maker.combine({{source, 0}, {target, 97}}, 1, 4, {});  // bytes 97 .. 100
    maker.combine({{source, 0}, {source, -3}}, 1, 3, {});  // bytes -3 .. -1
    const auto execution = cpu_backend(2)->prepare(maker.plan, {.misalignment = misalignment});
    const std::vector<std::byte> zeros(100);
    execution->upload(source, 0, zeros);
    CHECK(execution->breaches().empty());
    execution->run();
    const auto breaches = execution->breaches();
    REQUIRE(breaches.size() == 2);
    CHECK(breaches[0].area == source);
    CHECK(breaches[0].before);
    CHECK(breaches[0].offset == -3);
    CHECK(breaches[1].area == target);
    CHECK(!breaches[1].before);
    CHECK(breaches[1].offset == 100);
  }
}

TEST_CASE("CPU backend notices a guard that is written in whole, also by another guard") {
  PlanMaker maker(Datatype::uint8);
  const auto a = maker.area(512);
  maker.combine({{a, 512}, {a, -255}}, 1, 255, {});  // shifted by one
  const auto execution = cpu_backend(1)->prepare(maker.plan, {});
  execution->run();
  REQUIRE(execution->breaches().size() == 1);
  CHECK(execution->breaches()[0].offset == -255);
}

TEST_CASE("CPU backend runs one set of buffers after the other") {
  PlanMaker maker;
  const auto area = maker.area(16);
  maker.combine({{area, 0}, {area, 8}, {area, 8}}, 1, 8, {});  // the second word grows by the first
  const auto execution = cpu_backend(1)->prepare(maker.plan, {.sets = 3});
  const std::array<std::uint64_t, 2> words = {5, 100};
  execution->upload(area, 0, std::as_bytes(std::span(words)));
  for (int i = 0; i < 4; ++i) execution->run();
  std::array<std::uint64_t, 2> found{};
  execution->download(area, 0, std::as_writable_bytes(std::span(found)));
  CHECK(found == std::array<std::uint64_t, 2>{5, 110});  // runs 0 and 3
}

TEST_CASE("CPU backend says how much memory a plan needs when there is not as much") {
  const auto backend = cpu_backend(1);
  const auto prepare = [&](std::int64_t bytes, int areas, std::int32_t sets) -> std::string {
    PlanMaker maker;
    for (int i = 0; i < areas; ++i) maker.area(bytes);
    try {
      backend->prepare(maker.plan, {.sets = sets});
    } catch (const DeviceError& error) {
      CHECK(error.kind() == DeviceError::Kind::memory);
      CHECK(error.detail().size() > 9);
      CHECK(error.detail().substr(error.detail().size() - 9) == " are free");
      return error.what();
    }
    return "";
  };
  CHECK(prepare((std::int64_t{12} << 40) + (std::int64_t{1} << 39), 1, 1) ==
        "the buffers need 12.50 TiB of memory");
  CHECK(!prepare(std::int64_t{1} << 62, 8, 2'000'000'000).empty());  // more than 2^63 bytes
  CHECK(!prepare(std::int64_t{1} << 35, 1, 100'000).empty());
  CHECK(prepare(1 << 20, 2, 2).empty());
}

TEST_CASE("CPU backend refuses ranges outside an area, and options that make no sense") {
  PlanMaker maker(Datatype::float32);
  const auto area = maker.area(16);
  const auto backend = cpu_backend(1);
  const auto execution = backend->prepare(maker.plan, {});
  std::array<std::byte, 8> data{};
  CHECK_NOTHROW(execution->upload(area, 8, data));
  CHECK_NOTHROW(execution->upload(area, 16, {}));
  CHECK_THROWS_AS(execution->upload(area, 9, data), InternalError);
  CHECK_THROWS_AS(execution->download(area, -1, data), InternalError);
  CHECK_THROWS_AS(execution->download(area + 1, 0, data), InternalError);
  CHECK_THROWS_AS(backend->prepare(maker.plan, {.misalignment = 2}), InternalError);
  CHECK_THROWS_AS(backend->prepare(maker.plan, {.misalignment = 256}), InternalError);
  CHECK_THROWS_AS(backend->prepare(maker.plan, {.sets = 0}), InternalError);
}

TEST_CASE("CPU backend throws what a task of a broken plan throws") {
  PlanMaker maker;
  const auto area = maker.area(160);
  for (int i = 0; i < 9; ++i) maker.combine({{area, 8 * i}, {area, 8 * i + 8}}, 1, 8, {});
  maker.combine(std::vector<Place>(10, Place{area, 0}), 1, 8, {});  // nine sources
  const auto execution = cpu_backend(2)->prepare(maker.plan, {});
  CHECK_THROWS_AS(execution->run(), InternalError);
  CHECK_THROWS_AS(execution->run(), InternalError);
}

TEST_CASE("An execution outlives its backend, and two of one backend run at the same time") {
  Random random(3);
  const Plan plan = random_plan(200, 6, 64, random);
  auto backend = cpu_backend(2);
  const auto first = backend->prepare(plan, {});
  const auto second = backend->prepare(plan, {});
  backend.reset();
  fill_areas(*first, plan, 4);
  fill_areas(*second, plan, 4);
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) second->run();
  });
  for (int i = 0; i < 20; ++i) first->run();
  other.join();
  CHECK(contents(*first, plan) == contents(*second, plan));
}
