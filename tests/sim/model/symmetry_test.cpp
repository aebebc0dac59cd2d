// Published symmetries hold, wrong ones are rejected, and a proof through them says what executing all cells
// says.
#include "sim/model/symmetry.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/proof_orbits.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using collsim::testing::all_shapes;
using collsim::testing::ideal_placement;

namespace {

constexpr std::int64_t any_work = std::int64_t{1} << 40;

std::optional<Schedule> try_make(const std::string& name, const Placement& placement,
                                 const AlgorithmOptions& options = {}) {
  Collective collective;
  collective.bytes = Bytes(4 * 1000);
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  if (auto* schedule = std::get_if<Schedule>(&made)) return *schedule;
  return std::nullopt;
}

Schedule make(const std::string& name, const Placement& placement, std::int32_t channels = 1,
              std::int32_t slices = 1) {
  AlgorithmOptions options;
  if (name != "two_shot") options.channels = channels;
  if (name != "two_shot") options.slices = slices;
  return *try_make(name, placement, options);
}

// The two methods do not contradict each other. Whether the orbits decided.
bool check_agreement(const Schedule& schedule) {
  const Proof all = prove_all_cells(schedule);
  REQUIRE(all.method == ProofMethod::all_cells);
  const OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK(orbits.proof.method == ProofMethod::one_cell_an_orbit);
  CHECK(orbits.proof.proven == orbits.proof.failures.empty());
  if (!orbits.decided) {
    CHECK_FALSE(orbits.proof.proven);
    return false;
  }
  CHECK(orbits.proof.proven == all.proven);
  CHECK(orbits.proof.deadlock == all.deadlock);
  if (orbits.proof.proven != all.proven || orbits.proof.deadlock != all.deadlock) {
    for (const ProofFailure& failure : all.failures) MESSAGE("all cells: " << failure.text);
    for (const ProofFailure& failure : orbits.proof.failures) MESSAGE("orbits: " << failure.text);
  }
  return true;
}

// Aggregations and scratch are followed only in all cells at once.
bool is_refused(const Schedule& schedule) {
  return schedule.group_count > 0 || schedule.layout.scratch_regions() > 0;
}

void check_algorithm(const std::string& name, const Placement& placement, const AlgorithmOptions& options) {
  const auto schedule = try_make(name, placement, options);
  if (!schedule) return;
  CAPTURE(name);
  CAPTURE(placement.nodes);
  CAPTURE(placement.gpus_per_node);
  for (const Symmetry& symmetry : schedule->symmetries) {
    const auto reason = verify_symmetry(*schedule, symmetry);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
  CHECK(check_agreement(*schedule) == !is_refused(*schedule));
  if (is_refused(*schedule)) return;
  const OrbitProof orbits = prove_by_orbits(*schedule, any_work);
  CHECK(orbits.proof.proven);
  CHECK(orbits.proof.deadlock_freedom == DeadlockFreedom::quotient);
  CHECK(orbits.proof.symmetries == static_cast<std::int64_t>(schedule->symmetries.size()));
  if (name == "two_shot") CHECK(orbits.proof.cells_traced == 1);
  if (name == "cascade") CHECK(orbits.proof.cells_traced == schedule->slices);
  if (name == "ring") CHECK(orbits.proof.cells_traced == schedule->layout.regions());
}

// One change at one stream.
Schedule with_change(const Schedule& good, Rank rank, std::int32_t stream,
                     std::function<void(Binding&)> change) {
  Schedule bad = good;
  bad.bind = [good, rank, stream, change](Rank of, std::int32_t number, Binding& binding) {
    good.bind(of, number, binding);
    if (of == rank && number == stream) change(binding);
  };
  return bad;
}

std::string reason_of(const Schedule& schedule, const Symmetry& symmetry) {
  return verify_symmetry(schedule, symmetry).value_or("");
}

}  // namespace

TEST_CASE("Symmetries hold and orbits agree with all cells for every algorithm at 1 to 33 ranks") {
  for (std::int32_t ranks = 1; ranks <= 33; ++ranks)
    for (const Placement& placement : all_shapes(ranks))
      for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
        check_algorithm(std::string(info.name), placement, {});
        AlgorithmOptions options;
        options.channels = 2;
        options.slices = 3;
        options.slots = 1;
        if (ranks <= 12) check_algorithm(std::string(info.name), placement, options);
      }
}

TEST_CASE("Symmetries hold and orbits agree with all cells at 64, 96 and 128 ranks") {
  for (const std::int32_t ranks : {64, 96, 128})
    for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
      check_algorithm(std::string(info.name), ideal_placement(1, ranks), {});
      if (info.name != "two_shot")
        check_algorithm(std::string(info.name), ideal_placement(ranks / 8, 8, 4), {});
    }
}

TEST_CASE("Symmetries hold and orbits agree with all cells at 1000 ranks") {
  for (const std::string name : {"ring", "cascade", "double_binary_tree", "binomial_tree", "two_shot"}) {
    AlgorithmOptions options;
    if (name != "two_shot" && name != "binomial_tree") options.channels = 1;
    check_algorithm(name, ideal_placement(1, 1000), options);
    if (name != "two_shot") check_algorithm(name, ideal_placement(125, 8, 4), options);
  }
}

TEST_CASE("Symmetries hold for rings over grids and cascades of many levels") {
  for (const FabricKind fabric : {FabricKind::torus, FabricKind::rail_fat_tree}) {
    Placement placement = ideal_placement(12, 4, 4);
    placement.fabric = fabric;
    if (fabric == FabricKind::torus) placement.dimensions = {3, 2, 2};
    check_algorithm("ring", placement, {});
    check_algorithm("cascade", placement, {});
  }
  AlgorithmOptions options;
  for (const std::vector<std::int32_t>& levels : std::vector<std::vector<std::int32_t>>{
           {48}, {2, 24}, {24, 2}, {2, 2, 2, 2, 3}, {1, 4, 1, 12}, {3, 4, 4}}) {
    options.levels = levels;
    check_algorithm("cascade", ideal_placement(6, 8), options);
  }
}

TEST_CASE("Symmetry that is none is rejected with the reason") {
  const Schedule ring = make("ring", ideal_placement(1, 6));
  const Symmetry good = ring.symmetries.at(0);
  CHECK(reason_of(ring, good) == "");
  const std::string name = "one position on in the ring of channel 0: ";
  Symmetry bad = good;
  bad.block.shift = 2;
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image touches other cells");
  bad = good;
  bad.rank = [](Rank rank) { return (rank + 2) % 6; };
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image touches other cells");
  bad.rank = [](Rank rank) { return 5 - rank; };
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image has other peers");
  bad.rank = [](Rank rank) { return rank / 2; };
  CHECK(reason_of(ring, bad) == name + "it does not permute the ranks");
  bad.rank = [](Rank rank) { return rank + 1; };
  CHECK(reason_of(ring, bad) == name + "it does not permute the ranks");
  bad = good;
  bad.stream = [](Rank, std::int32_t stream) { return 1 - stream; };
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image has another program");
  bad = good;
  bad.stream_count = 1;
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image depends on other streams");
  bad.stream_count = 3;
  CHECK(reason_of(ring, bad) == name + "rank 0 lacks some of its streams");
  bad = good;
  bad.region_count = 2;
  CHECK(reason_of(ring, bad) == name + "its streams or regions do not exist");
  for (const Rotation block : {Rotation{0, 6, 1, 4, 1}, Rotation{0, 3, 1, 3, 1}, Rotation{0, 6, 1, 6, 6},
                               Rotation{0, 6, 0, 6, 1}, Rotation{0, 6, 4, 3, 1}, Rotation{0, 12, 1, 12, 1}}) {
    bad = good;
    bad.block = block;
    CHECK(reason_of(ring, bad) == name + "it is no permutation of regions, blocks and channels");
  }
  bad = good;
  bad.channel = Rotation{0, 2, 1, 2, 1};
  CHECK(reason_of(ring, bad) == name + "rank 0, stream 0: its image has other peers");
}

TEST_CASE("Symmetry that maps two streams onto one is rejected") {
  const Schedule cascade = make("cascade", ideal_placement(1, 3), 2);
  Symmetry bad = cascade.symmetries.back();
  CHECK(reason_of(cascade, bad) == "");
  bad.stream = [](Rank, std::int32_t) { return 1; };
  CHECK(reason_of(cascade, bad) == "next channel: rank 0, stream 1: it does not permute the streams");
  bad.stream = [](Rank, std::int32_t) { return 2; };
  CHECK(reason_of(cascade, bad) == "next channel: rank 0, stream 0: it does not permute the streams");
}

TEST_CASE("Symmetry of one level of a cascade does not pass for another") {
  AlgorithmOptions options;
  options.levels = {3, 3};
  const Schedule cascade = *try_make("cascade", ideal_placement(3, 3), options);
  REQUIRE(cascade.symmetries.size() == 2);
  Symmetry bad = cascade.symmetries[0];
  bad.block = cascade.symmetries[1].block;
  CHECK(reason_of(cascade, bad) ==
        "next of 3 members 1 ranks apart: rank 0, stream 0: its image touches other cells");
  bad = cascade.symmetries[0];
  bad.rank = [](Rank rank) { return (rank + 1) % 9; };
  CHECK_FALSE(reason_of(cascade, bad).empty());
}

TEST_CASE("Symmetry of groups is checked member by member") {
  // Nodes in turn, of a SHARP whose switches reduce.
  const Schedule sharp = make("sharp", ideal_placement(3, 2));
  Symmetry nodes;
  nodes.name = "next node";
  nodes.stream_count = sharp.stream_count(0);
  nodes.region_count = sharp.layout.regions();
  nodes.rank = [](Rank rank) { return (rank + 2) % 6; };
  nodes.group = [](std::int32_t group) {
    if (group < 2) return group;
    return group < 8 ? 2 + (group - 2 + 2) % 6 : 8 + (group - 8 + 2) % 6;
  };
  CHECK(reason_of(sharp, nodes) == "");
  Symmetry bad = nodes;
  bad.group = {};
  CHECK(reason_of(sharp, bad) == "next node: rank 0, stream 0: its image is in other groups");
  Schedule broken = sharp;
  broken.group = [sharp](std::int32_t number) {
    AggregationGroup group = sharp.group(number);
    if (number == 4) group.root = 1 - group.root;
    return group;
  };
  CHECK(reason_of(broken, nodes) == "next node: group 2 is not mapped onto group 4");
}

TEST_CASE("Proof does not believe a symmetry of a schedule that is broken at one rank") {
  for (const char* name : {"ring", "cascade", "two_shot"}) {
    const Schedule good = make(name, ideal_placement(3, 4));
    CAPTURE(name);
    for (const Rank rank : {0, 5, 11}) {
      CAPTURE(rank);
      const std::vector<std::function<void(Binding&)>> changes = {
          [](Binding& binding) { binding.bases[0] += 1; },
          [](Binding& binding) { binding.peers[0].rank = (binding.peers[0].rank + 1) % 12; },
          [](Binding& binding) { binding.peers[0].channel += 1; }};
      for (const auto& change : changes) {
        const Schedule bad = with_change(good, rank, 0, change);
        for (const Symmetry& symmetry : bad.symmetries)
          if (symmetry.first_stream == 0) CHECK(verify_symmetry(bad, symmetry));
        CHECK_FALSE(prove(bad).proven);
        const OrbitProof orbits = prove_by_orbits(bad, any_work);
        CHECK_FALSE(orbits.proof.proven);
        CHECK_FALSE(orbits.proof.rejected_symmetries.empty());
        check_agreement(bad);
      }
    }
  }
}

TEST_CASE("Proof traces every cell where no symmetry holds, and says so") {
  Schedule schedule = make("ring", ideal_placement(1, 7));
  schedule.symmetries[0].block.shift = 3;
  const OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK(orbits.proof.proven);
  CHECK(orbits.proof.symmetries == 0);
  CHECK(orbits.proof.cells_traced == 7);
  CHECK(orbits.proof.rejected_symmetries ==
        std::vector<std::string>{
            "one position on in the ring of channel 0: rank 0, stream 0: its image touches "
            "other cells"});
  const OrbitProof refused = prove_by_orbits(schedule, 20);
  CHECK_FALSE(refused.decided);
  CHECK(refused.proof.failures.at(0).text == "too few symmetries hold to prove it one cell an orbit");
}

TEST_CASE("Proof goes by orbits where all cells would take longer") {
  const Proof large = prove(make("ring", ideal_placement(1, 1024)));
  CHECK(large.proven);
  CHECK(large.method == ProofMethod::one_cell_an_orbit);
  CHECK(large.messages == 2LL * 1024 * 1023);
  const Proof small = prove(make("ring", ideal_placement(1, 64)));
  CHECK(small.proven);
  CHECK(small.method == ProofMethod::all_cells);
}

TEST_CASE("Proof refuses what is too large for all cells once its symmetry fails") {
  Schedule schedule = make("ring", ideal_placement(1, 65536));
  CHECK(prove(schedule).proven);
  CHECK(prove(schedule).method == ProofMethod::one_cell_an_orbit);
  CHECK(prove(schedule).messages == 2LL * 65536 * 65535);
  const Schedule bad = with_change(schedule, 40000, 1, [](Binding& binding) { binding.bases[0] += 1; });
  const Proof proof = prove(bad);
  CHECK_FALSE(proof.proven);
  CHECK_FALSE(proof.deadlock);
  REQUIRE(proof.failures.size() == 3);
  CHECK(proof.failures[0].text == "too few symmetries hold to decide whether it can deadlock");
  CHECK(proof.failures[1].text ==
        "executing all cells of 131072 streams with 8589803520 messages is beyond what a proof attempts");
  CHECK(proof.failures[2].text ==
        "not used: one position on in the ring of channel 0: rank 39999, stream 1: its image touches other "
        "cells");
}

TEST_CASE("Proof refuses more streams than it can follow without binding them") {
  Schedule schedule = make("two_shot", ideal_placement(1, 131072));
  schedule.translated = nullptr;  // by which it could be proven from rank 0
  const Proof proof = prove(schedule);
  CHECK_FALSE(proof.proven);
  CHECK(proof.undecided);
  CHECK(proof.failures.at(0).text ==
        "executing all cells of 17179869184 streams is beyond what a proof attempts");
}

TEST_CASE("Proof of two symmetries that speak of the same streams in part uses the first") {
  Schedule schedule = make("ring", ideal_placement(1, 5), 2);
  schedule.symmetries[1].first_stream = 1;
  schedule.symmetries[1].stream_count = 3;
  CHECK(prove_by_orbits(schedule, any_work).proof.proven);
  CHECK(prove_by_orbits(schedule, any_work).proof.symmetries == 1);
  schedule = make("two_shot", ideal_placement(1, 5));
  schedule.symmetries.push_back(schedule.symmetries[0]);
  schedule.symmetries[1].region_count = 0;
  const OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK(orbits.proof.proven);
  CHECK(orbits.proof.rejected_symmetries ==
        std::vector<std::string>{"next rank: its streams or regions overlap those of next rank"});
}

TEST_CASE("Proof refuses parts that may share connections") {
  // The second ring runs the same way as the first on the same channel, but a symmetry of its own is claimed.
  const Schedule good = make("ring", ideal_placement(1, 5), 2);
  Schedule schedule = good;
  schedule.bind = [good](Rank rank, std::int32_t stream, Binding& binding) {
    good.bind(rank, stream, binding);
    binding.peers[0].channel = 0;
  };
  CHECK_FALSE(prove_all_cells(schedule).proven);
  OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK_FALSE(orbits.decided);
  CHECK(orbits.proof.failures.at(0).text == "two parts of the schedule use channel 0");
  schedule.symmetries.clear();
  CHECK_FALSE(prove_by_orbits(schedule, any_work).proof.proven);
}

TEST_CASE("Proof refuses parts that wait for each other") {
  Schedule schedule = make("ring", ideal_placement(1, 5), 2);
  for (Symmetry& symmetry : schedule.symmetries) symmetry.region_count = 1;
  const Schedule bad = with_change(schedule, 2, 2, [](Binding& binding) { binding.streams[0] = 1; });
  const OrbitProof orbits = prove_by_orbits(bad, any_work);
  CHECK_FALSE(orbits.decided);
  CHECK(orbits.proof.symmetries == 1);
  CHECK(orbits.proof.failures.at(0).text == "a stream of one part of the schedule waits for one of another");
}

TEST_CASE("Proof tells one ring of six from two of three, which look the same to every rank") {
  // Rank r sends to r + g, and blocks go in steps of g: a ring if g and N have no common divisor.
  for (std::int32_t ranks = 3; ranks <= 24; ++ranks)
    for (std::int32_t step = 1; step < ranks; ++step) {
      CAPTURE(ranks);
      CAPTURE(step);
      Schedule schedule = make("ring", ideal_placement(1, ranks));
      for (Program& program : schedule.programs)
        for (Loop& loop : program.loops)
          for (OperationTemplate& operation : loop.body) {
            operation.chunk.block_offset *= step;
            operation.chunk.block_stride *= step;
          }
      schedule.bind = [ranks, step](Rank rank, std::int32_t stream, Binding& binding) {
        binding.program = stream;
        binding.peers.push_back(Peer{(rank + (stream == 0 ? step : ranks - step)) % ranks, 0});
        binding.bases = {rank, 0};
        if (stream == 0) binding.streams.push_back(1);
      };
      CHECK(reason_of(schedule, schedule.symmetries[0]) == "");
      CHECK(check_agreement(schedule));
      CHECK(prove_by_orbits(schedule, any_work).proof.proven == (std::gcd(ranks, step) == 1));
    }
}

TEST_CASE("Proof by orbits finds deadlocks of symmetric schedules, and those for want of slots") {
  Schedule schedule = make("cascade", ideal_placement(1, 5));
  REQUIRE(schedule.symmetries.size() == 1);
  for (Loop& loop : schedule.programs[0].loops) std::swap(loop.body[0], loop.body[1]);
  CHECK(check_agreement(schedule));
  OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK(orbits.proof.deadlock);
  CHECK(orbits.proof.symmetries == 1);
  CHECK(orbits.proof.failures.at(0).text == "rank 0, stream 0, step 0: receive_reduce waits forever");

  // A ring whose sends are in the stream of its receives, before them: fits in as many slots as slices.
  for (const std::int32_t slots : {1, 2, 3, 4}) {
    schedule = make("ring", ideal_placement(1, 5), 1, 3);
    schedule.slots = slots;
    Program one;
    for (std::size_t half = 0; half < 2; ++half) {
      Loop loop{4, schedule.programs[0].loops[0].body};
      for (OperationTemplate& send : loop.body) send.chunk.block_offset = half == 0 ? -1 : 0;
      for (OperationTemplate receive : schedule.programs[1].loops[half].body) {
        receive.peer = 1;
        loop.body.push_back(receive);
      }
      one.loops.push_back(loop);
    }
    schedule.programs = {one};
    schedule.stream_count = [](Rank) { return 1; };
    schedule.symmetries[0].stream_count = 1;
    schedule.bind = [](Rank rank, std::int32_t, Binding& binding) {
      binding.peers = {Peer{(rank + 1) % 5, 0}, Peer{(rank + 4) % 5, 0}};
      binding.bases = {rank, 0};
    };
    CHECK(check_agreement(schedule));
    orbits = prove_by_orbits(schedule, any_work);
    CHECK(orbits.proof.symmetries == 1);
    CHECK(orbits.proof.deadlock == (slots < 3));
    CHECK(orbits.proof.proven == (slots >= 3));
  }
}

namespace {

// One random change of a program, which keeps most symmetries and breaks the schedule.
void mutate_program(Schedule& schedule, Random& random) {
  Program& program = schedule.programs[random.below(schedule.programs.size())];
  Loop& loop = program.loops[random.below(program.loops.size())];
  OperationTemplate& operation = loop.body[random.below(loop.body.size())];
  const auto small = [&random] { return static_cast<std::int32_t>(random.below(5)) - 2; };
  switch (random.below(9)) {
    case 0:
      if (operation.kind != OperationKind::send)
        operation.kind =
            operation.kind == OperationKind::receive ? OperationKind::receive_reduce : OperationKind::receive;
      break;
    case 1:
      operation.chunk.block_offset += small();
      break;
    case 2:
      operation.chunk.block_stride += small();
      break;
    case 3:
      operation.dependencies.clear();
      break;
    case 4:
      if (!operation.dependencies.empty()) operation.dependencies[0].offset += small();
      break;
    case 5:
      loop.trips = std::max<std::int64_t>(0, loop.trips + small());
      break;
    case 6:
      std::swap(loop.body[0], loop.body[random.below(loop.body.size())]);
      break;
    case 7:
      if (!operation.dependencies.empty()) operation.dependencies[0].stride += small();
      break;
    default:
      std::swap(program.loops[0], program.loops[random.below(program.loops.size())]);
      break;
  }
}

Schedule mutate_binding(const Schedule& good, Random& random) {
  const auto rank = static_cast<Rank>(random.below(static_cast<std::uint64_t>(good.ranks)));
  const auto stream =
      static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(good.stream_count(rank))));
  const std::uint64_t kind = random.below(5);
  const std::uint64_t word = random.next();
  const std::int32_t ranks = good.ranks;
  const auto programs = static_cast<std::int32_t>(good.programs.size());
  return with_change(good, rank, stream, [=](Binding& binding) {
    const auto pick = [word](std::size_t count) { return static_cast<std::size_t>(word % count); };
    if (kind == 0 && !binding.bases.empty()) binding.bases[pick(binding.bases.size())] += 1;
    if (kind == 1 && !binding.peers.empty())
      binding.peers[pick(binding.peers.size())].rank =
          static_cast<Rank>(word / 7 % static_cast<std::uint64_t>(ranks));
    if (kind == 2 && !binding.streams.empty()) binding.streams[0] = static_cast<std::int32_t>(word % 3);
    if (kind == 3) binding.program = (binding.program + 1) % programs;
    if (kind == 4 && binding.peers.size() > 1) std::swap(binding.peers[0], binding.peers[1]);
  });
}

}  // namespace

TEST_CASE("Proof by orbits agrees with all cells on mutated schedules") {
  int decided = 0;
  int refuted = 0;
  int symmetric = 0;
  int deadlocks = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const char* names[] = {"ring", "cascade", "two_shot", "double_binary_tree", "binomial_tree"};
    const char* const name = names[random.below(5)];
    CAPTURE(name);
    const auto nodes = 1 + static_cast<std::int32_t>(random.below(3));
    const auto gpus = 2 + static_cast<std::int32_t>(random.below(3));
    AlgorithmOptions options;
    options.slots = 1 + static_cast<std::int32_t>(random.below(3));
    Schedule schedule = *try_make(name, ideal_placement(nodes, gpus), options);
    schedule.layout = Layout(std::int64_t{schedule.layout.regions()} * schedule.layout.blocks(), 4,
                             {schedule.layout.regions()}, schedule.layout.blocks());  // all cells equal
    for (std::uint64_t i = random.below(3); i > 0; --i) mutate_program(schedule, random);
    if (random.below(3) == 0) schedule = mutate_binding(schedule, random);
    if (!schedule.symmetries.empty() && random.below(4) == 0) schedule.symmetries[0].block.shift += 1;
    const bool known = check_agreement(schedule);
    const OrbitProof orbits = prove_by_orbits(schedule, any_work);
    decided += known ? 1 : 0;
    refuted += known && !orbits.proof.proven ? 1 : 0;
    symmetric += known && !orbits.proof.proven && orbits.proof.symmetries > 0 ? 1 : 0;
    deadlocks += known && orbits.proof.deadlock ? 1 : 0;
  }
  CHECK(decided > 2000);
  CHECK(refuted > 500);
  CHECK(symmetric > 150);
  CHECK(deadlocks > 20);
}
