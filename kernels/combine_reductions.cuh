// Combine reductions: the kernels of one element type and their launches. Only for combine_*.cu, each of
// which says COLLSIM_COMBINE_KERNELS(type) for its element types.
#pragma once

#include "kernels/combine_kernel.hpp"
#include "kernels/combine_launch.hpp"

namespace collsim::kernels {

struct DeviceGrid {
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
};

// So that enough blocks fit on a multiprocessor to have many loads on their way.
constexpr int blocks_at_least = 2;

template <class T>
__global__ void __launch_bounds__(threads_of_block, blocks_at_least)
    combine_kernel(const LaunchItem* items, std::int32_t count, std::int64_t tiles, ReductionOp reduction) {
  combine_items<T>(items, count, tiles, reduction, DeviceGrid{});
}

template <class T>
__global__ void __launch_bounds__(threads_of_block)
    divide_kernel(std::byte* data, std::int64_t bytes, std::int64_t divisor) {
  divide_items<T>(data, bytes, divisor, DeviceGrid{});
}

template <class T>
void launch_reduction(LaunchShape shape, const LaunchItem* items, std::int32_t count, std::int64_t tiles,
                      ReductionOp reduction) {
  combine_kernel<T><<<shape.blocks, threads_of_block, 0, static_cast<cudaStream_t>(shape.stream)>>>(
      items, count, tiles, reduction);
}

template <class T>
void launch_division(LaunchShape shape, std::byte* data, std::int64_t bytes, std::int64_t divisor) {
  divide_kernel<T>
      <<<shape.blocks, threads_of_block, 0, static_cast<cudaStream_t>(shape.stream)>>>(data, bytes, divisor);
}

#define COLLSIM_COMBINE_KERNELS(T)                                                              \
  template void launch_reduction<T>(LaunchShape, const LaunchItem*, std::int32_t, std::int64_t, \
                                    ReductionOp);                                               \
  template void launch_division<T>(LaunchShape, std::byte*, std::int64_t, std::int64_t)

}  // namespace collsim::kernels
