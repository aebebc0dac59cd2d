#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

template void launch_reduction<Float8E4M3>(const CombineLaunch&);
template void launch_reduction<Float8E5M2>(const CombineLaunch&);

}  // namespace collsim::kernels
