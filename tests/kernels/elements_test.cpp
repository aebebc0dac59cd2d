// Elements: all bit patterns of the narrow floats against the definition of their formats, and rounding at
// and beside every midpoint.
#include "kernels/elements.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/element_types.hpp"
#include "sim/core/random.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

using Element = std::array<std::byte, 8>;

struct Format {
  Datatype datatype;
  int exponent_bits;
  int mantissa_bits;
  bool infinity;    // the exponent of all ones is not a number like others
  bool saturating;  // too large becomes the largest number
};
constexpr std::array<Format, 4> formats = {{{Datatype::float16, 5, 10, true, false},
                                            {Datatype::bfloat16, 8, 7, true, false},
                                            {Datatype::float8_e4m3, 4, 3, false, true},
                                            {Datatype::float8_e5m2, 5, 2, true, true}}};

std::uint32_t patterns(const Format& format) {
  return 1U << (1 + format.exponent_bits + format.mantissa_bits);
}

Element element_of_bits(std::uint32_t bits) {
  Element element{};
  const std::array<std::byte, 2> bytes = {static_cast<std::byte>(bits & 0xffU),
                                          static_cast<std::byte>(bits >> 8)};
  std::memcpy(element.data(), bytes.data(), 2);
  return element;
}

std::uint32_t bits_of(Datatype datatype, const Element& element) {
  std::uint32_t bits = std::to_integer<std::uint32_t>(element[0]);
  if (element_bytes(datatype) == 2) bits |= std::to_integer<std::uint32_t>(element[1]) << 8;
  return bits;
}

std::uint32_t stored(Datatype datatype, double value) {
  Element element{};
  store_element(datatype, value, element.data());
  return bits_of(datatype, element);
}

// The definition: (-1)^sign * 2^(exponent - bias) * 1.mantissa, and so on.
double defined_value(const Format& format, std::uint32_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<int>(bits & ((1U << format.mantissa_bits) - 1));
  const auto exponent = static_cast<int>((bits >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1));
  const double sign = bits >= patterns(format) / 2 ? -1 : 1;
  const int ones = (1 << format.exponent_bits) - 1;
  const bool all_ones = exponent == ones && mantissa == (1 << format.mantissa_bits) - 1;
  if (!format.infinity && all_ones) return std::numeric_limits<double>::quiet_NaN();
  if (format.infinity && exponent == ones)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
Element element_of(T value) {
  Element element{};
  std::memcpy(element.data(), &value, sizeof(T));
  return element;
}

template <class T>
T combined_as(Datatype datatype, ReductionOp reduction, T a, T b) {
  Element result = element_of(a);
  const Element other = element_of(b);
  combine_elements(datatype, reduction, result.data(), other.data(), result.data());  // in place
  T value;
  std::memcpy(&value, result.data(), sizeof(T));
  return value;
}

template <class T>
T divided_as(Datatype datatype, T value, std::int64_t divisor) {
  Element element = element_of(value);
  divide_element(datatype, divisor, element.data());
  std::memcpy(&value, element.data(), sizeof(T));
  return value;
}

std::string text(Datatype datatype, double value) {
  Element element{};
  store_element(datatype, value, element.data());
  return text_of_element(datatype, element.data());
}

}  // namespace

TEST_CASE("Every pattern of a narrow float has the value that its format defines") {
  for (const Format& format : formats) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < patterns(format); ++bits) {
      const Element element = element_of_bits(bits);
      wrong += same(element_value(format.datatype, element.data()), defined_value(format, bits)) ? 0 : 1;
    }
    CHECK_MESSAGE(wrong == 0, name_of(format.datatype));
  }
}

TEST_CASE("Every number of a narrow float is stored as it was") {
  for (const Format& format : formats) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < patterns(format); ++bits) {
      const double value = defined_value(format, bits);
      std::uint32_t expected = bits;
      if (std::isnan(value)) expected = patterns(format) / 2 - 1;
      if (std::isinf(value) && format.saturating) expected = bits - 1;
      wrong += stored(format.datatype, value) == expected ? 0 : 1;
    }
    CHECK_MESSAGE(wrong == 0, name_of(format.datatype));
  }
}

TEST_CASE("Values beside and at every midpoint are rounded to nearest and ties to even") {
  for (const Format& format : formats) {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits + 1 < patterns(format) / 2; ++bits) {
      const double low = defined_value(format, bits);
      const double high = defined_value(format, bits + 1);
      if (!std::isfinite(high)) break;
      const double middle = (low + high) / 2;  // exact: float64 has room
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      const std::uint32_t minus = patterns(format) / 2;
      wrong += stored(format.datatype, middle) == even ? 0 : 1;
      wrong += stored(format.datatype, -middle) == (even | minus) ? 0 : 1;
      wrong += stored(format.datatype, std::nextafter(middle, low)) == bits ? 0 : 1;
      wrong += stored(format.datatype, std::nextafter(middle, high)) == bits + 1 ? 0 : 1;
      // The same from float32, whose neighbours are further away.
      const auto as_float = static_cast<float>(middle);
      if (format.datatype == Datatype::float16) {
        wrong += narrowed<Float16>(as_float).bits == even ? 0 : 1;
        wrong += narrowed<Float16>(std::nextafter(as_float, 0.0F)).bits == bits ? 0 : 1;
      }
      if (format.datatype == Datatype::bfloat16) {
        wrong += narrowed<BFloat16>(as_float).bits == even ? 0 : 1;
        wrong += narrowed<BFloat16>(std::nextafter(as_float, 0.0F)).bits == bits ? 0 : 1;
        wrong += narrowed<BFloat16>(std::nextafter(as_float, std::numeric_limits<float>::infinity())).bits ==
                         bits + 1
                     ? 0
                     : 1;
      }
    }
    CHECK_MESSAGE(wrong == 0, name_of(format.datatype));
  }
}

TEST_CASE("From float32 and from float64 the same value is rounded alike") {
  Random random(1);
  int wrong = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::uint64_t drawn = random.next();
    const auto value = with_bits_of<float>(static_cast<std::uint32_t>(drawn));
    const double wide = value;
    wrong += narrowed_by_bits<Float16>(value).bits == narrowed_by_bits<Float16>(wide).bits ? 0 : 1;
    wrong += narrowed_by_bits<BFloat16>(value).bits == narrowed_by_bits<BFloat16>(wide).bits ? 0 : 1;
    wrong += narrowed_by_bits<Float8E4M3>(value).bits == narrowed_by_bits<Float8E4M3>(wide).bits ? 0 : 1;
    wrong += narrowed_by_bits<Float8E5M2>(value).bits == narrowed_by_bits<Float8E5M2>(wide).bits ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("What is too large becomes infinity or the largest number") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(stored(Datatype::float16, 65519.99) == 0x7bff);
  CHECK(stored(Datatype::float16, 65520) == 0x7c00);
  CHECK(stored(Datatype::float16, -1e300) == 0xfc00);
  CHECK(stored(Datatype::bfloat16, 3.39e38) == 0x7f7f);
  CHECK(stored(Datatype::bfloat16, 3.4e38) == 0x7f80);
  CHECK(stored(Datatype::float8_e4m3, 448) == 0x7e);
  CHECK(stored(Datatype::float8_e4m3, 480) == 0x7e);
  CHECK(stored(Datatype::float8_e4m3, infinity) == 0x7e);
  CHECK(stored(Datatype::float8_e5m2, 1e9) == 0x7b);
  CHECK(stored(Datatype::float8_e5m2, -infinity) == 0xfb);
  CHECK(stored(Datatype::float16, infinity) == 0x7c00);
}

TEST_CASE("A double is rounded once and not by way of float32") {
  // Just above the midpoint of 1 and the next float16, by less than float32 can tell.
  CHECK(stored(Datatype::float16, 1 + std::ldexp(1, -11) + std::ldexp(1, -40)) == 0x3c01);
  CHECK(stored(Datatype::float16, 1 + std::ldexp(1, -11)) == 0x3c00);
}

TEST_CASE("Integers are stored by truncation and wrap when combined") {
  Element element{};
  store_element(Datatype::int8, -3.9, element.data());
  CHECK(element_value(Datatype::int8, element.data()) == -3);
  CHECK(integer_element(Datatype::int8, element.data()) == 0xfffffffffffffffdULL);
  store_integer(Datatype::uint8, 0x1fe, element.data());
  CHECK(integer_element(Datatype::uint8, element.data()) == 0xfe);
  store_element(Datatype::uint64, 18446744073709549568.0, element.data());
  CHECK(integer_element(Datatype::uint64, element.data()) == 18446744073709549568ULL);

  CHECK(combined_as<std::int8_t>(Datatype::int8, ReductionOp::sum, 127, 1) == -128);
  CHECK(combined_as<std::int8_t>(Datatype::int8, ReductionOp::prod, -128, -1) == -128);
  CHECK(combined_as<std::int32_t>(Datatype::int32, ReductionOp::sum, 2'147'483'647, 2) == -2'147'483'647);
  CHECK(combined_as<std::int64_t>(Datatype::int64, ReductionOp::prod, std::int64_t{1} << 62, 2) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(combined_as<std::uint32_t>(Datatype::uint32, ReductionOp::prod, 0xffffffffU, 0xffffffffU) == 1);
  CHECK(combined_as<std::uint64_t>(Datatype::uint64, ReductionOp::avg, ~0ULL, 2) == 1);
  CHECK(combined_as<std::int8_t>(Datatype::int8, ReductionOp::min, -1, 1) == -1);
  CHECK(combined_as<std::uint8_t>(Datatype::uint8, ReductionOp::min, 255, 1) == 1);
  CHECK(combined_as<std::int64_t>(Datatype::int64, ReductionOp::max, -5, -6) == -5);
}

TEST_CASE("min and max give the number beside NaN and order the zeros") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto lesser = [](float a, float b) {
    return combined_as<float>(Datatype::float32, ReductionOp::min, a, b);
  };
  const auto greater = [](float a, float b) {
    return combined_as<float>(Datatype::float32, ReductionOp::max, a, b);
  };
  CHECK(lesser(nan, 2) == 2);
  CHECK(lesser(2, nan) == 2);
  CHECK(std::isnan(lesser(nan, nan)));
  CHECK(greater(nan, -2) == -2);
  CHECK(greater(-2, nan) == -2);
  CHECK(lesser(1, 2) == 1);
  CHECK(greater(1, 2) == 2);
  CHECK(std::signbit(lesser(0.0F, -0.0F)));
  CHECK(std::signbit(lesser(-0.0F, 0.0F)));
  CHECK_FALSE(std::signbit(greater(0.0F, -0.0F)));
  CHECK_FALSE(std::signbit(greater(-0.0F, 0.0F)));
  CHECK(std::isnan(combined_as<float>(Datatype::float32, ReductionOp::sum, nan, 1)));
  CHECK(std::isnan(combined_as<double>(Datatype::float64, ReductionOp::prod, 1, nan)));
}

TEST_CASE("Every pair of 8-bit floats is added and multiplied in float32 and rounded once") {
  // float64 holds every sum and product exactly; float32 rounds that.
  for (const Datatype datatype : {Datatype::float8_e4m3, Datatype::float8_e5m2}) {
    int wrong = 0;
    for (std::uint32_t a = 0; a < 256; ++a)
      for (std::uint32_t b = 0; b < 256; ++b) {
        const Element left = element_of_bits(a);
        const Element right = element_of_bits(b);
        const double x = element_value(datatype, left.data());
        const double y = element_value(datatype, right.data());
        Element result{};
        combine_elements(datatype, ReductionOp::sum, left.data(), right.data(), result.data());
        wrong += bits_of(datatype, result) == stored(datatype, static_cast<float>(x + y)) ? 0 : 1;
        combine_elements(datatype, ReductionOp::prod, left.data(), right.data(), result.data());
        wrong += bits_of(datatype, result) == stored(datatype, static_cast<float>(x * y)) ? 0 : 1;
      }
    CHECK_MESSAGE(wrong == 0, name_of(datatype));
  }
}

TEST_CASE("Division cuts integers toward zero and rounds floats") {
  CHECK(divided_as<std::int8_t>(Datatype::int8, -7, 2) == -3);
  CHECK(divided_as<std::int8_t>(Datatype::int8, 100, 1000) == 0);
  CHECK(divided_as<std::uint8_t>(Datatype::uint8, 255, 2) == 127);
  CHECK(divided_as<std::uint64_t>(Datatype::uint64, ~0ULL, 2) == ~0ULL / 2);
  CHECK(divided_as<std::int64_t>(Datatype::int64, std::numeric_limits<std::int64_t>::min(), 1) ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(divided_as<float>(Datatype::float32, 1.0F, 3) == 1.0F / 3.0F);
  CHECK(divided_as<double>(Datatype::float64, 1.0, 3) == 1.0 / 3.0);
  CHECK(divided_as<std::uint16_t>(Datatype::float16, 0x3c00, 3) == stored(Datatype::float16, 1.0 / 3.0));
  CHECK(divided_as<std::uint16_t>(Datatype::bfloat16, 0x3f80, 3) == stored(Datatype::bfloat16, 1.0 / 3.0));
}

TEST_CASE("Datatypes know whether they are floats and signed") {
  CHECK(is_float(Datatype::float8_e5m2));
  CHECK(is_float(Datatype::float64));
  CHECK_FALSE(is_float(Datatype::int64));
  CHECK(is_signed(Datatype::int8));
  CHECK(is_signed(Datatype::bfloat16));
  CHECK_FALSE(is_signed(Datatype::uint64));
}

TEST_CASE("Elements as text are short and tell neighbours apart") {
  CHECK(text(Datatype::float32, 1.5) == "1.5");
  CHECK(text(Datatype::float32, 0.1) == "0.1");
  CHECK(text(Datatype::float16, 0.1) == "0.1");
  CHECK(text(Datatype::float16, 65504) == "65504");
  CHECK(text(Datatype::float64, 0.1) == "0.1");
  CHECK(text(Datatype::float64, 0.1 + 0.2) == "0.30000000000000004");
  CHECK(text(Datatype::float32, -0.0) == "-0");
  CHECK(text(Datatype::float16, 1e9) == "inf");
  CHECK(text(Datatype::bfloat16, std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(text(Datatype::int8, -3) == "-3");
  Element element{};
  store_integer(Datatype::int64, ~0ULL, element.data());
  CHECK(text_of_element(Datatype::int64, element.data()) == "-1");
  CHECK(text_of_element(Datatype::uint64, element.data()) == "18446744073709551615");
  int alike = 0;
  for (const Format& format : formats) {
    std::string before;
    for (std::uint32_t bits = 0; bits < patterns(format) / 2; bits += 1) {
      if (std::isnan(defined_value(format, bits))) break;
      const Element one = element_of_bits(bits);
      const std::string words = text_of_element(format.datatype, one.data());
      alike += words == before ? 1 : 0;
      before = words;
    }
  }
  CHECK(alike == 0);
}
