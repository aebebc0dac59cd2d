// Combine reductions: the kernels of one element type. Only for combine_*.cu, each of which says
//   template void launch_reduction<T>(const CombineLaunch&);
// for its element types.
#pragma once

#include "kernels/combine_launch.cuh"

namespace collsim::kernels {

// So that enough blocks fit on a multiprocessor to have many loads on their way.
constexpr int blocks_at_least = 2;

template <class T>
__global__ void __launch_bounds__(threads_of_block, blocks_at_least)
    combine_kernel(const LaunchItem* items, std::int32_t count, std::int64_t tiles, ReductionOp reduction) {
  combine_items<T>(items, count, tiles, reduction, DeviceGrid{});
}

template <class T>
void launch_reduction(const CombineLaunch& launch) {
  combine_kernel<T><<<launch.blocks, threads_of_block, 0, launch.stream>>>(launch.items, launch.count,
                                                                           launch.tiles, launch.reduction);
}

}  // namespace collsim::kernels
