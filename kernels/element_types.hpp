// Element types: the datatypes of NCCL as C++ types, with the arithmetic of a reduction on them; for the host
// and for the device (nvcc).
//
//   element type      accumulated in    of
//   std::int8_t ...   itself            int8 ... uint64
//   float, double     itself            float32, float64
//   Float16, ...      float             float16, bfloat16, float8_e4m3, float8_e5m2
//
// A kernel takes elements from memory, widens them to what they are accumulated in, combines, and narrows the
// result once. Rounding, NaN and saturation are those of elements.hpp; every narrowed NaN is the one with all
// bits set but the sign. On the device the conversions are the processor's own where it gives the same bits:
// those instructions that cuda_fp16.h, cuda_bf16.h and cuda_fp8.h use (tests/kernels/cuda_headers_test.cpp
// compares what these headers do on the host).
//
// Sources     IEEE 754-2019; OCP 8-bit Floating Point Specification (OFP8) 1.0. min and max are 754's
//             minimumNumber and maximumNumber, which are what PTX's min and max do.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "sim/model/collective.hpp"

#ifdef __CUDACC__
#define COLLSIM_HOST_DEVICE __host__ __device__
#else
#define COLLSIM_HOST_DEVICE
#endif

namespace collsim::kernels {

// A narrow float: sign, exponent, mantissa. `infinity`: the exponent of all ones is infinity and NaN, as in
// IEEE 754; else it is an exponent like others and only all ones is NaN.
template <class BitsOf, int exponent, int mantissa, bool infinity, bool saturating>
struct NarrowFloat {
  using Bits = BitsOf;
  static constexpr int exponent_bits = exponent;
  static constexpr int mantissa_bits = mantissa;
  static constexpr int bias = (1 << (exponent - 1)) - 1;
  static constexpr bool has_infinity = infinity;
  static constexpr bool saturates = saturating;
  static constexpr std::uint32_t nan = (1U << (exponent + mantissa)) - 1;  // without the sign
  static constexpr std::uint32_t infinite = ((1U << exponent) - 1) << mantissa;
  static constexpr std::uint32_t largest = (infinity ? infinite : nan) - 1;
  static_assert(1 + exponent + mantissa == 8 * sizeof(Bits));

  Bits bits = 0;
};
using Float16 = NarrowFloat<std::uint16_t, 5, 10, true, false>;
using BFloat16 = NarrowFloat<std::uint16_t, 8, 7, true, false>;
using Float8E4M3 = NarrowFloat<std::uint8_t, 4, 3, false, true>;
using Float8E5M2 = NarrowFloat<std::uint8_t, 5, 2, true, true>;

template <class T>
constexpr bool is_narrow = std::is_class_v<T>;
// What elements of a type are accumulated in.
template <class T>
using Accumulator = std::conditional_t<is_narrow<T>, float, T>;

// The same bits as another type of the same size.
template <class To, class From>
COLLSIM_HOST_DEVICE inline To with_bits_of(const From& from) {
  static_assert(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<From>);
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// Exact. A multiplication by a power of two gives the exponent its bias, and makes subnormal numbers normal.
template <class Narrow>
COLLSIM_HOST_DEVICE inline float widened_by_bits(Narrow element) {
  constexpr int shift = 23 - Narrow::mantissa_bits;
  if constexpr (Narrow::exponent_bits == 8)
    return with_bits_of<float>(static_cast<std::uint32_t>(element.bits) << shift);
  constexpr std::uint32_t scale_bits = static_cast<std::uint32_t>(127 + 127 - Narrow::bias) << 23;
  const std::uint32_t all = element.bits;
  const std::uint32_t size = all & Narrow::nan;
  const std::uint32_t sign = (all >> (Narrow::exponent_bits + Narrow::mantissa_bits)) << 31;
  const bool special = Narrow::has_infinity ? size >= Narrow::infinite : size == Narrow::nan;
  if (special) return with_bits_of<float>(sign | 0x7f800000U | (size << shift));
  return with_bits_of<float>(sign | (size << shift)) * with_bits_of<float>(scale_bits);
}

namespace detail {
// bits / 2^shift, to nearest, ties to even. REQUIRES: 0 < shift < number of bits, and room for the carry
template <class Unsigned>
COLLSIM_HOST_DEVICE inline Unsigned shifted_to_nearest(Unsigned bits, int shift) {
  const Unsigned odd = (bits >> shift) & 1U;
  const Unsigned below_half = (Unsigned{1} << (shift - 1)) - 1;
  return (bits + below_half + odd) >> shift;
}
}  // namespace detail

// Rounded once, from float or double.
template <class Narrow, class Wide>
COLLSIM_HOST_DEVICE inline Narrow narrowed_by_bits(Wide value) {
  using Unsigned = std::conditional_t<sizeof(Wide) == 8, std::uint64_t, std::uint32_t>;
  using Bits = typename Narrow::Bits;
  constexpr int mantissa = std::numeric_limits<Wide>::digits - 1;
  constexpr int rebias = std::numeric_limits<Wide>::max_exponent - 1 - Narrow::bias;
  constexpr int shift = mantissa - Narrow::mantissa_bits;
  constexpr Unsigned sign_bit = Unsigned{1} << (8 * sizeof(Wide) - 1);
  constexpr Unsigned infinite = (sign_bit - 1) >> mantissa << mantissa;
  constexpr Unsigned smallest_normal = static_cast<Unsigned>(rebias + 1) << mantissa;

  const Unsigned all = with_bits_of<Unsigned>(value);
  const Unsigned size = all & (sign_bit - 1);
  if (size > infinite) return Narrow{static_cast<Bits>(Narrow::nan)};
  Unsigned result = 0;
  if (size >= smallest_normal) {
    result = detail::shifted_to_nearest(size - (static_cast<Unsigned>(rebias) << mantissa), shift);
  } else {
    const int exponent = static_cast<int>(size >> mantissa);
    const Unsigned hidden = exponent == 0 ? 0 : Unsigned{1} << mantissa;
    const int below = rebias + 1 - (exponent == 0 ? 1 : exponent);  // how far below the normal numbers
    if (below <= Narrow::mantissa_bits + 1)
      result = detail::shifted_to_nearest((size & ((Unsigned{1} << mantissa) - 1)) | hidden, shift + below);
  }
  constexpr std::uint32_t limit = Narrow::saturates ? Narrow::largest : Narrow::infinite;
  if (result > limit) result = limit;
  constexpr int sign_shift = Narrow::exponent_bits + Narrow::mantissa_bits;
  return Narrow{static_cast<Bits>(result | (all >= sign_bit ? Unsigned{1} << sign_shift : 0))};
}

// To what is accumulated in, and back.
template <class T>
COLLSIM_HOST_DEVICE inline Accumulator<T> widened(T element) {
  if constexpr (!is_narrow<T>) {
    return element;
  } else {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Float8E5M2>) {
      // float8_e5m2 is the upper half of a float16.
      const auto half = static_cast<unsigned short>(element.bits << (16 - 8 * sizeof(T)));
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
      return value;
    } else {
      return widened_by_bits(element);
    }
#else
    return widened_by_bits(element);
#endif
  }
}
#ifdef __CUDA_ARCH__
#define COLLSIM_CONVERTS_BFLOAT16 (__CUDA_ARCH__ >= 800)
// The assembler of CUDA 12.0 has these conversions for 9.0 only.
#define COLLSIM_CONVERTS_FLOAT8 \
  (__CUDA_ARCH__ >= 900 ||      \
   (__CUDA_ARCH__ >= 890 &&     \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))))
#else
#define COLLSIM_CONVERTS_BFLOAT16 false
#define COLLSIM_CONVERTS_FLOAT8 false
#endif
template <class T>
COLLSIM_HOST_DEVICE inline T narrowed(Accumulator<T> value) {
  if constexpr (!is_narrow<T>) {
    return value;
  } else {
#ifdef __CUDA_ARCH__
    unsigned short bits = 0;
    if constexpr (std::is_same_v<T, Float16>) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return T{bits};
    } else if constexpr (std::is_same_v<T, BFloat16> && COLLSIM_CONVERTS_BFLOAT16) {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return T{bits};
    } else {
      return narrowed_by_bits<T>(value);
    }
#else
    return narrowed_by_bits<T>(value);
#endif
  }
}

// Two neighbours at a time: devices from Ada on convert float8 in pairs.
template <class T>
COLLSIM_HOST_DEVICE inline void widen_two(const T* from, Accumulator<T>* to) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, Float8E4M3> && COLLSIM_CONVERTS_FLOAT8) {
    const auto both = static_cast<unsigned short>(from[0].bits | from[1].bits << 8);
    asm("{.reg .b32 halves; .reg .b16 low, high; cvt.rn.f16x2.e4m3x2 halves, %2; mov.b32 {low, high}, halves;"
        " cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}"
        : "=f"(to[0]), "=f"(to[1])
        : "h"(both));
    return;
  }
#endif
  to[0] = widened(from[0]);
  to[1] = widened(from[1]);
}
template <class T>
COLLSIM_HOST_DEVICE inline void narrow_two(const Accumulator<T>* from, T* to) {
#ifdef __CUDA_ARCH__
  if constexpr (is_narrow<T> && sizeof(T) == 1 && COLLSIM_CONVERTS_FLOAT8) {
    unsigned short both = 0;
    if constexpr (std::is_same_v<T, Float8E4M3>) {
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %2, %1;" : "=h"(both) : "f"(from[0]), "f"(from[1]));
    } else {
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %2, %1;" : "=h"(both) : "f"(from[0]), "f"(from[1]));
    }
    to[0] = T{static_cast<std::uint8_t>(both & 0xffU)};
    to[1] = T{static_cast<std::uint8_t>(both >> 8)};
    return;
  }
#endif
  to[0] = narrowed<T>(from[0]);
  to[1] = narrowed<T>(from[1]);
}

namespace detail {
template <class Float>
COLLSIM_HOST_DEVICE inline bool negative(Float value) {
  using Unsigned = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  return with_bits_of<Unsigned>(value) >> (8 * sizeof(Float) - 1) != 0;
}
// The smaller one; of NaN and a number the number; of two zeros the negative one.
template <class A>
COLLSIM_HOST_DEVICE inline A smaller(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<A, float>) return fminf(a, b);  // PTX min: +0 is larger than -0
#endif
    if (a == b) return negative(a) ? a : b;
    return a < b || b != b ? a : b;
  } else {
    return a < b ? a : b;
  }
}
template <class A>
COLLSIM_HOST_DEVICE inline A larger(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<A, float>) return fmaxf(a, b);
#endif
    if (a == b) return negative(a) ? b : a;
    return a > b || b != b ? a : b;
  } else {
    return a > b ? a : b;
  }
}
}  // namespace detail

// a op b in what is accumulated in; integers modulo 2^n.
template <ReductionOp reduction, class A>
COLLSIM_HOST_DEVICE inline A combined(A a, A b) {
  if constexpr (reduction == ReductionOp::min) {
    return detail::smaller(a, b);
  } else if constexpr (reduction == ReductionOp::max) {
    return detail::larger(a, b);
  } else if constexpr (std::is_integral_v<A>) {
    using Unsigned = std::make_unsigned_t<A>;
    const auto x = static_cast<Unsigned>(a);
    const auto y = static_cast<Unsigned>(b);
    if constexpr (reduction == ReductionOp::prod) return static_cast<A>(static_cast<Unsigned>(x * y));
    return static_cast<A>(static_cast<Unsigned>(x + y));
  } else if constexpr (reduction == ReductionOp::prod) {
    return a * b;
  } else {
    return a + b;
  }
}

// value / divisor; integers cut toward zero. REQUIRES: divisor >= 1
template <class A>
COLLSIM_HOST_DEVICE inline A divided(A value, std::int64_t divisor) {
  if constexpr (std::is_floating_point_v<A>) {
    return value / static_cast<A>(divisor);
  } else if constexpr (std::is_signed_v<A>) {
    return static_cast<A>(std::int64_t{value} / divisor);
  } else {
    return static_cast<A>(std::uint64_t{value} / static_cast<std::uint64_t>(divisor));
  }
}

// function(T{}) with the element type of a datatype.
template <class Function>
decltype(auto) with_element_type(Datatype datatype, Function&& function) {
  switch (datatype) {
    case Datatype::int8:
      return function(std::int8_t{});
    case Datatype::uint8:
      return function(std::uint8_t{});
    case Datatype::int32:
      return function(std::int32_t{});
    case Datatype::uint32:
      return function(std::uint32_t{});
    case Datatype::int64:
      return function(std::int64_t{});
    case Datatype::uint64:
      return function(std::uint64_t{});
    case Datatype::float16:
      return function(Float16{});
    case Datatype::bfloat16:
      return function(BFloat16{});
    case Datatype::float32:
      return function(float{});
    case Datatype::float64:
      return function(double{});
    case Datatype::float8_e4m3:
      return function(Float8E4M3{});
    case Datatype::float8_e5m2:
      break;
  }
  return function(Float8E5M2{});
}

// function(std::integral_constant<ReductionOp, op>{}); avg is a sum.
template <class Function>
decltype(auto) with_reduction(ReductionOp reduction, Function&& function) {
  switch (reduction) {
    case ReductionOp::prod:
      return function(std::integral_constant<ReductionOp, ReductionOp::prod>{});
    case ReductionOp::min:
      return function(std::integral_constant<ReductionOp, ReductionOp::min>{});
    case ReductionOp::max:
      return function(std::integral_constant<ReductionOp, ReductionOp::max>{});
    case ReductionOp::sum:
    case ReductionOp::avg:
      break;
  }
  return function(std::integral_constant<ReductionOp, ReductionOp::sum>{});
}

}  // namespace collsim::kernels
