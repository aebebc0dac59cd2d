// The semantics of time written down as directly as possible: no queue, no lanes, no incremental rates, no
// regions. At every instant everything is looked at and all rates are computed anew. The reference for
// simulate().
#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/simulation.hpp"

namespace collsim::testing {

struct SlowResult {
  bool finished = false;
  std::int64_t time_ps = 0;
  std::vector<std::int64_t> rank_finish_ps;
  std::int64_t messages = 0;
};

SlowResult slow_simulation(const Topology& topology, const Schedule& schedule, const RunOptions& options,
                           const Conditions& conditions = {});

}  // namespace collsim::testing
