// Stores past the cache: for what is too large to be read from it again. A store that goes through the cache
// reads the line first, so that a copy moves three bytes for each byte; these move two. Internal to kernels;
// where the machine has no SSE2 they are plain stores.
//
// Order       The stores may be seen late by other threads: a stream_fence() must stand between them and
//             whatever tells another thread that they are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace collsim::kernels {

// From here on an item is written past the cache.
constexpr std::int64_t stream_bytes_min = std::int64_t{1} << 20;

// memcpy. REQUIRES: no overlap
inline void stream_store(std::byte* destination, const void* source, std::size_t bytes) {
#ifdef __SSE2__
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(destination) % 64;
  const std::size_t head = past == 0 ? 0 : 64 - past;
  if (bytes < head + 64) {
    std::memcpy(destination, from, bytes);
    return;
  }
  std::memcpy(destination, from, head);
  std::size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    for (std::size_t i = 0; i < 64; i += 16) {
      const __m128i vector = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(destination + at + i), vector);
    }
  }
  std::memcpy(destination + at, from + at, bytes - at);
#else
  std::memcpy(destination, source, bytes);
#endif
}

inline void stream_fence() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

}  // namespace collsim::kernels
