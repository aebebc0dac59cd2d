// Combine launch: what combine_launch.cpp (host compiler) asks of combine_*.cu (nvcc). Each .cu file has the
// kernels of some element types, so that they compile in parallel, and includes little, because nvcc reads it
// once for each architecture. Internal to kernels; only where COLLSIM_HAS_CUDA is defined.
//
// Errors      None here: the caller asks CUDA afterwards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda_launch.hpp"

namespace collsim::kernels {

struct LaunchShape {
  unsigned blocks = 1;
  void* stream = nullptr;  // a cudaStream_t
};

template <class T>
void launch_reduction(LaunchShape shape, const LaunchItem* items, std::int32_t count, std::int64_t tiles,
                      ReductionOp reduction);
template <class T>
void launch_division(LaunchShape shape, std::byte* data, std::int64_t bytes, std::int64_t divisor);

}  // namespace collsim::kernels
