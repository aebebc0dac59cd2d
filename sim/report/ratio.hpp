// Ratio: an exact non-negative fraction, and its text. Bandwidths, percentages and utilizations stay exact
// until they are printed, so that a report has the same bytes on every machine and compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/core/units.hpp"

namespace collsim {

struct Ratio {
  Int128 numerator = 0;
  Int128 denominator = 1;  // > 0

  // The nearest double, give or take one unit in the last place. For JSON and CSV only.
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

// "12.35": `places` decimals, rounded half up by integer arithmetic.
// REQUIRES: places <= 6, numerator * 10^places < 2^127
std::string decimal_text(Ratio ratio, int places);

// As nccl-tests prints a float: two decimals, or one, or none, whichever still fits `width` characters; a
// number that does not fit without decimals is printed in full.
std::string fitted_text(Ratio ratio, std::size_t width);

// The double in its shortest form that reads back as the same double ("0.5", "104.33", "1e+30").
std::string shortest_text(double value);

}  // namespace collsim
