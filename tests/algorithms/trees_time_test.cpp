// Times of trees, direct exchanges and parameter servers: closed forms on dedicated links and on one port a
// rank, and that folding changes nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "algorithms/registry.hpp"
#include "sim/core/check.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/support/networks.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::pair_network;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

using Kind = CollectiveKind;
constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t gb = 1'000'000'000;

struct Case {
  std::string name;
  Kind kind = Kind::all_reduce;
  std::int64_t bytes = 0;
  AlgorithmOptions options;
  Rank root = 0;
};

Schedule make(const Case& item, const Placement& placement) {
  Collective collective;
  collective.kind = item.kind;
  collective.bytes = Bytes(item.bytes);
  collective.root = item.root;
  auto made = algorithms::make_schedule({item.name, item.options}, collective, placement);
  const auto* impossible = std::get_if<Impossible>(&made);
  COLLSIM_CHECK_MSG(impossible == nullptr, impossible->reason);
  return std::get<Schedule>(std::move(made));
}

std::int64_t time_on(const Topology& topology, const Case& item) {
  const Schedule schedule = make(item, topology.placement());
  const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
  COLLSIM_CHECK(result.status == RunStatus::ok);
  return result.time.picoseconds();
}

std::int64_t on_pairs(std::int32_t ranks, std::int64_t alpha, std::int64_t bandwidth, const Case& item) {
  return time_on(pair_network({{ranks, ps(alpha), rate_of(bandwidth)}}), item);
}
std::int64_t on_ports(std::int32_t ranks, std::int64_t alpha, std::int64_t bandwidth, const Case& item) {
  return time_on(port_network(ranks, ps(alpha), rate_of(bandwidth)), item);
}

// Expected to `steps` picoseconds: one for the rounding of each step of the chain of causes.
void check_time(std::int64_t time, std::int64_t expected, std::int64_t steps) {
  CHECK(std::abs(time - expected) <= steps);
}

AlgorithmOptions with_slices(std::int32_t slices) {
  AlgorithmOptions options;
  options.slices = slices;
  options.channels = 1;
  return options;
}
AlgorithmOptions with_radix(std::int32_t radix) {
  AlgorithmOptions options;
  options.radix = radix;
  return options;
}
AlgorithmOptions with_form(const std::string& form, std::optional<std::int32_t> servers = {}) {
  AlgorithmOptions options;
  options.form = form;
  options.servers = servers;
  return options;
}

// ps that `bytes` take at `bandwidth`, rounded up.
std::int64_t drain(std::int64_t bytes, std::int64_t bandwidth) {
  return static_cast<std::int64_t>((Int128{bytes} * 1'000'000'000'000 + bandwidth - 1) / bandwidth);
}

}  // namespace

// Tags and values of tests/golden/golden.json, in ps.
TEST_CASE("Golden times of binomial broadcast: G9B and G10B") {
  check_time(on_ports(16, 3 * us, 25 * gb, {"binomial_tree", Kind::broadcast, mib, {}}), 179'772'160, 8);
  check_time(on_ports(13, 3 * us, 25 * gb, {"binomial_tree", Kind::broadcast, mib, {}}), 176'772'160, 8);
}

TEST_CASE("Golden time of the chain's broadcast: G11") {
  check_time(on_pairs(8, 2 * us, 50 * gb, {"chain", Kind::broadcast, 16 * mib, with_slices(32)}), 412'458'880,
             39);
  check_time(on_pairs(8, 2 * us, 50 * gb, {"chain", Kind::broadcast, 16 * mib, {}}), 412'458'880, 39);
}

TEST_CASE("Golden times of one-shot and two-shot: G23, G24, G25, G26, G43") {
  const Case one_shot{"one_shot", Kind::all_reduce, 256 * 1024, {}};
  const Case two_shot{"two_shot", Kind::all_reduce, 256 * 1024, {}};
  check_time(on_pairs(8, 3 * us / 2, 50 * gb, one_shot), 6'742'880, 1);
  check_time(on_pairs(8, 3 * us / 2, 50 * gb, two_shot), 4'310'720, 2);
  check_time(on_ports(8, 3 * us / 2, 400 * gb, one_shot), 6'087'520, 8);
  check_time(on_ports(8, 3 * us / 2, 400 * gb, two_shot), 4'146'880, 16);
  check_time(on_ports(8, 2 * us, 25 * gb, {"two_shot", Kind::all_reduce, 64 * mib, {}}), 4'701'620'480, 16);
}

TEST_CASE("Golden time of the all-to-all at once: G32") {
  check_time(on_ports(8, 2 * us, 25 * gb, {"direct", Kind::all_to_all, 8 * mib, {}}), 295'601'280, 8);
}

TEST_CASE("Golden times of the parameter server: G42 with 8 workers beside rank 0, G43 with all shards") {
  // Rank 0 serves and works. Its own contribution needs no message, so that N ranks take the time of N - 1
  // workers and a server that does not contribute: 2 (latency + (N - 1) S / B).
  check_time(on_ports(9, 2 * us, 25 * gb, {"parameter_server", Kind::all_reduce, 64 * mib, {}}),
             42'953'672'960, 20);
  const Case sharded{"parameter_server", Kind::all_reduce, 64 * mib, with_form("sharded")};
  check_time(on_ports(8, 2 * us, 25 * gb, sharded), 4'701'620'480, 16);
  CHECK(on_ports(8, 2 * us, 25 * gb, sharded) ==
        on_ports(8, 2 * us, 25 * gb, {"two_shot", Kind::all_reduce, 64 * mib, {}}));
}

TEST_CASE("k shards of a parameter server take 2 (latency + (N - 1) S / (k B)) over one port") {
  for (const std::int32_t servers : {1, 2, 4, 8})
    check_time(on_ports(8, 2 * us, 25 * gb,
                        {"parameter_server", Kind::all_reduce, 8 * mib, with_form("sharded", servers)}),
               2 * (2 * us + drain(7 * 8 * mib / servers, 25 * gb)), 16);
}

TEST_CASE("Binomial broadcast over one port takes max of tau (m - trailing zeros) + latency ones") {
  const std::int64_t tau = drain(mib, 25 * gb);
  for (std::int32_t ranks = 2; ranks <= 33; ++ranks) {
    CAPTURE(ranks);
    const auto rounds = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    std::int64_t expected = 0;
    for (std::int32_t v = 1; v < ranks; ++v) {
      const auto bits = static_cast<unsigned>(v);
      expected = std::max(expected, tau * (rounds - std::countr_zero(bits)) + 3 * us * std::popcount(bits));
    }
    for (const Rank root : {0, ranks - 1})
      check_time(on_ports(ranks, 3 * us, 25 * gb, {"binomial_tree", Kind::broadcast, mib, {}, root}),
                 expected, 2 * rounds);
  }
}

TEST_CASE("k-nomial broadcast of k^m ranks takes m (latency + (k - 1) S / B)") {
  for (const auto& [ranks, radix, rounds] :
       std::vector<std::array<std::int32_t, 3>>{{16, 4, 2}, {27, 3, 3}, {25, 5, 2}, {32, 2, 5}, {9, 9, 1}})
    check_time(on_ports(ranks, 3 * us, 25 * gb, {"knomial_tree", Kind::broadcast, mib, with_radix(radix)}),
               rounds * (3 * us + (radix - 1) * drain(mib, 25 * gb)), ranks);
}

TEST_CASE("Binomial scatter and gather over one port take log2 N latency + (N - 1) / N S / B") {
  for (const std::int32_t ranks : {2, 4, 8, 16, 32})
    for (const Kind kind : {Kind::scatter, Kind::gather}) {
      const auto rounds = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
      check_time(on_ports(ranks, 3 * us, 25 * gb, {"binomial_tree", kind, ranks * mib, {}, ranks / 3}),
                 rounds * 3 * us + drain((ranks - 1) * mib, 25 * gb), 2 * rounds);
    }
}

TEST_CASE("Barriers take 2 ceil(log2 N) latencies along a binomial tree, one where all tell all") {
  for (std::int32_t ranks = 2; ranks <= 17; ++ranks) {
    const auto rounds = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    CHECK(on_pairs(ranks, us, gb, {"one_shot", Kind::barrier, 0, {}}) == us);
    // The farthest rank is as many latencies away as the largest number of ones below N.
    std::int32_t ones = 0;
    for (std::int32_t v = 0; v < ranks; ++v) ones = std::max(ones, std::popcount(static_cast<unsigned>(v)));
    CHECK(ones <= rounds);
    CHECK(on_pairs(ranks, us, gb, {"binomial_tree", Kind::barrier, 0, {}}) == 2 * ones * us);
  }
}

TEST_CASE("Pipelined trees on their own links take H (latency + tau) + (c - 1) tau each way") {
  const std::int64_t tau = drain(mib, 50 * gb);
  const auto expected = [&](std::int64_t height, std::int64_t slices) {
    return height * (2 * us + tau) + (slices - 1) * tau;
  };
  for (const std::int32_t slices : {1, 5, 16})
    for (const auto& [ranks, radix, height] : std::vector<std::array<std::int32_t, 3>>{
             {7, 2, 2}, {8, 2, 3}, {15, 2, 3}, {13, 3, 2}, {14, 3, 3}, {6, 1, 5}, {9, 8, 1}}) {
      AlgorithmOptions options = with_slices(slices);
      options.radix = radix;
      for (const Kind kind : {Kind::broadcast, Kind::reduce})
        check_time(on_pairs(ranks, 2 * us, 50 * gb, {"kary_tree", kind, slices * mib, options, ranks / 2}),
                   expected(height, slices), height + slices);
      check_time(on_pairs(ranks, 2 * us, 50 * gb, {"kary_tree", Kind::all_reduce, slices * mib, options}),
                 expected(2 * height, slices), 2 * height + slices);
    }
  for (const Kind kind : {Kind::broadcast, Kind::reduce})
    check_time(on_pairs(6, 2 * us, 50 * gb, {"chain", kind, 4 * mib, with_slices(4), 3}), expected(5, 4), 9);
  check_time(on_pairs(6, 2 * us, 50 * gb, {"chain", Kind::all_reduce, 4 * mib, with_slices(4)}),
             expected(10, 4), 14);
}

TEST_CASE(
    "Double tree broadcast and reduce on their own links take ceil(log2 N)(latency + tau) + (c - 1) tau") {
  const std::int64_t tau = drain(mib, 50 * gb);
  for (std::int32_t ranks = 2; ranks <= 20; ++ranks)
    for (const Kind kind : {Kind::broadcast, Kind::reduce}) {
      CAPTURE(ranks);
      const auto height = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
      const Topology topology = pair_network({{ranks, ps(2 * us), rate_of(50 * gb)}}, 2);
      check_time(time_on(topology, {"tree", kind, 12 * mib, with_slices(6), ranks / 2}),
                 height * (2 * us + tau) + 5 * tau, height + 6);
    }
}

TEST_CASE("Halves of two-shot and direct exchanges over one port take latency + bytes at the port / B") {
  for (const std::int32_t ranks : {2, 5, 8}) {
    const std::int64_t parts = us + drain((ranks - 1) * mib, 25 * gb);
    const std::int64_t wholes = us + drain((ranks - 1) * ranks * mib, 25 * gb);
    const auto check = [&](const char* name, Kind kind, std::int64_t expected) {
      CAPTURE(name);
      CAPTURE(name_of(kind));
      check_time(on_ports(ranks, us, 25 * gb, {name, kind, ranks * mib, {}, ranks - 1}), expected, ranks);
    };
    check("two_shot", Kind::reduce_scatter, parts);
    check("two_shot", Kind::all_gather, parts);
    check("one_shot", Kind::all_gather, parts);
    check("direct", Kind::all_to_all, parts);
    check("direct", Kind::scatter, parts);
    check("direct", Kind::gather, parts);
    check("direct", Kind::broadcast, wholes);
    check("direct", Kind::reduce, wholes);
    check("direct", Kind::send_recv, us + drain(ranks * mib, 25 * gb));
  }
}

TEST_CASE("van de Geijn's broadcast over one port takes the sum of scatter and all-gather") {
  for (const std::int32_t ranks : {2, 4, 8, 16, 32}) {
    const auto rounds = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ranks - 1)));
    const std::int64_t drained = drain(2 * (ranks - 1) * mib, 25 * gb);
    for (const Kind kind : {Kind::broadcast, Kind::reduce}) {
      const auto time = [&](const char* form) {
        return on_ports(ranks, us, 25 * gb, {"van_de_geijn", kind, ranks * mib, with_form(form), 1});
      };
      check_time(time("ring"), (rounds + ranks - 1) * us + drained, rounds + ranks);
      check_time(time("doubling"), 2 * rounds * us + drained, 2 * rounds);
    }
  }
}

namespace {

Topology fat_tree(std::int32_t nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = rate_of(450 * gb);
  cluster.node.interconnect.latency = ps(us / 2);
  cluster.node.nics.count = 8;
  cluster.node.nics.bandwidth = rate_of(50 * gb);
  cluster.node.nics.latency = ps(us);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.levels = 2;
  cluster.fabric.radix = 32;
  cluster.fabric.bandwidth = rate_of(50 * gb);
  cluster.fabric.latency = ps(us / 2);
  auto built = topologies::build(cluster);
  COLLSIM_CHECK(std::holds_alternative<Topology>(built));
  return std::get<Topology>(std::move(built));
}

void check_folded(const Topology& topology, const Case& item) {
  CAPTURE(item.name);
  CAPTURE(name_of(item.kind));
  CAPTURE(item.options.form);
  const Schedule schedule = make(item, topology.placement());
  const auto run = [&](Shortcuts shortcuts) {
    RunOptions options;
    options.shortcuts = shortcuts;
    return simulate(topology, {Job{&schedule, {}, {}, -1}}, options);
  };
  const RunResult plain = run(Shortcuts::plain);
  REQUIRE(plain.status == RunStatus::ok);
  for (const Shortcuts shortcuts : {Shortcuts::automatic, Shortcuts::fold}) {
    const RunResult other = run(shortcuts);
    CHECK(other.time == plain.time);
    CHECK(other.rank_finish == plain.rank_finish);
    CHECK(other.link_bytes == plain.link_bytes);
    CHECK(other.messages == plain.messages);
    CHECK(other.fingerprint == plain.fingerprint);
  }
}

// All of the family on a cluster; those with a connection a pair only where `pairs`.
void check_family(const Topology& topology, std::int64_t part, bool pairs) {
  const std::int32_t ranks = topology.placement().ranks();
  for (const algorithms::AlgorithmInfo& info : algorithms::entries_of_trees_and_direct())
    for (const Kind kind : info.collectives) {
      const bool all_pairs = info.name == "one_shot" || info.name == "two_shot" || kind == Kind::all_to_all;
      if (all_pairs && !pairs) continue;
      Case item{std::string(info.name), kind, kind == Kind::barrier ? 0 : part * ranks, {}, ranks / 3};
      check_folded(topology, item);
      if (info.forms.empty() || info.name == "parameter_server") continue;
      item.options.form = info.forms.back();
      check_folded(topology, item);
    }
}

}  // namespace

TEST_CASE("Folded runs of trees and direct exchanges are the plain ones, on one port a rank") {
  check_family(port_network(64, ps(2 * us), rate_of(25 * gb)), 4096, true);
}

TEST_CASE("Folded runs of trees and direct exchanges are the plain ones, on a fat tree") {
  check_family(fat_tree(8), 65536, true);
  check_family(fat_tree(32), 4096, false);
}
