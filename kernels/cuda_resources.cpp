#include "kernels/cuda_resources.cuh"

namespace collsim::kernels {

CudaStream make_stream(int device) {
  COLLSIM_CUDA_CALL(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  COLLSIM_CUDA_CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return CudaStream(stream);
}

CudaEvent make_event(int device, bool with_time) {
  COLLSIM_CUDA_CALL(cudaSetDevice(device));
  cudaEvent_t event = nullptr;
  COLLSIM_CUDA_CALL(cudaEventCreateWithFlags(&event, with_time ? cudaEventDefault : cudaEventDisableTiming));
  return CudaEvent(event);
}

CudaMemory allocate(int device, std::int64_t bytes) {
  COLLSIM_CUDA_CALL(cudaSetDevice(device));
  void* memory = nullptr;
  COLLSIM_CUDA_CALL(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
  return CudaMemory(static_cast<std::byte*>(memory));
}

}  // namespace collsim::kernels
