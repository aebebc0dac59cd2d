// Runs of plans whose areas are filled at random, for comparisons of backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
#include "sim/core/random.hpp"

namespace collsim::kernels::testing {

using AreaBytes = std::vector<std::vector<std::byte>>;  // [area]

// REQUIRES: the datatype is an integer, or whatever bits it has are numbers to the reduction
inline AreaBytes random_bytes(const Plan& plan, std::uint64_t seed) {
  Random random(seed);
  AreaBytes bytes;
  for (const Area& area : plan.areas) {
    bytes.emplace_back(static_cast<std::size_t>(area.bytes));
    for (std::byte& byte : bytes.back()) byte = static_cast<std::byte>(random.next() & 0xff);
  }
  return bytes;
}

inline void upload_all(Execution& execution, const AreaBytes& bytes) {
  for (std::size_t area = 0; area < bytes.size(); ++area)
    execution.upload(static_cast<std::int32_t>(area), 0, bytes[area]);
}

inline AreaBytes download_all(Execution& execution, const Plan& plan) {
  AreaBytes bytes;
  for (std::size_t area = 0; area < plan.areas.size(); ++area) {
    bytes.emplace_back(static_cast<std::size_t>(plan.areas[area].bytes));
    execution.download(static_cast<std::int32_t>(area), 0, bytes.back());
  }
  return bytes;
}

inline std::vector<std::int32_t> planned_order(const Plan& plan) {
  std::vector<std::int32_t> order(plan.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// What the CPU makes of them, one task after the other, `times` times.
inline AreaBytes expected_bytes(const Plan& plan, const AreaBytes& before, int times = 1) {
  const std::unique_ptr<Backend> backend = cpu_backend(1);
  const std::unique_ptr<Execution> execution = backend->prepare(plan, {});
  upload_all(*execution, before);
  for (int i = 0; i < times; ++i) execution->run_in_order(planned_order(plan));
  return download_all(*execution, plan);
}

}  // namespace collsim::kernels::testing
