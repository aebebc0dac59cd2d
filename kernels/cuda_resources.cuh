// Owners of what the CUDA runtime gives out. Internal to kernels.
//
// Destructors do not throw: what a call says there is lost, and a later call says it again if the device has
// failed. Streams do not wait for CUDA's default stream, nor it for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernels/cuda_check.cuh"

namespace collsim::kernels {

// Restores the current device at the end of the scope.
class DeviceScope {
 public:
  DeviceScope() { COLLSIM_CUDA_CALL(cudaGetDevice(&device_)); }
  ~DeviceScope() { static_cast<void>(cudaSetDevice(device_)); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int device_ = 0;
};

template <class Handle, cudaError_t (*destroy)(Handle)>
struct CudaDeleter {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { static_cast<void>(destroy(handle)); }
};
template <class Handle, cudaError_t (*destroy)(Handle)>
using CudaOwner = std::unique_ptr<std::remove_pointer_t<Handle>, CudaDeleter<Handle, destroy>>;

using CudaStream = CudaOwner<cudaStream_t, cudaStreamDestroy>;
using CudaEvent = CudaOwner<cudaEvent_t, cudaEventDestroy>;
using CudaGraph = CudaOwner<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = CudaOwner<cudaGraphExec_t, cudaGraphExecDestroy>;

struct CudaFree {
  void operator()(std::byte* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};
using CudaMemory = std::unique_ptr<std::byte, CudaFree>;

// On the given device, which becomes the current one.
CudaStream make_stream(int device);
CudaEvent make_event(int device, bool with_time);
// Throws DeviceError (memory) where there is no room. REQUIRES: bytes >= 1
CudaMemory allocate(int device, std::int64_t bytes);

}  // namespace collsim::kernels
