// Combine launch: the kernels around combine_kernel.hpp, and how they are launched. Only for combine_*.cu,
// which share the datatypes between them, so that they compile in parallel. It includes
// little, because nvcc reads it once for each architecture.
#pragma once

#include "kernels/combine_kernel.hpp"

namespace collsim::kernels {

struct DeviceGrid {
  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
};

struct CombineLaunch {
  const LaunchItem* items = nullptr;
  std::int32_t count = 0;
  std::int64_t tiles = 0;
  unsigned blocks = 1;
  ReductionOp reduction = ReductionOp::sum;
  cudaStream_t stream = nullptr;
};

// Defined in combine_reductions.cuh for the element types of one .cu file each. The caller checks for errors.
template <class T>
void launch_reduction(const CombineLaunch& launch);

}  // namespace collsim::kernels
