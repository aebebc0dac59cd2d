// Parts of the program that no command line can reach, from inside.
#include <doctest/doctest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <vector>

#include "experiments/outcome.hpp"
#include "experiments/parallel.hpp"
#include "experiments/program.hpp"
#include "sim/core/check.hpp"

namespace collsim::program {

TEST_SUITE_BEGIN("experiments");

TEST_CASE("guarded gives the exit code of the command, or that of what it throws") {
  CHECK(guarded([] { return ExitCode::done; }) == 0);
  CHECK(guarded([] { return ExitCode::negative; }) == 1);
  CHECK(guarded([]() -> ExitCode { throw Stop{ExitCode::usage, ""}; }) == 2);
  CHECK(guarded([]() -> ExitCode { throw Stop{ExitCode::bad_input, ""}; }) == 65);
  CHECK(guarded([]() -> ExitCode { throw Stop{ExitCode::no_input, ""}; }) == 66);
  CHECK(guarded([]() -> ExitCode { throw InternalError("test of a broken invariant"); }) == 70);
  CHECK(guarded([]() -> ExitCode { throw std::runtime_error("test of an unexpected exception"); }) == 70);
  CHECK(guarded([]() -> ExitCode { throw std::bad_alloc(); }) == 75);
}

TEST_CASE(
    "outcome_of is negative for deadlocks, failed proofs and too many impossible points, limits first") {
  const auto outcome = [](const std::vector<PointStatus>& statuses, std::size_t impossible_max) {
    std::vector<Point> points(statuses.size());
    for (std::size_t i = 0; i < statuses.size(); ++i) points[i].status = statuses[i];
    return outcome_of(points, impossible_max);
  };
  using enum PointStatus;
  CHECK(outcome({ok, ok}, 0) == ExitCode::done);
  CHECK(outcome({ok, impossible}, 0) == ExitCode::negative);
  CHECK(outcome({ok, impossible}, 1) == ExitCode::done);
  CHECK(outcome({impossible, impossible}, 1) == ExitCode::negative);
  CHECK(outcome({ok, deadlock}, 1) == ExitCode::negative);
  CHECK(outcome({ok, unproven}, 1) == ExitCode::negative);
  CHECK(outcome({deadlock, limit}, 1) == ExitCode::limit);
}

TEST_CASE("overrides_of takes the first '=' as the separator and refuses what has none") {
  Options options;
  options.settings = {"cluster.nodes=8", "algorithm={name: ring, a=b}"};
  options.seed = 7;
  const std::vector<Override> overrides = overrides_of(options);
  REQUIRE(overrides.size() == 3);
  CHECK(overrides[0].key == "cluster.nodes");
  CHECK(overrides[0].value == "8");
  CHECK(overrides[1].value == "{name: ring, a=b}");
  CHECK(overrides[2].key == "seed");
  CHECK(overrides[2].value == "7");
  options.settings = {"cluster.nodes"};
  CHECK_THROWS_AS(overrides_of(options), Stop);
}

TEST_CASE("for_each_index calls every index once, whatever the number of threads") {
  for (const std::size_t threads : {1U, 2U, 3U, 50U}) {
    for (const std::size_t count : {0U, 1U, 2U, 17U}) {
      CAPTURE(threads);
      CAPTURE(count);
      std::vector<std::atomic<int>> calls(count);
      for_each_index(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const auto& each : calls) CHECK(each == 1);
    }
  }
}

TEST_CASE("for_each_index throws again what a call threw, after all threads have ended") {
  for (const std::size_t threads : {1U, 4U}) {
    CAPTURE(threads);
    CHECK_THROWS_AS(for_each_index(100, threads,
                                   [](std::size_t i) {
                                     if (i == 3) throw InternalError("index 3");
                                   }),
                    InternalError);
  }
}

TEST_SUITE_END();

}  // namespace collsim::program
