// The host code of the CUDA backend on a runtime in plain C++ (fake_cuda.hpp): streams, events, graphs,
// memory, errors. What it cannot show is what a device does.
#include <doctest/doctest.h>

#include <string>

#include "kernels/backend.hpp"
#include "tests/kernels/fake_cuda.hpp"
#include "tests/kernels/random_plans.hpp"
#include "tests/kernels/run_plans.hpp"

using namespace collsim;
using namespace collsim::kernels;
using namespace collsim::kernels::testing;

namespace {

FakeCudaSettings with_devices(int devices, std::uint64_t seed = 1) {
  FakeCudaSettings settings;
  settings.devices = devices;
  settings.seed = seed;
  return settings;
}

PrepareOptions without_graph() {
  PrepareOptions options;
  options.graph = false;
  return options;
}

Plan drawn_plan(std::uint64_t seed, std::int32_t ranks = 4) {
  Random random(seed);
  RandomPlanShape shape;
  shape.ranks = ranks;
  shape.streams = 1 + static_cast<std::int32_t>(random.below(12));
  shape.tasks = static_cast<std::int32_t>(random.below(70));
  return random_plan(shape, seed % 2 == 0 ? Datatype::int32 : Datatype::uint8, ReductionOp::sum, seed);
}

// One rank: the first word of its area becomes itself plus the second one.
Plan adding_plan(std::int64_t area_bytes = 64) {
  Plan plan;
  plan.collective.datatype = Datatype::int32;
  plan.areas = {{AreaKind::output, 0, area_bytes}};
  plan.output = {0};
  plan.input = {-1};
  plan.scratch = {-1};
  plan.places = {{0, 0}, {0, 4}, {0, 0}};
  Task task;
  task.kind = TaskKind::combine;
  task.sources = 2;
  task.destinations = 1;
  task.stream = 0;
  task.bytes = 4;
  plan.tasks = {task};
  return plan;
}

std::int32_t first_word(Execution& execution) {
  std::int32_t word = 0;
  execution.download(0, 0, std::as_writable_bytes(std::span(&word, 1)));
  return word;
}

void upload_words(Execution& execution, std::int32_t first, std::int32_t second) {
  const std::int32_t words[] = {first, second};
  execution.upload(0, 0, std::as_bytes(std::span(words)));
}

// Kind, text and detail of the error, or nothing.
template <class Function>
std::string error_of(Function function) {
  try {
    function();
    return "";
  } catch (const DeviceError& error) {
    const char* kinds[] = {"missing: ", "memory: ", "unsupported: ", "failed: "};
    return kinds[static_cast<int>(error.kind())] + std::string(error.what()) +
           (error.detail().empty() ? "" : "; " + error.detail());
  }
}

// Everything an execution can do, twice.
void do_everything(const Plan& plan, const AreaBytes& before, const PrepareOptions& options) {
  const std::unique_ptr<Backend> backend = cuda_backend();
  const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
  for (int i = 0; i < 2; ++i) {
    upload_all(*execution, before);
    execution->run();
    execution->run_in_order(planned_order(plan));
    download_all(*execution, plan);
    execution->breaches();
  }
}

}  // namespace

TEST_CASE("Random plans on streams leave what the CPU leaves") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    reset_fake_cuda(with_devices(1 + static_cast<int>(seed % 4), seed));
    const Plan plan = drawn_plan(seed);
    const AreaBytes before = random_bytes(plan, seed);
    PrepareOptions options;
    options.graph = seed % 3 != 0;
    options.misalignment = seed % 2 == 0 ? 4 : 1;
    CAPTURE(seed);
    {
      const std::unique_ptr<Backend> backend = cuda_backend();
      const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
      upload_all(*execution, before);
      execution->run();
      CHECK(download_all(*execution, plan) == expected_bytes(plan, before));
      execution->run();
      execution->run();
      CHECK(download_all(*execution, plan) == expected_bytes(plan, before, 3));
      execution->run_in_order(planned_order(plan));
      CHECK(download_all(*execution, plan) == expected_bytes(plan, before, 4));
      CHECK(execution->breaches().empty());
      CHECK(fake_cuda_graph_launches() == (options.graph ? 3 : 0));
    }
    CHECK(fake_cuda_leftovers() == "");
    CHECK(fake_cuda_device() == 0);
  }
}

TEST_CASE("A run may take other orders than the planned one, in which conflicts show") {
  // Two writers of one place without an order: with some seeds the other one comes last.
  Plan plan = adding_plan();
  plan.places = {{0, 4}, {0, 0}, {0, 8}, {0, 0}};
  Task task = plan.tasks[0];
  task.sources = 1;
  plan.tasks = {task, task};
  plan.tasks[1].first_place = 2;
  plan.tasks[1].stream = 1;
  int first_was_last = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    reset_fake_cuda(with_devices(1, seed));
    const std::unique_ptr<Backend> backend = cuda_backend();
    const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
    const std::int32_t words[] = {0, 1, 2};
    execution->upload(0, 0, std::as_bytes(std::span(words)));
    execution->run();
    if (first_word(*execution) == 1) ++first_was_last;
  }
  CHECK(first_was_last > 0);
  CHECK(first_was_last < 20);
}

TEST_CASE("Runs go from set to set, and a graph is made once for each") {
  for (const bool graph : {true, false}) {
    reset_fake_cuda(with_devices(1));
    const Plan plan = adding_plan();
    PrepareOptions options;
    options.sets = 3;
    options.graph = graph;
    const std::unique_ptr<Backend> backend = cuda_backend();
    const std::unique_ptr<Execution> execution = backend->prepare(plan, options);
    upload_words(*execution, 10, 1);
    for (int i = 0; i < 7; ++i) {
      execution->run();
      CHECK(first_word(*execution) == 11 + i / 3);
    }
    CHECK(fake_cuda_graph_launches() == (graph ? 7 : 0));
    CHECK(fake_cuda_launches() == 7 + 2);  // and two on trial
  }
}

TEST_CASE("A plan without work is a graph of one empty node") {
  reset_fake_cuda(with_devices(2));
  Plan plan = adding_plan();
  plan.tasks[0].kind = TaskKind::nothing;
  const std::unique_ptr<Backend> backend = cuda_backend();
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  upload_words(*execution, 5, 6);
  execution->run();
  CHECK(first_word(*execution) == 5);
  CHECK(fake_cuda_graph_launches() == 1);
  CHECK(fake_cuda_launches() == 0);
}

TEST_CASE("Divisions are by the number of ranks") {
  reset_fake_cuda(with_devices(1));
  Plan plan = adding_plan();
  plan.ranks = 3;
  plan.collective.reduction = ReductionOp::avg;
  Task divide;
  divide.kind = TaskKind::divide;
  divide.bytes = 4;
  divide.predecessor_count = 1;
  plan.predecessors = {0};
  plan.tasks.push_back(divide);
  const std::unique_ptr<Backend> backend = cuda_backend();
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  upload_words(*execution, 20, 10);
  execution->run();
  CHECK(first_word(*execution) == 10);
  upload_words(*execution, 4, 5);
  execution->run_in_order(planned_order(plan));
  CHECK(first_word(*execution) == 3);
}

TEST_CASE("What a backend says of its devices") {
  FakeCudaSettings settings = with_devices(3);
  reset_fake_cuda(settings);
  const std::unique_ptr<Backend> backend = cuda_backend();
  CHECK(why_no_cuda() == "");
  CHECK(backend->name() == "cuda");
  CHECK(backend->description() == "2 x Fake 0 (9.0), 1 x Fake 1 (9.0), driver 13.2");
  CHECK(backend->devices() == 3);
  CHECK(backend->cache_bytes() == 50 << 20);
  CHECK(backend->free_bytes() == std::int64_t{3} << 30);
}

TEST_CASE("No device, or one that is too old, is an error with its reason") {
  reset_fake_cuda(with_devices(0));
  CHECK(error_of(cuda_backend) ==
        "missing: there is no GPU that CUDA can use: an error of the fake (cudaErrorOfTheFake)");
  CHECK("missing: " + why_no_cuda() == error_of(cuda_backend));
  FakeCudaSettings settings = with_devices(1);
  settings.capability = 70;
  reset_fake_cuda(settings);
  CHECK(error_of(cuda_backend) ==
        "missing: device 0 is an Fake 0 (7.0); the kernels need compute capability 7.5 or later "
        "(CUDA_VISIBLE_DEVICES can leave it out)");
  CHECK(fake_cuda_device() == 0);
}

TEST_CASE("Areas that do not fit are an error before anything is allocated") {
  FakeCudaSettings settings = with_devices(2);
  settings.memory_bytes = std::int64_t{300} << 20;
  reset_fake_cuda(settings);
  const Plan plan = adding_plan(std::int64_t{50} << 20);
  const std::unique_ptr<Backend> backend = cuda_backend();
  CHECK(error_of([&] { backend->prepare(plan, {}); }) ==
        "memory: the buffers need 50.00 MiB on device 0 (Fake 0 (9.0)); 44.00 MiB are free there");
  CHECK(fake_cuda_leftovers() == "");
  CHECK(error_of([&] { backend->prepare(adding_plan(std::int64_t{40} << 20), {}); }) == "");
}

TEST_CASE("Guards show what a run wrote outside of its areas") {
  reset_fake_cuda(with_devices(1));
  Plan plan = adding_plan();
  plan.places = {{0, 0}, {0, 4}, {0, 66}};
  const std::unique_ptr<Backend> backend = cuda_backend();
  for (const std::int32_t misalignment : {0, 4}) {
    PrepareOptions options;
    options.misalignment = misalignment;
    plan.places[2].offset = 66;
    const std::unique_ptr<Execution> after = backend->prepare(plan, options);
    upload_words(*after, 5, 6);
    CHECK(after->breaches().empty());
    after->run();
    const std::vector<GuardBreach> breaches = after->breaches();
    REQUIRE(breaches.size() == 1);
    CHECK(breaches[0].area == 0);
    CHECK_FALSE(breaches[0].before);
    CHECK(breaches[0].offset == 66);
    plan.places[2].offset = -100;
    const std::unique_ptr<Execution> before = backend->prepare(plan, options);
    before->run();
    REQUIRE(before->breaches().size() == 1);
    CHECK(before->breaches()[0].before);
    CHECK(before->breaches()[0].offset == -100);
  }
}

TEST_CASE("Devices without access to each other copy, without a graph") {
  FakeCudaSettings settings = with_devices(4, 3);
  settings.ways.assign(16, 0);
  reset_fake_cuda(settings);
  RandomPlanShape shape;
  shape.ranks = 4;
  shape.copies_only = true;
  const Plan plan = random_plan(shape, Datatype::int64, ReductionOp::sum, 5);
  const AreaBytes before = random_bytes(plan, 6);
  const std::unique_ptr<Backend> backend = cuda_backend();
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  upload_all(*execution, before);
  execution->run();
  CHECK(download_all(*execution, plan) == expected_bytes(plan, before));
  execution->run_in_order(planned_order(plan));
  CHECK(download_all(*execution, plan) == expected_bytes(plan, before, 2));
  CHECK(fake_cuda_graph_launches() == 0);
  const std::string error = error_of([&] { backend->prepare(drawn_plan(2), {}); });
  CHECK(error.substr(0, 13) == "unsupported: ");
}

TEST_CASE("Any call may fail: errors by name, nothing left behind, the device restored") {
  const Plan plan = drawn_plan(4);
  const AreaBytes before = random_bytes(plan, 4);
  for (const bool lasting : {false, true})
    for (const bool graph : {false, true}) {
      const PrepareOptions options = graph ? PrepareOptions{} : without_graph();
      reset_fake_cuda(with_devices(2));
      fail_call(-1, false);
      do_everything(plan, before, options);
      const std::int64_t calls = calls_made();
      REQUIRE(calls > 100);
      std::int64_t silent = 0;
      for (std::int64_t call = 0; call < calls; call += call < 200 ? 1 : 7) {
        reset_fake_cuda(with_devices(2));
        fail_call(call, lasting);
        CAPTURE(call);
        const std::string error = error_of([&] { do_everything(plan, before, options); });
        CHECK((error.find("failed: ") == 0 || error.find("missing: ") == 0 || error.empty()));
        if (error.empty()) ++silent;
        CHECK(fake_cuda_leftovers() == "");
        CHECK(fake_cuda_device() == 0);
      }
      // Those that restore the device: what is asked of it next fails where that matters.
      CHECK(silent < 25);
    }
}

TEST_CASE("After a failure every call fails") {
  reset_fake_cuda(with_devices(1));
  const Plan plan = adding_plan();
  const std::unique_ptr<Backend> backend = cuda_backend();
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  upload_words(*execution, 1, 2);
  fail_call(5, false);
  const std::string first = error_of([&] { execution->run(); });
  CHECK(first.find("failed: ") == 0);
  CHECK(error_of([&] { execution->run(); }) == "failed: an earlier call failed: " + first.substr(8));
  CHECK(error_of([&] { execution->breaches(); }) == "failed: an earlier call failed: " + first.substr(8));
  CHECK(error_of([&] { execution->run_in_order(planned_order(plan)); }) != "");
  CHECK(error_of([&] { first_word(*execution); }) != "");
}
