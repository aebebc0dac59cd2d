#include "sim/core/quantity_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/random.hpp"

using namespace collsim;

namespace {

// The value in base units as text, or "message | expected | hint".
template <class Quantity, class Count>
std::string shown(const std::variant<Quantity, QuantityError>& result, Count count) {
  if (const auto* quantity = std::get_if<Quantity>(&result)) return std::to_string(count(*quantity));
  const QuantityError& error = std::get<QuantityError>(result);
  return error.message + " | " + error.expected + " | " + error.hint;
}
std::string size_of(std::string_view text) {
  return shown(bytes_from_text(text), [](Bytes size) { return size.count(); });
}
std::string rate_of(std::string_view text) {
  return shown(bandwidth_from_text(text), [](Bandwidth rate) { return rate.bytes_per_second(); });
}
std::string time_of(std::string_view text) {
  return shown(duration_from_text(text), [](Duration time) { return time.picoseconds(); });
}

const std::string all_sizes = "one of B, kB, KiB, MB, MiB, GB, GiB, TB, TiB";
const std::string all_rates =
    "one of bit/s, B/s, kbit/s, kB/s, KiB/s, Mbit/s, MB/s, MiB/s, Gbit/s, GB/s, GiB/s, Tbit/s, TB/s, TiB/s";
const std::string all_times = "one of ps, ns, us, ms, s";

}  // namespace

TEST_CASE("Sizes are read in every unit") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"7 B", "7"},
      {"3 kB", "3000"},
      {"3 KiB", "3072"},
      {"2 MB", "2000000"},
      {"8 MiB", "8388608"},
      {"1 GB", "1000000000"},
      {"1 GiB", "1073741824"},
      {"1 TB", "1000000000000"},
      {"1 TiB", "1099511627776"},
      {"8MiB", "8388608"},
      {"  8   MiB  ", "8388608"},
      {"0 B", "0"},
      {"1.5 KiB", "1536"},
      {"0.001 kB", "1"},
      {"1.50000000000000000000000000000000 kB", "1500"},
      {"00012 B", "12"},
      {"0.0009765625 KiB", "1"},
      {"9223372036854775807 B", "9223372036854775807"}};
  for (const auto& row : table) CHECK_MESSAGE(size_of(row.first) == row.second, row.first);
}

TEST_CASE("Bandwidths are read in every unit") {
  const std::vector<std::pair<std::string, std::string>> table = {{"8 bit/s", "1"},
                                                                  {"5 B/s", "5"},
                                                                  {"8 kbit/s", "1000"},
                                                                  {"5 kB/s", "5000"},
                                                                  {"1 KiB/s", "1024"},
                                                                  {"100 Mbit/s", "12500000"},
                                                                  {"5 MB/s", "5000000"},
                                                                  {"1 MiB/s", "1048576"},
                                                                  {"400 Gbit/s", "50000000000"},
                                                                  {"450 GB/s", "450000000000"},
                                                                  {"1 GiB/s", "1073741824"},
                                                                  {"1.6 Tbit/s", "200000000000"},
                                                                  {"1.2 TB/s", "1200000000000"},
                                                                  {"1 TiB/s", "1099511627776"},
                                                                  {"370.67 GB/s", "370670000000"},
                                                                  {"400Gbit/s", "50000000000"}};
  for (const auto& row : table) CHECK_MESSAGE(rate_of(row.first) == row.second, row.first);
}

TEST_CASE("Times are read in every unit") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"7 ps", "7"},          {"500 ns", "500000"},     {"1.25 us", "1250000"},
      {"2 ms", "2000000000"}, {"1 s", "1000000000000"}, {"0 ns", "0"},
      {"0.001 ns", "1"},      {"936.25 ns", "936250"}};
  for (const auto& row : table) CHECK_MESSAGE(time_of(row.first) == row.second, row.first);
}

TEST_CASE("Every listed unit is read, and only by its own kind") {
  for (const std::string& unit : size_units())
    CHECK(std::holds_alternative<Bytes>(bytes_from_text("8 " + unit)));
  for (const std::string& unit : bandwidth_units())
    CHECK(std::holds_alternative<Bandwidth>(bandwidth_from_text("8 " + unit)));
  for (const std::string& unit : time_units()) {
    CHECK(std::holds_alternative<Duration>(duration_from_text("8 " + unit)));
    CHECK(std::holds_alternative<QuantityError>(bytes_from_text("8 " + unit)));
  }
}

TEST_CASE("A wrong size has its own message for every mistake") {
  CHECK(size_of("500") == "'500' has no unit | such as '500 MiB' | ");
  CHECK(size_of("123456789012345678901") == "'123456789012345678901' has no unit | such as '8 MiB' | ");
  CHECK(size_of("8 M") ==
        "'8 M': the unit 'M' is ambiguous | MB (powers of 1000) or MiB (powers of 1024) | ");
  CHECK(size_of("8 K") ==
        "'8 K': the unit 'K' is ambiguous | kB (powers of 1000) or KiB (powers of 1024) | ");
  CHECK(size_of("8 k") ==
        "'8 k': the unit 'k' is ambiguous | kB (powers of 1000) or KiB (powers of 1024) | ");
  CHECK(size_of("5 us") == "'5 us' is a time, not a size | such as '8 MiB' | ");
  CHECK(size_of("5 GB/s") == "'5 GB/s' is a bandwidth, not a size | such as '8 MiB' | ");
  CHECK(size_of("5 MIB") == "'5 MIB' has the unknown unit 'MIB' | " + all_sizes + " | MiB");
  CHECK(size_of("5 furlongs") == "'5 furlongs' has the unknown unit 'furlongs' | " + all_sizes + " | ");
  CHECK(size_of("-8 MiB") == "'-8 MiB' is negative | such as '8 MiB' | ");
  CHECK(size_of("9223372036854775808 B") == "'9223372036854775808 B' is too large | such as '8 MiB' | ");
  CHECK(size_of("9999999999999999999999 TiB") ==
        "'9999999999999999999999 TiB' is too large | such as '8 MiB' | ");
  CHECK(size_of("99999999999999999999999999 B") ==
        "'99999999999999999999999999 B' has too many digits | such as '8 MiB' | ");
  CHECK(size_of("0.0000000000000000000000001 B") ==
        "'0.0000000000000000000000001 B' has too many digits | such as '8 MiB' | ");
  CHECK(size_of("0.5 B") == "'0.5 B' has a fraction of a byte | a whole number of bytes | ");
  CHECK(size_of("1.3 KiB") == "'1.3 KiB' has a fraction of a byte | a whole number of bytes | ");
}

TEST_CASE("What is no number is no size") {
  for (const std::string text :
       {"", " ", "MiB", "abc", ".5 MiB", "1. MiB", "1.2.3 MiB", "1,5 MiB", "1e3 B", "1E+3 B", "1_000 B",
        "1 000 B", "+1 B", "--1 B", "- 1 B", "0x10 B", "nan", "inf B", "\xff"})
    if (text == "0x10 B")
      CHECK(size_of(text) == "'0x10 B' has the unknown unit 'x10 B' | " + all_sizes + " | ");
    else
      CHECK(size_of(text) == "'" + text + "' is not a size | such as '8 MiB' | ");
}

TEST_CASE("A wrong bandwidth has its own message for every mistake") {
  CHECK(rate_of("400") == "'400' has no unit | such as '400 Gbit/s' | ");
  CHECK(rate_of("400 G") == "'400 G': the unit 'G' is ambiguous | GB/s or Gbit/s | ");
  CHECK(rate_of("400 GB") == "'400 GB' is a size, not a bandwidth | such as '400 Gbit/s' | ");
  CHECK(rate_of("400 ns") == "'400 ns' is a time, not a bandwidth | such as '400 Gbit/s' | ");
  CHECK(rate_of("400 Gb/s") == "'400 Gb/s' has the unknown unit 'Gb/s' | " + all_rates + " | Gbit/s");
  CHECK(rate_of("400 Gbps") == "'400 Gbps' has the unknown unit 'Gbps' | " + all_rates + " | Gbit/s");
  CHECK(rate_of("50 GBps") == "'50 GBps' has the unknown unit 'GBps' | " + all_rates + " | GB/s");
  CHECK(rate_of("50 Kbps") == "'50 Kbps' has the unknown unit 'Kbps' | " + all_rates + " | kbit/s");
  CHECK(rate_of("50 gbit/s") == "'50 gbit/s' has the unknown unit 'gbit/s' | " + all_rates + " | Gbit/s");
  CHECK(rate_of("1 bit/s") ==
        "'1 bit/s' has a fraction of a byte per second | a whole number of bytes per second | ");
  CHECK(rate_of("-1 GB/s") == "'-1 GB/s' is negative | such as '400 Gbit/s' | ");
  CHECK(rate_of("fast") == "'fast' is not a bandwidth | such as '400 Gbit/s' | ");
  CHECK(rate_of("10000000000 GB/s") == "'10000000000 GB/s' is too large | such as '400 Gbit/s' | ");
}

TEST_CASE("A wrong time has its own message for every mistake") {
  CHECK(time_of("500") == "'500' has no unit | such as '500 ns' | ");
  CHECK(time_of("5 m") == "'5 m' has the unknown unit 'm' | " + all_times + " | ms");
  CHECK(time_of("5 MiB") == "'5 MiB' is a size, not a time | such as '500 ns' | ");
  CHECK(time_of("5 M") == "'5 M' has the unknown unit 'M' | " + all_times + " | s");
  CHECK(time_of("-5 ns") == "'-5 ns' is negative | such as '500 ns' | ");
  CHECK(time_of("0.0001 ns") ==
        "'0.0001 ns' has a fraction of a picosecond | a whole number of picoseconds | ");
  CHECK(time_of("10000000 s") == "'10000000 s' is too large | such as '500 ns' | ");
  CHECK(time_of("soon") == "'soon' is not a time | such as '500 ns' | ");
}

TEST_CASE("quoted shows what a terminal can show, and not too much of it") {
  CHECK(quoted("a\x1b[31m\n\tb\x7f") == "'a?[31m??b?'");
  CHECK(quoted(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(quoted(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
  CHECK(quoted(std::string(59, 'x') + "\xc3\xa9y") == "'" + std::string(59, 'x') + "...'");  // no half letter
}

TEST_CASE("Sizes are written with the largest unit that divides them") {
  CHECK(text_from(Bytes(0)) == "0 B");
  CHECK(text_from(Bytes(8 << 20)) == "8 MiB");
  CHECK(text_from(Bytes(std::int64_t{1} << 30)) == "1 GiB");
  CHECK(text_from(Bytes(std::int64_t{3} << 42)) == "12 TiB");
  CHECK(text_from(Bytes(1'025 * 1'024)) == "1025 KiB");
  CHECK(text_from(Bytes(1'000)) == "1 kB");
  CHECK(text_from(Bytes(64'000'000)) == "62500 KiB");
  CHECK(text_from(Bytes(1'001)) == "1001 B");
  CHECK(text_from(Bytes(-1'024)) == "-1 KiB");
}

TEST_CASE("A size that is written is read back the same") {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::int64_t count = static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(60)));
    if (random.below(2) == 0) count &= ~std::int64_t{0xfffff};
    CHECK(size_of(text_from(Bytes(count))) == std::to_string(count));
  }
}

TEST_CASE("Times are written for people, rounded to two decimals") {
  const std::vector<std::pair<std::int64_t, std::string>> table = {
      {0, "0 ns"},
      {1, "1 ps"},
      {999, "999 ps"},
      {1'000, "1.00 ns"},
      {1'005, "1.01 ns"},
      {1'004, "1.00 ns"},
      {500'000, "500.00 ns"},
      {999'994, "999.99 ns"},
      {999'996, "1.00 us"},
      {160'800'640, "160.80 us"},
      {589'259'520, "589.26 us"},
      {1'343'177'280, "1.34 ms"},
      {2'000'000'000'000, "2.00 s"},
      {-1'500, "-1.50 ns"},
      {std::numeric_limits<std::int64_t>::max(), "9223372.04 s"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372.04 s"}};
  for (const auto& [count, expected] : table) CHECK(text_from(Duration::picoseconds(count)) == expected);
}

TEST_CASE("Bandwidths are written for people, without trailing zeros") {
  const std::vector<std::pair<std::int64_t, std::string>> table = {{0, "0 B/s"},
                                                                   {1, "1 B/s"},
                                                                   {1'500, "1.5 kB/s"},
                                                                   {12'500'000, "12.5 MB/s"},
                                                                   {450'000'000'000, "450 GB/s"},
                                                                   {12'500'000'000, "12.5 GB/s"},
                                                                   {370'670'000'000, "370.67 GB/s"},
                                                                   {1'200'000'000'000, "1.2 TB/s"},
                                                                   {999'999'999, "1 GB/s"},
                                                                   {100'000'000'000, "100 GB/s"}};
  for (const auto& [count, expected] : table)
    CHECK(text_from(Bandwidth::bytes_per_second(count)) == expected);
}
