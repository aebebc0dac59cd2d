#include "sim/report/ratio.hpp"

#include <fmt/format.h>

#include "sim/core/check.hpp"

namespace collsim {

namespace {

Int128 power_of_ten(int exponent) {
  Int128 power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// floor(numerator / denominator * scale + 1/2), without overflow where the fraction itself is large.
Int128 rounded(Ratio ratio, Int128 scale) {
  const Int128 whole = ratio.numerator / ratio.denominator;
  const Int128 rest = ratio.numerator % ratio.denominator;
  return whole * scale + (rest * scale + ratio.denominator / 2) / ratio.denominator;
}

}  // namespace

std::string decimal_text(Ratio ratio, int places) {
  COLLSIM_CHECK(ratio.denominator > 0 && ratio.numerator >= 0);
  COLLSIM_CHECK(places >= 0 && places <= 6);
  const Int128 scale = power_of_ten(places);
  const Int128 scaled = rounded(ratio, scale);
  std::string text = fmt::format("{}", scaled / scale);
  if (places > 0) text += fmt::format(".{:0{}}", static_cast<std::int64_t>(scaled % scale), places);
  return text;
}

std::string fitted_text(Ratio ratio, std::size_t width) {
  for (int places = 2; places > 0; --places) {
    std::string text = decimal_text(ratio, places);
    if (text.size() <= width) return text;
  }
  return decimal_text(ratio, 0);
}

std::string shortest_text(double value) { return fmt::format("{}", value); }

}  // namespace collsim
