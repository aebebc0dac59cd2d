// Errors of devices (kernels/backend.hpp) as the program says them.
//
// Exit codes  missing, failed: no_device (69); memory: limit (75); unsupported: negative (1).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "experiments/program.hpp"
#include "kernels/backend.hpp"

namespace collsim::program {

ExitCode exit_code_of(kernels::DeviceError::Kind kind);

// "collsim: <text>; <detail>", with the exit code of its kind.
Stop stop_of(const kernels::DeviceError& error);

// The backend of a device's name, "cpu" or "cuda"; `workers`: threads of the CPU, 0 = as many as there may
// be. Throws Stop.
std::unique_ptr<kernels::Backend> backend_of(const std::string& device, int workers);

// Calls `work`. Throws Stop where it throws DeviceError.
void on_device(const std::function<void()>& work);

}  // namespace collsim::program
