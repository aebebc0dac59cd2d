// Areas in device memory: where each area of a plan lies in the one allocation of its device, and what its
// guards hold. Plain C++ without a CUDA type.
//
//   head | guard area guard | guard area guard | ... the same for the next set ...
//
// The first byte of an area is `misalignment` past a multiple of 256 from the start of the allocation, which
// CUDA aligns to at least as much. The head is for trial launches. Guards of different areas differ, so that
// a copy that runs past the ends of two areas is seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"

namespace collsim::kernels {

struct AreaMap {
  std::int32_t areas = 0;
  std::vector<int> device;           // [area]
  std::vector<std::int64_t> offset;  // [set * areas + area]: of the first byte
  std::vector<std::int64_t> bytes;   // [device]: the allocation; at least the head
  std::int64_t offset_of(std::int32_t set, std::int32_t area) const {
    return offset[static_cast<std::size_t>(std::int64_t{set} * areas + area)];
  }
};

constexpr std::int64_t area_alignment = 256;
constexpr std::int64_t head_bytes = 256;

// `device_of`: [rank]. O(areas * sets). REQUIRES: options as PrepareOptions says
AreaMap area_map(const Plan& plan, std::span<const int> device_of, int devices,
                 const PrepareOptions& options);

using Guard = std::array<std::byte, guard_bytes>;
Guard guard_of(std::int32_t area, bool before);
// Index of the first byte that is not as it should be.
std::optional<std::int64_t> first_changed(const Guard& found, std::int32_t area, bool before);

}  // namespace collsim::kernels
