#include "sim/report/figures.hpp"

#include <fmt/format.h>

namespace collsim {

namespace {

constexpr std::size_t time_width = 7;       // as nccl-tests
constexpr std::size_t bandwidth_width = 6;  // as nccl-tests
constexpr std::int64_t picoseconds_per_microsecond = 1'000'000;

}  // namespace

std::string microseconds_text(Duration time) {
  return fitted_text({time.picoseconds(), picoseconds_per_microsecond}, time_width);
}

std::string bandwidth_text(const std::optional<Ratio>& gigabytes_per_second) {
  return gigabytes_per_second ? fitted_text(*gigabytes_per_second, bandwidth_width) : "-";
}

std::string percent_text(const std::optional<Ratio>& ratio) {
  return ratio ? decimal_text({ratio->numerator * 100, ratio->denominator}, 1) : "-";
}

std::string and_more_text(std::size_t count) {
  return count > lines_max ? fmt::format("... and {} more", count - lines_max) : "";
}

}  // namespace collsim
