#include "kernels/combine_kernel.hpp"
#include "kernels/cuda_launch.hpp"

namespace collsim::kernels {

LaunchList launch_list(std::span<const CombineItem> items) {
  LaunchList list;
  list.items.reserve(items.size());
  for (const CombineItem& item : items) {
    list.items.push_back({item, list.tiles});
    list.tiles += tiles_of(item.bytes);
  }
  return list;
}

}  // namespace collsim::kernels
