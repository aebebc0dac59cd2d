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
#include "tests/support/conservation.hpp"
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
                     const AlgorithmOptions& options = {}, CollectiveKind kind = CollectiveKind::all_reduce) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(bytes);
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  REQUIRE(std::holds_alternative<Schedule>(made));
  return std::get<Schedule>(std::move(made));
}

std::int64_t time_on(const Topology& topology, const Schedule& schedule) {
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  const RunResult result = simulate(topology, jobs, {});
  REQUIRE(result.status == RunStatus::ok);
  CHECK(testing::conservation_fault(topology, jobs, result) == "");
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

Topology ports(std::int32_t ranks, std::int64_t alpha_ps, std::int64_t bandwidth) {
  return port_network(ranks, ps(alpha_ps), rate_of(bandwidth));
}

// What an algorithm without options takes.
Outcome plain(const Topology& topology, const std::string& name, std::int64_t bytes, std::int64_t steps,
              CollectiveKind kind = CollectiveKind::all_reduce, const AlgorithmOptions& options = {}) {
  return {time_on(topology, schedule_of(name, bytes, topology.placement(), options, kind)), steps};
}

AlgorithmOptions of_form(const std::string& form) {
  AlgorithmOptions options;
  options.form = form;
  return options;
}

AlgorithmOptions of_radix(std::int32_t radix) {
  AlgorithmOptions options;
  options.radix = radix;
  return options;
}

// 16 ranks: 0 .. 7 work, 8 .. 15 only serve: each adds up one eighth of what all workers send, and sends it
// back. No rank that only serves contributes, so it is no all-reduce of all ranks, and no algorithm here.
Schedule dedicated_servers(std::int64_t bytes) {
  constexpr std::int32_t workers = 8;
  Collective collective;
  collective.bytes = Bytes(bytes);
  Schedule schedule = empty_schedule("dedicated servers", collective, 2 * workers);
  schedule.layout = Layout(collective.elements(), 4, {}, workers);
  ChunkExpression part;
  part.block_base = 0;
  part.block_modulus = workers;
  const auto operation = [&](OperationKind kind, std::int32_t peer) {
    OperationTemplate result;
    result.kind = kind;
    result.peer = peer;
    result.chunk = part;
    return result;
  };
  Loop sums;
  for (std::int32_t worker = 0; worker < workers; ++worker)
    sums.body.push_back(operation(OperationKind::receive_reduce, worker));
  OperationTemplate back = operation(OperationKind::send, 0);
  back.dependencies.push_back({0, workers - 1, 0});
  schedule.programs = {
      Program{{Loop{1, {operation(OperationKind::send, 0), operation(OperationKind::receive, 0)}}}},
      Program{{sums}}, Program{{Loop{1, {back}}}}};
  schedule.stream_count = [](Rank rank) { return rank < workers ? workers : 1 + workers; };
  schedule.bind = [](Rank rank, std::int32_t stream, Binding& binding) {
    if (rank < workers) {  // a stream for each server, the nearest first
      const std::int32_t server = (rank + stream) % workers;
      binding.peers = {{workers + server, 0}};
      binding.bases = {server};
      return;
    }
    const std::int32_t server = rank - workers;
    binding.program = stream == 0 ? 1 : 2;
    binding.bases = {server};
    binding.streams = {0};
    for (std::int32_t worker = 0; worker < workers; ++worker)
      if (stream == 0 || stream == 1 + worker) binding.peers.push_back({(server + worker) % workers, 0});
  };
  return schedule;
}

Outcome reducing_ring() {
  GpuSpec gpu;
  gpu.reduce_bandwidth = rate_of(1'000'000'000'000);  // gamma = 1 ps a byte
  const Topology topology = port_network(8, ps(us), rate_of(100'000'000'000), gpu);
  return {time_on(topology, schedule_of("ring", 8 * mib, topology.placement())), 3 * 14};
}

Topology torus_4x4() {
  ClusterSpec cluster;
  cluster.nodes = 16;
  cluster.fabric.kind = FabricKind::torus;
  cluster.fabric.dimensions = {4, 4};
  cluster.fabric.bandwidth = rate_of(50'000'000'000);
  cluster.fabric.latency = ps(us);
  auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  return std::get<Topology>(std::move(built));
}

Outcome torus_bucket() { return plain(torus_4x4(), "cascade", 16 * mib, 12); }
Outcome four_buckets() { return plain(torus_4x4(), "torus_bucket", 16 * mib, 12); }

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

using Table = std::map<std::string, std::function<Outcome()>>;

Table rings_and_trees() {
  return {
      {"G1", [] { return ring(8, 8 * mib, us, 100'000'000'000); }},
      {"G2", [] { return ring(16, 64 * mib, 2 * us, 50'000'000'000); }},
      {"G3", [] { return ring(4, 1024, 5 * us, 12'500'000'000); }},
      {"G4", reducing_ring},
      {"G5", [] { return ring(7, 4000, us, 10'000'000'000); }},
      {"G7", [] { return ring(8, 8 * mib, us, 100'000'000'000, 4); }},
      {"G8", [] { return ring(8, 65536, us, 100'000'000'000, 4); }},
      // One tree of the two with its own links carries half of the size: 16 MiB of 32.
      {"G6",
       [] {
         AlgorithmOptions options;
         options.channels = 1;
         return plain(pairs(8, us, 100'000'000'000), "bidirectional_ring", 8 * mib, 14,
                      CollectiveKind::all_reduce, options);
       }},
      {"G9B",
       [] {
         return plain(ports(16, 3 * us, 25'000'000'000), "binomial_tree", mib, 4, CollectiveKind::broadcast);
       }},
      {"G10B",
       [] {
         return plain(ports(13, 3 * us, 25'000'000'000), "binomial_tree", mib, 4, CollectiveKind::broadcast);
       }},
      {"G11",
       [] {
         AlgorithmOptions options = sliced(32);
         options.channels = 1;
         return plain(pairs(8, 2 * us, 50'000'000'000), "chain", 16 * mib, 38, CollectiveKind::broadcast,
                      options);
       }},
      {"G13", [] { return double_tree(8, 32 * mib, 16); }},
      {"G14", [] { return double_tree(14, 32 * mib, 16); }},
      {"G15", [] { return double_tree(8, 16 * mib, 8); }},
      {"G16", [] { return double_tree(9, 16 * mib, 8); }},
  };
}

Table exchanges() {
  return {
      {"G17", [] { return plain(ports(16, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G17d", [] { return plain(pairs(16, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G17p", [] { return plain(ports(16, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G18d", [] { return plain(pairs(5, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G18bd", [] { return plain(pairs(6, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G18cd", [] { return plain(pairs(7, 2 * us, 25'000'000'000), "recursive_doubling", 32768, 4); }},
      {"G19", [] { return plain(ports(16, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      {"G19d", [] { return plain(ports(16, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      // With ports of their own for every pair, a rank's late receive does not hold up the next one.
      {"G20", [] { return plain(pairs(6, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      {"G20d", [] { return plain(pairs(6, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      {"G20c", [] { return plain(pairs(7, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      {"G20cd", [] { return plain(pairs(7, 2 * us, 25'000'000'000), "rabenseifner", 12 * mib, 8); }},
      {"G21",
       [] {
         return plain(pairs(27, 2 * us, 25'000'000'000), "recursive_doubling", 9216, 3,
                      CollectiveKind::all_reduce, of_radix(3));
       }},
      {"G22",
       [] {
         return plain(ports(27, 2 * us, 25'000'000'000), "recursive_doubling", 9216, 6,
                      CollectiveKind::all_reduce, of_radix(3));
       }},
  };
}

Table direct_and_gathers() {
  return {
      {"G23", [] { return plain(pairs(8, 3 * us / 2, 50'000'000'000), "one_shot", 256 * 1024, 1); }},
      {"G24",
       [] {
         const Topology topology = pairs(8, 3 * us / 2, 50'000'000'000);
         return Outcome{time_on(topology, schedule_of("two_shot", 256 * 1024, topology.placement())), 2};
       }},
      {"G25", [] { return plain(ports(8, 3 * us / 2, 400'000'000'000), "one_shot", 256 * 1024, 7); }},
      {"G26", [] { return two_shot_port(8, 256 * 1024, 3 * us / 2, 400'000'000'000); }},
      {"G27", nvls},
      {"G29",
       [] {
         return plain(ports(8, 2 * us, 25'000'000'000), "bruck", 24 * mib, 3, CollectiveKind::all_gather);
       }},
      {"G29d",
       [] {
         return plain(ports(8, 2 * us, 25'000'000'000), "bruck", 24 * mib, 3, CollectiveKind::all_gather);
       }},
      {"G29p",
       [] {
         return plain(ports(8, 2 * us, 25'000'000'000), "pat", 24 * mib, 3, CollectiveKind::all_gather);
       }},
      {"G30d",
       [] {
         return plain(ports(6, 2 * us, 25'000'000'000), "bruck", 24 * mib, 3, CollectiveKind::all_gather);
       }},
      {"G32",
       [] {
         return plain(ports(8, 2 * us, 25'000'000'000), "direct", 8 * mib, 7, CollectiveKind::all_to_all);
       }},
      {"G33",
       [] {
         return plain(ports(8, 2 * us, 25'000'000'000), "pairwise", 8 * mib, 7, CollectiveKind::all_to_all);
       }},
      {"G42",
       [] {  // eight workers and a server that works as well
         return plain(ports(9, 2 * us, 25'000'000'000), "parameter_server", 64 * mib, 16,
                      CollectiveKind::all_reduce, of_form("central"));
       }},
      {"G43", [] { return two_shot_port(8, 64 * mib, 2 * us, 25'000'000'000); }},
      {"G44",
       [] {
         const Topology topology = ports(16, 2 * us, 25'000'000'000);
         return Outcome{time_on(topology, dedicated_servers(64 * mib)), 16};
       }},
  };
}

Table levels_and_bounds() {
  return {
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
      {"G36",
       [] {
         const Topology topology =
             pair_network({{8, ps(us), rate_of(400'000'000'000)}, {4, ps(5 * us), rate_of(50'000'000'000)}});
         Placement placement = topology.placement();
         placement.nodes = 4;
         placement.gpus_per_node = 8;
         return Outcome{
             time_on(topology, schedule_of("hierarchical", 64 * mib, placement, of_form("leader"))), 12};
       }},
      {"G38", torus_bucket},
      {"G39", four_buckets},
      {"B1", [] { return bound(false); }},
      {"B2", [] { return bound(true); }},
  };
}

const Table& reproduced() {
  static const Table table = [] {
    Table all;
    for (const Table& part : {rings_and_trees(), exchanges(), direct_and_gathers(), levels_and_bounds()})
      all.insert(part.begin(), part.end());
    return all;
  }();
  return table;
}

const char* const blocked_sender = "outside the model: the sender is blocked for the latency (model A)";
const char* const fifo_links = "outside the model: links serve messages in FIFO order, here they share";
const char* const fifo_port = "outside the model: a port serves messages in FIFO order, here they share";
const char* const barriers = "outside the model: a barrier after every round";
const char* const one_alpha = "outside the model: one alpha for hops inside and between nodes";
const char* const alpha_a_message =
    "outside the model: one alpha a message, where a torus pays it at every hop";

const std::map<std::string, std::string>& excluded() {
  static const std::map<std::string, std::string> table = {
      {"G7A", blocked_sender},
      {"G9", blocked_sender},
      {"G10", blocked_sender},
      {"G12", blocked_sender},
      {"G15s", fifo_links},
      {"G16s", fifo_links},
      {"G18", barriers},
      {"G18p", fifo_port},
      {"G18b", barriers},
      {"G18bp", fifo_port},
      {"G18c", barriers},
      {"G18cp", fifo_port},
      {"G28", "outside the model: host overhead and switch latency of a SHARP operation have no keys"},
      {"G30", barriers},
      {"G30p", barriers},
      {"G37", one_alpha},
      {"G37m", one_alpha},
      {"G40", alpha_a_message},
      {"G40r", alpha_a_message},
      {"G41", alpha_a_message},
      {"G41r", alpha_a_message},
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
