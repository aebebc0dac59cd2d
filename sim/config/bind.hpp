// The parts of an experiment, each from the checked values of its keys. Rules that join several keys are
// checked here; what is wrong is said to `findings`, and then the result does not count.
#pragma once

#include <cstdint>

#include "sim/config/experiment.hpp"
#include "sim/config/findings.hpp"

namespace collsim::config {

// `root` is the value of the whole file.
ClusterSpec cluster_from(const Value& root, Findings& findings);
NetworkOptions network_from(const Value& root, Findings& findings);
// GPUs of the cluster, at most ranks_max: more are an error of cluster_from().
std::int64_t gpus_of(const ClusterSpec& cluster);
PlacementSpec placement_from(const Value& root, std::int64_t gpus, Findings& findings);
ConditionsSpec conditions_from(const Value& root, std::int64_t ranks, const Registries& registries,
                               Findings& findings);

// One entry of `algorithm`, or of a job's.
AlgorithmRequest request_from(const Value& value, const std::string& path, const Registries& registries,
                              Findings& findings);
// The name of an algorithm that may be written as its alias. REQUIRES: there is one
std::string algorithm_name(const std::string& name, const Registries& registries);

// What a run moves and waits for at most.
struct Extent {
  Int128 bytes = 0;   // every rank's vector over one link, one job after the other
  Int128 ranks = 1;   // of all jobs
  Int128 vector = 0;  // the largest of a rank
  std::string place;  // of the largest size
  std::string text;   // "1 TiB on 2 ranks"
};
// Keeps every sum of bytes and every simulated time within int64.
void check_limits(const Experiment& experiment, const Extent& extent, Findings& findings);

}  // namespace collsim::config
