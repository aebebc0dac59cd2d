// What holds for every algorithm on every cluster, on random ones.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "sim/model/proof.hpp"
#include "tests/property/random_cluster.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using collsim::testing::random_cluster;
using collsim::testing::random_options;

namespace {

std::optional<Topology> built(std::uint64_t seed) {
  auto result = topologies::build(random_cluster(seed), seed);
  if (auto* topology = std::get_if<Topology>(&result)) return std::move(*topology);
  return std::nullopt;
}

RunResult run(const Topology& topology, const Schedule& schedule, Shortcuts shortcuts) {
  Job job;
  job.schedule = &schedule;
  RunOptions options;
  options.launch_overhead = Duration::nanoseconds(17);
  options.shortcuts = shortcuts;
  RunResult result = simulate(topology, {job}, options);
  CHECK(testing::conservation_fault(topology, {job}, result) == "");
  return result;
}

// Calls visit(rank, operation) for every operation of the schedule.
template <typename Visit>
void for_each_operation(const Schedule& schedule, Visit&& visit) {
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i)
        visit(rank, operation(schedule, rank, stream, i));
}

// What every link carries: each message along its route; each aggregation once on each link of its tree,
// counted at its first member.
std::vector<Bytes> expected_link_bytes(const Topology& topology, const Schedule& schedule) {
  std::vector<Bytes> bytes(topology.link_count());
  std::vector<LinkId> route;
  for_each_operation(schedule, [&](Rank rank, const Operation& item) {
    Bytes size = size_of(schedule.layout, item.chunk);
    route.clear();
    if (item.kind == OperationKind::send) {
      topology.route(rank, item.peer.rank, item.peer.channel, route);
    } else if (item.kind == OperationKind::aggregate) {
      const AggregationGroup group = schedule.group(item.group);
      if (group.members[0] != rank) return;
      route = std::get<AggregationPath>(topology.aggregation(group)).links;
      if (schedule.aggregated_bytes) size = schedule.aggregated_bytes(item.group, size);
    }
    for (const LinkId link : route) bytes[link.value] += size;
  });
  return bytes;
}

void check_same(const RunResult& one, const RunResult& other) {
  CHECK(one.status == other.status);
  CHECK(one.time == other.time);
  CHECK(one.rank_finish == other.rank_finish);
  CHECK(one.messages == other.messages);
  CHECK(one.fingerprint == other.fingerprint);
  CHECK(one.link_bytes == other.link_bytes);
}

void check_point(const Topology& topology, const Schedule& schedule) {
  const Proof proof = prove(schedule);
  const RunResult plain = run(topology, schedule, Shortcuts::plain);
  REQUIRE(proof.deadlock == (plain.status == RunStatus::deadlock));
  if (proof.deadlock) return;
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
  REQUIRE(proof.proven);
  REQUIRE(plain.status == RunStatus::ok);
  CHECK(proof.messages <= plain.messages);  // which counts aggregations too
  CHECK(plain.time >= lower_bound(schedule.collective, topology).time);
  CHECK(plain.link_bytes == expected_link_bytes(topology, schedule));
  check_same(plain, run(topology, schedule, Shortcuts::plain));
  check_same(plain, run(topology, schedule, Shortcuts::automatic));
}

// Calls visit(topology, schedule) for all algorithms that this cluster can run, each at some sizes.
template <typename Visit>
void for_each_point(const Topology& topology, std::uint64_t seed, Visit&& visit) {
  Random random(seed);
  for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
    AlgorithmRequest request{std::string(info.name), {}};
    request.options = random_options(random, info, topology.ranks());
    for (const std::int64_t elements :
         {std::int64_t{0}, std::int64_t{1} + static_cast<std::int64_t>(seed % 50), std::int64_t{250'007}}) {
      const CollectiveKind kind = info.collectives[seed % info.collectives.size()];
      const Collective collective = testing::collective_of(kind, elements, topology.ranks(),
                                                           static_cast<Rank>(seed) % topology.ranks());
      const auto made = algorithms::make_schedule(request, collective, topology.placement());
      const Schedule* schedule = std::get_if<Schedule>(&made);
      if (schedule == nullptr || impossible_reason(topology, *schedule)) continue;
      CAPTURE(info.name);
      CAPTURE(name_of(kind));
      CAPTURE(elements);
      visit(*schedule);
    }
  }
}

constexpr std::uint64_t seeds = 80;

}  // namespace

TEST_CASE("Random clusters are mostly built, of every kind, and run every algorithm") {
  std::set<InterconnectKind> interconnects;
  std::set<FabricKind> fabrics;
  std::map<std::string, int> runs;
  std::uint64_t count = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::optional<Topology> topology = built(seed);
    if (!topology) continue;
    ++count;
    interconnects.insert(topology->placement().interconnect);
    fabrics.insert(topology->placement().fabric);
    for_each_point(*topology, seed, [&](const Schedule& schedule) { ++runs[schedule.algorithm]; });
  }
  CHECK(count > seeds / 2);
  CHECK(interconnects.size() == 7);
  CHECK(fabrics.size() == 11);
  std::string missing;
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    if (runs.count(std::string(info.name)) == 0) missing += " " + std::string(info.name);
  CHECK(missing == "");
  for (const auto& entry : runs) CHECK_MESSAGE(entry.second >= 8, entry.first);
}

TEST_CASE("On random clusters every run is proven, repeatable, above its bound, and conserves bytes") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const std::optional<Topology> topology = built(seed);
    if (!topology) continue;
    CAPTURE(topology->name());
    for_each_point(*topology, seed, [&](const Schedule& schedule) { check_point(*topology, schedule); });
  }
}
