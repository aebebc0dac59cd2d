// Experiment and Topology -> Points: every algorithm at every size, each schedule proven and then simulated.
//
// Order       Algorithms outside, sizes inside, whatever the number of threads.
// Threads     Points are independent. The proof of a structure is made once and shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "sim/config/experiment.hpp"
#include "sim/model/topology.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

struct PipelineOptions {
  std::size_t threads = 1;
  std::int64_t events_max = std::numeric_limits<std::int64_t>::max();
  bool explain = false;
  bool links = false;
  std::function<void()> point_done;  // called after each point, from any thread; may be empty
};

// REQUIRES: `topology` is built from the experiment's cluster; every size is a whole number of elements.
std::vector<Point> simulate_points(const Experiment& experiment, const Topology& topology,
                                   const PipelineOptions& options);

}  // namespace collsim::program
