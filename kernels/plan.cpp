#include "kernels/plan.hpp"

namespace collsim::kernels {

std::int64_t Plan::memory_bytes() const {
  std::int64_t sum = 0;
  for (const Area& area : areas) sum += area.bytes;
  return sum;
}

std::int64_t Plan::traffic_bytes() const {
  std::int64_t sum = 0;
  for (const Task& task : tasks) {
    if (task.kind == TaskKind::combine) sum += task.bytes * (task.sources + task.destinations);
    if (task.kind == TaskKind::divide) sum += task.bytes * 2;
  }
  return sum;
}

}  // namespace collsim::kernels
