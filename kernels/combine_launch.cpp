#include "kernels/combine_launch.hpp"

#include "kernels/combine_kernel.hpp"
#include "kernels/cuda_check.cuh"

namespace collsim::kernels {
namespace {

// A block for every piece of work, but not more than run at a time: they do what is left.
unsigned blocks_for(std::int64_t pieces) {
  constexpr std::int64_t blocks_of_multiprocessor = 8;  // of 256 threads: all that any generation holds
  int device = 0;
  int multiprocessors = 0;
  COLLSIM_CUDA_CALL(cudaGetDevice(&device));
  COLLSIM_CUDA_CALL(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const std::int64_t most = blocks_of_multiprocessor * multiprocessors;
  return static_cast<unsigned>(pieces < most ? pieces : most);
}

}  // namespace

void launch_combine(const LaunchItem* items, std::int32_t count, std::int64_t tiles, Datatype datatype,
                    ReductionOp reduction, void* stream) {
  const LaunchShape shape = {blocks_for(tiles), stream};
  with_element_type(
      datatype, [&](auto type) { launch_reduction<decltype(type)>(shape, items, count, tiles, reduction); });
  COLLSIM_CUDA_LAUNCHED("combine_kernel");
}

void launch_divide(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                   void* stream) {
  if (bytes == 0) return;
  constexpr std::int64_t bytes_of_block = std::int64_t{threads_of_block} * pack_bytes_max;
  const LaunchShape shape = {blocks_for((bytes + bytes_of_block - 1) / bytes_of_block), stream};
  with_element_type(datatype,
                    [&](auto type) { launch_division<decltype(type)>(shape, data, bytes, divisor); });
  COLLSIM_CUDA_LAUNCHED("divide_kernel");
}

}  // namespace collsim::kernels
