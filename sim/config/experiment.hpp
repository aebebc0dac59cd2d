// Experiment: one experiment file, read and checked. What to simulate, on what cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/collective.hpp"

namespace collsim {

enum class NetworkKind { fluid };

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
  NetworkKind network = NetworkKind::fluid;
  Duration launch_overhead;
  Duration credit_latency;
  std::uint64_t seed = 1;
};

// The collective of an experiment at one of its sizes.
inline Collective collective_of(const Experiment& experiment, Bytes bytes) {
  return {experiment.collective, bytes, experiment.datatype, experiment.reduction, experiment.root};
}

}  // namespace collsim
