#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

template void launch_reduction<Float16>(const CombineLaunch&);
template void launch_reduction<BFloat16>(const CombineLaunch&);
template void launch_reduction<float>(const CombineLaunch&);
template void launch_reduction<double>(const CombineLaunch&);

}  // namespace collsim::kernels
