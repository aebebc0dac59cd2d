#include "kernels/backend.hpp"

#include <cstddef>

#include "sim/core/check.hpp"

namespace collsim::kernels {

std::string memory_text(std::int64_t bytes) {
  COLLSIM_CHECK(bytes >= 0);
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit < 6 && bytes >> (10 * (unit + 1)) > 0) ++unit;
  if (unit == 0) return std::to_string(bytes) + " B";
  const std::int64_t one = std::int64_t{1} << (10 * unit);
  const auto hundredths = static_cast<std::int64_t>((Int128{bytes} * 100 + one / 2) / one);
  const std::string decimals = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (decimals.size() == 1 ? ".0" : ".") + decimals + " " +
         units[unit];
}

std::int64_t warm_up(Execution& execution, std::int64_t runs, Duration time) {
  std::int64_t done = 0;
  for (Duration taken; done < runs || (taken < time && done < warmup_runs_max); ++done)
    taken += execution.run();
  return done;
}

}  // namespace collsim::kernels
