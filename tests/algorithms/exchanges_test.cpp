// Rings and recursive exchanges: proven at many rank counts, bytes and times by formula, symmetries, folding.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/symmetry.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::pair_network;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

using enum CollectiveKind;

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t mib = 1 << 20;

const std::vector<std::string_view> names = {"ring",           "bidirectional_ring",
                                             "segmented_ring", "recursive_doubling",
                                             "rabenseifner",   "halving_doubling",
                                             "bcube",          "swing",
                                             "bruck",          "pat",
                                             "pairwise"};

std::vector<testing::Variant> exchanges() {
  std::vector<testing::Variant> chosen;
  for (const testing::Variant& variant : testing::variants())
    if (std::find(names.begin(), names.end(), variant.info->name) != names.end()) chosen.push_back(variant);
  return chosen;
}

Placement flat(std::int32_t ranks) {
  Placement placement;
  placement.gpus_per_node = ranks;
  placement.interconnect = InterconnectKind::nvswitch;
  return placement;
}

// The two form words that ask for less than any rank count and every collective.
bool applies(const testing::Variant& variant, std::int32_t ranks) {
  if (variant.form == "xor") return (ranks & (ranks - 1)) == 0;
  return variant.form != "latency" || variant.kind == all_reduce;
}

Schedule make(const testing::Variant& variant, std::int64_t elements, const Placement& placement,
              const AlgorithmOptions& options = {}, Rank root = 0) {
  auto made = algorithms::make_schedule(
      variant.request(options), testing::collective_of(variant.kind, elements, placement.ranks(), root),
      placement);
  if (const auto* reason = std::get_if<Impossible>(&made)) FAIL(reason->reason);
  return std::get<Schedule>(std::move(made));
}

void check_proven(const Schedule& schedule) {
  const Proof proof = prove_all_cells(schedule);
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
}

testing::Variant variant_of(std::string_view name, CollectiveKind kind, std::string form = "") {
  for (const testing::Variant& variant : exchanges())
    if (variant.info->name == name && variant.kind == kind && (form.empty() || variant.form == form))
      return variant;
  FAIL("no such variant");
  return {};
}

AlgorithmOptions with_radix(std::int32_t radix) {
  AlgorithmOptions options;
  options.radix = radix;
  return options;
}

std::int64_t time_on(const Topology& topology, const Schedule& schedule) {
  const RunResult result = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
  REQUIRE(result.status == RunStatus::ok);
  return result.time.picoseconds();
}

Topology pairs(std::int32_t ranks, std::int64_t alpha_ps, std::int64_t bandwidth) {
  return pair_network({{ranks, ps(alpha_ps), rate_of(bandwidth)}});
}
Topology ports(std::int32_t ranks, std::int64_t alpha_ps, std::int64_t bandwidth) {
  return port_network(ranks, ps(alpha_ps), rate_of(bandwidth));
}

std::int64_t run(std::string_view name, CollectiveKind kind, std::int64_t bytes, const Topology& topology,
                 const AlgorithmOptions& options = {}) {
  const Schedule schedule =
      make(variant_of(name, kind, options.form), bytes / 4, topology.placement(), options);
  REQUIRE(schedule.collective.bytes.count() == bytes);
  return time_on(topology, schedule);
}

// A step may end up to 1 ps late, because a message has drained at the first whole picosecond.
void check_time(std::int64_t time_ps, std::int64_t golden_ps, std::int64_t steps) {
  CHECK(time_ps >= golden_ps);
  CHECK(time_ps <= golden_ps + steps);
}

// Bytes that leave `rank` as messages.
std::int64_t bytes_out(const Schedule& schedule, Rank rank) {
  std::int64_t total = 0;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
    for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
      const Operation item = operation(schedule, rank, stream, i);
      if (item.kind == OperationKind::send) total += size_of(schedule.layout, item.chunk).count();
    }
  return total;
}

}  // namespace

TEST_CASE("Exchanges are proven at 1 to 40 ranks, with parts of few elements and of none") {
  for (std::int32_t ranks = 1; ranks <= 40; ++ranks)
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      check_proven(make(variant, ranks % 3 == 0 ? 0 : ranks / 2 + 1, flat(ranks)));
    }
}

TEST_CASE("Exchanges are proven at 41, 64, 96, 100, 127 and 128 ranks") {
  for (const std::int32_t ranks : {41, 64, 96, 100, 127, 128})
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      check_proven(make(variant, 1000, flat(ranks)));
    }
}

TEST_CASE("Exchanges are proven with any radix, channels, slices and slots") {
  for (const std::int32_t ranks : {2, 3, 7, 8, 9, 12, 20, 27, 28, 36})
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      if (variant.takes("radix"))
        for (const std::int32_t radix : {2, 3, 4, 5, 16, 40}) {
          CAPTURE(radix);
          check_proven(make(variant, 50, flat(ranks), with_radix(radix)));
        }
      for (std::int32_t channels = 1; variant.takes("channels") && channels <= 3; ++channels)
        for (const std::int32_t slices : {1, 2, 5})
          for (const std::int32_t slots : {1, 2, 8}) {
            if (slices > 1 && !variant.takes("slices")) continue;
            AlgorithmOptions options;
            options.channels = channels;
            if (variant.takes("slices")) options.slices = slices;
            if (variant.takes("slots")) options.slots = slots;
            CAPTURE(testing::text_of(options));
            check_proven(make(variant, 50, flat(ranks), options));
          }
    }
}

TEST_CASE("Ring broadcast and reduce are proven from every root") {
  for (const CollectiveKind kind : {broadcast, reduce})
    for (Rank root = 0; root < 7; ++root) {
      CAPTURE(root);
      const Schedule schedule = make(variant_of("ring", kind), 20, flat(7), {}, root);
      CHECK(schedule.algorithm == "ring");
      check_proven(schedule);
    }
}

TEST_CASE("Swing is proven on tori, with a copy for every port") {
  Placement placement;
  placement.fabric = FabricKind::torus;
  for (const std::vector<std::int32_t>& sides :
       std::vector<std::vector<std::int32_t>>{{8}, {16}, {4, 4}, {2, 8}, {4, 2, 4}, {1, 8}, {6, 4}, {15}}) {
    placement.dimensions = sides;
    placement.nodes = std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>());
    for (const testing::Variant& variant : exchanges()) {
      if (variant.info->name != "swing" || !applies(variant, placement.nodes)) continue;
      CAPTURE(variant.text());
      CAPTURE(placement.nodes);
      const Schedule schedule = make(variant, 100, placement);
      check_proven(schedule);
      CHECK(schedule.channels == (sides.size() == 3                                          ? 6
                                  : sides == std::vector{4, 4} || sides == std::vector{2, 8} ? 4
                                                                                             : 2));
    }
  }
}

TEST_CASE("Halves of exchanges send (N-1)/N of the vector from every rank, all-reduces twice that") {
  for (const std::int32_t ranks : {2, 4, 8, 16, 32})
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks) || has_root(variant.kind) || variant.kind == barrier) continue;
      const bool whole = variant.kind == all_reduce && variant.info->name == "recursive_doubling";
      if (whole || variant.form == "latency" || (variant.info->name == "bruck" && variant.kind == all_to_all))
        continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      const Schedule schedule = make(variant, ranks * 12, flat(ranks));
      const std::int64_t expected = (variant.kind == all_reduce ? 2 : 1) * (ranks - 1) * 12 * 4;
      for (Rank rank = 0; rank < ranks; ++rank) CHECK(bytes_out(schedule, rank) == expected);
    }
}

TEST_CASE("Exchanges that take any rank count send (N-1)/N of the vector at any") {
  for (std::int32_t ranks = 2; ranks <= 27; ++ranks)
    for (const char* name : {"ring", "bidirectional_ring", "segmented_ring", "bruck", "pat", "pairwise"})
      for (const CollectiveKind kind : {reduce_scatter, all_gather}) {
        CAPTURE(ranks);
        CAPTURE(name);
        const Schedule schedule = make(variant_of(name, kind), ranks * 12, flat(ranks));
        for (Rank rank = 0; rank < ranks; ++rank) CHECK(bytes_out(schedule, rank) == (ranks - 1) * 12 * 4);
      }
}

TEST_CASE("Recursive doubling and multiplying send the vector to each peer of each round") {
  const auto out = [](std::int32_t ranks, std::int32_t radix, Rank rank) {
    return bytes_out(make(variant_of("recursive_doubling", all_reduce), 100, flat(ranks), with_radix(radix)),
                     rank);
  };
  for (Rank rank = 0; rank < 16; ++rank) CHECK(out(16, 2, rank) == 4 * 400);
  for (Rank rank = 0; rank < 27; ++rank) CHECK(out(27, 3, rank) == 3 * 2 * 400);
  // 12 ranks with radix 4: a round of 4 and one of 3, nobody left over.
  for (Rank rank = 0; rank < 12; ++rank) CHECK(out(12, 4, rank) == (3 + 2) * 400);
  // 6 ranks: 0 and 2 only give; 1 and 3 stand in for them.
  for (Rank rank = 0; rank < 6; ++rank)
    CHECK(out(6, 2, rank) == (rank < 4 ? (rank % 2 == 0 ? 1 : 3) : 2) * 400);
}

TEST_CASE("Bruck's all-to-all sends the blocks of each digit") {
  const auto out = [](std::int32_t ranks, std::int32_t radix) {
    const Schedule schedule =
        make(variant_of("bruck", all_to_all), ranks * 3, flat(ranks), with_radix(radix));
    return bytes_out(schedule, ranks / 2) / 12;
  };
  CHECK(out(8, 2) == 3 * 4);
  CHECK(out(5, 2) == 2 + 2 + 1);  // of 0..4: bit 0 in 1, 3; bit 1 in 2, 3; bit 2 in 4
  CHECK(out(9, 3) == 2 * 2 * 3);
  CHECK(out(7, 16) == 6);
}

TEST_CASE("Published symmetries hold") {
  for (const std::int32_t ranks : {4, 8, 27, 64, 96})
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      const Schedule schedule = make(variant, 1000, flat(ranks));
      for (const Symmetry& symmetry : schedule.symmetries) {
        const auto wrong = verify_symmetry(schedule, symmetry);
        if (wrong) FAIL_CHECK(*wrong);
        const auto unlike = verify_contract(schedule, symmetry);
        if (unlike) FAIL_CHECK(*unlike);
      }
    }
  const auto count = [](std::string_view name, CollectiveKind kind, std::int32_t ranks, std::int32_t radix) {
    AlgorithmOptions options;
    if (radix > 0) options.radix = radix;
    return make(variant_of(name, kind), 1000, flat(ranks), options).symmetries.size();
  };
  CHECK(count("ring", all_gather, 27, 0) == 1);
  CHECK(count("rabenseifner", all_reduce, 64, 2) == 6);
  CHECK(count("rabenseifner", all_reduce, 27, 3) == 3);
  CHECK(count("rabenseifner", all_reduce, 96, 2) == 5);  // 32 extras: all bits but the highest
  CHECK(count("pairwise", reduce_scatter, 96, 0) == 1);
}

TEST_CASE("Folded runs take the time of plain ones at 64 to 192 ranks") {
  for (const std::int32_t ranks : {64, 96, 192}) {
    const Topology topology = ports(ranks, 2 * us, 25'000'000'000);
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      if (ranks > 64 && (variant.info->name == "pairwise" || variant.form == "proxy")) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      const Schedule schedule = make(variant, 100'000, topology.placement());
      RunOptions plain;
      plain.shortcuts = Shortcuts::plain;
      RunOptions fold;
      fold.shortcuts = Shortcuts::fold;
      const RunResult a = simulate(topology, {Job{&schedule, {}, {}, -1}}, plain);
      const RunResult b = simulate(topology, {Job{&schedule, {}, {}, -1}}, fold);
      CHECK(a.status == RunStatus::ok);
      CHECK(a.time == b.time);
      CHECK(a.rank_finish == b.rank_finish);
      CHECK(a.messages == b.messages);
    }
  }
}

TEST_CASE("Exchanges that are alike from every rank run on one rank of a switch, in the time of plain runs") {
  ClusterSpec cluster;
  cluster.nodes = 64;
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.bandwidth = rate_of(25'000'000'000);
  cluster.fabric.latency = ps(us);
  const Topology topology = std::get<Topology>(topologies::build(cluster));
  for (const testing::Variant& variant : exchanges()) {
    const std::string_view name = variant.info->name;
    const bool doubling = name == "recursive_doubling" && variant.kind != all_gather;
    if (!doubling && name != "bruck" && name != "pat" && name != "pairwise") continue;
    CAPTURE(variant.text());
    const Schedule schedule = make(variant, 64'000, topology.placement());
    RunOptions plain;
    plain.shortcuts = Shortcuts::plain;
    const RunResult a = simulate(topology, {Job{&schedule, {}, {}, -1}}, plain);
    const RunResult b = simulate(topology, {Job{&schedule, {}, {}, -1}}, {});
    CHECK(b.method.classes == schedule.stream_count(0));
    CHECK(b.method.streams == 64 * schedule.stream_count(0));
    CHECK(a.time == b.time);
    CHECK(a.messages == b.messages);
    CHECK(a.link_bytes == b.link_bytes);
  }
}

TEST_CASE("Rings take the times of the golden table") {
  const Topology eight = pairs(8, us, 100'000'000'000);
  AlgorithmOptions four;
  four.slices = 4;
  check_time(run("ring", all_reduce, 8 * mib, eight), 160'800'640, 14);                      // G1
  check_time(run("bidirectional_ring", all_reduce, 8 * mib, eight), 87'400'320, 14);         // G6
  check_time(run("segmented_ring", all_reduce, 8 * mib, eight, four), 147'800'640, 14 * 4);  // G7
  check_time(run("segmented_ring", all_reduce, 65536, eight, four), 14'348'160, 14 * 4);     // G8
  // Half of an all-reduce: 7 (1 us + 10,485,760 ps).
  check_time(run("ring", reduce_scatter, 8 * mib, eight), 7 * 11'485'760, 7);
  check_time(run("ring", all_gather, 8 * mib, eight), 7 * 11'485'760, 7);
  CHECK(run("ring", barrier, 0, eight) == 7 * us);
}

TEST_CASE("Recursive doubling takes the times of the golden table") {
  const auto on = [](std::int32_t ranks, bool port, std::int64_t kib, std::int32_t radix) {
    const Topology topology =
        port ? ports(ranks, 2 * us, 25'000'000'000) : pairs(ranks, 2 * us, 25'000'000'000);
    return run("recursive_doubling", all_reduce, kib << 10, topology, with_radix(radix));
  };
  check_time(on(16, true, 32, 2), 13'242'880, 4);   // G17, G17p
  check_time(on(16, false, 32, 2), 13'242'880, 4);  // G17d
  check_time(on(5, false, 32, 2), 9'932'160, 4);    // G18d
  check_time(on(6, false, 32, 2), 9'932'160, 4);    // G18bd
  check_time(on(7, false, 32, 2), 13'242'880, 4);   // G18cd
  check_time(on(27, false, 9, 3), 7'105'920, 3);    // G21
  check_time(on(27, true, 9, 3), 8'211'840, 3);     // G22
  // On ports that are shared, not queued at, the first two sends of a rank that stands in for another drain
  // side by side, where the table (G18p, G18bp, G18cp) has one after the other: 3 or 4 latencies, 5 or 6
  // times S/B.
  check_time(on(5, true, 32, 2), 3 * 2 * us + 5 * 1'310'720, 6);
  check_time(on(6, true, 32, 2), 3 * 2 * us + 5 * 1'310'720, 6);
  check_time(on(7, true, 32, 2), 4 * 2 * us + 6 * 1'310'720, 6);
  const Topology port = ports(16, 2 * us, 25'000'000'000);
  CHECK(run("recursive_doubling", barrier, 0, port) == 8 * us);
  check_time(run("recursive_doubling", all_gather, 24 * mib, ports(8, 2 * us, 25'000'000'000)), 886'803'840,
             3);
}

TEST_CASE("Rabenseifner, halving-doubling and bcube take the times of the golden table") {
  const Topology sixteen = ports(16, 2 * us, 25'000'000'000);
  AlgorithmOptions halving;
  halving.form = "halving";
  check_time(run("rabenseifner", all_reduce, 12 * mib, sixteen), 959'718'400, 8);  // G19, G19d
  check_time(run("rabenseifner", all_reduce, 12 * mib, sixteen, halving), 959'718'400, 8);
  check_time(run("halving_doubling", all_reduce, 12 * mib, sixteen), 959'718'400, 8);
  check_time(run("bcube", all_reduce, 12 * mib, sixteen), 959'718'400, 8);
  // Four rounds of three messages back to back: 4 latencies less than with radix 2.
  check_time(run("bcube", all_reduce, 12 * mib, sixteen, with_radix(4)), 959'718'400 - 4 * 2 * us, 16);
  for (const CollectiveKind kind : {reduce_scatter, all_gather})
    check_time(run("rabenseifner", kind, 12 * mib, sixteen), 479'859'200, 8);
  // With a link a pair, as in a full mesh.
  check_time(run("rabenseifner", all_reduce, 12 * mib, pairs(6, 2 * us, 25'000'000'000)), 1'773'607'680,
             8);  // G20
  check_time(run("rabenseifner", all_reduce, 12 * mib, pairs(7, 2 * us, 25'000'000'000)), 1'773'607'680,
             8);  // G20c
}

TEST_CASE("Bruck, PAT and pairwise take the times of the golden table") {
  const Topology eight = ports(8, 2 * us, 25'000'000'000);
  const Topology six = ports(6, 2 * us, 25'000'000'000);
  for (const CollectiveKind kind : {all_gather, reduce_scatter}) {
    check_time(run("bruck", kind, 24 * mib, eight), 886'803'840, 3);  // G29, G29d
    check_time(run("pat", kind, 24 * mib, eight), 886'803'840, 3);    // G29p
  }
  check_time(run("bruck", all_gather, 24 * mib, six), 842'860'800, 3);  // G30d
  // PAT: offset 2 needs nothing that offset 4 brought, so one latency is hidden as in Bruck's.
  check_time(run("pat", all_gather, 24 * mib, six), 842'860'800, 3);
  check_time(run("pairwise", all_to_all, 8 * mib, eight), 307'601'280, 7);  // G33
  // Of the three rounds of 6 ranks, the second and the third need the first only.
  CHECK(run("bruck", barrier, 0, six) == 4 * us);
  CHECK(run("bruck", barrier, 0, eight) == 6 * us);
}

TEST_CASE("Swing on a ring loads its links as published") {
  // 8 ranks on a bidirectional ring: the largest loads of a link are 1/2, 1/4, 1/4 of the vector in a half.
  for (const std::int32_t ranks : {8, 16}) {
    Placement placement = flat(ranks);
    const Schedule schedule = make(variant_of("swing", all_reduce), ranks * 1024, placement);
    const std::int32_t rounds = ranks == 8 ? 3 : 4;
    for (std::int32_t round = 0; round < 2 * rounds; ++round) {
      std::vector<std::int64_t> up(static_cast<std::size_t>(ranks));
      std::vector<std::int64_t> down(up);
      for (Rank rank = 0; rank < ranks; ++rank) {
        const Operation item = operation(schedule, rank, 0, 2 * round);
        REQUIRE(item.kind == OperationKind::send);
        const std::int32_t way = (item.peer.rank - rank + ranks) % ranks;
        const std::int64_t bytes = size_of(schedule.layout, item.chunk).count();
        for (std::int32_t hop = 0; hop < std::min(way, ranks - way); ++hop)
          if (2 * way <= ranks)
            up[static_cast<std::size_t>((rank + hop) % ranks)] += bytes;
          else
            down[static_cast<std::size_t>((rank - hop + ranks) % ranks)] += bytes;
      }
      const std::vector<std::int64_t> sixteenths =  // G40, G41
          ranks == 8 ? std::vector<std::int64_t>{8, 4, 4, 4, 4, 8}
                     : std::vector<std::int64_t>{8, 4, 4, 3, 3, 4, 4, 8};
      const std::int64_t most =
          std::max(*std::max_element(up.begin(), up.end()), *std::max_element(down.begin(), down.end()));
      CHECK(most * 16 == sixteenths[static_cast<std::size_t>(round)] * ranks * 4096);
    }
  }
}

TEST_CASE("Rabenseifner is proven by orbits at 4,096 ranks") {
  for (const CollectiveKind kind : {all_reduce, reduce_scatter, all_gather}) {
    const Schedule schedule = make(variant_of("rabenseifner", kind), 1 << 20, flat(4096));
    const Proof proof = prove(schedule);
    CHECK(proof.proven);
    if (kind == all_reduce) CHECK(proof.method == ProofMethod::one_cell_an_orbit);
  }
  const Proof proof = prove(make(variant_of("recursive_doubling", all_reduce), 1000, flat(4096)));
  CHECK(proof.proven);
}

TEST_CASE("Options that an exchange cannot use are refused with a reason") {
  const auto reason = [](const AlgorithmRequest& request, CollectiveKind kind, std::int32_t ranks) {
    const auto made =
        algorithms::make_schedule(request, testing::collective_of(kind, 12, ranks), flat(ranks));
    REQUIRE(std::holds_alternative<Impossible>(made));
    return std::get<Impossible>(made).reason;
  };
  AlgorithmRequest request{"rabenseifner", with_radix(1)};
  CHECK(reason(request, all_reduce, 4) == "radix is 1; it must be 2 or more");
  request = {"pairwise", {}};
  request.options.form = "xor";
  CHECK(reason(request, all_to_all, 6) == "form xor needs a power of two of ranks, not 6");
  request = {"swing", {}};
  request.options.form = "latency";
  CHECK(reason(request, all_gather, 4) ==
        "form latency is an all_reduce; swing does all_gather in form bandwidth");
}
