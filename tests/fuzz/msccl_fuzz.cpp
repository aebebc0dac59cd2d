// Fuzzes MSCCL files: any bytes are malformed, or proven, or refuted, or undecided, and it is said why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/msccl_property.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!collsim::fuzz::msccl_property_holds(text)) std::abort();
  return 0;
}
