#include "experiments/device_errors.hpp"

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
  std::string text = "collsim: " + std::string(error.what());
  if (!error.detail().empty()) text += "; " + error.detail();
  return {exit_code_of(error.kind()), text + "\n"};
}

std::unique_ptr<kernels::Backend> backend_of(const std::string& device, int workers) {
  std::unique_ptr<kernels::Backend> backend;
  on_device([&] { backend = device == "cuda" ? kernels::cuda_backend() : kernels::cpu_backend(workers); });
  return backend;
}

void on_device(const std::function<void()>& work) {
  try {
    work();
  } catch (const kernels::DeviceError& error) {
    throw stop_of(error);
  }
}

}  // namespace collsim::program
