// The conversions of element_types.hpp against those of CUDA's headers, as these compute them on the host:
// every pattern of a narrow float, and float32 values at, beside and between all of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/element_types.hpp"
#include "sim/core/random.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

float cuda_widened(Float16 element) { return __half2float(__half(__half_raw{element.bits})); }
float cuda_widened(BFloat16 element) {
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{element.bits}));
}
float cuda_widened(Float8E4M3 element) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(element.bits, __NV_E4M3)));
}
float cuda_widened(Float8E5M2 element) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(element.bits, __NV_E5M2)));
}

void cuda_narrow(float value, Float16& element) {
  element.bits = static_cast<__half_raw>(__float2half_rn(value)).x;
}
void cuda_narrow(float value, BFloat16& element) {
  element.bits = static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
}
void cuda_narrow(float value, Float8E4M3& element) {
  element.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}
void cuda_narrow(float value, Float8E5M2& element) {
  element.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
}

template <class T>
bool narrows_alike(float value) {
  T element;
  cuda_narrow(value, element);
  return narrowed<T>(value).bits == element.bits;
}

template <class T>
constexpr std::uint32_t patterns = 1U << (8 * sizeof(T));

template <class T>
int unlike_widened() {
  int unlike = 0;
  for (std::uint32_t bits = 0; bits < patterns<T>; ++bits) {
    const T element{static_cast<typename T::Bits>(bits)};
    const float ours = widened(element);
    const float theirs = cuda_widened(element);
    const bool same = std::isnan(theirs)
                          ? std::isnan(ours)
                          : with_bits_of<std::uint32_t>(ours) == with_bits_of<std::uint32_t>(theirs);
    unlike += same ? 0 : 1;
  }
  return unlike;
}

template <class T>
int unlike_beside(float value) {
  const float infinity = std::numeric_limits<float>::infinity();
  int unlike = narrows_alike<T>(value) ? 0 : 1;
  unlike += narrows_alike<T>(std::nextafter(value, infinity)) ? 0 : 1;
  unlike += narrows_alike<T>(std::nextafter(value, -infinity)) ? 0 : 1;
  return unlike;
}

template <class T>
int unlike_narrowed() {
  int unlike = 0;
  for (std::uint32_t bits = 0; bits < patterns<T>; ++bits) {
    const float value = widened(T{static_cast<typename T::Bits>(bits)});
    const float next = widened(T{static_cast<typename T::Bits>(bits + 1)});
    unlike += unlike_beside<T>(value);
    unlike += unlike_beside<T>(value / 2 + next / 2);
    unlike += unlike_beside<T>(value + next / 2);
  }
  Random random(7);
  for (int i = 0; i < 500'000; ++i) {
    const std::uint64_t drawn = random.next();
    unlike += narrows_alike<T>(with_bits_of<float>(static_cast<std::uint32_t>(drawn))) ? 0 : 1;
  }
  return unlike;
}

}  // namespace

TEST_CASE("Narrow floats are widened as CUDA's headers do") {
  CHECK(unlike_widened<Float16>() == 0);
  CHECK(unlike_widened<BFloat16>() == 0);
  CHECK(unlike_widened<Float8E4M3>() == 0);
  CHECK(unlike_widened<Float8E5M2>() == 0);
}

TEST_CASE("float32 is narrowed to the bits that CUDA's headers give") {
  CHECK(unlike_narrowed<Float16>() == 0);
  CHECK(unlike_narrowed<BFloat16>() == 0);
  CHECK(unlike_narrowed<Float8E4M3>() == 0);
  CHECK(unlike_narrowed<Float8E5M2>() == 0);
}
