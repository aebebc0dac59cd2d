#include "sim/core/random.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using namespace collsim;

// Reference outputs of SplitMix64 for seed 1234567 (the published C code of Vigna).
TEST_CASE("Random gives the reference sequence of SplitMix64") {
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
                                       4593380528125082431ULL, 16408922859458223821ULL})
    CHECK(random.next() == expected);
}

TEST_CASE("Random depends on its seed and on nothing else") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random a(seed);
    Random b(seed);
    Random other(seed + 1);
    const std::uint64_t first = a.next();
    CHECK(first == b.next());
    CHECK(first != other.next());
  }
}

TEST_CASE("Random::below stays below its bound, whatever the bound") {
  Random random(1);
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1000},
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}})
    for (int i = 0; i < 1000; ++i) {
      CAPTURE(bound);
      CHECK(random.below(bound) < bound);
    }
}

TEST_CASE("Random::below reaches every value about equally often") {
  constexpr int draws = 60'000;
  std::array<int, 6> seen = {};
  Random random(42);
  for (int i = 0; i < draws; ++i) ++seen[static_cast<std::size_t>(random.below(6))];
  for (const int count : seen) {
    CHECK(count > 9'500);  // 10,000 expected; five standard deviations are 456
    CHECK(count < 10'500);
  }
}
