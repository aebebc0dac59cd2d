// Errors of devices (kernels/backend.hpp) as the program says them.
//
// Exit codes  missing, failed: no_device (69); memory: limit (75); unsupported: negative (1).
#pragma once

#include <functional>

#include "experiments/program.hpp"
#include "kernels/backend.hpp"

namespace collsim::program {

ExitCode exit_code_of(kernels::DeviceError::Kind kind);

// "collsim: <text>", with the exit code of its kind.
Stop stop_of(const kernels::DeviceError& error);

// Calls `work`. Throws Stop where it throws DeviceError.
void on_device(const std::function<void()>& work);

}  // namespace collsim::program
