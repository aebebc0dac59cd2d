// Launches of the combine kernel, without a CUDA type. Internal to kernels. launch_combine and launch_divide
// exist only where COLLSIM_HAS_CUDA is defined.
//
// Errors      DeviceError (failed) with the call, its file and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/combine.hpp"

namespace collsim::kernels {

// Items as the kernel takes them: with the number of the first tile of each, so that a block finds its item
// by a binary search. A tile is what one block does at a time.
struct LaunchItem {
  CombineItem item;
  std::int64_t first_tile = 0;
};
struct LaunchList {
  std::vector<LaunchItem> items;
  std::int64_t tiles = 0;
};
LaunchList launch_list(std::span<const CombineItem> items);

// One launch for all items, on the current device. `items` is a LaunchList's, in device memory (it must stay
// there until the kernel has run); `stream` is a cudaStream_t. REQUIRES: count >= 1, tiles >= 1
void launch_combine(const LaunchItem* items, std::int32_t count, std::int64_t tiles, Datatype datatype,
                    ReductionOp reduction, void* stream);
void launch_divide(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                   void* stream);

}  // namespace collsim::kernels
