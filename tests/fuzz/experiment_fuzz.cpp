// Fuzzes the reader of experiments: any bytes give either an experiment or errors, and a text to print.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/experiment_property.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!collsim::fuzz::experiment_property_holds(text)) std::abort();
  return 0;
}
