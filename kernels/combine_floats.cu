#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

COLLSIM_COMBINE_KERNELS(Float16);
COLLSIM_COMBINE_KERNELS(BFloat16);
COLLSIM_COMBINE_KERNELS(float);
COLLSIM_COMBINE_KERNELS(double);

}  // namespace collsim::kernels
