// What faults, skew and background mean: detours against an independent search, splits, names, sums of
// faults.
#include "topologies/conditions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/core/random.hpp"
#include "tests/topologies/reference.hpp"
#include "topologies/detours.hpp"
#include "topologies/link_names.hpp"

namespace collsim::testing {
namespace {

using topologies::ConditionError;
using topologies::Resolved;

FaultSpec down(FaultTarget target, const std::string& name, std::int64_t at_ps = 0,
               std::optional<Duration> reroute = Duration()) {
  FaultSpec fault;
  fault.target = target;
  fault.name = name;
  fault.at = Instant::picoseconds(at_ps);
  fault.down = true;
  fault.reroute = reroute;
  return fault;
}

Resolved resolved(const Topology& topology, const ConditionsSpec& spec, std::uint64_t seed = 1) {
  auto result = topologies::resolve(topology, spec, seed);
  if (const auto* errors = std::get_if<std::vector<ConditionError>>(&result))
    FAIL(errors->front().key() << ": " << errors->front().message);
  return std::get<Resolved>(std::move(result));
}

std::string errors_of(const Topology& topology, const ConditionsSpec& spec) {
  const auto result = topologies::resolve(topology, spec, 1);
  const auto* errors = std::get_if<std::vector<ConditionError>>(&result);
  if (errors == nullptr) return "";
  std::string text;
  for (const ConditionError& error : *errors)
    text += error.key() + ": " + error.message + "; " + error.expected + "; " + error.hint + "\n";
  return text;
}

// Fewest live links over switches, over vertices that other nodes have cables to, and over the two nodes; -1:
// none. By relaxing all links until nothing changes.
std::int32_t least_live(const Topology& topology, const std::vector<bool>& dead, Rank source, Rank target) {
  std::set<std::uint32_t> points;
  for (const Link& link : topology.links()) {
    const Vertex& a = topology.vertex(link.source);
    const Vertex& b = topology.vertex(link.target);
    if (a.node >= 0 && b.node >= 0 && a.node != b.node) points.insert(link.source.value);
  }
  const auto may = [&](VertexId id) {
    const std::int32_t node = topology.vertex(id).node;
    return node < 0 || points.count(id.value) > 0 || node == topology.vertex(VertexId(source)).node ||
           node == topology.vertex(VertexId(target)).node;
  };
  constexpr std::int32_t far = 1 << 20;
  std::vector<std::int32_t> hops(topology.vertex_count(), far);
  hops[static_cast<std::size_t>(source)] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
      const Link& link = topology.link(LinkId(i));
      if (dead[i] || !may(link.source) || !may(link.target)) continue;
      if (hops[link.source.value] + 1 >= hops[link.target.value]) continue;
      hops[link.target.value] = hops[link.source.value] + 1;
      changed = true;
    }
  }
  const std::int32_t found = hops[static_cast<std::size_t>(target)];
  return found == far ? -1 : found;
}

void check_detours(const ClusterSpec& cluster, std::uint64_t seed) {
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  CAPTURE(seed);
  const auto topology = std::make_shared<const Topology>(built(cluster));
  std::vector<bool> dead(topology->link_count(), false);
  Random random(seed);
  for (std::uint64_t i = 0; i < 1 + seed % 5; ++i) dead[random.below(dead.size())] = true;
  if (seed % 3 == 0) {  // all links of one vertex that is no GPU
    const auto ranks = static_cast<std::uint64_t>(topology->ranks());
    if (topology->vertex_count() > ranks) {
      const VertexId lost(static_cast<std::uint32_t>(ranks + random.below(topology->vertex_count() - ranks)));
      for (std::uint32_t i = 0; i < topology->link_count(); ++i)
        if (topology->link(LinkId(i)).source == lost || topology->link(LinkId(i)).target == lost)
          dead[i] = true;
    }
  }
  const auto split = topologies::split_by(*topology, dead);
  if (split) {
    CHECK(least_live(*topology, dead, split->first, split->second) == -1);
    return;
  }
  const topologies::Detours detours(topology, dead);
  for (Rank source = 0; source < topology->ranks(); ++source)
    for (Rank target = 0; target < topology->ranks(); ++target) {
      if (source == target) continue;
      CAPTURE(source);
      CAPTURE(target);
      std::vector<LinkId> route;
      detours.route(source, target, 0, route);
      REQUIRE(path_fault(*topology, source, target, route) == "");
      const auto is_dead = [&](LinkId id) { return dead[id.value]; };
      CHECK(std::none_of(route.begin(), route.end(), is_dead));
      const std::vector<LinkId> usual = route_of(*topology, source, target);
      if (std::none_of(usual.begin(), usual.end(), is_dead))
        CHECK(route == usual);
      else
        CHECK(static_cast<std::int32_t>(route.size()) == least_live(*topology, dead, source, target));
    }
}

std::vector<ClusterSpec> shapes() {
  using enum FabricKind;
  std::vector<ClusterSpec> result = {tree_of(fat_tree, 2, 6, 8, 1, 0),
                                     tree_of(fat_tree, 3, 4, 9, 1, 1),
                                     tree_of(rail_fat_tree, 2, 8, 5, 4, 4),
                                     tree_of(fat_tree, 2, 8, 3, 5, 3),
                                     cluster_of(single_switch, 3, 4, 2),
                                     cluster_of(full_mesh, 4, 2, 2),
                                     tree_of(fat_tree, 2, 6, 6, 2, 0),
                                     cluster_of(ring, 5, 1, 1),
                                     cluster_of(single_switch, 3, 4, 2, InterconnectKind::full_mesh),
                                     cluster_of(single_switch, 3, 4, 2, InterconnectKind::shared_memory)};
  result.push_back(cluster_of(torus, 1, 1, 0));
  result.back().fabric.dimensions = {3, 3};
  result.push_back(tree_of(fat_tree, 2, 6, 8, 2, 2));
  result.back().routing.kind = RoutingKind::ecmp;
  result.push_back(tree_of(fat_tree, 2, 4, 6, 2, 1));
  result.back().sites.count = 2;
  result.back().sites.links = 2;
  result.back().sites.bandwidth = Bandwidth::gigabytes_per_second(1);
  result.push_back(tree_of(fat_tree, 2, 8, 0, 1, 1));
  for (const auto& [count, gpus, nics] : {std::tuple{2, 4, 4}, {2, 2, 1}, {1, 1, 0}}) {
    NodeGroup group;
    group.count = count;
    group.node = cluster_of(single_switch, 1, gpus, nics).node;
    result.back().groups.push_back(group);
  }
  return result;
}

TEST_SUITE("topologies") {
  TEST_CASE("Detours cross no dead link, are shortest on what is left, and leave other routes alone") {
    for (const ClusterSpec& cluster : shapes())
      for (std::uint64_t seed = 0; seed < 12; ++seed) check_detours(cluster, seed);
  }

  TEST_CASE("No split found means that every pair has a way, and the other way round") {
    for (const ClusterSpec& cluster : shapes())
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const std::string shape = text_of(cluster);
        CAPTURE(shape);
        CAPTURE(seed);
        const Topology topology = built(cluster);
        std::vector<bool> dead(topology.link_count(), false);
        Random random(seed ^ 77);
        for (std::size_t i = 0; i < dead.size(); ++i) dead[i] = random.below(8) == 0;
        bool all = true;
        for (Rank source = 0; source < topology.ranks(); ++source)
          for (Rank target = 0; target < topology.ranks(); ++target)
            all = all && (source == target || least_live(topology, dead, source, target) >= 0);
        CHECK(all == !topologies::split_by(topology, dead).has_value());
      }
  }

  TEST_CASE("A lost NIC's traffic spreads over the other NICs of its node") {
    const Topology topology = built(cluster_of(FabricKind::single_switch, 3, 4, 4));
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::nic, "node0/nic1")};
    const Resolved result = resolved(topology, spec);
    CHECK(result.conditions.route_changes.empty());
    std::set<std::string> nics;
    for (std::int32_t channel = 0; channel < 40; ++channel)
      for (const std::string& name : names_of(result.topology, route_of(result.topology, 1, 9, channel)))
        if (name.starts_with("node0/nic")) nics.insert(name);
    CHECK(nics == std::set<std::string>{"node0/nic0", "node0/nic2", "node0/nic3"});
    CHECK(route_of(result.topology, 0, 9) == route_of(topology, 0, 9));
  }

  TEST_CASE("What is down from the start leaves ranks the memory that they share") {
    NodeGroup shared{2, "",
                     cluster_of(FabricKind::single_switch, 1, 4, 4, InterconnectKind::shared_memory).node};
    NodeGroup apart{1, "", cluster_of(FabricKind::single_switch, 1, 2, 2).node};
    ClusterSpec cluster = cluster_of(FabricKind::single_switch, 3, 4, 4);
    cluster.groups = {shared, apart};
    const Topology topology = built(cluster);
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::nic, "node0/nic1")};
    const Topology worn = resolved(topology, spec).topology;
    for (const Rank rank : {0, 3, 4, 7}) {
      REQUIRE(worn.memory_of(rank) != nullptr);
      CHECK(worn.memory_of(rank)->link == topology.memory_of(rank)->link);
      CHECK(worn.memory_of(rank)->reduce_total == Bandwidth::gigabytes_per_second(250));
    }
    CHECK(worn.memory_of(8) == nullptr);
    CHECK(names_of(worn, route_of(worn, 0, 2)) ==
          std::vector<std::string>{"node0/memory_in", "node0/memory_out", "node0/gpu2"});
    // A memory that is down: its messages go over NICs, and whoever works there waits for it.
    spec.faults = {down(FaultTarget::link, "node1/memory_in -> node1/memory_out")};
    const Topology without = resolved(topology, spec).topology;
    CHECK(names_of(without, route_of(without, 4, 5)) ==
          std::vector<std::string>{"node1/nic0", "switch0", "node1/nic1", "node1/gpu1"});
  }

  TEST_CASE("Spread connections keep the routes that are live") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 8, 8, 1, 0);
    cluster.routing.kind = RoutingKind::spray;
    const Topology topology = built(cluster);
    REQUIRE(topology.routes().route_count(0, 7, 0) == 4);
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::switch_, "spine2")};
    const Topology worn = resolved(topology, spec).topology;
    REQUIRE(worn.routes().route_count(0, 7, 0) == 3);
    CHECK(worn.routes().spreading() == Spreading::even);
    std::set<std::vector<LinkId>> different;
    for (std::int32_t number = 0; number < 3; ++number) {
      std::vector<LinkId> links;
      worn.routes().numbered_route(0, 7, 0, number, links);
      CHECK(path_fault(worn, 0, 7, links) == "");
      CHECK(worn.vertex_name(worn.link(links[1]).target) != "spine2");
      different.insert(links);
    }
    CHECK(different.size() == 3);
  }

  TEST_CASE("Faults become changes sorted by time, and add up") {
    const Topology topology = built(tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 0));
    ConditionsSpec spec;
    FaultSpec slow;
    slow.name = "leaf0 -> spine1";
    slow.at = Instant::picoseconds(300);
    slow.bandwidth_factor = Factor{1, 2};
    slow.latency = Duration::nanoseconds(9);
    FaultSpec earlier = slow;
    earlier.name = "leaf0 <-> spine1";
    earlier.at = Instant::picoseconds(100);
    earlier.latency.reset();
    FaultSpec weak;
    weak.target = FaultTarget::rank;
    weak.rank = 2;
    weak.speed = Factor{1, 4};
    spec.faults = {slow, earlier, weak, down(FaultTarget::switch_, "spine1", 200, Duration::picoseconds(50))};
    const Conditions conditions = resolved(topology, spec).conditions;
    std::string text;
    for (const LinkChange& change : conditions.link_changes)
      text +=
          std::to_string(change.at.picoseconds()) + " " + topology.link_name(change.link) + " " +
          (change.bandwidth ? std::to_string(change.bandwidth->bytes_per_second() / 1'000'000'000) : "-") +
          (change.latency ? " later" : "") + "\n";
    CHECK(text ==
          "100 leaf0 -> spine1 25\n100 spine1 -> leaf0 25\n"
          "200 leaf0 -> spine1 0\n200 spine1 -> leaf0 0\n200 leaf1 -> spine1 0\n200 spine1 -> leaf1 0\n"
          "300 leaf0 -> spine1 - later\n");
    REQUIRE(conditions.route_changes.size() == 1);
    CHECK(conditions.route_changes[0].at == Instant::picoseconds(250));
    std::vector<LinkId> route;
    conditions.route_changes[0].routes->route(0, 3, 0, route);
    CHECK(names_of(topology, route)[1] == "spine0");
    REQUIRE(conditions.rank_changes.size() == 1);
    CHECK(conditions.rank_changes[0].rank == 2);
  }

  TEST_CASE("A slow GPU works at its part of the speed, in every respect") {
    ClusterSpec cluster = fabric_of(FabricKind::single_switch, 2);
    cluster.node.gpu.reduce_bandwidth = Bandwidth::bytes_per_second(101);
    cluster.node.gpu.send_overhead = Duration::picoseconds(10);
    ConditionsSpec spec;
    spec.faults.resize(2);
    for (FaultSpec& fault : spec.faults) {
      fault.target = FaultTarget::rank;
      fault.rank = 1;
      fault.speed = Factor{2, 3};
    }
    const auto changes = resolved(built(cluster), spec).conditions.rank_changes;
    REQUIRE(changes.size() == 2);
    CHECK(changes[0].gpu.reduce_bandwidth == Bandwidth::bytes_per_second(67));
    CHECK(changes[0].gpu.send_overhead == Duration::picoseconds(15));
    CHECK(changes[1].gpu.reduce_bandwidth == Bandwidth::bytes_per_second(44));
    CHECK(changes[1].gpu.send_overhead == Duration::picoseconds(23));
    CHECK(!changes[1].gpu.copy_bandwidth);
  }

  TEST_CASE("Names that the cluster does not have are errors at their place, with the nearest spelling") {
    const Topology topology = built(tree_of(FabricKind::fat_tree, 2, 8, 5, 2, 2));
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::link, "leaf0 -> spin1"), down(FaultTarget::switch_, "laef1"),
                   down(FaultTarget::nic, "leaf0"), down(FaultTarget::link, "leaf0"),
                   down(FaultTarget::link, "leaf0 -> leaf1")};
    spec.faults.emplace_back();
    spec.faults.back().target = FaultTarget::rank;
    spec.faults.back().rank = 10;
    spec.skew.ranks = {{0, Duration()}, {0, Duration()}, {11, Duration()}};
    spec.background.resize(2);
    spec.background[0].link = "leaf0 -> spine9*";
    spec.background[1].from = 3;
    spec.background[1].to = 3;
    const std::string text = errors_of(topology, spec);
    for (const char* part :
         {"faults[0].link: there is no 'spin1' in the cluster; a name such as spine3 (collsim describe --dot "
          "shows them); leaf0 -> spine1\n",
          "faults[1].switch: there is no 'laef1' in the cluster", "faults[2].nic: 'leaf0' is no NIC",
          "faults[3].link: 'leaf0' is no name of a link", "faults[4].link: no link is named 'leaf0 -> leaf1'",
          "faults[5].rank: there is no rank 10; a rank from 0 to 9", "skew[1].rank: rank 0 is listed twice",
          "skew[2].rank: there is no rank 11", "background[0].link: no link is named 'leaf0 -> spine9*'",
          "background[1].to: traffic from rank 3 to itself"}) {
      CAPTURE(part);
      CHECK(text.find(part) != std::string::npos);
    }
  }

  TEST_CASE("A fabric that a fault splits is an error that names two ranks, unless nothing re-routes") {
    const Topology topology = built(tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 0));
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::switch_, "spine0"), down(FaultTarget::switch_, "spine1", 5)};
    CHECK(
        errors_of(topology, spec) ==
        "faults[1].switch: with 'spine1' down nothing leads from rank 2 to rank 0; a fault that leaves a way "
        "between all ranks, or no reroute; \n");
    spec.faults[1].reroute.reset();
    CHECK(errors_of(topology, spec) == "");
    CHECK(resolved(topology, spec).conditions.link_changes.size() == 8);
  }

  TEST_CASE("Background: patterns take every link that fits, pairs their route") {
    const Topology topology = built(tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 0));
    ConditionsSpec spec;
    spec.background.resize(2);
    spec.background[0].link = "leaf* -> spine*";
    spec.background[0].load = Factor{3, 10};
    spec.background[1].from = 0;
    spec.background[1].to = 3;
    spec.background[1].rate = Bandwidth::gigabytes_per_second(2);
    const auto flows = resolved(topology, spec).conditions.background;
    REQUIRE(flows.size() == 5);
    CHECK(flows[0].rate == Bandwidth::gigabytes_per_second(15));
    CHECK(flows[4].links == route_of(topology, 0, 3));
    CHECK(topologies::matches("leaf*0*", "leaf100"));
    CHECK(!topologies::matches("leaf*1", "leaf10"));
    CHECK(topologies::matches("*", ""));
  }

  TEST_CASE("Skew is drawn for every rank by the seed, and listed delays are added") {
    const Topology topology = built(fabric_of(FabricKind::single_switch, 4));
    ConditionsSpec spec;
    spec.skew.distribution = {DistributionKind::uniform, Duration::microseconds(5), Duration()};
    const auto first = resolved(topology, spec, 1).conditions.skew;
    CHECK(first == resolved(topology, spec, 1).conditions.skew);
    CHECK(first != resolved(topology, spec, 2).conditions.skew);
    CHECK(std::set<Duration>(first.begin(), first.end()).size() == 4);
    spec.skew.ranks = {{2, Duration::nanoseconds(7)}};
    const auto more = resolved(topology, spec, 1).conditions.skew;
    CHECK(more[2] == first[2] + Duration::nanoseconds(7));
    CHECK(more[1] == first[1]);
  }

  TEST_CASE("A tree that crosses what is down from the start is impossible, and says why") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 0);
    cluster.fabric.reduction.enabled = true;
    const Topology topology = built(cluster);
    ConditionsSpec spec;
    spec.faults = {down(FaultTarget::switch_, "spine0"),
                   down(FaultTarget::switch_, "spine1", 8, std::nullopt)};
    const Topology worn = resolved(topology, spec).topology;
    AggregationGroup group{AggregationScope::fabric, AggregationMode::all_reduce, {0, 3}, 0, 0};
    const auto refused = worn.aggregation(group);
    REQUIRE(std::holds_alternative<Impossible>(refused));
    CHECK(std::get<Impossible>(refused).reason == "the tree of rail 0 crosses spine0, which is down");
    group.rail = 1;
    CHECK(std::holds_alternative<AggregationPath>(worn.aggregation(group)));
  }

  TEST_CASE("Nothing stated leaves the topology and the run as they are") {
    const Topology topology = built(tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 0));
    const Resolved result = resolved(topology, {});
    CHECK(result.conditions.is_empty());
    CHECK(result.topology.has_translation(TranslationKind::exclusive_or) ==
          topology.has_translation(TranslationKind::exclusive_or));
  }
}

}  // namespace
}  // namespace collsim::testing
