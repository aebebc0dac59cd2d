// The CUDA backend on real devices. Where there is none every test says so and is skipped.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "algorithms/registry.hpp"
#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "kernels/values.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/kernels/all_types.hpp"
#include "tests/kernels/random_plans.hpp"
#include "tests/kernels/run_plans.hpp"
#include "tests/support/requests.hpp"

using namespace collsim;
using namespace collsim::kernels;
using namespace collsim::kernels::testing;

namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// False, with the reason, where there is no device. CTest takes the line as a skipped test.
bool has_device() {
  const std::string why = why_no_cuda();
  if (!why.empty()) MESSAGE("skipped: ", why);
  return why.empty();
}

// Integers: any bits. Floats: of both signs, from 2^-5 to 2^5 and a little more, none zero, so that nothing
// that they make is NaN.
void fill_at_random(std::vector<std::byte>& bytes, Datatype datatype, Random& random) {
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    const std::uint64_t bits = random.next();
    if (is_float(datatype)) {
      const double fraction = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
      const double value = std::ldexp(fraction, static_cast<int>(bits % 11) - 5);
      store_element(datatype, (bits & 0x800) != 0 ? -value : value, bytes.data() + i);
    } else {
      store_integer(datatype, bits, bytes.data() + i);
    }
  }
}

AreaBytes random_numbers(const Plan& plan, std::uint64_t seed) {
  Random random(seed);
  AreaBytes bytes;
  for (const Area& area : plan.areas) {
    bytes.emplace_back(static_cast<std::size_t>(area.bytes));
    fill_at_random(bytes.back(), plan.collective.datatype, random);
  }
  return bytes;
}

// How the places of a piece of work lie to each other.
enum class Places { aligned, shifted_alike, shifted_apart, in_place };

// One rank with eight areas of sources and two of destinations, and tasks of all numbers of them, all sizes
// and all alignments. No two tasks touch the same bytes.
class PiecesPlan {
 public:
  PiecesPlan(Datatype datatype, ReductionOp reduction) : size_(element_bytes(datatype)) {
    plan_.collective.datatype = datatype;
    plan_.collective.reduction = reduction;
  }
  Plan built() {
    constexpr std::int64_t tile = 16384;
    for (std::uint8_t sources = 1; sources <= sources_max; ++sources)
      for (std::uint8_t destinations = 1; destinations <= destinations_max; ++destinations)
        for (const Places places :
             {Places::aligned, Places::shifted_alike, Places::shifted_apart, Places::in_place}) {
          for (const std::int64_t elements : {1, 2, 3, 7, 16, 33, 257, 1000})
            add(sources, destinations, elements, places);
          add(sources, destinations, tile / size_ + 1, places);
          if (sources == 2) add(sources, destinations, (3 * tile + 40) / size_, places);
        }
    for (int area = 0; area < sources_max + destinations_max; ++area)
      plan_.areas.push_back({AreaKind::staging, 0, end_});
    return std::move(plan_);
  }

 private:
  void add(std::uint8_t sources, std::uint8_t destinations, std::int64_t elements, Places places) {
    const auto shift = [&](int area) {
      return size_ * (places == Places::aligned ? 0 : places == Places::shifted_apart ? area : 1);
    };
    Task task;
    task.kind = TaskKind::combine;
    task.sources = sources;
    task.destinations = destinations;
    task.stream = static_cast<std::int32_t>(plan_.tasks.size() % 40);
    task.first_place = static_cast<std::int32_t>(plan_.places.size());
    task.bytes = elements * size_;
    for (int i = 0; i < sources; ++i) plan_.places.push_back({i, end_ + shift(i)});
    for (int i = 0; i < destinations; ++i) {
      const int area = places == Places::in_place && i == 0 ? 0 : sources_max + i;
      plan_.places.push_back({area, end_ + shift(area)});
    }
    plan_.tasks.push_back(task);
    end_ += (task.bytes + size_ * (sources_max + destinations_max) + 255) / 256 * 256;
  }

  std::int64_t size_;
  std::int64_t end_ = 0;
  Plan plan_;
};

// By combine_on_cpu, task by task.
AreaBytes combined_on_cpu(const Plan& plan, AreaBytes bytes) {
  for (const Task& task : plan.tasks) {
    CombineItem item;
    const std::span<const Place> places = plan.places_of(task);
    item.source_count = task.sources;
    item.destination_count = task.destinations;
    item.bytes = task.bytes;
    const auto address = [&](std::size_t i) { return bytes[at(places[i].area)].data() + places[i].offset; };
    for (std::size_t i = 0; i < task.sources; ++i) item.sources[i] = address(i);
    for (std::size_t i = 0; i < task.destinations; ++i) item.destinations[i] = address(task.sources + i);
    combine_on_cpu(item, plan.collective.datatype, plan.collective.reduction);
  }
  return bytes;
}

// The first element that differs, as text, or nothing.
std::string difference(Datatype datatype, const AreaBytes& found, const AreaBytes& expected) {
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  for (std::size_t area = 0; area < expected.size(); ++area)
    for (std::size_t i = 0; i + size <= expected[area].size(); i += size) {
      const std::byte* a = found[area].data() + i;
      const std::byte* b = expected[area].data() + i;
      if (!std::equal(a, a + size, b))
        return "area " + std::to_string(area) + " byte " + std::to_string(i) + " is " +
               text_of_element(datatype, a) + ", not " + text_of_element(datatype, b);
    }
  return "";
}

// The variant on the first cluster on which it can run, or nothing.
std::optional<Schedule> schedule_of(const collsim::testing::Variant& variant, const Collective& collective,
                                    std::int32_t ranks) {
  for (const Placement& placement : collsim::testing::all_shapes(ranks)) {
    auto made = algorithms::make_schedule(variant.request(), collective, placement);
    if (auto* schedule = std::get_if<Schedule>(&made)) return std::move(*schedule);
  }
  return std::nullopt;
}

// Runs with exact values, twice in set 0, and returns what is wrong.
std::string fault_of_run(Backend& backend, const Schedule& schedule, std::uint64_t draw) {
  PlanOptions plan_options;
  plan_options.direct = (draw & 1) != 0;
  plan_options.fused = (draw & 2) != 0;
  const auto made = plan_of(schedule, plan_options);
  if (!std::holds_alternative<Plan>(made)) return "there is no plan";
  const Plan& plan = std::get<Plan>(made);
  PrepareOptions options;
  options.graph = (draw & 4) != 0;
  options.misalignment = (draw & 8) != 0 ? element_bytes(schedule.collective.datatype) : 0;
  options.sets = (draw & 16) != 0 ? 2 : 1;
  const std::unique_ptr<Execution> execution = backend.prepare(plan, options);
  const Values values(schedule, InputKind::exact, draw);
  for (int round = 0; round < 2; ++round) {
    fill(*execution, plan, values);
    for (std::int32_t set = 0; set < options.sets; ++set) execution->run();
    const ValueReport report = check(*execution, plan, values);
    if (!report.right() || report.unlike_ranks != 0)
      return std::to_string(report.wrong) + " of " + std::to_string(report.checked) + " wrong, " +
             std::to_string(report.unlike_ranks) + " unlike, " + std::to_string(report.input_changed) +
             " inputs changed, " + std::to_string(report.breaches.size()) + " guards";
  }
  return "";
}

// Every algorithm and collective of the registry, with datatypes, reductions and ways to run taking turns.
void run_registry(std::int32_t ranks) {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  Random random(static_cast<std::uint64_t>(ranks));
  std::int64_t runs = 0;
  for (const collsim::testing::Variant& variant : collsim::testing::variants())
    for (int turn = 0; turn < 4; ++turn) {
      const std::int64_t sizes[] = {ranks, 1001, 40000};
      Collective collective =
          collsim::testing::collective_of(variant.kind, sizes[random.below(3)], ranks,
                                          static_cast<Rank>(random.below(static_cast<std::uint64_t>(ranks))));
      const std::int64_t elements = collective.elements();
      collective.datatype = all_datatypes[random.below(std::size(all_datatypes))];
      collective.bytes = Bytes(elements * element_bytes(collective.datatype));
      collective.reduction = all_reductions[random.below(std::size(all_reductions))];
      const std::optional<Schedule> schedule = schedule_of(variant, collective, ranks);
      if (!schedule) continue;
      const std::uint64_t draw = random.below(32);
      const std::string text = variant.text() + ", " + std::to_string(elements) + " " +
                               std::string(name_of(collective.datatype)) + ", " +
                               std::string(name_of(collective.reduction)) + ", way " + std::to_string(draw);
      CAPTURE(text);
      CHECK(fault_of_run(*backend, *schedule, draw) == "");
      ++runs;
    }
  CHECK(runs > 0);
  MESSAGE(runs, " runs");
}

}  // namespace

TEST_CASE("The device combines as the CPU does, bit for bit") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  std::uint64_t seed = 0;
  for (const Datatype datatype : all_datatypes)
    for (const ReductionOp reduction : all_reductions) {
      const Plan plan = PiecesPlan(datatype, reduction).built();
      const AreaBytes before = random_numbers(plan, ++seed);
      PrepareOptions options;
      options.graph = seed % 2 == 0;
      options.misalignment = seed % 3 == 0 ? element_bytes(datatype) : 0;
      const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
      upload_all(*execution, before);
      execution->run();
      CAPTURE(name_of(datatype));
      CAPTURE(name_of(reduction));
      CHECK(difference(datatype, download_all(*execution, plan), combined_on_cpu(plan, before)) == "");
      CHECK(execution->breaches().empty());
    }
}

TEST_CASE("NaN, infinities and zeros are combined as elements are") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  const double specials[] = {NAN, INFINITY, -INFINITY, 0.0, 1.0, -3.0, 1e-7, 400.0};
  for (const Datatype datatype : all_datatypes) {
    if (!is_float(datatype)) continue;
    const std::int64_t size = element_bytes(datatype);
    for (const ReductionOp reduction : all_reductions) {
      Plan plan;
      plan.collective.datatype = datatype;
      plan.collective.reduction = reduction;
      for (int area = 0; area < 3; ++area) plan.areas.push_back({AreaKind::staging, 0, 64 * size});
      plan.places = {{0, 0}, {1, 0}, {2, 0}};
      Task task;
      task.kind = TaskKind::combine;
      task.sources = 2;
      task.destinations = 1;
      task.stream = 0;
      task.bytes = 64 * size;
      plan.tasks = {task};
      AreaBytes before(3, std::vector<std::byte>(static_cast<std::size_t>(64 * size)));
      for (std::size_t i = 0; i < 64; ++i) {
        store_element(datatype, specials[i / 8], before[0].data() + i * static_cast<std::size_t>(size));
        store_element(datatype, specials[i % 8], before[1].data() + i * static_cast<std::size_t>(size));
      }
      const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
      upload_all(*execution, before);
      execution->run();
      const AreaBytes after = download_all(*execution, plan);
      for (std::size_t i = 0; i < 64 * static_cast<std::size_t>(size); i += static_cast<std::size_t>(size)) {
        std::byte expected[8];
        combine_elements(datatype, reduction, before[0].data() + i, before[1].data() + i, expected);
        const double found = element_value(datatype, after[2].data() + i);
        const double wanted = element_value(datatype, expected);
        CAPTURE(name_of(datatype));
        CAPTURE(name_of(reduction));
        CAPTURE(i);
        CHECK((std::isnan(wanted) ? std::isnan(found) : found == wanted));
      }
    }
  }
}

TEST_CASE("The device divides as the CPU does, bit for bit") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  for (const Datatype datatype : all_datatypes)
    for (const std::int32_t divisor : {1, 2, 3, 7, 48, 1000}) {
      const std::int64_t size = element_bytes(datatype);
      Plan plan;
      plan.ranks = divisor;
      plan.collective.datatype = datatype;
      plan.collective.reduction = ReductionOp::avg;
      std::int64_t end = 0;
      for (const std::int64_t elements : {1, 2, 5, 16, 100, 4097, 20001})
        for (const std::int64_t shift : {0, 1, 3}) {
          Task task;
          task.kind = TaskKind::divide;
          task.bytes = elements * size;
          task.first_place = static_cast<std::int32_t>(plan.places.size());
          plan.places.push_back({0, end + shift * size});
          plan.tasks.push_back(task);
          end += (task.bytes + 3 * size + 255) / 256 * 256;
        }
      plan.areas = {{AreaKind::output, 0, end}};
      AreaBytes bytes = random_numbers(plan, static_cast<std::uint64_t>(divisor));
      const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
      upload_all(*execution, bytes);
      execution->run();
      for (const Task& task : plan.tasks)
        divide_on_cpu(bytes[0].data() + plan.places_of(task)[0].offset, task.bytes, datatype, divisor);
      CAPTURE(name_of(datatype));
      CAPTURE(divisor);
      CHECK(difference(datatype, download_all(*execution, plan), bytes) == "");
      CHECK(execution->breaches().empty());
    }
}

TEST_CASE("The registry on the device: 1 rank") { run_registry(1); }
TEST_CASE("The registry on the device: 2 ranks") { run_registry(2); }
TEST_CASE("The registry on the device: 3 ranks") { run_registry(3); }
TEST_CASE("The registry on the device: 5 ranks") { run_registry(5); }
TEST_CASE("The registry on the device: 8 ranks") { run_registry(8); }

TEST_CASE("Random plans on the device leave what the CPU leaves, again and again") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  const Datatype datatypes[] = {Datatype::int8, Datatype::int32, Datatype::uint64};
  const ReductionOp reductions[] = {ReductionOp::sum, ReductionOp::prod, ReductionOp::max};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    RandomPlanShape shape;
    shape.ranks = 1 + static_cast<std::int32_t>(random.below(8));
    shape.streams = 1 + static_cast<std::int32_t>(random.below(8));
    shape.tasks = 1 + static_cast<std::int32_t>(random.below(150));
    shape.bytes = 8 * (1 + static_cast<std::int64_t>(random.below(seed % 4 == 0 ? 40000 : 50)));
    const Plan plan = random_plan(shape, datatypes[seed % 3], reductions[random.below(3)], seed);
    const AreaBytes before = random_bytes(plan, seed);
    PrepareOptions options;
    options.graph = seed % 2 == 0;
    const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
    upload_all(*execution, before);
    CAPTURE(seed);
    execution->run();
    CHECK(download_all(*execution, plan) == expected_bytes(plan, before));
    for (int i = 1; i < 10; ++i) execution->run();
    CHECK(download_all(*execution, plan) == expected_bytes(plan, before, 10));
    upload_all(*execution, before);
    for (const OrderKind kind : {OrderKind::as_planned, OrderKind::latest_first, OrderKind::random})
      execution->run_in_order(order_of(plan, kind, seed));
    CHECK(download_all(*execution, plan) == expected_bytes(plan, before, 3));
    CHECK(execution->breaches().empty());
  }
}

TEST_CASE("A long exchange on the device keeps its order and takes time") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  MESSAGE(backend->description());
  RandomPlanShape shape;
  shape.ranks = 2;
  shape.streams = 2;
  shape.tasks = 3000;
  shape.slots = 2;
  shape.bytes = 4096;
  const Plan plan = random_plan(shape, Datatype::uint32, ReductionOp::sum, 11);
  const AreaBytes before = random_bytes(plan, 12);
  for (const bool graph : {true, false}) {
    PrepareOptions options;
    options.graph = graph;
    const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
    upload_all(*execution, before);
    CHECK(execution->run() > Duration());
    CHECK(download_all(*execution, plan) == expected_bytes(plan, before));
  }
}

TEST_CASE("The device's guards show what is written past an area") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  Plan plan;
  plan.collective.datatype = Datatype::int8;
  plan.areas = {{AreaKind::output, 0, 100}, {AreaKind::staging, 0, 100}};
  plan.places = {{0, 0}, {1, 50}};
  Task task;
  task.kind = TaskKind::combine;
  task.sources = 1;
  task.destinations = 1;
  task.stream = 0;
  task.bytes = 100;
  plan.tasks = {task};
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  CHECK(execution->breaches().empty());
  upload_all(*execution, random_bytes(plan, 3));
  CHECK(execution->breaches().empty());
  execution->run();
  const std::vector<GuardBreach> breaches = execution->breaches();
  REQUIRE(breaches.size() == 1);
  CHECK(breaches[0].area == 1);
  CHECK_FALSE(breaches[0].before);
  CHECK(breaches[0].offset >= 100);
  CHECK(breaches[0].offset < 110);
}

TEST_CASE("Areas larger than the device are an error of memory, and the next ones fit") {
  if (!has_device()) return;
  const std::unique_ptr<Backend> backend = cuda_backend();
  Plan plan;
  plan.areas = {{AreaKind::output, 0, backend->free_bytes() + (std::int64_t{1} << 30)}};
  try {
    backend->prepare(plan, {});
    FAIL("more than all memory was prepared");
  } catch (const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::memory);
    CHECK(std::string(error.what()).find("GiB") != std::string::npos);
  }
  plan.areas[0].bytes = 1 << 20;
  CHECK(backend->prepare(plan, {})->run() >= Duration());
}

TEST_CASE("NCCL is timed where there are several devices and the library") {
  if (!has_device()) return;
  const int devices = cuda_backend()->devices();
  try {
    const Duration time = nccl_all_reduce_time(1 << 20, 1, 3);
    CHECK(time > Duration());
    CHECK(devices > 1);
  } catch (const DeviceError& error) {
    CHECK(error.kind() == DeviceError::Kind::missing);
    if (devices == 1)
      CHECK(std::string(error.what()) == "NCCL needs at least 2 GPUs to compare with; there is 1");
    MESSAGE(error.what());
  }
}
