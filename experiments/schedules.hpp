// schedule_of(): what the user asked for by name becomes a schedule on a topology.
//
//   a name of algorithms/registry.hpp   algorithms::make_schedule
//   a path that ends in .xml            the MSCCL file, read once
//
// Paths are relative to the current folder (sim/config has put the experiment's folder in front).
// Threads     A ScheduleCache may be shared by threads.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "algorithms/registry.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

using algorithms::ScheduleOrReason;

// What is made once for all sizes of a run on one topology.
class ScheduleCache {
 private:
  std::mutex mutex_;
};

// REQUIRES: is_algorithm(request.name)
ScheduleOrReason schedule_of(const AlgorithmRequest& request, const Collective& collective,
                             const Topology& topology, ScheduleCache& cache);

bool is_algorithm(std::string_view name);
bool is_algorithm_file(std::string_view name);  // ends in .xml
// The name under which an algorithm is reported: an alias becomes its name, a file stays its path.
std::string full_name_of(std::string_view name);

}  // namespace collsim::program
