#include "sim/core/check.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace collsim;

namespace {

constexpr int first_line = __LINE__ + 1;
std::string message_of(bool condition, bool with_detail) {
  try {
    if (with_detail)
      COLLSIM_CHECK_MSG(condition, "saw 3");
    else
      COLLSIM_CHECK(condition);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

TEST_CASE("CHECK names place, condition and detail when the condition is broken") {
  CHECK(ends_with(message_of(false, true),
                  "check_test.cpp:" + std::to_string(first_line + 3) +
                      ": broken invariant: condition (saw 3); this is a bug in collsim, not in your "
                      "input"));
  CHECK(ends_with(message_of(false, false),
                  "check_test.cpp:" + std::to_string(first_line + 5) +
                      ": broken invariant: condition; this is a bug in collsim, not in your input"));
}

TEST_CASE("CHECK does nothing when the condition holds") {
  CHECK(message_of(true, true).empty());
  CHECK(message_of(true, false).empty());
}

TEST_CASE("CHECK builds its detail only when the condition is broken") {
  int built = 0;
  const auto detail = [&] { return ++built, std::string("detail"); };
  COLLSIM_CHECK_MSG(built == 0, detail());
  CHECK(built == 0);
}
