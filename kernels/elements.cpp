#include "kernels/elements.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/element_types.hpp"

namespace collsim::kernels {
namespace {

template <class T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

template <class T>
void store(T value, std::byte* element) {
  std::memcpy(element, &value, sizeof(T));
}

template <class T>
T from_double(double value) {
  if constexpr (is_narrow<T>) {
    return narrowed_by_bits<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// Whole numbers that every reader takes for such are written out; others with as many digits as it takes to
// read the same element again.
std::string text_of_float(Datatype datatype, const std::byte* element) {
  const double value = element_value(datatype, element);
  if (std::isnan(value)) return "nan";
  std::array<char, 64> text{};
  const auto end = text.data() + text.size();
  if (std::abs(value) < 1e9 && value == std::trunc(value))
    return {text.data(), std::to_chars(text.data(), end, value, std::chars_format::fixed).ptr};
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  for (int digits = 1;; ++digits) {
    char* const last = std::to_chars(text.data(), end, value, std::chars_format::general, digits).ptr;
    double read = 0;
    std::from_chars(text.data(), last, read);
    std::array<std::byte, 8> again{};
    store_element(datatype, read, again.data());
    const bool same = std::memcmp(again.data(), element, size) == 0;
    if (same || digits == 17 || std::isinf(value)) return {text.data(), last};
  }
}

}  // namespace

bool is_float(Datatype datatype) {
  return with_element_type(datatype, [](auto type) { return !std::is_integral_v<decltype(type)>; });
}

bool is_signed(Datatype datatype) {
  return with_element_type(datatype, [](auto type) { return !std::is_unsigned_v<decltype(type)>; });
}

double element_value(Datatype datatype, const std::byte* element) {
  return with_element_type(
      datatype, [&](auto type) { return static_cast<double>(widened(load<decltype(type)>(element))); });
}

void store_element(Datatype datatype, double value, std::byte* element) {
  with_element_type(datatype, [&](auto type) { store(from_double<decltype(type)>(value), element); });
}

std::uint64_t integer_element(Datatype datatype, const std::byte* element) {
  return with_element_type(datatype, [&](auto type) -> std::uint64_t {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) return static_cast<std::uint64_t>(load<T>(element));
    return 0;
  });
}

void store_integer(Datatype datatype, std::uint64_t value, std::byte* element) {
  with_element_type(datatype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>) store(static_cast<T>(value), element);
  });
}

void combine_elements(Datatype datatype, ReductionOp reduction, const std::byte* a, const std::byte* b,
                      std::byte* destination) {
  with_element_type(datatype, [&](auto type) {
    using T = decltype(type);
    with_reduction(reduction, [&](auto op) {
      const Accumulator<T> result = combined<op()>(widened(load<T>(a)), widened(load<T>(b)));
      store(narrowed<T>(result), destination);
    });
  });
}

void divide_element(Datatype datatype, std::int64_t divisor, std::byte* element) {
  with_element_type(datatype, [&](auto type) {
    using T = decltype(type);
    store(narrowed<T>(divided(widened(load<T>(element)), divisor)), element);
  });
}

std::string text_of_element(Datatype datatype, const std::byte* element) {
  if (is_float(datatype)) return text_of_float(datatype, element);
  const std::uint64_t value = integer_element(datatype, element);
  return is_signed(datatype) ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
}

}  // namespace collsim::kernels
