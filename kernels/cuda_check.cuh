// CUDA check: every CUDA call of the kernels goes through one of these macros. An error becomes a DeviceError
// that names the call, its file and line, and what CUDA says. Internal to kernels: for .cu files and
// the host code of CUDA.
//
//   COLLSIM_CUDA_CALL(cudaMalloc(&pointer, bytes));
//   kernel<<<blocks, threads, 0, stream>>>(...);
//   COLLSIM_CUDA_LAUNCHED("kernel");
//
// What a kernel does wrong while it runs is reported by a later call that waits for it.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "kernels/backend.hpp"

namespace collsim::kernels {

inline DeviceError::Kind kind_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return DeviceError::Kind::memory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
      return DeviceError::Kind::missing;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorNotSupported:
      return DeviceError::Kind::unsupported;
    default:
      return DeviceError::Kind::failed;
  }
}

// "kernels/cuda_backend.cu:12: cudaMalloc(&pointer, bytes): out of memory (cudaErrorMemoryAllocation)"
inline std::string text_of(cudaError_t error, const char* call, const char* file, int line) {
  std::string path = file;  // from the folder of the kernels on, wherever it was built
  const std::size_t folder = path.rfind("kernels/");
  if (folder != std::string::npos) path.erase(0, folder);
  return path + ":" + std::to_string(line) + ": " + call + ": " + cudaGetErrorString(error) + " (" +
         cudaGetErrorName(error) + ")";
}

// An error that CUDA remembers is taken back, so that the next call does not report it again.
inline void check_cuda(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(kind_of(error), text_of(error, call, file, line));
}

}  // namespace collsim::kernels

#define COLLSIM_CUDA_CALL(call) ::collsim::kernels::check_cuda((call), #call, __FILE__, __LINE__)
#define COLLSIM_CUDA_LAUNCHED(name) \
  ::collsim::kernels::check_cuda(cudaGetLastError(), "launch of " name, __FILE__, __LINE__)
