// A run of the streams of rank 0 against the run of all streams, and the topologies' claims that it rests on
// against all pairs of ranks.
#include "sim/execution/translated.hpp"

#include <doctest/doctest.h>

#include <map>
#include <tuple>
#include <vector>

#include "sim/execution/simulation.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/exchange.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::Exchange;

namespace {

struct Shape {
  int nodes;
  int gpus;
  int nics;
  FabricKind fabric = FabricKind::none;
  int levels = 2;
  int radix = 0;
  int oversubscription = 1;
};

ClusterSpec cluster_of(const Shape& shape) {
  ClusterSpec cluster;
  cluster.nodes = shape.nodes;
  cluster.node.gpus = shape.gpus;
  if (shape.gpus > 1) {
    cluster.node.interconnect.kind = InterconnectKind::nvswitch;
    cluster.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(450);
    cluster.node.interconnect.latency = Duration::nanoseconds(500);
  }
  cluster.node.nics.count = shape.nics;
  cluster.node.nics.bandwidth = Bandwidth::gigabytes_per_second(50);
  cluster.node.nics.latency = Duration::nanoseconds(900);
  cluster.fabric.kind = shape.fabric;
  cluster.fabric.levels = shape.levels;
  cluster.fabric.radix = shape.radix;
  cluster.fabric.oversubscription_numerator = shape.oversubscription;
  cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(40);
  cluster.fabric.latency = Duration::nanoseconds(300);
  return cluster;
}

Topology topology_of(const ClusterSpec& cluster) {
  auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  return std::get<Topology>(std::move(built));
}

std::vector<Shape> shapes_with_bits() {
  using enum FabricKind;
  return {{1, 8, 0},
          {1, 2, 0},
          {16, 1, 0, single_switch},
          {8, 1, 1, single_switch},
          {4, 4, 4, single_switch},
          {4, 4, 2, single_switch},
          {4, 8, 1, single_switch},
          {8, 4, 4, fat_tree, 2, 8},
          {16, 2, 2, fat_tree, 2, 16},
          {16, 2, 2, fat_tree, 3, 8},
          {64, 2, 1, fat_tree, 3, 8},
          {8, 2, 2, rail_fat_tree, 2, 8},
          {16, 4, 4, rail_fat_tree, 3, 8},
          {8, 4, 0, fat_tree, 2, 8},
          {16, 4, 4, fat_tree, 3, 12, 2}};
}

// Every kind of link, and how many messages of one difference of ranks cross each link.
using Kind = std::tuple<int, int, int, int>;
Kind kind_of(const Topology& topology, LinkId id) {
  const Vertex& source = topology.vertex(topology.link(id).source);
  const Vertex& target = topology.vertex(topology.link(id).target);
  return {static_cast<int>(source.kind), source.level, static_cast<int>(target.kind), target.level};
}

// The first broken claim in words, or nothing.
std::string broken_claim(const Topology& topology, TranslationKind kind, Rank difference) {
  const Translation translation{kind, topology.ranks()};
  std::vector<std::int64_t> crossed(topology.link_count());
  std::vector<LinkId> links;
  Duration first_latency;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    links.clear();
    topology.route(rank, translation.move(difference, rank), 0, links);
    Duration latency;
    for (const LinkId link : links) {
      ++crossed[link.value];
      latency += topology.link(link).latency;
    }
    if (rank == 0) first_latency = latency;
    if (latency != first_latency) return "routes of one difference have unlike latencies";
  }
  std::map<Kind, std::int64_t> of_kind;
  for (std::size_t id = 0; id < crossed.size(); ++id) {
    const LinkId link(static_cast<std::uint32_t>(id));
    const auto [entry, fresh] = of_kind.try_emplace(kind_of(topology, link), crossed[id]);
    if (entry->second != crossed[id]) return "links of one kind carry unlike numbers of routes";
  }
  return "";
}

void check_equal(const Topology& topology, const Schedule& schedule, const RunOptions& options) {
  RunOptions plain = options;
  plain.shortcuts = Shortcuts::plain;
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  const RunResult one = simulate(topology, jobs, options);
  const RunResult all = simulate(topology, jobs, plain);
  CHECK(one.status == RunStatus::ok);
  CHECK(testing::conservation_fault(topology, jobs, one) == "");
  CHECK(one.method.classes == schedule.translated->streams);
  CHECK(one.method.streams == all.method.streams);
  CHECK(one.time == all.time);
  CHECK(one.rank_finish == all.rank_finish);
  CHECK(one.link_bytes == all.link_bytes);
  CHECK(one.messages == all.messages);
  CHECK(one.fingerprint == all.fingerprint);
  CHECK(one.job_finish == all.job_finish);
}

}  // namespace

TEST_CASE(
    "Every translation that a topology claims maps routes onto routes and links of a kind onto each other") {
  int claims = 0;
  std::vector<ClusterSpec> clusters = testing::all_shapes();
  for (const Shape& shape : shapes_with_bits()) clusters.push_back(cluster_of(shape));
  for (const ClusterSpec& cluster : clusters) {
    auto built = topologies::build(cluster);
    if (!std::holds_alternative<Topology>(built)) continue;
    const Topology& topology = std::get<Topology>(built);
    if (topology.ranks() < 2) continue;
    CAPTURE(topology.name());
    for (const TranslationKind kind : {TranslationKind::rotation, TranslationKind::exclusive_or}) {
      if (!topology.has_translation(kind)) continue;
      ++claims;
      for (Rank difference = 1; difference < topology.ranks(); ++difference) {
        CAPTURE(difference);
        CHECK(broken_claim(topology, kind, difference) == "");
      }
    }
  }
  CHECK(claims > 60);
}

TEST_CASE("Translated runs are equal to whole runs on every shape made of bits") {
  for (const Shape& shape : shapes_with_bits()) {
    const Topology topology = topology_of(cluster_of(shape));
    CAPTURE(topology.name());
    REQUIRE(topology.has_translation(TranslationKind::exclusive_or));
    for (const std::int64_t elements : {0, 1, 3'000, 1'000'000}) {
      CAPTURE(elements);
      const Schedule schedule =
          Exchange{TranslationKind::exclusive_or, topology.ranks(), true, true, elements}.make();
      check_equal(topology, schedule, {});
    }
  }
}

TEST_CASE("Translated runs are equal to whole runs where ranks rotate, with every overhead") {
  using enum FabricKind;
  for (const Shape& shape : {Shape{1, 7, 0}, Shape{12, 1, 1, single_switch}, Shape{9, 1, 0, single_switch}}) {
    ClusterSpec cluster = cluster_of(shape);
    cluster.node.gpu.send_overhead = Duration::nanoseconds(70);
    cluster.node.gpu.receive_overhead = Duration::nanoseconds(30);
    cluster.node.gpu.reduce_bandwidth = Bandwidth::gigabytes_per_second(100);
    const Topology topology = topology_of(cluster);
    CAPTURE(topology.name());
    REQUIRE(topology.has_translation(TranslationKind::rotation));
    Schedule schedule = Exchange{TranslationKind::rotation, topology.ranks(), true, true, 20'000}.make();
    RunOptions options;
    options.launch_overhead = Duration::nanoseconds(500);
    options.credit_latency = Duration::nanoseconds(250);
    check_equal(topology, schedule, options);
    schedule.channel_bandwidth = Bandwidth::gigabytes_per_second(3);
    check_equal(topology, schedule, options);
  }
}

TEST_CASE("A schedule that a topology does not turn into itself is run whole") {
  const Topology torus = topology_of(testing::grid_shapes().back());
  const Schedule schedule = Exchange{TranslationKind::rotation, torus.ranks(), true, true, 10}.make();
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  CHECK_FALSE(translated_instance(torus, jobs, {}).has_value());
  const Topology node = topology_of(cluster_of({1, 8, 0}));
  const Schedule fits = Exchange{TranslationKind::rotation, 8, true, true, 10}.make();
  CHECK(translated_instance(node, {Job{&fits, {}, {}, -1}}, {}).has_value());
  CHECK_FALSE(translated_instance(node, {Job{&fits, {1, 0, 2, 3, 4, 5, 6, 7}, {}, -1}}, {}).has_value());
  Conditions down;
  down.link_changes = {{Instant(), LinkId(0), Bandwidth(), {}}};
  CHECK_FALSE(translated_instance(node, {Job{&fits, {}, {}, -1}}, down).has_value());
  Schedule uneven = fits;
  uneven.layout = Layout(81, 4, {}, 8);
  CHECK_FALSE(translated_instance(node, {Job{&uneven, {}, {}, -1}}, {}).has_value());
}
