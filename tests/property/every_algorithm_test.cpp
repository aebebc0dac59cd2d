// What holds for every algorithm, on random draws of (algorithm, collective, ranks, size, options).
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/support/conservation.hpp"
#include "tests/support/exact_sets.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/rounds.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using collsim::testing::all_shapes;
using collsim::testing::collective_of;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

std::int32_t drawn(Random& random, std::int32_t bound) {
  return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
}

struct Draw {
  Schedule schedule;
  std::string text;
};

std::optional<Draw> draw_of(Random& random, const Variant& variant, const Placement& placement,
                            std::int64_t elements) {
  const std::int32_t ranks = placement.ranks();
  AlgorithmOptions options = testing::random_options(random, *variant.info, ranks);
  if (options.slots) options.slots = 1 + drawn(random, 3);
  const Collective collective = collective_of(variant.kind, elements, ranks, drawn(random, ranks));
  const AlgorithmRequest request = variant.request(options);
  auto made = algorithms::make_schedule(request, collective, placement);
  if (std::holds_alternative<Impossible>(made)) return std::nullopt;
  const std::string text = variant.text() + " on " + std::to_string(placement.nodes) + " x " +
                           std::to_string(placement.gpus_per_node) + ", " +
                           std::to_string(collective.bytes.count()) + " bytes, root " +
                           std::to_string(collective.root) + ", " + testing::text_of(request.options);
  return Draw{std::get<Schedule>(std::move(made)), text};
}

// Mostly few ranks, up to 64.
std::int32_t drawn_ranks(Random& random) { return 1 + drawn(random, random.below(4) == 0 ? 64 : 14); }

// What a schedule moves by messages; aggregations are not counted.
struct Traffic {
  std::vector<std::int64_t> out;  // [rank]
  std::vector<std::int64_t> in;
  bool aggregates = false;
};

Traffic traffic_of(const Schedule& schedule) {
  Traffic traffic;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    std::int64_t out = 0;
    std::int64_t in = 0;
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation item = operation(schedule, rank, stream, i);
        const std::int64_t size = size_of(schedule.layout, item.chunk).count();
        if (item.kind == OperationKind::send) out += size;
        if (item.kind == OperationKind::receive || item.kind == OperationKind::receive_reduce) in += size;
        traffic.aggregates = traffic.aggregates || item.kind == OperationKind::aggregate;
      }
    traffic.out.push_back(out);
    traffic.in.push_back(in);
  }
  return traffic;
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) sum += value;
  return sum;
}

// Bytes that must arrive at a rank, and at all together, for a vector of `size` without any switch that
// reduces or copies (Patarasuk and Yuan, JPDC 69(2), 2009, for the all-reduce).
std::int64_t least_in(const Collective& collective, std::int64_t ranks, Rank rank) {
  using enum CollectiveKind;
  const std::int64_t size = collective.bytes.count();
  const bool is_root = rank == collective.root;
  switch (collective.kind) {
    case all_reduce:
    case send_recv:
      return size;
    case reduce:
      return is_root ? size : 0;
    case broadcast:
      return is_root ? 0 : size;
    case reduce_scatter:
      return size / ranks;
    case all_gather:
    case all_to_all:
      return size / ranks * (ranks - 1);
    case gather:
      return is_root ? size / ranks * (ranks - 1) : 0;
    case scatter:
      return is_root ? 0 : size / ranks;
    case barrier:
      return 0;
  }
  return 0;
}

std::int64_t least_total(const Collective& collective, std::int64_t ranks) {
  using enum CollectiveKind;
  const std::int64_t size = collective.bytes.count();
  switch (collective.kind) {
    case all_reduce:
      return 2 * (ranks - 1) * size;
    case send_recv:
      return ranks * size;
    case gather:
    case scatter:
      return size / ranks * (ranks - 1);
    case barrier:
      return 0;
    default:
      return (ranks - 1) * size;
  }
}

// A full mesh: no two pairs of ranks share a link.
Topology mesh_of(int gpus, std::int64_t nanoseconds, std::int64_t bytes_per_second = 1'000'000'000) {
  ClusterSpec cluster;
  cluster.node.gpus = gpus;
  cluster.node.interconnect.kind = InterconnectKind::full_mesh;
  cluster.node.interconnect.bandwidth = Bandwidth::bytes_per_second(bytes_per_second);
  cluster.node.interconnect.latency = Duration::nanoseconds(nanoseconds);
  auto result = topologies::build(cluster);
  return std::get<Topology>(std::move(result));
}

RunResult run(const Topology& topology, const Schedule& schedule, std::vector<Rank> rank_map = {}) {
  Job job;
  job.schedule = &schedule;
  job.rank_map = std::move(rank_map);
  RunResult result = simulate(topology, {job}, {});
  CHECK(testing::conservation_fault(topology, {job}, result) == "");
  return result;
}

Duration time_of(const Topology& topology, const Schedule& schedule) {
  const RunResult result = run(topology, schedule);
  REQUIRE(result.status == RunStatus::ok);
  return result.time;
}

// Calls visit(draw) for draws of every variant on a full mesh.
template <typename Visit>
void for_each_on_mesh(const Topology& topology, std::uint64_t seed, Visit&& visit) {
  Random random(seed);
  for (const Variant& variant : variants()) {
    const auto draw = draw_of(random, variant, topology.placement(), 1 + drawn(random, 5000));
    if (!draw || impossible_reason(topology, draw->schedule)) continue;
    visit(*draw);
  }
}

}  // namespace

TEST_CASE("Random draws compute their collective, by tokens and by exact sets") {
  std::map<std::string, int> drawn_variants;
  const std::vector<Variant> all = variants();
  for (std::uint64_t seed = 0; seed < 12 * all.size(); ++seed) {
    Random random(seed);
    const Variant& variant = all[seed % all.size()];
    const std::vector<Placement> shapes = all_shapes(drawn_ranks(random));
    const Placement& placement = shapes[random.below(shapes.size())];
    const auto draw = draw_of(random, variant, placement, drawn(random, 300));
    if (!draw) continue;
    const std::string text = "seed " + std::to_string(seed) + ": " + draw->text;
    const Proof proof = prove(draw->schedule);
    const std::string first = text + ": " + (proof.failures.empty() ? "" : proof.failures[0].text);
    CHECK_MESSAGE(proof.proven, first);
    const std::string wrong = testing::exact_failure(draw->schedule, seed);
    const std::string second = text + ": " + wrong;
    CHECK_MESSAGE(wrong.empty(), second);
    ++drawn_variants[variant.text()];
  }
  // A few forms do not do a collective of their algorithm.
  CHECK(10 * drawn_variants.size() > 9 * all.size());
}

TEST_CASE("No rank receives less than its result needs, and all together no less than the bound") {
  const std::vector<Variant> all = variants();
  for (std::uint64_t seed = 0; seed < 10 * all.size(); ++seed) {
    Random random(seed + 77);
    const Variant& variant = all[seed % all.size()];
    const std::vector<Placement> shapes = all_shapes(drawn_ranks(random));
    const Placement& placement = shapes[random.below(shapes.size())];
    const auto draw = draw_of(random, variant, placement, 1 + drawn(random, 3000));
    if (!draw || placement.ranks() == 1) continue;
    const Traffic traffic = traffic_of(draw->schedule);
    if (traffic.aggregates) continue;
    const std::string text = "seed " + std::to_string(seed) + ": " + draw->text;
    const Collective& collective = draw->schedule.collective;
    CHECK_MESSAGE(sum_of(traffic.out) == sum_of(traffic.in), text);
    CHECK_MESSAGE(sum_of(traffic.in) >= least_total(collective, placement.ranks()), text);
    for (Rank rank = 0; rank < placement.ranks(); ++rank)
      CHECK_MESSAGE(
          traffic.in[static_cast<std::size_t>(rank)] >= least_in(collective, placement.ranks(), rank), text);
  }
}

TEST_CASE("On a full mesh no run takes longer than its rounds one after the other") {
  int compared = 0;
  for (const int gpus : {2, 3, 5, 8, 12}) {
    const Topology topology = mesh_of(gpus, 1500);
    for (std::uint64_t seed = 0; seed < 6; ++seed)
      for_each_on_mesh(topology, seed, [&](const Draw& draw) {
        const auto rounds = testing::rounds_of(draw.schedule);
        if (!rounds) return;
        ++compared;
        CAPTURE(draw.text);
        const Duration time = time_of(topology, draw.schedule);
        CHECK(time <= testing::barrier_time(topology, draw.schedule, *rounds));
      });
  }
  CHECK(compared > 300);
}

TEST_CASE("On a full mesh the time grows with latency and falls with bandwidth") {
  for (const int gpus : {3, 8}) {
    const Topology fast = mesh_of(gpus, 1000);
    const Topology far = mesh_of(gpus, 1700);
    const Topology narrow = mesh_of(gpus, 1000, 500'000'000);
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for_each_on_mesh(fast, seed, [&](const Draw& draw) {
        CAPTURE(draw.text);
        const Duration time = time_of(fast, draw.schedule);
        CHECK(time <= time_of(far, draw.schedule));
        CHECK(time <= time_of(narrow, draw.schedule));
      });
  }
}

TEST_CASE("Twice the latency and half the bandwidth take twice the time") {
  for (const int gpus : {4, 7}) {
    // 1 ns a byte: only the rates of shared links are rounded.
    const Topology one = mesh_of(gpus, 1000);
    const Topology two = mesh_of(gpus, 2000, 500'000'000);
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for_each_on_mesh(one, seed, [&](const Draw& draw) {
        if (draw.schedule.channel_bandwidth) return;
        CAPTURE(draw.text);
        const RunResult first = run(one, draw.schedule);
        const RunResult second = run(two, draw.schedule);
        const std::int64_t rounded = 2 * first.time.picoseconds() - second.time.picoseconds();
        CHECK(rounded >= -100);
        CHECK(rounded <= 100);
      });
  }
}

TEST_CASE("Numbering the ranks of a full mesh otherwise changes no time") {
  const Topology topology = mesh_of(7, 900);
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for_each_on_mesh(topology, seed, [&](const Draw& draw) {
      CAPTURE(draw.text);
      const RunResult straight = run(topology, draw.schedule);
      const RunResult other = run(topology, draw.schedule, {3, 0, 6, 1, 5, 2, 4});
      CHECK(straight.time == other.time);
      CHECK(straight.messages == other.messages);
    });
}

namespace {

// Bytes that every rank sends, of a vector of `size` over `ranks`; parts are even.
struct Formula {
  const char* name;
  const char* form;  // null: every form
  std::vector<CollectiveKind> kinds;
  bool powers_of_two;  // holds for those alone
  std::int64_t (*sent)(std::int64_t size, std::int64_t ranks);
};

std::int64_t two_parts_less_one(std::int64_t size, std::int64_t ranks) { return 2 * (size - size / ranks); }
std::int64_t parts_less_one(std::int64_t size, std::int64_t ranks) { return size - size / ranks; }
std::int64_t all_to_all_others(std::int64_t size, std::int64_t ranks) { return size * (ranks - 1); }
std::int64_t log_times(std::int64_t size, std::int64_t ranks) {
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < ranks) ++rounds;
  return rounds * size;
}

std::vector<Formula> formulas() {
  using enum CollectiveKind;
  return {
      {"ring", nullptr, {all_reduce}, false, two_parts_less_one},
      {"ring", nullptr, {reduce_scatter, all_gather}, false, parts_less_one},
      {"bidirectional_ring", nullptr, {all_reduce}, false, two_parts_less_one},
      {"bidirectional_ring", nullptr, {reduce_scatter, all_gather}, false, parts_less_one},
      {"segmented_ring", nullptr, {all_reduce}, false, two_parts_less_one},
      {"segmented_ring", nullptr, {reduce_scatter, all_gather}, false, parts_less_one},
      {"rabenseifner", nullptr, {all_reduce}, true, two_parts_less_one},
      {"halving_doubling", nullptr, {all_reduce}, true, two_parts_less_one},
      {"swing", "bandwidth", {all_reduce}, true, two_parts_less_one},
      {"recursive_doubling", nullptr, {all_reduce}, true, log_times},
      {"recursive_doubling", nullptr, {all_gather, reduce_scatter}, true, parts_less_one},
      {"bruck", nullptr, {all_gather, reduce_scatter}, false, parts_less_one},
      {"pat", nullptr, {all_gather, reduce_scatter}, false, parts_less_one},
      {"one_shot", nullptr, {all_reduce}, false, all_to_all_others},
      {"two_shot", nullptr, {all_reduce}, false, two_parts_less_one},
      {"direct", nullptr, {all_to_all, all_gather, reduce_scatter}, false, parts_less_one},
      {"pairwise", nullptr, {all_to_all, all_gather, reduce_scatter}, false, parts_less_one},
      {"cascade", nullptr, {all_reduce}, false, two_parts_less_one},
      {"cascade", nullptr, {all_gather, reduce_scatter}, false, parts_less_one},
      {"torus_bucket", nullptr, {all_reduce}, false, two_parts_less_one},
      {"torus_bucket", nullptr, {all_gather, reduce_scatter}, false, parts_less_one},
      {"hierarchical", "rails", {all_reduce}, false, two_parts_less_one},
      {"hierarchical", "rails", {all_gather, reduce_scatter}, false, parts_less_one},
  };
}

}  // namespace

TEST_CASE("Every rank sends what the formulas say") {
  int checked = 0;
  for (const Formula& formula : formulas())
    for (const Variant& variant : variants()) {
      const bool named = variant.info->name == formula.name &&
                         (formula.form == nullptr || variant.form == formula.form) &&
                         std::count(formula.kinds.begin(), formula.kinds.end(), variant.kind) > 0;
      if (!named) continue;
      for (std::int32_t ranks = 2; ranks <= 24; ++ranks)
        for (const Placement& placement : all_shapes(ranks)) {
          if (formula.powers_of_two && (ranks & (ranks - 1)) != 0) continue;
          // Even for every number of channels and blocks.
          const Collective collective = collective_of(variant.kind, std::int64_t{ranks} * ranks * 48, ranks);
          const auto made = algorithms::make_schedule(variant.request(), collective, placement);
          if (!std::holds_alternative<Schedule>(made)) continue;
          ++checked;
          const Traffic traffic = traffic_of(std::get<Schedule>(made));
          const std::int64_t expected = formula.sent(collective.bytes.count(), ranks);
          const auto [least, most] = std::minmax_element(traffic.out.begin(), traffic.out.end());
          const std::string text = variant.text() + " on " + std::to_string(placement.nodes) + " x " +
                                   std::to_string(placement.gpus_per_node) + " sends " +
                                   std::to_string(*least) + " to " + std::to_string(*most) + ", not " +
                                   std::to_string(expected);
          CHECK_MESSAGE((*least == expected && *most == expected), text);
        }
    }
  CHECK(checked > 1000);
}

TEST_CASE("Trees send no rank's vector more than twice, and together what the bound says") {
  for (const Variant& variant : variants())
    for (std::int32_t ranks = 2; ranks <= 33; ++ranks) {
      const bool is_double = variant.info->name == "double_binary_tree";
      if (!is_double && variant.info->name != "chain") continue;
      AlgorithmOptions options;
      if (variant.takes("order")) options.order = RankOrder::rank;
      const Collective collective = collective_of(variant.kind, 1000, ranks);
      const auto made =
          algorithms::make_schedule(variant.request(options), collective, testing::ideal_placement(1, ranks));
      REQUIRE(std::holds_alternative<Schedule>(made));
      const Traffic traffic = traffic_of(std::get<Schedule>(made));
      const std::string text = variant.text() + " at " + std::to_string(ranks);
      CHECK_MESSAGE(*std::max_element(traffic.out.begin(), traffic.out.end()) <= 2 * collective.bytes.count(),
                    text);
      CHECK_MESSAGE(sum_of(traffic.out) == least_total(collective, ranks), text);
    }
}
