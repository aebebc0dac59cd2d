// CHECK: conditions that only a bug in collsim can break.
//
// A failed CHECK is never the user's fault: bad input is a Diagnostic, an unhappy run is a value in the
// result. It throws InternalError, which the program reports and turns into exit code 70; nothing in the
// library catches it. CHECK is on in every build type. DCHECK is for conditions too costly for every event;
// it is on in debug builds.
#pragma once

#include <stdexcept>
#include <string>

namespace collsim {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws InternalError with the place, the broken condition and what was seen.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace collsim

// Two macros, so that the detail text is built only when the condition is broken.
#define COLLSIM_CHECK(condition)                                              \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::collsim::check_failed(__FILE__, __LINE__, #condition, std::string()); \
  } while (false)

#define COLLSIM_CHECK_MSG(condition, detail)                           \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::collsim::check_failed(__FILE__, __LINE__, #condition, detail); \
  } while (false)

#ifdef NDEBUG
#define COLLSIM_DCHECK(condition) \
  do {                            \
  } while (false)
#else
#define COLLSIM_DCHECK(condition) COLLSIM_CHECK(condition)
#endif
