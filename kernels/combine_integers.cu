#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

COLLSIM_COMBINE_KERNELS(std::int8_t);
COLLSIM_COMBINE_KERNELS(std::uint8_t);
COLLSIM_COMBINE_KERNELS(std::int32_t);
COLLSIM_COMBINE_KERNELS(std::uint32_t);
COLLSIM_COMBINE_KERNELS(std::int64_t);
COLLSIM_COMBINE_KERNELS(std::uint64_t);

}  // namespace collsim::kernels
