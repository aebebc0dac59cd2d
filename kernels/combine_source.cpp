// The kernels' source on the host: every thread of every block, one after the other. In place that is right
// because no thread reads what another one writes.
#include "kernels/combine_kernel.hpp"

namespace collsim::kernels {
namespace {

struct HostGrid {
  GridShape shape;
  int at_block = 0;
  int at_thread = 0;
  int block() const { return at_block; }
  int blocks() const { return shape.blocks; }
  int thread() const { return at_thread; }
  int threads() const { return shape.threads; }
};

template <class Body>
void for_each_thread(GridShape shape, Body body) {
  for (int block = 0; block < shape.blocks; ++block)
    for (int thread = 0; thread < shape.threads; ++thread) body(HostGrid{shape, block, thread});
}

}  // namespace

void combine_by_kernel_source(std::span<const CombineItem> items, Datatype datatype, ReductionOp reduction,
                              GridShape shape) {
  const LaunchList list = launch_list(items);
  const auto count = static_cast<std::int32_t>(list.items.size());
  with_element_type(datatype, [&](auto type) {
    for_each_thread(shape, [&](const HostGrid& grid) {
      combine_items<decltype(type)>(list.items.data(), count, list.tiles, reduction, grid);
    });
  });
}

void divide_by_kernel_source(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                             GridShape shape) {
  with_element_type(datatype, [&](auto type) {
    for_each_thread(shape,
                    [&](const HostGrid& grid) { divide_items<decltype(type)>(data, bytes, divisor, grid); });
  });
}

}  // namespace collsim::kernels
