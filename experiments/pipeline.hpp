// Experiment and Scenes -> Points: every algorithm at every size, or every job, each schedule proven and then
// simulated; over several seeds where the experiment is repeated.
//
// Order       Algorithms outside, sizes inside, whatever the number of threads.
// Threads     Points are independent, and so are seeds; seeds are taken several at a time where there are
// any. The proof of a structure is made once and shared. The sizes of an
//             algorithm share Simulators (workplan.hpp).
// Limits      A point that would take too long, or that runs out of memory, has status limit and a reason;
//             the others still run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/scene.hpp"
#include "experiments/schedules.hpp"
#include "sim/config/experiment.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/topology.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

struct PipelineOptions {
  std::size_t threads = 1;
  std::int64_t events_max = std::numeric_limits<std::int64_t>::max();
  Shortcuts shortcuts = Shortcuts::automatic;
  bool explain = false;
  bool links = false;
  // A point that takes more seconds than these, by Simulator::estimate(), is announced, or not run.
  std::int64_t announced_seconds = 10;
  std::int64_t refused_seconds = 3600;
  bool allow_long = false;  // refuse none
  // Called from any thread; may be empty. `announce` gets a whole line before the run, `point_done` is called
  // after each point.
  std::function<void(const std::string&)> announce;
  std::function<void()> point_done;
};

// All points of an experiment, over its seeds: a table of algorithms and sizes, or its jobs.
// REQUIRES: `schedules` has read the experiment's files
std::vector<Point> simulate_scenes(const Experiment& experiment, const SceneOf& scene_of,
                                   ScheduleCache& schedules, const PipelineOptions& options);

// The same on a topology as it is drawn, whatever the experiment says of conditions.
// REQUIRES: `topology` is built from the experiment's cluster; `schedules` has read its files
std::vector<Point> simulate_points(const Experiment& experiment, const Topology& topology,
                                   ScheduleCache& schedules, const PipelineOptions& options);

}  // namespace collsim::program
