#include "sim/report/ratio.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

TEST_CASE("decimal_text rounds half up, whatever the number of places") {
  CHECK(decimal_text({0, 1}, 2) == "0.00");
  CHECK(decimal_text({1, 1}, 0) == "1");
  CHECK(decimal_text({1, 8}, 2) == "0.13");
  CHECK(decimal_text({1, 8}, 3) == "0.125");
  CHECK(decimal_text({1, 3}, 6) == "0.333333");
  CHECK(decimal_text({2, 3}, 6) == "0.666667");
  CHECK(decimal_text({999, 1000}, 2) == "1.00");
  CHECK(decimal_text({5, 10}, 0) == "1");
  CHECK(decimal_text({160'800'640, 1'000'000}, 2) == "160.80");
}

TEST_CASE("decimal_text is exact where a double is not") {
  // 2^53 + 1 has no double.
  CHECK(decimal_text({9'007'199'254'740'993, 1}, 1) == "9007199254740993.0");
  const Int128 large = Int128{1} << 100;
  CHECK(decimal_text({large, large * 2}, 3) == "0.500");
  CHECK(decimal_text({large + large / 4, large}, 2) == "1.25");
}

TEST_CASE("decimal_text agrees with an independent rounding for random fractions") {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto numerator = static_cast<std::int64_t>(random.below(1'000'000));
    const auto denominator = static_cast<std::int64_t>(1 + random.below(1'000'000));
    // The hundredths h are right if |numerator / denominator - h / 100| <= 1 / 200.
    const std::string text = decimal_text({numerator, denominator}, 2);
    const std::size_t point = text.find('.');
    REQUIRE(point == text.size() - 3);
    const std::int64_t hundredths = std::atoll((text.substr(0, point) + text.substr(point + 1)).c_str());
    CHECK(std::abs(200 * numerator - 2 * hundredths * denominator) <= denominator);
  }
}

TEST_CASE("decimal_text refuses what no report contains") {
  CHECK_THROWS_AS(decimal_text({1, 0}, 1), InternalError);
  CHECK_THROWS_AS(decimal_text({-1, 2}, 1), InternalError);
  CHECK_THROWS_AS(decimal_text({1, 2}, 7), InternalError);
}

TEST_CASE("fitted_text gives up decimals to keep within the width") {
  CHECK(fitted_text({123'456, 1000}, 6) == "123.46");
  CHECK(fitted_text({1'234'567, 1000}, 6) == "1234.6");
  CHECK(fitted_text({12'345'678, 1000}, 6) == "12346");
  CHECK(fitted_text({1'234'567'890, 1000}, 6) == "1234568");
  CHECK(fitted_text({999'996, 1000}, 6) == "1000.0");
}

TEST_CASE("shortest_text reads back as the same double and is no longer than it has to be") {
  CHECK(shortest_text(0.5) == "0.5");
  CHECK(shortest_text(0.1) == "0.1");
  CHECK(shortest_text(52.16774461096225) == "52.16774461096225");
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Ratio ratio{static_cast<Int128>(random.next()), static_cast<Int128>(1 + random.below(1'000'000))};
    CHECK(std::strtod(shortest_text(ratio.value()).c_str(), nullptr) == ratio.value());
  }
}

TEST_SUITE_END();

}  // namespace collsim
