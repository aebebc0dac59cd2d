// Scene: the cluster of an experiment as one seed finds it: its topology, and what is not as its owner drew
// it.
//
//   Experiment and seed -> Topology (routes by seed, or by a table) -> Conditions, by what they mean on it
//
// Errors      Functions throw Stop (exit 65) with a diagnostic at the key that does not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/seating.hpp"
#include "sim/config/reader.hpp"
#include "sim/model/conditions.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

// What a run finds. A tree of switches that goes down is not of the network: the collective starts again with
// another algorithm.
struct Circumstances {
  // That of the scene; another one where something is down from the start, so that routes avoid it.
  std::shared_ptr<const Topology> topology;
  std::string what;  // "leaf0 -> spine1 down at 1 ms, re-routed after 10 ms"
  Conditions conditions;
  std::optional<FaultSpec> aggregation;
};

struct Scene {
  std::uint64_t seed = 1;
  std::shared_ptr<const Topology> topology;
  Circumstances all;
  std::vector<Circumstances> each;  // one for each condition, by itself

  bool is_healthy() const { return each.empty(); }
  Circumstances healthy() const { return {topology, "", {}, {}}; }
};
using SceneOf = std::function<Scene(std::uint64_t seed)>;

// The scene of a topology as it is drawn. The topology must outlive it.
Scene healthy_scene(const Topology& topology, std::uint64_t seed);

// Scenes of an experiment. The first is made at once, so that what is wrong is said before anything runs;
// topologies are built anew only where routes depend on the seed.
SceneOf scenes_of(const ReadResult& read);

// Whether anything in the experiment depends on the seed.
bool uses_seed(const Experiment& experiment);

}  // namespace collsim::program
