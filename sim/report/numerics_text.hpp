// What sim/model/numerics.hpp knows of a result, as text for people.
#pragma once

#include <cstdint>
#include <string>

#include "sim/model/numerics.hpp"

namespace collsim {

// "float32 sum: every rank gets bitwise the same, every run; error at most 1.85e-06 times the sum of |x|".
// One sentence without full stop; empty where the collective adds nothing, or where nobody asked.
std::string numerics_text(const Numerics& numerics, const Collective& collective, std::int64_t ranks);

}  // namespace collsim
