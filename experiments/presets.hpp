// The hardware catalogue (experiments/hardware/*.yaml), compiled in, so that the installed program needs no
// files.
#pragma once

#include <string_view>
#include <vector>

namespace collsim::program {

struct Preset {
  std::string_view name;  // "dgx-h100"
  std::string_view path;  // "experiments/hardware/dgx-h100.yaml", for messages
  std::string_view text;
};

// In the order of experiments/CMakeLists.txt. Defined in a source file that CMake writes.
const std::vector<Preset>& presets();

}  // namespace collsim::program
