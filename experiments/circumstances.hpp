// run_under(): one run of jobs under some conditions, with what takes their place where aggregation is down.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "experiments/scene.hpp"
#include "experiments/seating.hpp"
#include "sim/execution/simulation.hpp"

namespace collsim::program {

struct Runnable {
  const SeatedSchedule* seated = nullptr;
  Instant start;
  std::int32_t after = -1;
  // By the name of the algorithm; of schedules that aggregate, for every fallback of the scene.
  std::map<std::string, SeatedOrReason> fallbacks;
};

bool aggregates(const Schedule& schedule);

// Those of `runnables` as a run without any fault takes them.
std::vector<Job> jobs_of(const std::vector<Runnable>& runnables);

// `simulator` is one of `usual`; circumstances with another topology get one of their own. Adds to `notes`,
// where it is not null, what took the place of what.
// REQUIRES: one job, or aggregation is down from the start or not at all
RunResult run_under(const Circumstances& circumstances, const std::vector<Runnable>& runnables,
                    const Topology& usual, Simulator& simulator, const RunOptions& options,
                    std::vector<std::string>* notes);

}  // namespace collsim::program
