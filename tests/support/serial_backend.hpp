// A backend that does one task after the other in plain loops, for tests of plans: sums of uint64 only. It
// checks what a plan promises: places inside areas, whole elements, no destination that overlaps a source in
// part, predecessors that come first. It shares nothing with the backends of kernels/.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "kernels/backend.hpp"

namespace collsim::testing {

// Thrown by run and run_in_order: the plan is wrong.
class PlanFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SerialBackend : public kernels::Backend {
 public:
  std::string name() const override { return "serial"; }
  std::string description() const override { return "a loop"; }
  int devices() const override { return 1; }
  std::int64_t cache_bytes() const override { return 0; }
  std::int64_t free_bytes() const override { return std::int64_t{1} << 30; }
  std::unique_ptr<kernels::Execution> prepare(const kernels::Plan& plan,
                                              const kernels::PrepareOptions& options) override;
};

}  // namespace collsim::testing
