// read_file(): the bytes of a file, or why they cannot be had.
#pragma once

#include <string>
#include <variant>

#include "sim/config/diagnostic.hpp"

namespace collsim {

// Errors      "no such file", "is a directory", "cannot be read", "is too large" (more than 16 MiB).
std::variant<std::string, Diagnostic> read_file(const std::string& path);

}  // namespace collsim
