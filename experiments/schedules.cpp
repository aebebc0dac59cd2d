#include "experiments/schedules.hpp"

#include "sim/core/check.hpp"

namespace collsim::program {

bool is_algorithm_file(std::string_view name) { return name.ends_with(".xml"); }

bool is_algorithm(std::string_view name) { return algorithms::find(name) != nullptr; }

std::string full_name_of(std::string_view name) {
  const algorithms::AlgorithmInfo* info = algorithms::find(name);
  return std::string(info != nullptr ? info->name : name);
}

ScheduleOrReason schedule_of(const AlgorithmRequest& request, const Collective& collective,
                             const Topology& topology, ScheduleCache& cache) {
  COLLSIM_CHECK_MSG(is_algorithm(request.name), request.name);
  static_cast<void>(cache);
  return algorithms::make_schedule(request, collective, topology.placement());
}

}  // namespace collsim::program
