// Every algorithm computes what it promises, on real buffers: collectives x reductions x datatypes x ranks.
#include <doctest/doctest.h>

#include <variant>

#include "sim/model/proof.hpp"
#include "tests/kernels/matrix.hpp"
#include "tests/support/requests.hpp"

namespace collsim::kernels::testing {
namespace {

// A schedule in which somebody does not add what has come, but takes it for the result.
algorithms::ScheduleOrReason forgetful(const Entry& entry, const Collective& collective) {
  auto made = entry.make(collective);
  if (auto* schedule = std::get_if<Schedule>(&made))
    for (Program& program : schedule->programs)
      for (Loop& loop : program.loops)
        for (OperationTemplate& operation : loop.body)
          if (operation.kind == OperationKind::receive_reduce && !operation.from_source)
            operation.kind = OperationKind::receive;
  return made;
}

// Everything with elements of `width` bytes: one element, and an odd number of them.
void run_small(Matrix& matrix, int width) {
  for (const std::int32_t ranks : rank_counts)
    for (const Entry& entry : registry_entries(ranks))
      for (const std::int64_t elements : {1, 37}) matrix.run_all(entry, elements, width);
}

void run_made(Matrix& matrix, std::vector<Entry> (*entries)(std::int32_t)) {
  for (const std::int32_t ranks : rank_counts)
    for (const Entry& entry : entries(ranks)) {
      for (const int width : {1, 2, 4, 8}) {
        matrix.run_all(entry, ranks, width);
        matrix.run_all(entry, 6 * ranks, width);
      }
      matrix.run_all(entry, 514 * ranks, 4);
    }
}

}  // namespace

TEST_CASE("Every algorithm has an entry but forms that do not do a collective") {
  for (const std::int32_t ranks : rank_counts) {
    CAPTURE(ranks);
    const std::size_t entries = registry_entries(ranks).size();
    const bool power_of_two = (ranks & (ranks - 1)) == 0;
    // pairwise xor needs a power of two; swing and hierarchical have two and five that are never possible
    CHECK(collsim::testing::variants().size() - entries == (power_of_two ? 7 : 10));
    CHECK(entries >= 122);
    CHECK(registry_entries_everywhere(ranks, 7).size() >= entries * (ranks == 1 ? 1 : 2));
  }
}

TEST_CASE("Schedules that forget contributions are found wrong") {
  std::int64_t schedules = 0;
  std::int64_t combinations = 0;
  for (const Entry& entry : registry_entries(8)) {
    if (!reduces(entry.kind)) continue;
    Entry wrong = entry;
    wrong.make = [&entry](const Collective& collective) { return forgetful(entry, collective); };
    Collective collective = collsim::testing::collective_of(entry.kind, 64, entry.ranks);
    auto made = wrong.make(collective);
    if (!std::holds_alternative<Schedule>(made) || prove(std::get<Schedule>(made)).proven) continue;
    CAPTURE(entry.text);
    ++schedules;
    for (const int width : {1, 2, 4, 8}) {
      Matrix matrix(static_cast<std::uint64_t>(width));
      matrix.plain_plans_only();
      matrix.run_all(wrong, 37, width);
      CHECK(matrix.wrong_combinations() == matrix.combinations());
      combinations += matrix.combinations();
    }
  }
  CHECK(schedules >= 55);
  CHECK(combinations == 60 * schedules);
}

TEST_CASE("Every algorithm is right for every reduction of elements of 1 byte") {
  Matrix matrix(1);
  run_small(matrix, 1);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 17984);
  CHECK(matrix.pairs_reduced() == 20);
}

TEST_CASE("Every algorithm is right for every reduction of elements of 2 bytes") {
  Matrix matrix(2);
  run_small(matrix, 2);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 8992);
  CHECK(matrix.pairs_reduced() == 10);
}

TEST_CASE("Every algorithm is right for every reduction of elements of 4 bytes") {
  Matrix matrix(3);
  run_small(matrix, 4);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 13488);
  CHECK(matrix.pairs_reduced() == 15);
}

TEST_CASE("Every algorithm is right for every reduction of elements of 8 bytes") {
  Matrix matrix(4);
  run_small(matrix, 8);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 13488);
  CHECK(matrix.pairs_reduced() == 15);
}

TEST_CASE("Synthesized schedules are right for every reduction and datatype") {
  Matrix matrix(5);
  run_made(matrix, synthesized_entries);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 4590);
  CHECK(matrix.pairs_reduced() == 60);
}

TEST_CASE("MSCCL files are right for every reduction and datatype") {
  Matrix matrix(6);
  run_made(matrix, file_entries);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 2244);
  CHECK(matrix.pairs_reduced() == 60);
}

}  // namespace collsim::kernels::testing
