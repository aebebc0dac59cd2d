// Every algorithm on every cluster and with drawn options, at sizes where tails, slices and slots matter.
#include <doctest/doctest.h>

#include "tests/kernels/matrix.hpp"

namespace collsim::kernels::testing {
namespace {

// What reduces, `times` times, each with another datatype and reduction.
void run_large(Matrix& matrix, std::int32_t ranks, int times) {
  for (const Entry& entry : registry_entries(ranks))
    for (int i = 0; i < (reduces(entry.kind) ? times : 1); ++i) matrix.run_next(entry, 1 << 20);
}

}  // namespace

TEST_CASE("Every algorithm is right at 1 MiB and a tail on 1 to 5 ranks") {
  Matrix matrix(1);
  for (const std::int32_t ranks : {1, 2, 3, 5}) run_large(matrix, ranks, 2);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 744);
  CHECK(matrix.pairs_reduced() == 60);
  CHECK(matrix.fewest_of_a_pair() >= 8);
}

TEST_CASE("Every algorithm is right at 1 MiB and a tail on 8 ranks") {
  Matrix matrix(2);
  run_large(matrix, 8, 2);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 188);
}

TEST_CASE("Every algorithm is right at 1 MiB and a tail on 16 ranks") {
  Matrix matrix(3);
  run_large(matrix, 16, 1);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 125);
}

TEST_CASE("Every algorithm is right on every cluster with drawn options") {
  Matrix matrix(4);
  for (const std::int32_t ranks : rank_counts)
    for (const Entry& entry : registry_entries_everywhere(ranks, 7)) matrix.run_next(entry, 2000);
  CHECK(matrix.faults() == "");
  CHECK(matrix.combinations() >= 2542);
  CHECK(matrix.fewest_of_a_pair() >= 21);
}

TEST_CASE("Random values stay within the bound of each schedule") {
  Matrix matrix(5);
  for (const std::int32_t ranks : rank_counts)
    for (const Entry& entry : registry_entries(ranks))
      if (reduces(entry.kind))
        for (int i = 0; i < 3; ++i) matrix.run_next_random(entry, 3000);
  CHECK(matrix.faults() == "");
  CHECK(matrix.random_runs() >= 330);
}

}  // namespace collsim::kernels::testing
