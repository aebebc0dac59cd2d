#include "algorithms/registry.hpp"

#include "algorithms/all_reduce.hpp"
#include "algorithms/common.hpp"
#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

std::vector<AlgorithmInfo> registry() {
  const std::vector<CollectiveKind> reduces = {CollectiveKind::all_reduce};
  return {
      {"ring",
       "",
       "reduce-scatter and all-gather around a ring, one or more channels",
       "Patarasuk and Yuan, JPDC 69(2), 2009; NCCL src/device/all_reduce.h runRing",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       &ring},
  };
}

}  // namespace

const std::vector<AlgorithmInfo>& all() {
  static const std::vector<AlgorithmInfo> table = registry();
  return table;
}

const AlgorithmInfo* find(std::string_view name) {
  for (const AlgorithmInfo& info : all())
    if (info.name == name || (!info.alias.empty() && info.alias == name)) return &info;
  return nullptr;
}

ScheduleOrReason make_schedule(const AlgorithmRequest& request, const Collective& collective,
                               const Placement& placement) {
  const AlgorithmInfo* info = find(request.name);
  COLLSIM_CHECK_MSG(info != nullptr, request.name);
  if (auto wrong = check_options(request.options, placement.ranks())) return *wrong;
  return info->make(collective, placement, request.options);
}

}  // namespace collsim::algorithms
