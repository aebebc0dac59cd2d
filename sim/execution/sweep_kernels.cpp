#include "sim/execution/sweep_kernels.hpp"

#include "sim/engine/fingerprint.hpp"

// Two versions of each loop, one for AVX2; the dynamic linker picks. Sanitizers do not get along with that.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(undefined_behavior_sanitizer)
#define COLLSIM_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#else
#define COLLSIM_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef COLLSIM_CLONES
#define COLLSIM_CLONES
#endif

namespace collsim::rows {
namespace {

std::int64_t later(std::int64_t a, std::int64_t b) { return a < b ? b : a; }

}  // namespace

COLLSIM_CLONES void send(const SendRow& row, std::size_t begin, std::size_t end) {
  const std::int64_t* const before = row.before;
  const std::int64_t* const after = row.after;
  const std::int64_t* const slot = row.slot;
  const std::int64_t* const duration = row.duration;
  const std::int64_t credit = row.credit;
  std::int64_t* __restrict const done = row.done;
  if (after != nullptr && slot != nullptr) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t free = slot[i] + credit;
      std::int64_t start = before[i] < after[i] ? after[i] : before[i];
      start = start < free ? free : start;
      done[i] = start + duration[i];
    }
  } else if (after != nullptr) {
    for (std::size_t i = begin; i < end; ++i)
      done[i] = (before[i] < after[i] ? after[i] : before[i]) + duration[i];
  } else if (slot != nullptr) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t free = slot[i] + credit;
      done[i] = (before[i] < free ? free : before[i]) + duration[i];
    }
  } else {
    for (std::size_t i = begin; i < end; ++i) done[i] = before[i] + duration[i];
  }
}

COLLSIM_CLONES Sums receive(const ReceiveRow& row, std::size_t begin, std::size_t end) {
  const std::int64_t* const before = row.before;
  const std::int64_t* const sent = row.sent;
  const std::int64_t* const latency = row.latency;
  const std::int64_t* const duration = row.duration;
  std::int64_t* __restrict const done = row.done;
  std::uint64_t times = 0;
  std::uint64_t products = 0;
  if (row.weight == nullptr) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t arrived = sent[i] + latency[i];
      const auto time = static_cast<std::uint64_t>(arrived);
      times += time;
      products += (time & 0xffffffffU) * ((time >> 22) & 0xffffffffU);
      done[i] = (before[i] < arrived ? arrived : before[i]) + duration[i];
    }
  } else {
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t arrived = sent[i] + latency[i];
      const Fingerprint::Terms terms = Fingerprint::terms_of(arrived);
      const auto weight = static_cast<std::uint64_t>(row.weight[i]);
      times += terms.times * weight;
      products += terms.products * weight;
      done[i] = (before[i] < arrived ? arrived : before[i]) + duration[i];
    }
  }
  if (row.after != nullptr)
    for (std::size_t i = begin; i < end; ++i) done[i] = later(done[i], row.after[i] + duration[i]);
  return {times, products};
}

COLLSIM_CLONES void raise(std::int64_t* value, const std::int64_t* other, std::size_t begin,
                          std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) value[i] = value[i] < other[i] ? other[i] : value[i];
}

COLLSIM_CLONES void blocks(const BlockRow& row, std::size_t count) {
  std::int64_t* __restrict const position = row.position;
  std::int64_t* __restrict const duration = row.duration;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t next = position[i] + row.stride;
    next = next < row.modulus ? next : next - row.modulus;
    position[i] = next;
    duration[i] = next < row.rest ? row.larger[i] : row.smaller[i];
  }
  if (row.bytes == nullptr) return;
  for (std::size_t i = 0; i < count; ++i)
    row.bytes[i] += position[i] < row.rest ? row.larger_bytes : row.smaller_bytes;
}

}  // namespace collsim::rows
