#include "kernels/combine_reductions.cuh"

namespace collsim::kernels {

template void launch_reduction<std::int8_t>(const CombineLaunch&);
template void launch_reduction<std::uint8_t>(const CombineLaunch&);
template void launch_reduction<std::int32_t>(const CombineLaunch&);
template void launch_reduction<std::uint32_t>(const CombineLaunch&);
template void launch_reduction<std::int64_t>(const CombineLaunch&);
template void launch_reduction<std::uint64_t>(const CombineLaunch&);

}  // namespace collsim::kernels
