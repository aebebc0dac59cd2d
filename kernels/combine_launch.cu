#include "kernels/combine_launch.cuh"
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

template <class T>
__global__ void __launch_bounds__(threads_of_block)
    divide_kernel(std::byte* data, std::int64_t bytes, std::int64_t divisor) {
  divide_items<T>(data, bytes, divisor, DeviceGrid{});
}

}  // namespace

void launch_combine(const LaunchItem* items, std::int32_t count, std::int64_t tiles, Datatype datatype,
                    ReductionOp reduction, void* stream) {
  const CombineLaunch launch = {
      items, count, tiles, blocks_for(tiles), reduction, static_cast<cudaStream_t>(stream)};
  with_element_type(datatype, [&](auto type) { launch_reduction<decltype(type)>(launch); });
  COLLSIM_CUDA_LAUNCHED("combine_kernel");
}

void launch_divide(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                   void* stream) {
  constexpr std::int64_t bytes_of_block = std::int64_t{threads_of_block} * pack_bytes_max;
  const unsigned blocks = blocks_for((bytes + bytes_of_block - 1) / bytes_of_block);
  if (blocks == 0) return;
  with_element_type(datatype, [&](auto type) {
    divide_kernel<decltype(type)>
        <<<blocks, threads_of_block, 0, static_cast<cudaStream_t>(stream)>>>(data, bytes, divisor);
  });
  COLLSIM_CUDA_LAUNCHED("divide_kernel");
}

}  // namespace collsim::kernels
