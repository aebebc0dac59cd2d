// Schedules in packets: uncontended they take what the fluid model says, to within one packet a hop; and how
// far the two differ elsewhere is a table in sim/network/README.md, which this test makes and compares.
//
// Update  COLLSIM_UPDATE_GOLDEN=1 writes the table into the README instead of comparing it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/requests.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/build.hpp"

using namespace collsim;

namespace {

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;

Bandwidth gb(std::int64_t count) { return Bandwidth::gigabytes_per_second(count); }

// One node of 8 GPUs on an NVSwitch that reduces.
ClusterSpec node_of_8() {
  ClusterSpec cluster;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = gb(450);
  cluster.node.interconnect.latency = Duration::nanoseconds(500);
  cluster.node.interconnect.reduction.enabled = true;
  return cluster;
}

// Nodes of 4 such GPUs with a NIC each, on a fat tree of radix 8.
ClusterSpec fat_tree(int nodes, int oversubscription) {
  ClusterSpec cluster = node_of_8();
  cluster.nodes = nodes;
  cluster.node.gpus = 4;
  cluster.node.nics = {4, gb(50), Duration::microseconds(1)};
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.levels = 2;
  cluster.fabric.radix = 8;
  cluster.fabric.oversubscription_numerator = oversubscription;
  cluster.fabric.bandwidth = gb(50);
  cluster.fabric.latency = Duration::nanoseconds(500);
  cluster.fabric.reduction.enabled = true;
  return cluster;
}

ClusterSpec on_fabric(FabricKind kind, int nodes) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.fabric.kind = kind;
  cluster.fabric.bandwidth = gb(50);
  cluster.fabric.latency = Duration::nanoseconds(500);
  return cluster;
}

ClusterSpec torus() {
  ClusterSpec cluster = on_fabric(FabricKind::torus, 16);
  cluster.fabric.dimensions = {4, 4};
  return cluster;
}

const std::map<std::string, ClusterSpec>& clusters() {
  static const std::map<std::string, ClusterSpec> all = {
      {"node of 8", node_of_8()},
      {"4 x 4, fat tree", fat_tree(4, 1)},
      {"8 x 4, fat tree 3:1", fat_tree(8, 3)},
      {"16 on a switch", on_fabric(FabricKind::single_switch, 16)},
      {"torus 4 x 4", torus()}};
  return all;
}

struct Case {
  std::string cluster;
  std::string algorithm;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
};

struct Pair {
  RunResult fluid;
  RunResult packet;
  std::int64_t one_packet_a_hop = 0;  // ps, of every message on the critical path
};

std::size_t longest_route(const Topology& topology) {
  std::size_t longest = 1;
  std::vector<LinkId> links;
  for (Rank source = 0; source < topology.ranks(); ++source)
    for (Rank target = 0; target < topology.ranks(); ++target) {
      if (source == target) continue;
      links.clear();
      topology.route(source, target, 0, links);
      longest = std::max(longest, links.size());
    }
  return longest;
}

Pair run_both(const Topology& topology, const Case& which, RunOptions options = {}) {
  Collective collective;
  collective.kind = which.collective;
  collective.bytes = Bytes(which.bytes);
  auto made = algorithms::make_schedule({which.algorithm, {}}, collective, topology.placement());
  REQUIRE(std::holds_alternative<Schedule>(made));
  const auto& schedule = std::get<Schedule>(made);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  Pair pair;
  options.explain = true;
  pair.fluid = simulate(topology, jobs, options);
  options.network.kind = NetworkKind::packet;
  pair.packet = simulate(topology, jobs, options);
  CHECK(testing::conservation_fault(topology, jobs, pair.packet) == "");
  CHECK(pair.fluid.status == RunStatus::ok);
  CHECK(pair.packet.status == RunStatus::ok);
  CHECK(pair.fluid.messages == pair.packet.messages);
  if (topology.routes().spreading() == Spreading::none)
    CHECK(pair.fluid.link_bytes == pair.packet.link_bytes);
  std::int64_t slowest = INT64_MAX;
  for (const Link& link : topology.links()) slowest = std::min(slowest, link.bandwidth.bytes_per_second());
  const std::int64_t packet =
      transfer_time(options.network.packet.mtu, Bandwidth::bytes_per_second(slowest)).picoseconds();
  // An aggregation goes up and down, a message along a route.
  pair.one_packet_a_hop = packet * static_cast<std::int64_t>(longest_route(topology)) *
                          std::max<std::int64_t>(pair.fluid.critical_path->messages, 1);
  return pair;
}

Topology topology_of(const std::string& name) {
  auto built = topologies::build(clusters().at(name));
  REQUIRE(std::holds_alternative<Topology>(built));
  return std::get<Topology>(std::move(built));
}

// ---- the table

std::string with_point(std::int64_t value, std::int64_t unit, int digits) {
  const std::int64_t magnitude = value < 0 ? -value : value;
  std::string fraction = std::to_string(magnitude % unit);
  fraction.insert(0, static_cast<std::size_t>(digits) - fraction.size(), '0');
  return (value < 0 ? "-" : "") + std::to_string(magnitude / unit) + "." + fraction;
}

// In hundredths of a percent, to the nearest.
std::int64_t difference(const Pair& pair) {
  const std::int64_t fluid = pair.fluid.time.picoseconds();
  const auto more = static_cast<Int128>(pair.packet.time.picoseconds() - fluid) * 20'000;
  const Int128 doubled = more / fluid;
  return static_cast<std::int64_t>((doubled + (more < 0 ? -1 : 1)) / 2);
}

std::string size_text(std::int64_t bytes) {
  return bytes >= MiB ? std::to_string(bytes / MiB) + " MiB" : std::to_string(bytes / KiB) + " KiB";
}

std::vector<Case> cases() {
  using enum CollectiveKind;
  std::vector<Case> all;
  const auto add = [&](const std::string& cluster, const std::vector<std::string>& algorithms,
                       CollectiveKind collective, const std::vector<std::int64_t>& sizes) {
    for (const std::string& algorithm : algorithms)
      for (const std::int64_t size : sizes) all.push_back({cluster, algorithm, collective, size});
  };
  const std::vector<std::int64_t> two = {64 * KiB, 4 * MiB};
  add("node of 8", {"ring", "double_binary_tree", "one_shot", "two_shot", "nvls"}, all_reduce, two);
  add("node of 8", {"direct"}, all_to_all, two);
  add("4 x 4, fat tree", {"ring", "double_binary_tree", "cascade", "sharp", "two_shot"}, all_reduce, two);
  add("4 x 4, fat tree", {"direct", "pairwise"}, all_to_all, two);
  add("8 x 4, fat tree 3:1", {"ring", "double_binary_tree", "cascade", "two_shot"}, all_reduce, two);
  add("8 x 4, fat tree 3:1", {"direct", "pairwise"}, all_to_all, two);
  add("16 on a switch", {"ring", "recursive_doubling", "parameter_server", "two_shot"}, all_reduce, two);
  add("16 on a switch", {"direct"}, all_to_all, two);
  add("torus 4 x 4", {"ring", "torus_bucket", "two_shot", "recursive_doubling"}, all_reduce, two);
  add("torus 4 x 4", {"direct", "pairwise"}, all_to_all, two);
  return all;
}

constexpr std::int64_t five_percent = 500;

// Why packets differ by more than 5 % where messages contend: named, and shown by runs without the causes.
std::string reason_for(const Topology& topology, const Case& which, std::int64_t shown) {
  RunOptions options;
  options.network.packet.buffer = Bytes(1'000'000'000);
  const std::int64_t roomy = difference(run_both(topology, which, options));
  const std::string with_room = "full buffers: " + with_point(roomy, 100, 2) + " % with large ones";
  if (std::abs(roomy) <= five_percent) return with_room;
  ClusterSpec near = clusters().at(which.cluster);
  near.node.interconnect.latency = near.node.nics.latency = near.fabric.latency = Duration();
  const auto built = topologies::build(near);
  REQUIRE(std::holds_alternative<Topology>(built));
  const std::int64_t at_once = difference(run_both(std::get<Topology>(built), which, options));
  CHECK(std::abs(at_once) <= five_percent);
  const std::string without = "latency: " + with_point(at_once, 100, 2) + " % without";
  return std::abs(shown - roomy) > five_percent ? with_room + "; " + without + " and large ones" : without;
}

std::string row(const Topology& topology, const Case& which) {
  const Pair pair = run_both(topology, which);
  const bool contended = pair.fluid.critical_path->contention > Duration();
  const std::int64_t more = pair.packet.time.picoseconds() - pair.fluid.time.picoseconds();
  const std::int64_t hundredths = difference(pair);
  std::string remark = contended ? "shared" : "alone";
  if (!contended)
    CHECK(std::abs(more) <= pair.one_packet_a_hop);
  else if (std::abs(hundredths) > five_percent)
    remark = reason_for(topology, which, hundredths);
  const auto time = [](const RunResult& result) {
    return with_point(result.time.picoseconds() / 10'000, 100, 2);
  };
  return "| " + which.cluster + " | " + std::string(name_of(which.collective)) + " | " + which.algorithm +
         " | " + size_text(which.bytes) + " | " + time(pair.fluid) + " | " + time(pair.packet) + " | " +
         with_point(hundredths, 100, 2) + " % | " + remark + " |\n";
}

std::string table() {
  std::string text =
      "| cluster | collective | algorithm | size | fluid us | packet us | difference | links |\n"
      "|---|---|---|---|---|---|---|---|\n";
  std::string name;
  std::optional<Topology> topology;
  for (const Case& which : cases()) {
    if (which.cluster != name) topology.emplace(topology_of(which.cluster));
    name = which.cluster;
    CAPTURE(which.cluster);
    CAPTURE(which.algorithm);
    CAPTURE(which.bytes);
    text += row(*topology, which);
  }
  return text;
}

}  // namespace

TEST_CASE("The table of fluid against packet in sim/network/README.md is what runs give") {
  CHECK(cases().size() >= 40);
  const std::string path = COLLSIM_SOURCE_DIR "/sim/network/README.md";
  std::ifstream stream(path);
  std::stringstream read;
  read << stream.rdbuf();
  const std::string text = read.str();
  const std::string begin = "<!-- fluid against packet: begin -->\n";
  const std::size_t first = text.find(begin) + begin.size();
  const std::size_t end = text.find("<!-- fluid against packet: end -->");
  REQUIRE(first != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::string made = table();
  if (std::getenv("COLLSIM_UPDATE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << text.substr(0, first) << made << text.substr(end);
  else
    CHECK(text.substr(first, end - first) == made);
}

TEST_CASE(
    "Alone, schedules take in packets what they take in the fluid model: cut-through to a few ps a link") {
  const Topology topology = topology_of("16 on a switch");
  const Topology grid = topology_of("torus 4 x 4");
  const Topology node = topology_of("node of 8");
  const std::vector<std::pair<const Topology*, std::string>> runs = {
      {&topology, "ring"},     {&topology, "recursive_doubling"},
      {&grid, "torus_bucket"}, {&grid, "cascade"},
      {&node, "ring"},         {&node, "nvls"}};
  for (const auto& run : runs)
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{4}, 100 * KiB, 3 * MiB + 4}) {
      CAPTURE(run.second);
      CAPTURE(bytes);
      const Pair pair = run_both(*run.first, {"", run.second, CollectiveKind::all_reduce, bytes});
      REQUIRE(pair.fluid.critical_path->contention == Duration());
      const std::int64_t links = 2 * pair.fluid.critical_path->messages;
      const std::int64_t more = pair.packet.time.picoseconds() - pair.fluid.time.picoseconds();
      CHECK(std::abs(more) <= links + 1);
    }
}

TEST_CASE("Alone, store-and-forward takes one packet's time more for each hop after the first") {
  RunOptions options;
  options.network.packet.switching = Switching::store_and_forward;
  for (const std::string name : {"16 on a switch", "torus 4 x 4", "node of 8"}) {
    const Topology topology = topology_of(name);
    for (const std::string algorithm : {"ring", "cascade", "recursive_doubling"}) {
      CAPTURE(name);
      CAPTURE(algorithm);
      const Pair pair = run_both(topology, {name, algorithm, CollectiveKind::all_reduce, MiB}, options);
      if (pair.fluid.critical_path->contention > Duration()) continue;
      const std::int64_t more = pair.packet.time.picoseconds() - pair.fluid.time.picoseconds();
      CHECK(more >= -2 * pair.fluid.critical_path->messages);
      CHECK(more <= pair.one_packet_a_hop);
    }
  }
}

TEST_CASE("Results say what packets did, and the same run gives the same result") {
  const Topology topology = topology_of("8 x 4, fat tree 3:1");
  const Case which{"", "direct", CollectiveKind::all_to_all, MiB};
  const Pair first = run_both(topology, which);
  const Pair second = run_both(topology, which);
  CHECK(first.packet.fingerprint == second.packet.fingerprint);
  CHECK(first.packet.time == second.packet.time);
  CHECK_FALSE(first.fluid.packets.has_value());
  REQUIRE(first.packet.packets.has_value());
  const PacketFacts& facts = *first.packet.packets;
  CHECK(facts.packets == 32 * 31 * 8);  // of 32 KiB each
  CHECK(facts.hops > 2 * facts.packets);
  CHECK(facts.queue_max > 0);
  CHECK(facts.queue_link.exists());
  CHECK(facts.virtual_channels == 1);
  CHECK(facts.marks == 0);
}

TEST_CASE("A ring with one virtual channel ends in a deadlock that names the links") {
  const ClusterSpec cluster = on_fabric(FabricKind::ring, 6);
  const auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  const auto& topology = std::get<Topology>(built);
  Collective collective;
  collective.kind = CollectiveKind::all_to_all;
  collective.bytes = Bytes(6 * MiB);
  auto made = algorithms::make_schedule({"direct", {}}, collective, topology.placement());
  const auto& schedule = std::get<Schedule>(made);
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  options.network.packet.buffer = Bytes(4096);
  CHECK(simulate(topology, {Job{&schedule, {}, {}, -1}}, options).status == RunStatus::ok);
  options.network.packet.virtual_channels = 1;
  const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, options);
  CHECK(result.status == RunStatus::deadlock);
  CHECK_FALSE(result.blocked.empty());
  CHECK(result.failure.rfind("packets on ", 0) == 0);
  CHECK(result.failure.find(" wait for room on ") != std::string::npos);
}

TEST_CASE("A link that goes down fails the run, and slows it if it comes back") {
  const Topology topology = topology_of("torus 4 x 4");
  Collective collective;
  collective.bytes = Bytes(4 * MiB);
  auto made = algorithms::make_schedule({"ring", {}}, collective, topology.placement());
  const auto& schedule = std::get<Schedule>(made);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  std::vector<LinkId> route;
  topology.route(0, 1, 0, route);
  Conditions conditions;
  conditions.link_changes.push_back(
      {Instant::picoseconds(20'000'000), route.front(), Bandwidth(), std::nullopt});
  const RunResult failed = simulate(topology, jobs, options, conditions);
  CHECK(failed.status == RunStatus::failed);
  CHECK(failed.failure ==
        topology.link_name(route.front()) + " is down since 20 us, and what waits for it is not re-routed");
  conditions.link_changes.push_back({Instant::picoseconds(520'000'000), route.front(), gb(50), std::nullopt});
  const RunResult late = simulate(topology, jobs, options, conditions);
  CHECK(late.status == RunStatus::ok);
  const std::int64_t healthy = simulate(topology, jobs, options).time.picoseconds();
  CHECK(std::abs(late.time.picoseconds() - healthy - 500'000'000) < 10'000'000);
}

TEST_CASE("Routes that spread use all ways up, and the shortest queue avoids collisions") {
  std::map<RoutingKind, std::int64_t> time;
  for (const RoutingKind kind :
       {RoutingKind::minimal, RoutingKind::ecmp, RoutingKind::spray, RoutingKind::adaptive}) {
    ClusterSpec cluster = on_fabric(FabricKind::fat_tree, 32);
    cluster.fabric.radix = 16;
    cluster.routing.kind = kind;
    const auto built = topologies::build(cluster, 3);
    REQUIRE(std::holds_alternative<Topology>(built));
    Case which{"", "pairwise", CollectiveKind::all_to_all, 8 * MiB};
    time[kind] = run_both(std::get<Topology>(built), which).packet.time.picoseconds();
  }
  CHECK(time[RoutingKind::ecmp] > time[RoutingKind::adaptive] * 5 / 4);
  CHECK(time[RoutingKind::spray] < time[RoutingKind::ecmp]);
  CHECK(time[RoutingKind::adaptive] < time[RoutingKind::minimal] * 11 / 10);
}

namespace {

// Of the routes that another rule knows, the first that avoids a link.
class Around : public RouteRule {
 public:
  Around(const Topology& topology, LinkId link) : topology_(topology), link_(link) {}
  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const override {
    const RouteRule& rule = topology_.routes();
    std::vector<LinkId> way;
    for (std::int32_t number = 0; number < rule.route_count(source, target, channel); ++number) {
      way.clear();
      rule.numbered_route(source, target, channel, number, way);
      if (std::find(way.begin(), way.end(), link_) == way.end()) break;
    }
    links.insert(links.end(), way.begin(), way.end());
  }

 private:
  const Topology& topology_;
  LinkId link_;
};

}  // namespace

TEST_CASE("New routes bring packets round a link that is down") {
  ClusterSpec cluster = on_fabric(FabricKind::fat_tree, 16);
  cluster.fabric.radix = 8;
  cluster.routing.kind = RoutingKind::spray;
  const auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  const auto& spread = std::get<Topology>(built);
  const Topology topology = spread.with_routes(std::make_shared<Around>(spread, LinkId()));
  Collective collective;
  collective.bytes = Bytes(4 * MiB);
  auto made = algorithms::make_schedule({"ring", {}}, collective, topology.placement());
  const auto& schedule = std::get<Schedule>(made);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  const RunResult healthy = simulate(topology, jobs, options);
  // A link between switches that the ring uses.
  LinkId victim;
  for (std::uint32_t link = 0; link < topology.link_count(); ++link)
    if (topology.vertex(topology.link(LinkId(link)).source).kind == VertexKind::fabric_switch &&
        topology.vertex(topology.link(LinkId(link)).target).kind == VertexKind::fabric_switch &&
        healthy.link_bytes[link] > Bytes())
      victim = LinkId(link);
  REQUIRE(victim.exists());
  Conditions conditions;
  conditions.link_changes.push_back({Instant::picoseconds(50'000'000), victim, Bandwidth(), std::nullopt});
  CHECK(simulate(topology, jobs, options, conditions).status == RunStatus::failed);
  conditions.route_changes.push_back(
      {Instant::picoseconds(80'000'000), std::make_shared<Around>(spread, victim)});
  const RunResult saved = simulate(topology, jobs, options, conditions);
  CHECK(saved.status == RunStatus::ok);
  CHECK(saved.messages == healthy.messages);
  CHECK(saved.link_bytes[victim.value] < healthy.link_bytes[victim.value]);
  // It stood still for no more than 30 us.
  const std::int64_t more = saved.time.picoseconds() - healthy.time.picoseconds();
  CHECK(more > 20'000'000);
  CHECK(more < 32'000'000);
}

TEST_CASE("What holds from the start is like another cluster") {
  const Topology topology = topology_of("16 on a switch");
  ClusterSpec slow = clusters().at("16 on a switch");
  slow.fabric.bandwidth = gb(20);
  slow.fabric.latency = Duration::microseconds(2);
  const Topology other = std::get<Topology>(topologies::build(slow));
  Collective collective;
  collective.bytes = Bytes(4 * MiB);
  auto made = algorithms::make_schedule({"ring", {}}, collective, topology.placement());
  const auto& schedule = std::get<Schedule>(made);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  Conditions conditions;
  for (std::uint32_t link = 0; link < topology.link_count(); ++link)
    conditions.link_changes.push_back({Instant(), LinkId(link), gb(20), Duration::microseconds(2)});
  CHECK(simulate(topology, jobs, options, conditions).time == simulate(other, jobs, options).time);
  // Routes too: messages that all take one spine.
  ClusterSpec cluster = on_fabric(FabricKind::fat_tree, 16);
  cluster.fabric.radix = 8;
  cluster.routing.kind = RoutingKind::spray;
  const Topology spread = std::get<Topology>(topologies::build(cluster));
  Conditions routed;
  routed.route_changes.push_back({Instant(), std::make_shared<Around>(spread, LinkId())});
  const Topology single = spread.with_routes(std::make_shared<Around>(spread, LinkId()));
  CHECK(simulate(spread, jobs, options, routed).link_bytes == simulate(single, jobs, options).link_bytes);
  CHECK(simulate(spread, jobs, options).link_bytes != simulate(single, jobs, options).link_bytes);
}

TEST_CASE("Traffic of others costs what it costs in the fluid model") {
  const Topology topology = topology_of("16 on a switch");
  Collective collective;
  collective.bytes = Bytes(4 * MiB);
  auto made = algorithms::make_schedule({"ring", {}}, collective, topology.placement());
  const auto& schedule = std::get<Schedule>(made);
  const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  const std::int64_t healthy = simulate(topology, jobs, options).time.picoseconds();
  std::vector<LinkId> route;
  topology.route(0, 1, 0, route);
  Conditions conditions;
  conditions.background.push_back({route, gb(25)});
  const RunResult shared = simulate(topology, jobs, options, conditions);
  CHECK(shared.status == RunStatus::ok);
  options.network.kind = NetworkKind::fluid;
  const RunResult fluid = simulate(topology, jobs, options, conditions);
  options.network.kind = NetworkKind::packet;
  const std::int64_t more = shared.time.picoseconds() - healthy;
  CHECK(more > healthy / 3);
  CHECK(std::abs(shared.time.picoseconds() - fluid.time.picoseconds()) < fluid.time.picoseconds() / 20);
}

TEST_CASE("Every algorithm that runs in the fluid model runs in packets, with the same messages") {
  for (const std::string name : {"node of 8", "4 x 4, fat tree", "torus 4 x 4", "16 on a switch"}) {
    const Topology topology = topology_of(name);
    std::size_t ran = 0;
    for (const testing::Variant& variant : testing::variants())
      for (const std::int64_t elements : {0, 3, 30'000}) {
        CAPTURE(name);
        CAPTURE(variant.text());
        CAPTURE(elements);
        const Collective collective = testing::collective_of(variant.kind, elements, topology.ranks());
        const auto made = algorithms::make_schedule(variant.request(), collective, topology.placement());
        if (!std::holds_alternative<Schedule>(made)) continue;
        const auto& schedule = std::get<Schedule>(made);
        if (impossible_reason(topology, schedule)) continue;
        ++ran;
        const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
        RunOptions options;
        options.launch_overhead = Duration::nanoseconds(1);
        const RunResult fluid = simulate(topology, jobs, options);
        options.network.kind = NetworkKind::packet;
        options.network.packet.buffer = Bytes(2 * 4096);
        options.network.packet.reduction_buffer = Bytes(4096);
        for (const Switching switching : {Switching::cut_through, Switching::store_and_forward}) {
          options.network.packet.switching = switching;
          const RunResult packet = simulate(topology, jobs, options);
          REQUIRE(packet.status == RunStatus::ok);
          CHECK(testing::conservation_fault(topology, jobs, packet) == "");
          CHECK(packet.messages == fluid.messages);
          CHECK(packet.link_bytes == fluid.link_bytes);
        }
      }
    CHECK(ran > 40);
  }
}

TEST_CASE("On every small shape, with the smallest buffers, all pairs and trees get through") {
  std::int32_t channels = 1;
  for (const ClusterSpec& cluster : testing::all_shapes()) {
    const auto built = topologies::build(cluster);
    if (!std::holds_alternative<Topology>(built)) continue;
    const auto& topology = std::get<Topology>(built);
    if (topology.ranks() < 2 || topology.ranks() > 100) continue;
    CAPTURE(topology.name());
    const std::vector<std::pair<std::string, CollectiveKind>> asked = {{"direct", CollectiveKind::all_to_all},
                                                                       {"sharp", CollectiveKind::all_reduce},
                                                                       {"nvls", CollectiveKind::all_reduce}};
    for (const auto& one : asked) {
      CAPTURE(one.first);
      const std::int64_t elements = 1500 * std::int64_t{topology.ranks()};
      const Collective collective = testing::collective_of(one.second, elements, topology.ranks());
      const auto made = algorithms::make_schedule({one.first, {}}, collective, topology.placement());
      if (!std::holds_alternative<Schedule>(made)) continue;
      const auto& schedule = std::get<Schedule>(made);
      if (impossible_reason(topology, schedule)) continue;
      RunOptions options;
      options.network.kind = NetworkKind::packet;
      options.network.packet.buffer = Bytes(4096);
      options.network.packet.reduction_buffer = Bytes(4096);
      const std::vector<Job> jobs = {Job{&schedule, {}, {}, -1}};
      const RunResult result = simulate(topology, jobs, options);
      REQUIRE(result.status == RunStatus::ok);
      CHECK(testing::conservation_fault(topology, jobs, result) == "");
      channels = std::max(channels, result.packets->virtual_channels);
      if (cluster.fabric.kind == FabricKind::fat_tree) CHECK(result.packets->virtual_channels == 1);
    }
  }
  CHECK(channels > 1);
  CHECK(channels <= 4);
}
