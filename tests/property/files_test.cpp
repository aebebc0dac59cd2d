// From the text of an experiment to a result: every kind of cluster that a file can name, and every option.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/config/reader.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "sim/model/proof.hpp"
#include "topologies/build.hpp"

using namespace collsim;

namespace {

Registries registries() {
  Registries result;
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    result.algorithms.push_back({std::string(info.name),
                                 std::string(info.alias),
                                 {info.options.begin(), info.options.end()},
                                 {info.forms.begin(), info.forms.end()}});
  return result;
}

Experiment read(const std::string& text) {
  ReadResult result = read_experiment(text, "x.yaml", {}, registries());
  REQUIRE_MESSAGE(result.experiment.has_value(), result.diagnostics.text());
  return *result.experiment;
}

Topology built(const Experiment& experiment) {
  auto result = topologies::build(experiment.cluster, experiment.seed);
  if (const auto* error = std::get_if<topologies::BuildError>(&result)) FAIL(error->key << error->message);
  return std::get<Topology>(std::move(result));
}

// The time of one algorithm, proven and not below its bound; nothing where the cluster cannot run it.
std::optional<Duration> time_of(const Topology& topology, const Experiment& experiment,
                                const AlgorithmRequest& request, Bytes size) {
  const Collective collective{experiment.collective, size, experiment.datatype, experiment.reduction};
  const auto made = algorithms::make_schedule(request, collective, topology.placement());
  const Schedule* schedule = std::get_if<Schedule>(&made);
  if (schedule == nullptr || impossible_reason(topology, *schedule)) return std::nullopt;
  REQUIRE(prove(*schedule).proven);
  Job job;
  job.schedule = schedule;
  RunOptions options;
  options.launch_overhead = experiment.launch_overhead;
  options.credit_latency = experiment.credit_latency;
  const RunResult result = simulate(topology, {job}, options);
  REQUIRE(result.status == RunStatus::ok);
  CHECK(result.time >= lower_bound(collective, topology).time);
  return result.time;
}

struct Fabric {
  std::string kind;
  std::string keys;
  std::string routing = "minimal";
};

const std::vector<Fabric> fabrics = {
    {"switch", "reduction: true"},
    {"fat_tree", "levels: 3, radix: 8, oversubscription: 3, reduction: true"},
    {"fat_tree", "levels: 2, radix: 16", "ecmp"},
    {"rail_fat_tree", "levels: 2, radix: 8, reduction: true"},
    {"torus", "dimensions: [2, 2]"},
    {"mesh", "dimensions: [4]"},
    {"dragonfly", "routers: 2, nodes_per_router: 1, global_links: 1"},
    {"hypercube", "latency: 1 us"},
    {"ring", "latency: 1 us"},
    {"full_mesh", "latency: 1 us"},
    {"custom",
     "links: [{from: 0, to: 1}, {from: 1, to: 2, bandwidth: 5 GB/s}, {from: 2, to: 3, latency: 3 us}]"}};

std::string cluster_text(const std::string& interconnect, const Fabric& fabric) {
  return "cluster:\n  nodes: 4\n  node:\n    gpus: 8\n    interconnect: {kind: " + interconnect +
         (interconnect == "none" ? "" : ", bandwidth: 100 GB/s, latency: 500 ns") +
         "}\n    nics: {count: 2, bandwidth: 50 GB/s}\n  fabric: {kind: " + fabric.kind +
         ", bandwidth: 10 GB/s, " + fabric.keys + "}\nrouting: " + fabric.routing + "\n";
}

const std::string two_levels =
    "cluster:\n"
    "  nodes: 4\n"
    "  node:\n"
    "    gpus: 4\n"
    "    interconnect: {kind: nvswitch, bandwidth: 100 GB/s, latency: 500 ns}\n"
    "    nics: {count: 4, bandwidth: 50 GB/s, latency: 1 us}\n"
    "  fabric: {kind: switch, bandwidth: 50 GB/s, latency: 1 us, reduction: true}\n"
    "size: 8 MiB\n";

}  // namespace

TEST_CASE("Every interconnect on every fabric that a file can name runs every algorithm but NVLS and SHARP") {
  for (const char* interconnect : {"nvswitch", "full_mesh", "ring", "pcie", "hybrid_cube_mesh", "none"})
    for (const auto& fabric : fabrics) {
      CAPTURE(interconnect);
      CAPTURE(fabric.kind);
      const Experiment experiment = read(
          cluster_text(interconnect, fabric) +
          "algorithm: [ring, tree, binomial_tree, cascade, two_shot, nvls, sharp]\nsize: [0 B, 100 kB]\n");
      const Topology topology = built(experiment);
      CHECK(topology.ranks() == 32);
      CHECK(name_of(topology.placement().interconnect) == std::string(interconnect));
      CHECK(name_of(topology.placement().fabric) == fabric.kind);
      const bool reduces = fabric.keys.find("reduction") != std::string::npos;
      for (const AlgorithmRequest& request : experiment.algorithms) {
        CAPTURE(request.name);
        std::vector<std::optional<Duration>> times;
        for (const Bytes size : experiment.sizes)
          times.push_back(time_of(topology, experiment, request, size));
        const bool possible = request.name == "sharp" ? reduces : request.name != "nvls";
        REQUIRE(times[0].has_value() == possible);
        if (possible) CHECK(*times[0] < *times[1]);  // zero bytes cost latency alone
      }
    }
}

TEST_CASE("Each option of an algorithm changes its time") {
  for (const std::pair<std::string, std::string>& texts : std::vector<std::pair<std::string, std::string>>{
           {"{name: ring}", "{name: ring, channels: 1}"},
           {"{name: ring}", "{name: ring, slices: 4}"},
           {"{name: ring}", "{name: ring, slots: 1}"},
           {"{name: ring}", "{name: ring, channel_bandwidth: 5 GB/s}"},
           {"{name: ring}", "{name: ring, order: rank}"},
           {"{name: tree}", "{name: tree, channels: 1}"},
           {"{name: tree}", "{name: tree, slices: 16}"},
           {"{name: tree}", "{name: tree, slots: 1}"},
           {"{name: tree}", "{name: tree, channel_bandwidth: 5 GB/s}"},
           {"{name: tree}", "{name: tree, order: rank}"},
           {"{name: binomial_tree}", "{name: binomial_tree, channel_bandwidth: 5 GB/s}"},
           {"{name: binomial_tree}", "{name: binomial_tree, root: 3}"},
           {"{name: cascade}", "{name: cascade, channel_bandwidth: 5 GB/s}"},
           {"{name: cascade}", "{name: cascade, levels: [16]}"},
           {"{name: two_shot}", "{name: two_shot, channel_bandwidth: 1 GB/s}"},
           {"{name: sharp}", "{name: sharp, slices: 4}"},
           {"{name: sharp}", "{name: sharp, channel_bandwidth: 5 GB/s}"}}) {
    CAPTURE(texts.second);
    const Experiment experiment =
        read(two_levels + "algorithm: [" + texts.first + ", " + texts.second + "]\n");
    const Topology topology = built(experiment);
    CHECK(time_of(topology, experiment, experiment.algorithms[0], experiment.sizes[0]) !=
          time_of(topology, experiment, experiment.algorithms[1], experiment.sizes[0]));
  }
}

TEST_CASE("One rank takes the launch overhead, whatever the cluster and the algorithm") {
  for (const char* fabric : {"", "  fabric: {kind: switch, bandwidth: 1 GB/s}\n",
                             "  fabric: {kind: torus, dimensions: [1, 1], bandwidth: 1 GB/s}\n",
                             "  fabric: {kind: hypercube, bandwidth: 1 GB/s}\n",
                             "  fabric: {kind: fat_tree, radix: 4, bandwidth: 1 GB/s}\n"}) {
    CAPTURE(fabric);
    const Experiment experiment =
        read(std::string("cluster:\n  node: {gpus: 1}\n") + fabric +
             "algorithm: [ring, tree, binomial_tree, cascade, two_shot, nvls, sharp]\nsize: [0 B, 8 MiB]\n"
             "launch_overhead: 3 us\n");
    const Topology topology = built(experiment);
    for (const AlgorithmRequest& request : experiment.algorithms)
      for (const Bytes size : experiment.sizes)
        CHECK(time_of(topology, experiment, request, size) == Duration::microseconds(3));
  }
}
