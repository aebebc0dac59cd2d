#include "sim/core/units.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "sim/core/random.hpp"

using namespace collsim;

namespace {

template <class A, class B, class = void>
struct Addable : std::false_type {};
template <class A, class B>
struct Addable<A, B, std::void_t<decltype(std::declval<A>() + std::declval<B>())>> : std::true_type {};

Duration ps(std::int64_t count) { return Duration::picoseconds(count); }

}  // namespace

TEST_CASE("Quantities of unlike kinds do not mix") {
  static_assert(!Addable<Instant, Instant>::value);
  static_assert(!Addable<Bytes, Duration>::value);
  static_assert(!std::is_convertible_v<int, Duration>);
  static_assert(!std::is_convertible_v<int, Bytes>);
  static_assert(Addable<Instant, Duration>::value);
  CHECK(Instant::picoseconds(5) + ps(3) - Instant::picoseconds(1) == ps(7));
}

TEST_CASE("Duration counts picoseconds, whatever the unit it was given in") {
  CHECK(Duration::nanoseconds(2) == ps(2'000));
  CHECK(Duration::microseconds(2) == ps(2'000'000));
  CHECK(ps(3) * 4 - ps(2) == ps(10));
  CHECK(ps(-1) < Duration());
  Duration sum = ps(1);
  sum += ps(2);
  CHECK(sum == ps(3));
}

TEST_CASE("transfer_time is bytes / rate in picoseconds, rounded up") {
  CHECK(transfer_time(Bytes(1), Bandwidth::bytes_per_second(1)) == ps(1'000'000'000'000));
  CHECK(transfer_time(Bytes(9), Bandwidth::gigabytes_per_second(450)) == ps(20));
  CHECK(transfer_time(Bytes(1), Bandwidth::gigabytes_per_second(450)) == ps(3));  // 20/9 = 2.2
  CHECK(transfer_time(Bytes(0), Bandwidth::gigabytes_per_second(1)) == ps(0));
  CHECK(transfer_time(Bytes(1), Bandwidth::bytes_per_second(std::numeric_limits<std::int64_t>::max())) ==
        ps(1));
}

TEST_CASE("transfer_time is the first picosecond at which the rate has carried the bytes") {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto size = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(40)));
    const auto rate =
        static_cast<std::int64_t>(1'000'000 + random.below(std::uint64_t{1} << random.below(43)));
    const std::int64_t time = transfer_time(Bytes(size), Bandwidth::bytes_per_second(rate)).picoseconds();
    const auto carried = [&](std::int64_t t) { return static_cast<Int128>(rate) * t; };
    const Int128 work = static_cast<Int128>(size) * picoseconds_per_second;
    CHECK(carried(time) >= work);
    if (time > 0) CHECK(carried(time - 1) < work);
  }
}
