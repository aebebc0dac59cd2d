// Figures: quantities as the text reports show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/units.hpp"
#include "sim/report/ratio.hpp"

namespace collsim {

constexpr std::size_t report_width = 120;  // columns of a terminal that a table of usual names keeps within
constexpr std::size_t lines_max = 32;      // of blocked streams, links or findings of one point

// "160.80", "1343177": without the unit, at most 7 characters where that is possible.
std::string microseconds_text(Duration time);
// "52.17": at most 6 characters where that is possible. "-" where there is none.
std::string bandwidth_text(const std::optional<Ratio>& gigabytes_per_second);
// "91.3", without the sign. "-" where there is none.
std::string percent_text(const std::optional<Ratio>& ratio);
// "... and 7 more" of `count` where only lines_max are shown; empty where all are.
std::string and_more_text(std::size_t count);

}  // namespace collsim
