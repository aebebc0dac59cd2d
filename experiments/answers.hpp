// Answers: what is asked of a scene becomes points: schedule, proof, runs, bound.
//
// A run has one job (a row of a table) or several at once. Under conditions there are more runs of the same
// jobs: without any condition, and with each by itself. Jobs of several also run alone.
// Aggregation  A tree that is down from the start: the fallback runs instead, after the delay. Down at a time
// t:
//              what has finished by then stays; else the fallback begins after t and the delay, from nothing,
//              under the other conditions, and all that was on its way is gone. A tree over what is down from
//              the start is down as well: the fallback runs, or the run has failed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/pipeline.hpp"
#include "experiments/proofs.hpp"
#include "experiments/scene.hpp"
#include "experiments/seating.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/report/point.hpp"
#include "topologies/flow_bounds.hpp"

namespace collsim::program {

// What all points and seeds of an experiment share.
struct Shared {
  const Experiment& experiment;
  const PipelineOptions& options;
  ScheduleCache& schedules;
  std::shared_ptr<const Topology> topology;  // of the first seed; bounds do not depend on routes
  topologies::FlowBounds bounds;
  Proofs proofs;
};

// A job before, and after, it is answered.
struct Asked {
  AlgorithmRequest request;  // of the registry, synthesized, or a file
  Collective collective;     // what is simulated
  Seats seats;
  Instant start;
  std::int32_t after = -1;
  Point point;  // the question, then the answer
  // By prepare():
  std::optional<SeatedSchedule> seated;
  bool gets_stuck = false;  // as its proof has found
};

RunOptions run_options(const Experiment& experiment, const PipelineOptions& pipeline);

// The question of a point, before anything has answered it.
Point question(const Shared& shared, const Scene& scene, const AlgorithmRequest& request,
               const Collective& collective, const Seats& seats);

Point failed(Point point, PointStatus status, std::string reason);

// Makes and proves the schedule. False: it cannot run, and asked.point says why.
bool prepare(Shared& shared, const Scene& scene, Asked& asked);

// Runs the jobs together and completes their points. REQUIRES: prepare() was true of each
void answer(Shared& shared, const Scene& scene, Simulator& simulator, std::vector<Asked>& jobs);

}  // namespace collsim::program
