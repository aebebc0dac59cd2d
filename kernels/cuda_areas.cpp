#include "kernels/cuda_areas.hpp"

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

namespace collsim::kernels {

AreaMap area_map(const Plan& plan, std::span<const int> device_of, int devices,
                 const PrepareOptions& options) {
  COLLSIM_CHECK(options.misalignment >= 0 && options.misalignment < area_alignment);
  COLLSIM_CHECK(options.misalignment % element_bytes(plan.collective.datatype) == 0);
  COLLSIM_CHECK(options.sets >= 1);
  AreaMap map;
  map.areas = static_cast<std::int32_t>(plan.areas.size());
  map.bytes.assign(static_cast<std::size_t>(devices), head_bytes);
  for (const Area& area : plan.areas) map.device.push_back(device_of[static_cast<std::size_t>(area.rank)]);
  map.offset.reserve(plan.areas.size() * static_cast<std::size_t>(options.sets));
  for (std::int32_t set = 0; set < options.sets; ++set)
    for (std::size_t area = 0; area < plan.areas.size(); ++area) {
      std::int64_t& end = map.bytes[static_cast<std::size_t>(map.device[area])];
      const std::int64_t aligned = (end + guard_bytes + area_alignment - 1) / area_alignment * area_alignment;
      map.offset.push_back(aligned + options.misalignment);
      end = map.offset.back() + plan.areas[area].bytes + guard_bytes;
    }
  return map;
}

Guard guard_of(std::int32_t area, bool before) {
  Guard guard{};
  Random random(static_cast<std::uint64_t>(area) * 2 + (before ? 1 : 0));
  for (std::byte& byte : guard) byte = static_cast<std::byte>(random.next() & 0xff);
  return guard;
}

std::optional<std::int64_t> first_changed(const Guard& found, std::int32_t area, bool before) {
  const Guard expected = guard_of(area, before);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != expected[i]) return static_cast<std::int64_t>(i);
  return std::nullopt;
}

}  // namespace collsim::kernels
