#include "experiments/forecast.hpp"

#include <fmt/format.h>

#include "sim/core/quantity_text.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

std::string grouped_text(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string rough_time_text(std::int64_t seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  const auto rounded = [seconds](std::int64_t unit) {
    return seconds / unit + (seconds % unit) / (unit / 2);
  };
  if (seconds < 2 * minute) return fmt::format("{} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{} min", rounded(minute));
  if (seconds < 2 * day) return fmt::format("{} h", rounded(hour));
  return fmt::format("{} days", grouped_text(rounded(day)));
}

std::string forecast_text(const Estimate& estimate, std::int64_t runs) {
  const RunMethod& method = estimate.method;
  const std::string all = grouped_text(method.streams);
  const std::string streams =
      method.classes == method.streams ? all : grouped_text(method.classes) + " of " + all;
  const std::string times = runs > 1 ? fmt::format(", {} runs", grouped_text(runs)) : "";
  return fmt::format("about {} ({} messages, {} streams, {}{})", rough_time_text(estimate.seconds),
                     grouped_text(estimate.messages), streams, executor_name(method), times);
}

std::string notice_text(const std::string& algorithm, Bytes size, const Estimate& estimate,
                        std::int64_t runs) {
  return fmt::format("{}, {}: {}\n", algorithm, text_from(size), forecast_text(estimate, runs));
}

}  // namespace collsim::program
