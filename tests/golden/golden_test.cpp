// Every entry of golden.json is either reproduced to 1 ps a step or named here with the reason why not.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "tests/support/networks.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::pair_network;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t mib = 1 << 20;

// What a test needs to know of an outcome: the time, and how many steps' roundings it may hold.
struct Outcome {
  std::int64_t time_ps;
  std::int64_t steps;
};

Schedule schedule_of(const std::string& name, std::int64_t bytes, const Placement& placement,
                     const AlgorithmOptions& options = {}) {
  Collective collective;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

std::int64_t time_on(const Topology& topology, const Schedule& schedule) {
  const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
  REQUIRE(result.status == RunStatus::ok);
  return result.time.picoseconds();
}

AlgorithmOptions sliced(std::int32_t slices) {
  AlgorithmOptions options;
  options.slices = slices;
  return options;
}

Topology pairs(std::int32_t ranks, std::int64_t alpha_ps, std::int64_t bandwidth, std::int32_t parallel = 1) {
  return pair_network({{ranks, ps(alpha_ps), rate_of(bandwidth)}}, parallel);
}

Outcome ring(std::int32_t ranks, std::int64_t bytes, std::int64_t alpha_ps, std::int64_t bandwidth,
             std::int32_t slices = 1) {
  AlgorithmOptions options = sliced(slices);
  options.channels = 1;
  const Topology topology = pairs(ranks, alpha_ps, bandwidth);
  return {time_on(topology, schedule_of("ring", bytes, topology.placement(), options)),
          2 * (ranks - 1) * slices};
}

Outcome double_tree(std::int32_t ranks, std::int64_t bytes, std::int32_t slices) {
  const Topology topology = pairs(ranks, 2 * us, 50'000'000'000, 2);
  return {time_on(topology, schedule_of("double_binary_tree", bytes, topology.placement(), sliced(slices))),
          4 * slices};
}

Outcome cascade(const std::vector<testing::Level>& levels, std::int64_t bytes) {
  const Topology topology = pair_network(levels);
  AlgorithmOptions options;
  std::int64_t steps = 0;
  for (const auto& level : levels) {
    options.levels.push_back(level.members);
    steps += 2 * (level.members - 1);
  }
  return {time_on(topology, schedule_of("cascade", bytes, topology.placement(), options)), steps};
}

Outcome two_shot_port(std::int32_t ranks, std::int64_t bytes, std::int64_t alpha_ps, std::int64_t bandwidth) {
  const Topology topology = port_network(ranks, ps(alpha_ps), rate_of(bandwidth));
  return {time_on(topology, schedule_of("two_shot", bytes, topology.placement())), 2 * ranks};
}

Outcome reducing_ring() {
  GpuSpec gpu;
  gpu.reduce_bandwidth = rate_of(1'000'000'000'000);  // gamma = 1 ps a byte
  const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000), gpu);
  return {time_on(topology, schedule_of("ring", 8 * mib, topology.placement())), 3 * 14};
}

Outcome torus_bucket() {
  ClusterSpec cluster;
  cluster.nodes = 16;
  cluster.fabric.kind = FabricKind::torus;
  cluster.fabric.dimensions = {4, 4};
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(us);
  const auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  const auto& topology = std::get<Topology>(built);
  return {time_on(topology, schedule_of("cascade", 16 * mib, topology.placement())), 12};
}

Outcome nvls() {
  const Topology topology = port_network(8, ps(4 * us), rate_of(370'000'000'000));
  return {time_on(topology, schedule_of("nvls", 64 * mib, topology.placement())), 1};
}

Outcome bound(bool reduces) {
  ClusterSpec cluster;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = rate_of(100'000'000'000);
  cluster.node.interconnect.reduction.enabled = reduces;
  const auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  Collective collective;
  collective.bytes = Bytes(8 * mib);
  return {lower_bound(collective, std::get<Topology>(built)).time.picoseconds(), 1};
}

const std::map<std::string, std::function<Outcome()>>& reproduced() {
  static const std::map<std::string, std::function<Outcome()>> table = {
      {"G1", [] { return ring(8, 8 * mib, us, 100'000'000'000); }},
      {"G2", [] { return ring(16, 64 * mib, 2 * us, 50'000'000'000); }},
      {"G3", [] { return ring(4, 1024, 5 * us, 12'500'000'000); }},
      {"G4", reducing_ring},
      {"G5", [] { return ring(7, 4000, us, 10'000'000'000); }},
      {"G7", [] { return ring(8, 8 * mib, us, 100'000'000'000, 4); }},
      {"G8", [] { return ring(8, 65536, us, 100'000'000'000, 4); }},
      // One tree of the two with its own links carries half of the size: 16 MiB of 32.
      {"G13", [] { return double_tree(8, 32 * mib, 16); }},
      {"G14", [] { return double_tree(14, 32 * mib, 16); }},
      {"G15", [] { return double_tree(8, 16 * mib, 8); }},
      {"G16", [] { return double_tree(9, 16 * mib, 8); }},
      {"G24",
       [] {
         const Topology topology = pairs(8, 3 * us / 2, 50'000'000'000);
         return Outcome{time_on(topology, schedule_of("two_shot", 256 * 1024, topology.placement())), 2};
       }},
      {"G26", [] { return two_shot_port(8, 256 * 1024, 3 * us / 2, 400'000'000'000); }},
      {"G27", nvls},
      {"G34",
       [] {
         return cascade({{8, ps(us), rate_of(400'000'000'000)}, {4, ps(5 * us), rate_of(50'000'000'000)}},
                        64 * mib);
       }},
      {"G35",
       [] {
         return cascade({{4, ps(us), rate_of(400'000'000'000)},
                         {2, ps(2 * us), rate_of(100'000'000'000)},
                         {4, ps(5 * us), rate_of(25'000'000'000)}},
                        64 * mib);
       }},
      {"G38", torus_bucket},
      {"G43", [] { return two_shot_port(8, 64 * mib, 2 * us, 25'000'000'000); }},
      {"B1", [] { return bound(false); }},
      {"B2", [] { return bound(true); }},
  };
  return table;
}

const char* const other_algorithm = "an algorithm that this version does not have";
const char* const other_collective = "a collective that this version does not have";
const char* const blocked_sender = "outside the model: the sender is blocked for the latency (model A)";
const char* const fifo_links = "outside the model: links serve messages in FIFO order, here they share";
const char* const barriers = "outside the model: a barrier after every round";

const std::map<std::string, std::string>& excluded() {
  static const std::map<std::string, std::string> table = {
      {"G6", other_algorithm},
      {"G7A", blocked_sender},
      {"G9", blocked_sender},
      {"G9B", other_collective},
      {"G10", blocked_sender},
      {"G10B", other_collective},
      {"G11", other_collective},
      {"G12", blocked_sender},
      {"G15s", fifo_links},
      {"G16s", fifo_links},
      {"G17", other_algorithm},
      {"G17d", other_algorithm},
      {"G17p", other_algorithm},
      {"G18", barriers},
      {"G18d", other_algorithm},
      {"G18p", other_algorithm},
      {"G18b", barriers},
      {"G18bd", other_algorithm},
      {"G18bp", other_algorithm},
      {"G18c", barriers},
      {"G18cd", other_algorithm},
      {"G18cp", other_algorithm},
      {"G19", other_algorithm},
      {"G19d", other_algorithm},
      {"G20", other_algorithm},
      {"G20d", other_algorithm},
      {"G20c", other_algorithm},
      {"G20cd", other_algorithm},
      {"G21", other_algorithm},
      {"G22", other_algorithm},
      {"G23", other_algorithm},
      {"G25", other_algorithm},
      {"G28", "outside the model: host overhead and switch latency of a SHARP operation have no keys"},
      {"G29", other_collective},
      {"G29d", other_collective},
      {"G29p", other_collective},
      {"G30", barriers},
      {"G30d", other_collective},
      {"G30p", barriers},
      {"G32", other_collective},
      {"G33", other_collective},
      {"G36", other_algorithm},
      {"G37", "outside the model: one alpha for hops inside and between nodes"},
      {"G37m", "outside the model: one alpha for hops inside and between nodes"},
      {"G39", other_algorithm},
      {"G40", other_algorithm},
      {"G40r", other_algorithm},
      {"G41", other_algorithm},
      {"G41r", other_algorithm},
      {"G42", other_algorithm},
      {"G44", other_algorithm},
  };
  return table;
}

nlohmann::json entries() {
  std::ifstream file(std::string(COLLSIM_SOURCE_DIR) + "/tests/golden/golden.json");
  REQUIRE(file.good());
  return nlohmann::json::parse(file);
}

// "251251/1562500000" seconds as picoseconds, exact or to the nearest below.
Int128 picoseconds_of(const std::string& seconds) {
  const auto slash = seconds.find('/');
  const Int128 numerator = std::stoll(seconds.substr(0, slash));
  const Int128 denominator = slash == std::string::npos ? 1 : std::stoll(seconds.substr(slash + 1));
  return numerator * 1'000'000'000'000 / denominator;
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("Every golden entry is reproduced to 1 ps a step or excluded with a reason") {
    int checked = 0;
    for (const auto& entry : entries()) {
      const std::string tag = entry.at("tag");
      CAPTURE(tag);
      const auto found = reproduced().find(tag);
      if (found == reproduced().end()) {
        const auto reason = excluded().find(tag);
        REQUIRE_MESSAGE(reason != excluded().end(), "neither reproduced nor excluded");
        MESSAGE(tag << " is excluded: " << reason->second);
        continue;
      }
      CHECK(excluded().count(tag) == 0);
      const Outcome outcome = found->second();
      const auto expected = static_cast<std::int64_t>(picoseconds_of(entry.at("seconds")));
      CHECK(std::abs(outcome.time_ps - expected) <= outcome.steps);
      ++checked;
    }
    CHECK(checked == static_cast<int>(reproduced().size()));
  }
}
