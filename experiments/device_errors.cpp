#include "experiments/device_errors.hpp"

#include <string>

namespace collsim::program {

ExitCode exit_code_of(kernels::DeviceError::Kind kind) {
  switch (kind) {
    case kernels::DeviceError::Kind::missing:
    case kernels::DeviceError::Kind::failed:
      return ExitCode::no_device;
    case kernels::DeviceError::Kind::memory:
      return ExitCode::limit;
    case kernels::DeviceError::Kind::unsupported:
      return ExitCode::negative;
  }
  return ExitCode::internal;
}

Stop stop_of(const kernels::DeviceError& error) {
  return {exit_code_of(error.kind()), "collsim: " + std::string(error.what()) + "\n"};
}

void on_device(const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::DeviceError& error) {
    throw stop_of(error);
  }
}

}  // namespace collsim::program
