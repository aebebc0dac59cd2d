// read_file(): the bytes of a file, or why they cannot be had.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sim/config/diagnostic.hpp"

namespace collsim {

constexpr std::int64_t file_bytes_max = std::int64_t{16} << 20;

// Errors      "no such file", "is a directory", "cannot be read", "is too large" (more than `bytes_max`).
std::variant<std::string, Diagnostic> read_file(const std::string& path,
                                                std::int64_t bytes_max = file_bytes_max);

}  // namespace collsim
