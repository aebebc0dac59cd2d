#include "algorithms/unused_options.hpp"

#include <string>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

bool is_set(const AlgorithmOptions& options, std::string_view name) {
  if (name == "channels") return options.channels.has_value();
  if (name == "slices") return options.slices.has_value();
  if (name == "slots") return options.slots.has_value();
  if (name == "channel_bandwidth") return options.channel_bandwidth.has_value();
  if (name == "levels") return !options.levels.empty();
  if (name == "level_bandwidths") return !options.level_bandwidths.empty();
  COLLSIM_CHECK_MSG(false, std::string(name));
  return false;
}

}  // namespace

void note_unused(Schedule& schedule, const AlgorithmOptions& options,
                 const std::vector<std::string_view>& names) {
  for (const std::string_view name : names)
    if (is_set(options, name)) schedule.unused_options.emplace_back(name);
}

}  // namespace collsim::algorithms
