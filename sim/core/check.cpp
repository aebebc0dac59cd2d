#include "sim/core/check.hpp"

namespace collsim {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  std::string text = std::string(file) + ":" + std::to_string(line) + ": broken invariant: " + condition;
  if (!detail.empty()) text += " (" + detail + ")";
  text += "; this is a bug in collsim, not in your input";
  throw InternalError(text);
}

}  // namespace collsim
