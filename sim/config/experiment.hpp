// Experiment: one experiment file, read and checked. What to simulate, on what cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/collective.hpp"

namespace collsim {

enum class NetworkKind { fluid };

struct Experiment {
  ClusterSpec cluster;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::vector<AlgorithmRequest> algorithms;
  std::vector<Bytes> sizes;
  Datatype datatype = Datatype::float32;
  ReductionOp reduction = ReductionOp::sum;
  NetworkKind network = NetworkKind::fluid;
  Duration launch_overhead;
  Duration credit_latency;
  std::uint64_t seed = 1;
};

}  // namespace collsim
