// Experiment: one experiment file, read and checked. What to simulate, on what cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/conditions.hpp"
#include "sim/model/network_options.hpp"

namespace collsim {

// On which GPU each rank sits. GPUs are numbered node by node.
enum class PlacementKind : std::uint8_t { packed, round_robin, list };
struct PlacementSpec {
  PlacementKind kind = PlacementKind::packed;
  std::vector<Rank> gpus;  // list: of rank 0, 1, ...; distinct; fewer than the cluster has are a part of it
};

// One of several collectives that run at once or one after the other.
struct JobSpec {
  std::string name;       // unique; default "job0", ...
  Collective collective;  // its root is a place in the list of ranks
  AlgorithmRequest algorithm;
  std::vector<Rank> ranks;  // distinct; empty: all. Ranks by the placement.
  Instant start;
  std::int32_t after = -1;  // an earlier job
};

struct Experiment {
  ClusterSpec cluster;
  CollectiveKind collective = CollectiveKind::all_reduce;
  Rank root = 0;  // below the number of ranks; of collectives that have one
  // Names as in the registry; a file is its path from the current folder.
  std::vector<AlgorithmRequest> algorithms;
  // Each is one that the collective can have on so many ranks: whole elements, equal parts, 0 of a barrier.
  std::vector<Bytes> sizes;
  Datatype datatype = Datatype::float32;
  ReductionOp reduction = ReductionOp::sum;
  NetworkOptions network;
  Duration launch_overhead;
  Duration credit_latency;
  bool credit_by_route = false;  // `credit_latency: route`; the default where there are sites
  PlacementSpec placement;
  ConditionsSpec conditions;
  std::vector<JobSpec> jobs;  // not empty: instead of collective, algorithms and sizes
  std::int32_t repeat = 1;    // runs with the seeds seed, seed + 1, ...; their quantiles are reported
  std::uint64_t seed = 1;
};

// The collective of an experiment at one of its sizes.
inline Collective collective_of(const Experiment& experiment, Bytes bytes) {
  return {experiment.collective, bytes, experiment.datatype, experiment.reduction, experiment.root};
}

}  // namespace collsim
