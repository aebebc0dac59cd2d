#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

COLLSIM_COMBINE_KERNELS(Float8E4M3);
COLLSIM_COMBINE_KERNELS(Float8E5M2);

}  // namespace collsim::kernels
