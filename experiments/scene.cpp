#include "experiments/scene.hpp"

#include <utility>
#include <variant>

#include "experiments/condition_text.hpp"
#include "experiments/inputs.hpp"
#include "experiments/selection.hpp"
#include "topologies/conditions.hpp"

namespace collsim::program {

namespace {

// Dragonflies and custom links choose among equal ways by the seed, whatever the routing.
bool has_random_routes(const ClusterSpec& cluster) {
  const RoutingKind routing = cluster.routing.kind;
  return routing == RoutingKind::ecmp || routing == RoutingKind::valiant || routing == RoutingKind::table ||
         cluster.fabric.kind == FabricKind::dragonfly || cluster.fabric.kind == FabricKind::custom;
}

bool is_random(const Distribution& distribution) {
  return distribution.kind != DistributionKind::constant && !distribution.is_zero();
}

// Ranks as the user counts them become GPUs, which is what a topology counts.
ConditionsSpec on_gpus(ConditionsSpec spec, const Seats& seats) {
  if (seats.is_plain()) return spec;
  for (FaultSpec& fault : spec.faults)
    if (fault.target == FaultTarget::rank) fault.rank = seats.gpu_of(fault.rank);
  for (auto& late : spec.skew.ranks) late.first = seats.gpu_of(late.first);
  for (BackgroundSpec& background : spec.background) {
    if (background.from >= 0) background.from = seats.gpu_of(background.from);
    if (background.to >= 0) background.to = seats.gpu_of(background.to);
  }
  return spec;
}

// One condition of many.
struct Single {
  std::string what;
  ConditionsSpec spec;
};

std::vector<Single> singles_of(const ConditionsSpec& spec) {
  std::vector<Single> singles;
  const auto add = [&singles](std::string what) -> ConditionsSpec& {
    singles.push_back({std::move(what), {}});
    return singles.back().spec;
  };
  for (const FaultSpec& fault : spec.faults) add(text_of(fault)).faults = {fault};
  if (!spec.skew.is_zero()) add(text_of(spec.skew)).skew = spec.skew;
  if (!spec.jitter.is_zero()) add(jitter_text(spec.jitter)).jitter = spec.jitter;
  for (const BackgroundSpec& background : spec.background) add(text_of(background)).background = {background};
  return singles;
}

bool is_down_from_start(const FaultSpec& fault) {
  return fault.down && fault.at == Instant() && fault.target != FaultTarget::aggregation;
}

// Of faults of aggregation the first counts.
Circumstances circumstances_of(const ReadResult& read, const std::shared_ptr<const Topology>& topology,
                               const Seats& seats, std::uint64_t seed, const ConditionsSpec& spec) {
  Circumstances result;
  bool is_other = false;
  for (const FaultSpec& fault : spec.faults) {
    is_other = is_other || is_down_from_start(fault);
    const bool aggregates = fault.target == FaultTarget::aggregation;
    if (aggregates && (!result.aggregation || fault.at < result.aggregation->at)) result.aggregation = fault;
  }
  topologies::Resolved resolved = program::resolved(read, *topology, on_gpus(spec, seats), seed);
  result.conditions = std::move(resolved.conditions);
  result.topology = is_other ? std::make_shared<const Topology>(std::move(resolved.topology)) : topology;
  return result;
}

// What resolve() leaves to us.
void check_aggregation(const ReadResult& read) {
  const std::vector<FaultSpec>& faults = read.experiment->conditions.faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string key = "faults[" + std::to_string(i) + "]";
    if (is_selection(faults[i].fallback)) {
      Diagnostic diagnostic = read.at(key + ".fallback");
      diagnostic.message = faults[i].fallback + " chooses an algorithm and is none";
      diagnostic.expected = "the name of an algorithm";
      stop_with(std::move(diagnostic));
    }
    if (faults[i].target != FaultTarget::aggregation || faults[i].at == Instant()) continue;
    if (read.experiment->jobs.empty()) continue;
    Diagnostic diagnostic = read.at(key + ".at");
    diagnostic.message = "with jobs, aggregation can only be down from the start";
    diagnostic.expected = "no `at`, or no `jobs`";
    stop_with(std::move(diagnostic));
  }
}

Scene scene_of(const ReadResult& read, std::shared_ptr<const Topology> topology, std::uint64_t seed) {
  const Experiment& experiment = *read.experiment;
  Scene scene;
  scene.seed = seed;
  scene.topology = std::move(topology);
  scene.all.topology = scene.topology;
  if (experiment.conditions.is_empty()) return scene;
  const Seats seats = seats_of(experiment.placement, scene.topology->placement());
  scene.all = circumstances_of(read, scene.topology, seats, seed, experiment.conditions);
  for (Single& single : singles_of(experiment.conditions)) {
    scene.each.push_back(circumstances_of(read, scene.topology, seats, seed, single.spec));
    scene.each.back().what = std::move(single.what);
  }
  return scene;
}

}  // namespace

Scene healthy_scene(const Topology& topology, std::uint64_t seed) {
  Scene scene;
  scene.seed = seed;
  scene.topology = std::shared_ptr<const Topology>(std::shared_ptr<const Topology>(), &topology);
  scene.all.topology = scene.topology;
  return scene;
}

SceneOf scenes_of(const ReadResult& read) {
  check_aggregation(read);
  const std::uint64_t first = read.experiment->seed;
  const auto topology = std::make_shared<const Topology>(build_topology(read, first));
  const Scene scene = scene_of(read, topology, first);
  return [read, first, topology, scene](std::uint64_t seed) {
    if (seed == first) return scene;
    if (!has_random_routes(read.experiment->cluster)) return scene_of(read, topology, seed);
    return scene_of(read, std::make_shared<const Topology>(build_topology(read, seed)), seed);
  };
}

bool uses_seed(const Experiment& experiment) {
  const ConditionsSpec& conditions = experiment.conditions;
  const bool packets_marked =
      experiment.network.kind == NetworkKind::packet && experiment.network.packet.ecn.has_value();
  return has_random_routes(experiment.cluster) || is_random(conditions.jitter) ||
         is_random(conditions.skew.distribution) || packets_marked;
}

}  // namespace collsim::program
