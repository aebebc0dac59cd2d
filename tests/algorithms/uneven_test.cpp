// Algorithms on nodes of unequal numbers of GPUs and links.
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "algorithms/nccl_model.hpp"
#include "algorithms/ring_order.hpp"
#include "sim/model/bounds.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/algorithms/level_support.hpp"
#include "tests/support/requests.hpp"

using namespace collsim;
using collsim::testing::bytes_of;
using collsim::testing::check_proven;
using collsim::testing::collective_of;
using collsim::testing::ideal_placement;
using collsim::testing::make;
using collsim::testing::reason;
using collsim::testing::uneven_placement;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

using Counts = std::vector<std::int32_t>;

const std::vector<Counts>& some_counts() {
  static const std::vector<Counts> counts = {{8, 8, 4}, {1, 3}, {2, 2, 1, 5}, {1, 1, 2, 1}};
  return counts;
}

// Messages of a schedule from one node to another: how many connections there are of each pair.
std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> connections(const Schedule& schedule,
                                                                          const Placement& placement) {
  std::set<std::tuple<Rank, Rank, std::int32_t>> found;
  for (Rank rank = 0; rank < placement.ranks(); ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        if (item.kind == OperationKind::send) found.emplace(rank, item.peer.rank, item.peer.channel);
      }
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> between;
  for (const auto& [source, target, channel] : found)
    ++between[{placement.node_of(source), placement.node_of(target)}];
  return between;
}

// GPUs on the switch of their node and on its NIC, NICs on one switch.
class NodesOnSwitch : public RouteRule {
 public:
  struct Cables {
    LinkId up;
    LinkId down;
  };
  std::vector<Cables> inside;   // [rank]
  std::vector<Cables> outside;  // [rank]
  std::vector<Cables> of_nic;   // [node]
  Placement placement;

  void route(Rank source, Rank target, std::int32_t, std::vector<LinkId>& links) const override {
    const auto from = static_cast<std::size_t>(source);
    const auto to = static_cast<std::size_t>(target);
    const auto first = static_cast<std::size_t>(placement.node_of(source));
    const auto last = static_cast<std::size_t>(placement.node_of(target));
    if (first == last)
      links.insert(links.end(), {inside[from].up, inside[to].down});
    else
      links.insert(links.end(), {outside[from].up, of_nic[first].up, of_nic[last].down, outside[to].down});
  }
};

struct NodeShape {
  std::int32_t gpus;
  std::int64_t nic;  // GB/s
};

constexpr std::int64_t interconnect = 100;  // GB/s
const Duration hop = Duration::nanoseconds(500);

// Lays the cables of a network, in order.
struct Wiring {
  Topology::Parts& parts;

  NodesOnSwitch::Cables cable(std::int32_t a, std::int32_t b, std::int64_t speed) const {
    const auto add = [&](std::int32_t from, std::int32_t to) {
      const Bandwidth bandwidth = Bandwidth::bytes_per_second(speed * 1'000'000'000);
      parts.links.push_back({VertexId(from), VertexId(to), bandwidth, hop});
      return LinkId(static_cast<std::uint32_t>(parts.links.size() - 1));
    };
    const LinkId up = add(a, b);
    return {up, add(b, a)};
  }
};

// What ranks and nodes can send, from the links as they are laid.
std::vector<Cut> cuts_of(const std::vector<NodeShape>& shapes, std::int32_t ranks) {
  constexpr Int128 giga = 1'000'000'000;
  Cut rank{"rank", ranks, 0, Int128{1} << 80, 0};
  Cut node{"node", static_cast<std::int64_t>(shapes.size()), 0, Int128{1} << 80, 0};
  for (const NodeShape& shape : shapes) {
    const Int128 of_rank = (interconnect + shape.nic) * giga;
    rank.total_exit += shape.gpus * of_rank;
    rank.smallest_exit = std::min(rank.smallest_exit, of_rank);
    node.total_exit += shape.nic * giga;
    node.smallest_exit = std::min(node.smallest_exit, shape.nic * giga);
  }
  return {rank, node};
}

Topology unlike_nodes(const std::vector<NodeShape>& shapes) {
  Counts counts;
  for (const NodeShape& shape : shapes) counts.push_back(shape.gpus);
  Topology::Parts parts;
  parts.placement = uneven_placement(counts);
  parts.placement.node_reduction.enabled = parts.placement.fabric_reduction.enabled = false;
  const std::int32_t ranks = parts.placement.ranks();
  const auto nodes = static_cast<std::int32_t>(shapes.size());
  for (std::int32_t node = 0; node < nodes; ++node)
    for (std::int32_t gpu = 0; gpu < counts[static_cast<std::size_t>(node)]; ++gpu)
      parts.vertices.push_back({VertexKind::gpu, 0, node, gpu});
  for (std::int32_t node = 0; node < nodes; ++node) {
    parts.vertices.push_back({VertexKind::node_switch, 0, node, 0});
    parts.vertices.push_back({VertexKind::nic, 0, node, 0});
  }
  parts.vertices.push_back({VertexKind::fabric_switch, 1, -1, 0});
  auto routes = std::make_shared<NodesOnSwitch>();
  routes->placement = parts.placement;
  const Wiring wiring{parts};
  for (Rank rank = 0; rank < ranks; ++rank) {
    const std::int32_t node = parts.placement.node_of(rank);
    const std::int64_t speed = shapes[static_cast<std::size_t>(node)].nic;
    routes->inside.push_back(wiring.cable(rank, ranks + 2 * node, interconnect));
    routes->outside.push_back(wiring.cable(rank, ranks + 2 * node + 1, speed));
  }
  for (std::int32_t node = 0; node < nodes; ++node)
    routes->of_nic.push_back(
        wiring.cable(ranks + 2 * node + 1, ranks + 2 * nodes, shapes[static_cast<std::size_t>(node)].nic));
  parts.routes = routes;
  parts.cuts = cuts_of(shapes, ranks);
  parts.latency_max = Duration::picoseconds(4 * hop.picoseconds());
  return Topology(std::move(parts));
}

}  // namespace

TEST_CASE("RingOrder on uneven nodes goes node by node and starts channel c at the first GPU of NIC c") {
  const auto ring_of = [](const Placement& placement, std::int32_t channel) {
    const algorithms::RingOrder ring(placement, RankOrder::automatic, 3);
    std::vector<Rank> ranks;
    for (std::int32_t position = 0; position < placement.ranks(); ++position) {
      ranks.push_back(ring.rank_at(channel, position));
      CHECK(ring.position_of(channel, ranks.back()) == position);
    }
    return ranks;
  };
  Placement placement = uneven_placement({4, 1, 2, 3}, 2);
  CHECK(ring_of(placement, 0) == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ring_of(placement, 1) == std::vector<Rank>{2, 3, 0, 1, 4, 6, 5, 9, 7, 8});
  CHECK(ring_of(placement, 2) == ring_of(placement, 0));
  placement.fabric = FabricKind::rail_fat_tree;
  CHECK(ring_of(placement, 0) == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 9, 8, 7});
  placement.fabric = FabricKind::torus;
  placement.dimensions = {2, 2};
  CHECK(ring_of(placement, 0) == std::vector<Rank>{0, 1, 2, 3, 4, 7, 8, 9, 5, 6});
}

TEST_CASE("Rings, chains and trees cross between uneven nodes as often as between equal ones") {
  for (const Counts& counts : some_counts()) {
    const Placement placement = uneven_placement(counts, 2);
    const auto nodes = placement.nodes;
    const Collective collective = bytes_of(CollectiveKind::all_reduce, 4096);
    const auto crossings = [&](const char* name) {
      std::int32_t total = 0;
      for (const auto& [pair, count] : connections(make(name, {}, collective, placement), placement))
        if (pair.first != pair.second) total += count;
      return total;
    };
    CHECK(crossings("ring") == 2 * nodes);  // two channels, round all nodes
    // There and back; channel 1 enters the root's node behind the root, and comes back to it at the end.
    CHECK(crossings("chain") == 2 * (2 * (nodes - 1) + (counts.front() > 1 ? 1 : 0)));
    CHECK(crossings("double_binary_tree") == 2 * 2 * 2 * (nodes - 1));  // two trees a channel
    CHECK(crossings("hierarchical") == nodes);                          // the ring of the leaders
  }
}

TEST_CASE("Hierarchical by leaders is proven on uneven nodes with every root, slices and slots") {
  for (const Counts& counts : some_counts()) {
    const Placement placement = uneven_placement(counts);
    for (const std::int32_t slices : {1, 3})
      for (const std::int32_t slots : {1, 8}) {
        AlgorithmOptions options;
        options.slices = slices;
        options.slots = slots;
        check_proven(make("hierarchical", options, bytes_of(CollectiveKind::all_reduce, 1000), placement));
        check_proven(make("hierarchical", options, bytes_of(CollectiveKind::barrier, 0), placement));
        for (Rank root = 0; root < placement.ranks(); ++root)
          for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce})
            check_proven(make("hierarchical", options, bytes_of(kind, 1000, root), placement));
      }
  }
}

TEST_CASE("Algorithms that need equal nodes say so with the counts and what does not") {
  const Placement placement = uneven_placement({8, 8, 4});
  const auto all_reduce = collective_of(CollectiveKind::all_reduce, 100, 20);
  const std::string text =
      "the nodes have unequal numbers of GPUs: 8 and 4; ring, double_binary_tree and hierarchical in the "
      "form leader need no equal nodes";
  for (const char* name :
       {"cascade", "torus_bucket", "nvls_tree", "collnet_direct", "collnet_chain", "sharp"})
    CHECK(reason(name, {}, all_reduce, placement) == text);
  AlgorithmOptions rails;
  rails.form = "rails";
  CHECK(reason("hierarchical", rails, all_reduce, placement) == text);
  CHECK(reason("hierarchical", {}, all_reduce, placement) == "possible");
  CHECK(reason("hierarchical", {}, collective_of(CollectiveKind::all_to_all, 100, 20), placement) ==
        "the nodes have unequal numbers of GPUs: 8 and 4; direct and pairwise need no equal nodes");
  CHECK(reason("hierarchical", {}, collective_of(CollectiveKind::all_gather, 100, 10),
               uneven_placement({2, 2, 1, 5})) ==
        "the nodes have unequal numbers of GPUs: 5, 2 and 1; ring and pairwise need no equal nodes");
  CHECK(reason("sharp", {}, collective_of(CollectiveKind::broadcast, 100, 21),
               uneven_placement({1, 2, 3, 4, 5, 6})) ==
        "the nodes have unequal numbers of GPUs: 6 to 1; ring, double_binary_tree and hierarchical need no "
        "equal nodes");
  // Levels that are asked for are of rank numbers.
  AlgorithmOptions levels;
  levels.levels = {4, 5};
  for (const char* name : {"cascade", "torus_bucket"})
    check_proven(make(name, levels, all_reduce, placement));
}

TEST_CASE("NCCL's model chooses on uneven nodes what can run there") {
  Placement placement = uneven_placement({8, 8, 4}, 8);
  placement.node_bandwidth = Bandwidth::bytes_per_second(450'000'000'000);
  placement.fabric_bandwidth = Bandwidth::bytes_per_second(50'000'000'000);
  const auto system = algorithms::nccl_system(placement, algorithms::NcclGeneration::hopper,
                                              algorithms::NcclCpu::intel, std::nullopt);
  using enum CollectiveKind;
  for (const CollectiveKind kind : {all_reduce, reduce_scatter, all_gather, broadcast, reduce})
    for (std::int64_t elements = 1; elements < (std::int64_t{1} << 32); elements *= 16) {
      const Collective collective = collective_of(kind, elements, placement.ranks());
      const auto choice = algorithms::nccl_choice(system, kind, collective.bytes);
      REQUIRE(choice.has_value());
      const std::string name(algorithms::registry_name_of(choice->algorithm, system.nodes));
      CHECK(reason(name, {}, collective, placement) == "possible");
    }
  // With equal nodes it would be NVLS over the fabric.
  const auto even = algorithms::nccl_system(
      [&] {
        Placement equal = ideal_placement(3, 8, 8);
        equal.node_bandwidth = placement.node_bandwidth;
        equal.fabric_bandwidth = placement.fabric_bandwidth;
        return equal;
      }(),
      algorithms::NcclGeneration::hopper, algorithms::NcclCpu::intel, std::nullopt);
  const auto large = algorithms::nccl_choice(even, all_reduce, Bytes(std::int64_t{1} << 30));
  REQUIRE(large.has_value());
  CHECK(algorithms::registry_name_of(large->algorithm, 3) == "sharp");
}

TEST_CASE("No algorithm beats the bounds on nodes of unequal GPUs and NICs") {
  int runs = 0;
  for (const std::vector<NodeShape>& shapes : std::vector<std::vector<NodeShape>>{
           {{8, 50}, {8, 50}, {4, 10}}, {{1, 10}, {3, 30}}, {{2, 10}, {2, 5}, {1, 40}, {5, 20}}}) {
    const Topology topology = unlike_nodes(shapes);
    const std::int32_t ranks = topology.ranks();
    for (const Variant& variant : variants())
      for (const std::int64_t elements : {0, 1000, 300'000}) {
        const Collective collective = collective_of(variant.kind, elements, ranks, ranks / 2);
        const auto made = algorithms::make_schedule(variant.request(), collective, topology.placement());
        if (!std::holds_alternative<Schedule>(made)) continue;
        const RunResult result = testing::run(topology, std::get<Schedule>(made));
        const LowerBound bound = lower_bound(collective, topology);
        const std::string text = variant.text() + " at " + std::to_string(ranks) + " ranks, " +
                                 std::to_string(elements) + " elements, bound by " + bound.reason;
        CHECK_MESSAGE(result.time >= bound.time, text);
        ++runs;
      }
  }
  CHECK(runs > 300);
}

TEST_CASE("The ring meets the bound of the worst node where its NIC is what limits") {
  // 20 ranks: the ring puts 2 * 19 / 20 S through every NIC; the bound of an all-gather is 16 / 20 S through
  // the slow one, or 2 S over all three.
  const Topology topology = unlike_nodes({{8, 50}, {8, 50}, {4, 10}});
  const Collective collective = collective_of(CollectiveKind::all_reduce, 20 << 20, 20);
  const Duration time = testing::run(topology, make("ring", {}, collective, topology.placement())).time;
  const LowerBound bound = lower_bound(collective, topology);
  CHECK(bound.reason == "node");
  CHECK(bound.time == Duration::picoseconds(collective.bytes.count() * 100));  // S over 10 GB/s
  CHECK(time >= Duration::picoseconds(collective.bytes.count() * 190));
  CHECK(time <= Duration::picoseconds(collective.bytes.count() * 200));
}

TEST_CASE("Algorithms that go by rank numbers say so") {
  std::vector<std::string> others;
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    if (!info.by_number) others.emplace_back(info.name);
  CHECK(others == std::vector<std::string>{"ring", "bidirectional_ring", "segmented_ring",
                                           "double_binary_tree", "chain", "hierarchical", "cascade",
                                           "torus_bucket", "nvls", "nvls_tree", "collnet_direct",
                                           "collnet_chain", "sharp"});
  AlgorithmOptions options;
  CHECK_FALSE(algorithms::goes_by_number(*algorithms::find("ring"), options));
  CHECK(algorithms::goes_by_number(*algorithms::find("bruck"), options));
  options.order = RankOrder::rank;
  CHECK(algorithms::goes_by_number(*algorithms::find("ring"), options));
  CHECK_FALSE(algorithms::goes_by_number(*algorithms::find("sharp"), options));
  AlgorithmOptions levels;
  levels.levels = {2, 4};
  CHECK(algorithms::goes_by_number(*algorithms::find("cascade"), levels));
}

TEST_CASE("What goes by rank numbers is the same schedule however the ranks are grouped") {
  const Placement one = ideal_placement(1, 10);
  for (const Variant& variant : variants()) {
    if (!variant.info->by_number) continue;
    const Collective collective = collective_of(variant.kind, 70, 10, 3);
    if (reason(std::string(variant.info->name), variant.request().options, collective, one) != "possible")
      continue;
    const StructureDigest digest =
        structure_digest(make(std::string(variant.info->name), variant.request().options, collective, one));
    for (const Counts& counts : {Counts{2, 2, 1, 5}, Counts{5, 5}, Counts{1, 9}}) {
      const Placement placement =
          counts == Counts{5, 5} ? ideal_placement(2, 5) : uneven_placement(counts, 3);
      const std::string text = variant.text();
      CHECK_MESSAGE(structure_digest(make(std::string(variant.info->name), variant.request().options,
                                          collective, placement)) == digest,
                    text);
    }
  }
}
