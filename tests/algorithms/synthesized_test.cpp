// Synthesized schedules: proven, and near the lower bound for large vectors wherever that is promised.
#include <doctest/doctest.h>

#include "algorithms/registry.hpp"
#include "algorithms/synthesized.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "topologies/build.hpp"
#include "topologies/flow_bounds.hpp"
#include "topologies/forest.hpp"

namespace collsim::testing {
namespace {

constexpr CollectiveKind promised[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                       CollectiveKind::all_reduce};

Bandwidth giga(std::int64_t count) { return Bandwidth::gigabytes_per_second(count); }

Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  if (const auto* error = std::get_if<topologies::BuildError>(&result)) FAIL(error->message);
  return std::get<Topology>(std::move(result));
}

ClusterSpec direct(FabricKind kind, std::int32_t nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.fabric.kind = kind;
  cluster.fabric.bandwidth = giga(50);
  cluster.fabric.latency = Duration::nanoseconds(500);
  return cluster;
}

ClusterSpec grid(std::vector<int> sides) {
  ClusterSpec cluster = direct(FabricKind::torus, 1);
  cluster.fabric.dimensions = std::move(sides);
  return cluster;
}

ClusterSpec node(InterconnectKind kind, std::int64_t bandwidth) {
  ClusterSpec cluster;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = kind;
  cluster.node.interconnect.bandwidth = giga(bandwidth);
  cluster.node.interconnect.latency = Duration::nanoseconds(500);
  return cluster;
}

ClusterSpec two_nodes() {
  ClusterSpec cluster = node(InterconnectKind::nvswitch, 450);
  cluster.nodes = 2;
  cluster.node.nics = {8, giga(50), Duration::microseconds(1)};
  cluster.fabric = direct(FabricKind::single_switch, 2).fabric;
  return cluster;
}

ClusterSpec irregular() {
  ClusterSpec cluster = direct(FabricKind::custom, 7);
  cluster.fabric.links = {{0, 1, {}, {}}, {1, 2, {}, {}}, {2, 3, {}, {}},      {3, 0, giga(25), {}},
                          {0, 2, {}, {}}, {3, 4, {}, {}}, {4, 5, {}, {}},      {5, 6, giga(80), {}},
                          {6, 3, {}, {}}, {4, 6, {}, {}}, {1, 5, giga(10), {}}};
  return cluster;
}

// Two rings of four with a fast and a slow cable between them.
ClusterSpec slow_link() {
  ClusterSpec cluster = direct(FabricKind::custom, 8);
  for (const int first : {0, 4})
    for (int i = 0; i < 4; ++i) cluster.fabric.links.push_back({first + i, first + (i + 1) % 4, {}, {}});
  cluster.fabric.links.push_back({0, 4, {}, {}});
  cluster.fabric.links.push_back({2, 6, giga(5), {}});
  return cluster;
}

Collective collective_of(CollectiveKind kind, std::int64_t bytes, std::int32_t ranks) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = rounded_to_parts(kind, Bytes(bytes), collective.datatype, ranks);
  return collective;
}

Forest packed(const Topology& topology, const Collective& collective) {
  auto result = topologies::pack_forest(topology, collective.kind, collective.root);
  if (const auto* impossible = std::get_if<Impossible>(&result)) FAIL(impossible->reason);
  return std::get<Forest>(std::move(result));
}

Schedule made(const Topology& topology, const Collective& collective, const Forest& forest,
              const AlgorithmOptions& options = {}) {
  auto result = algorithms::synthesized(collective, topology.placement(), options, forest);
  if (const auto* impossible = std::get_if<Impossible>(&result)) FAIL(impossible->reason);
  return std::get<Schedule>(std::move(result));
}

void check_proven(const Schedule& schedule) {
  const Proof proof = prove(schedule);
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
}

// bound / time, at a size where the latency is below 1 % of the bound.
double optimality(const Topology& topology, CollectiveKind kind) {
  Collective collective = collective_of(kind, std::int64_t{256} << 20, topology.ranks());
  const LowerBound bound = topologies::FlowBounds(topology).of(collective);
  REQUIRE(topology.latency_max() * 100 < bound.time);
  const Schedule schedule = made(topology, collective, packed(topology, collective));
  check_proven(schedule);
  const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
  REQUIRE(result.status == RunStatus::ok);
  CHECK(result.time >= bound.time);
  return static_cast<double>(bound.time.picoseconds()) / static_cast<double>(result.time.picoseconds());
}

void check_optimality(const std::string& name, const ClusterSpec& cluster) {
  CAPTURE(name);
  const Topology topology = built(cluster);
  for (const CollectiveKind kind : promised) {
    CAPTURE(name_of(kind));
    CHECK(optimality(topology, kind) >= 0.9);
  }
}

std::string refusal(const Collective& collective, const Placement& placement, const AlgorithmOptions& options,
                    const Forest& forest) {
  const auto result = algorithms::synthesized(collective, placement, options, forest);
  return std::holds_alternative<Impossible>(result) ? std::get<Impossible>(result).reason : "made";
}

}  // namespace

TEST_CASE("Synthesized reaches 90 % of the bound on direct networks") {
  check_optimality("ring", direct(FabricKind::ring, 8));
  check_optimality("torus 4 x 4", grid({4, 4}));
  check_optimality("torus 3 x 3 x 3", grid({3, 3, 3}));
  check_optimality("mesh of DGX-1", node(InterconnectKind::hybrid_cube_mesh, 25));
}

TEST_CASE("Synthesized reaches 90 % of the bound behind switches") {
  check_optimality("NVSwitch", node(InterconnectKind::nvswitch, 450));
  check_optimality("two nodes of eight GPUs", two_nodes());
}

TEST_CASE("Synthesized reaches 90 % of the bound on irregular clusters") {
  check_optimality("irregular", irregular());
  check_optimality("slow link", slow_link());
}

TEST_CASE("Synthesized is proven with any slices and slots, for every collective that it does") {
  for (const ClusterSpec& cluster : {irregular(), slow_link(), direct(FabricKind::ring, 2), two_nodes()}) {
    const Topology topology = built(cluster);
    for (const CollectiveKind kind : algorithms::synthesized_info().collectives) {
      Collective collective = collective_of(kind, 1 << 20, topology.ranks());
      collective.root = has_root(kind) ? 1 : 0;
      const Forest forest = packed(topology, collective);
      for (const std::int32_t slices : {1, 2, 7, 40})
        for (const std::int32_t slots : {1, 8}) {
          CAPTURE(name_of(kind));
          CAPTURE(slices);
          CAPTURE(slots);
          AlgorithmOptions options;
          options.slices = slices;
          options.slots = slots;
          check_proven(made(topology, collective, forest, options));
        }
    }
  }
}

TEST_CASE("Synthesized runs at no less than the bound for small and large vectors") {
  const Topology topology = built(irregular());
  const topologies::FlowBounds bounds(topology);
  for (const CollectiveKind kind : algorithms::synthesized_info().collectives)
    for (const std::int64_t bytes : {0, 28, 4096, 1 << 22}) {
      CAPTURE(name_of(kind));
      CAPTURE(bytes);
      const Collective collective = collective_of(kind, bytes, topology.ranks());
      const Schedule schedule = made(topology, collective, packed(topology, collective));
      check_proven(schedule);
      const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
      REQUIRE(result.status == RunStatus::ok);
      CHECK(result.time >= bounds.of(collective).time);
    }
}

TEST_CASE("Bounds by maximum flow hold for every algorithm and collective") {
  ClusterSpec reducing = two_nodes();
  reducing.node.interconnect.reduction.enabled = true;
  reducing.fabric.reduction.enabled = true;
  for (const ClusterSpec& cluster :
       {irregular(), grid({4, 4}), two_nodes(), reducing, node(InterconnectKind::hybrid_cube_mesh, 25)}) {
    const Topology topology = built(cluster);
    const topologies::FlowBounds bounds(topology);
    for (const algorithms::AlgorithmInfo& info : algorithms::all())
      for (const CollectiveKind kind : info.collectives) {
        CAPTURE(info.name);
        CAPTURE(name_of(kind));
        const std::int64_t size = kind == CollectiveKind::barrier ? 0 : 1 << 22;
        const Collective collective = collective_of(kind, size, topology.ranks());
        const auto result =
            algorithms::make_schedule({std::string(info.name), {}}, collective, topology.placement());
        const auto* schedule = std::get_if<Schedule>(&result);
        if (schedule == nullptr || impossible_reason(topology, *schedule)) continue;
        const RunResult run = simulate(topology, {Job{schedule, {}, {}, -1}}, {});
        if (run.status == RunStatus::ok) CHECK(run.time >= bounds.of(collective).time);
      }
  }
}

TEST_CASE("Synthesized says why it cannot run") {
  const Topology topology = built(direct(FabricKind::ring, 4));
  Collective gather = collective_of(CollectiveKind::all_gather, 4096, 4);
  const Forest forest = packed(topology, gather);
  CHECK(refusal(gather, topology.placement(), {}, forest) == "made");
  AlgorithmOptions options;
  options.slices = 0;
  CHECK(refusal(gather, topology.placement(), options, forest) == "slices is 0; it must be 1 to 1024");
  gather.bytes = Bytes(4100);
  CHECK(refusal(gather, topology.placement(), {}, forest) == "1025 elements are not equal parts for 4 ranks");
  const Collective reduce = collective_of(CollectiveKind::all_reduce, 4096, 4);
  CHECK(refusal(reduce, topology.placement(), {}, forest) ==
        "the trees were packed for another collective, root or number of ranks");
  const Collective broadcast = collective_of(CollectiveKind::broadcast, 4096, 4);
  Collective elsewhere = broadcast;
  elsewhere.root = 3;
  CHECK(refusal(elsewhere, topology.placement(), {}, packed(topology, broadcast)) ==
        "the trees were packed for another collective, root or number of ranks");
}

TEST_CASE("Synthesized does nothing for one rank") {
  ClusterSpec cluster = node(InterconnectKind::nvswitch, 1);
  cluster.node.gpus = 1;
  const Topology topology = built(cluster);
  const Collective collective = collective_of(CollectiveKind::all_reduce, 4096, 1);
  const Schedule schedule = made(topology, collective, packed(topology, collective));
  CHECK(schedule.stream_count(0) == 0);
  check_proven(schedule);
}

}  // namespace collsim::testing
