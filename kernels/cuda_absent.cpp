// In place of the CUDA backend where there was no nvcc.
#include "kernels/backend.hpp"

namespace collsim::kernels {

std::string why_no_cuda() { return "collsim was built without CUDA"; }

std::unique_ptr<Backend> cuda_backend() { throw DeviceError(DeviceError::Kind::missing, why_no_cuda()); }

Duration nccl_all_reduce_time(std::int64_t, int, int) {
  throw DeviceError(DeviceError::Kind::missing, why_no_cuda());
}

}  // namespace collsim::kernels
