// The CPU's loops. An item is done in pieces that fit the first cache: a piece is combined into a small
// buffer by loops that compilers make vector code of, and from there written to the destinations. So a
// destination may be a source, places need no alignment, and sources and destinations are passed once.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/combine.hpp"
#include "kernels/element_types.hpp"
#include "kernels/stream_store.hpp"
#include "sim/core/check.hpp"

// Each loop twice, the second for AVX2; which one is taken is asked at run time. The loops themselves are
// always inlined, so that they are compiled for the function they stand in.
#if defined(__x86_64__) && defined(__GNUC__)
#define COLLSIM_AVX2 __attribute__((target("avx2")))
#define COLLSIM_HAS_AVX2 1
#else
#define COLLSIM_AVX2
#define COLLSIM_HAS_AVX2 0
#endif
#define COLLSIM_INLINE __attribute__((always_inline)) inline

namespace collsim::kernels {
namespace {

// Of what is accumulated. Smaller ones read each source in shorter runs, larger ones leave the first cache.
constexpr std::int64_t piece_bytes = 8192;
template <class T>
constexpr std::int64_t piece_elements = piece_bytes / static_cast<std::int64_t>(sizeof(Accumulator<T>));

bool has_avx2() {
#if COLLSIM_HAS_AVX2
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
#else
  return false;
#endif
}

template <class T>
COLLSIM_INLINE T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

// With masks: of a conditional operator compilers make a branch when one side is arithmetic on floats, and
// then no vector code.
COLLSIM_INLINE std::uint32_t choose(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

// The conversions of element_types.hpp without branches.
template <class T>
COLLSIM_INLINE Accumulator<T> wide(T element) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return with_bits_of<float>(std::uint32_t{element.bits} << 16);
  } else if constexpr (is_narrow<T>) {
    constexpr int shift = 23 - T::mantissa_bits;
    constexpr std::uint32_t scale_bits = static_cast<std::uint32_t>(127 + 127 - T::bias) << 23;
    const std::uint32_t all = element.bits;
    const std::uint32_t size = all & T::nan;
    const std::uint32_t sign = (all >> (T::exponent_bits + T::mantissa_bits)) << 31;
    const float number = with_bits_of<float>(size << shift) * with_bits_of<float>(scale_bits);
    const bool special = T::has_infinity ? size >= T::infinite : size == T::nan;
    const std::uint32_t bits = with_bits_of<std::uint32_t>(number);
    return with_bits_of<float>(sign | choose(special, 0x7f800000U | (size << shift), bits));
  } else {
    return element;
  }
}

// The bits of the narrow float, in 32 bits: compilers make better code of the step to 16 or 8 bits when it
// stands in a loop of its own. Comparisons are signed, which vectors have.
template <class T>
COLLSIM_INLINE std::uint32_t narrow_bits(float value) {
  constexpr int shift = 23 - T::mantissa_bits;
  constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - T::bias) << 23;
  const auto below = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  const auto all = with_bits_of<std::uint32_t>(value);
  const std::uint32_t size = all & 0x7fffffffU;
  const std::uint32_t half = (1U << (shift - 1)) - 1 + ((size >> shift) & 1U);
  std::uint32_t result = (size - rebias + half) >> shift;
  if constexpr (rebias != 0) {
    // Below the normal numbers: the sum with a number whose last bit is worth the smallest subnormal.
    constexpr auto magic_bits = static_cast<std::uint32_t>(127 + 24 - T::bias - T::mantissa_bits) << 23;
    const float sum = with_bits_of<float>(size) + with_bits_of<float>(magic_bits);
    const std::uint32_t small = with_bits_of<std::uint32_t>(sum) - magic_bits;
    constexpr std::uint32_t limit = T::saturates ? T::largest : T::infinite;
    result = choose(below(limit, result), limit, result);
    result = choose(below(size, rebias + (1U << 23)), small, result);
  }
  result |= (all >> 31) << (T::exponent_bits + T::mantissa_bits);
  return choose(below(0x7f800000U, size), T::nan, result);
}

template <ReductionOp reduction, class A>
COLLSIM_INLINE A together(A a, A b) {
  if constexpr (std::is_floating_point_v<A> &&
                (reduction == ReductionOp::min || reduction == ReductionOp::max)) {
    constexpr bool min = reduction == ReductionOp::min;
    using Unsigned = std::conditional_t<sizeof(A) == 8, std::uint64_t, std::uint32_t>;
    const bool negative = with_bits_of<Unsigned>(a) >> (8 * sizeof(A) - 1) != 0;
    const bool equal = a == b;
    const bool before = min ? a < b : a > b;
    const bool no_b = b != b;
    const bool first = (equal & (negative == min)) | before | no_b;
    return first ? a : b;
  } else {
    return combined<reduction>(a, b);
  }
}

// What a piece is combined in, and what it is stored from: the same memory where nothing is narrowed.
template <class T>
struct Piece {
  alignas(64) std::array<T, piece_elements<T>> result;
};
template <class T>
requires is_narrow<T>
struct Piece<T> {
  alignas(64) std::array<T, piece_elements<T>> result;
  alignas(64) std::array<float, piece_elements<T>> sums;
  alignas(64) std::array<std::uint32_t, piece_elements<T>> bits;
};

// Pairs of elements do not depend on each other, be a place source and destination at once.
#if defined(__clang__)
#define COLLSIM_ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#else
#define COLLSIM_ANY_ORDER _Pragma("GCC ivdep")
#endif

template <class A>
COLLSIM_INLINE void store(std::byte* place, A value) {
  std::memcpy(place, &value, sizeof(A));
}

// One pass: to[i] = a[i] op b[i], or (a[i] op b[i]) op c[i].
template <class T, ReductionOp reduction, class First>
COLLSIM_INLINE void pass(std::byte* to, const std::byte* a, const std::byte* b, const std::byte* c,
                         std::int64_t count) {
  using A = Accumulator<T>;
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  constexpr auto first_size = static_cast<std::int64_t>(sizeof(First));
  constexpr auto to_size = static_cast<std::int64_t>(sizeof(A));
  if (c == nullptr) {
    COLLSIM_ANY_ORDER
    for (std::int64_t i = 0; i < count; ++i)
      store(to + i * to_size,
            together<reduction>(A{wide(load<First>(a + i * first_size))}, wide(load<T>(b + i * size))));
  } else {
    COLLSIM_ANY_ORDER
    for (std::int64_t i = 0; i < count; ++i)
      store(to + i * to_size,
            together<reduction>(
                together<reduction>(A{wide(load<First>(a + i * first_size))}, wide(load<T>(b + i * size))),
                wide(load<T>(c + i * size))));
  }
}

// Elements [begin, begin + count) of all sources, accumulated in `sums`; the last pass writes them to `to`.
// The first pass takes two sources, or three if their number is odd, each other one two.
template <class T, ReductionOp reduction>
COLLSIM_INLINE void accumulate(const CombineItem& item, std::int64_t begin, std::int64_t count,
                               std::byte* sums, std::byte* to) {
  const std::int64_t offset = begin * static_cast<std::int64_t>(sizeof(T));
  const auto sources = static_cast<std::size_t>(item.source_count);
  const auto from = [&](std::size_t source) { return item.sources[source] + offset; };
  std::size_t next = 2 + sources % 2;
  pass<T, reduction, T>(next == sources ? to : sums, from(0), from(1), next == 3 ? from(2) : nullptr, count);
  for (; next < sources; next += 2)
    pass<T, reduction, Accumulator<T>>(next + 2 == sources ? to : sums, sums, from(next), from(next + 1),
                                       count);
}

// What is not narrowed goes straight to `to`, unless that is null; else all goes into piece.result.
template <class T, ReductionOp reduction>
COLLSIM_INLINE void combine_piece(const CombineItem& item, std::int64_t begin, std::int64_t count,
                                  Piece<T>& piece, std::byte* to) {
  if constexpr (is_narrow<T>) {
    float* __restrict const sums = piece.sums.data();
    std::uint32_t* __restrict const bits = piece.bits.data();
    T* __restrict const result = piece.result.data();
    auto* const bytes = reinterpret_cast<std::byte*>(sums);
    accumulate<T, reduction>(item, begin, count, bytes, bytes);
    for (std::int64_t i = 0; i < count; ++i) bits[i] = narrow_bits<T>(sums[i]);
    for (std::int64_t i = 0; i < count; ++i) result[i].bits = static_cast<typename T::Bits>(bits[i]);
  } else {
    auto* const bytes = reinterpret_cast<std::byte*>(piece.result.data());
    accumulate<T, reduction>(item, begin, count, bytes, to == nullptr ? bytes : to);
  }
}

template <class T, ReductionOp reduction>
void combine_piece_plain(const CombineItem& item, std::int64_t begin, std::int64_t count, Piece<T>& piece,
                         std::byte* to) {
  combine_piece<T, reduction>(item, begin, count, piece, to);
}
template <class T, ReductionOp reduction>
COLLSIM_AVX2 void combine_piece_avx2(const CombineItem& item, std::int64_t begin, std::int64_t count,
                                     Piece<T>& piece, std::byte* to) {
  combine_piece<T, reduction>(item, begin, count, piece, to);
}

template <class T, ReductionOp reduction>
void combine_all(const CombineItem& item, bool streaming) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const auto combine = has_avx2() ? combine_piece_avx2<T, reduction> : combine_piece_plain<T, reduction>;
  Piece<T> piece;
  const std::int64_t elements = item.bytes / size;
  for (std::int64_t begin = 0; begin < elements; begin += piece_elements<T>) {
    const std::int64_t count = std::min(piece_elements<T>, elements - begin);
    const auto bytes = static_cast<std::size_t>(count * size);
    std::byte* const first = item.destinations[0] + begin * size;
    const bool straight = !is_narrow<T> && !streaming;
    combine(item, begin, count, piece, straight ? first : nullptr);
    const std::byte* const result =
        straight ? first : reinterpret_cast<const std::byte*>(piece.result.data());
    for (int d = straight ? 1 : 0; d < item.destination_count; ++d) {
      std::byte* const destination = item.destinations[static_cast<std::size_t>(d)] + begin * size;
      if (streaming) {
        stream_store(destination, result, bytes);
      } else {
        std::memcpy(destination, result, bytes);
      }
    }
  }
}

bool destination_is_source(const CombineItem& item) {
  for (int d = 0; d < item.destination_count; ++d)
    for (int s = 0; s < item.source_count; ++s)
      if (item.destinations[static_cast<std::size_t>(d)] == item.sources[static_cast<std::size_t>(s)])
        return true;
  return false;
}

void copy_all(const CombineItem& item, bool streaming) {
  constexpr std::int64_t piece = 16384;
  for (std::int64_t begin = 0; begin < item.bytes; begin += piece) {
    const auto bytes = static_cast<std::size_t>(std::min(piece, item.bytes - begin));
    const std::byte* const source = item.sources[0] + begin;
    for (int d = 0; d < item.destination_count; ++d) {
      std::byte* const destination = item.destinations[static_cast<std::size_t>(d)] + begin;
      if (destination == source) continue;
      if (streaming) {
        stream_store(destination, source, bytes);
      } else {
        std::memcpy(destination, source, bytes);
      }
    }
  }
}

// Of numbers with up to 32 bits the quotient in float64 never rounds up to the next whole number.
template <class T>
COLLSIM_INLINE T quotient(T element, std::int64_t divisor) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    return static_cast<T>(static_cast<double>(element) / static_cast<double>(divisor));
  } else {
    return narrowed<T>(divided(widened(element), divisor));
  }
}

template <class T>
COLLSIM_INLINE void divide_elements(std::byte* data, std::int64_t elements, std::int64_t divisor) {
  for (std::int64_t i = 0; i < elements; ++i) {
    std::byte* const place = data + i * static_cast<std::int64_t>(sizeof(T));
    const T result = quotient(load<T>(place), divisor);
    std::memcpy(place, &result, sizeof(T));
  }
}
template <class T>
void divide_plain(std::byte* data, std::int64_t elements, std::int64_t divisor) {
  divide_elements<T>(data, elements, divisor);
}
template <class T>
COLLSIM_AVX2 void divide_avx2(std::byte* data, std::int64_t elements, std::int64_t divisor) {
  divide_elements<T>(data, elements, divisor);
}

}  // namespace

void combine_on_cpu(const CombineItem& item, Datatype datatype, ReductionOp reduction) {
  COLLSIM_CHECK(item.source_count >= 1 && item.source_count <= sources_max);
  COLLSIM_CHECK(item.destination_count >= 1 && item.destination_count <= destinations_max);
  COLLSIM_CHECK(item.bytes >= 0 && item.bytes % element_bytes(datatype) == 0);
  if (item.bytes == 0) return;
  const bool streaming = item.bytes >= stream_bytes_min && !destination_is_source(item);
  if (item.source_count == 1) {
    copy_all(item, streaming);
  } else {
    with_element_type(datatype, [&](auto type) {
      with_reduction(reduction, [&](auto op) { combine_all<decltype(type), op()>(item, streaming); });
    });
  }
  if (streaming) stream_fence();
}

void divide_on_cpu(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor) {
  COLLSIM_CHECK(divisor >= 1 && bytes >= 0 && bytes % element_bytes(datatype) == 0);
  with_element_type(datatype, [&](auto type) {
    using T = decltype(type);
    const auto divide = has_avx2() ? divide_avx2<T> : divide_plain<T>;
    divide(data, bytes / static_cast<std::int64_t>(sizeof(T)), divisor);
  });
}

}  // namespace collsim::kernels
