// A proof by the first slice says what executing all cells says, and refuses what is not alike in all trips.
#include "sim/model/proof_slices.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using collsim::testing::ideal_placement;

namespace {

Schedule make(const std::string& name, std::int32_t nodes, std::int32_t gpus, std::int32_t slices,
              bool switched = true, std::int32_t slots = 8) {
  Placement placement = ideal_placement(nodes, gpus, gpus);
  placement.node_reduction.enabled = switched;
  placement.fabric_reduction.enabled = true;
  Collective collective;
  collective.bytes = Bytes(4 * 1001);
  AlgorithmOptions options;
  options.slices = slices;
  options.slots = slots;
  if (name != "sharp") options.channels = 2;
  return std::get<Schedule>(algorithms::make_schedule({name, options}, collective, placement));
}

void check_alike(const Schedule& schedule) {
  CAPTURE(schedule.algorithm);
  CAPTURE(schedule.ranks);
  CAPTURE(schedule.slices);
  const auto slice = first_slice(schedule);
  REQUIRE(slice);
  CHECK(slice->trips == schedule.slices);
  CHECK(slice->schedule.layout.regions() * schedule.slices == schedule.layout.regions());
  const Proof proof = prove_first_slice(*slice);
  const Proof all = prove_all_cells(schedule);
  CHECK(proof.proven);
  CHECK(all.proven);
  CHECK(proof.method == ProofMethod::one_slice);
  CHECK(proof.deadlock_freedom == DeadlockFreedom::one_slice);
  CHECK(proof.messages == all.messages);
  CHECK(proof.cells_traced * schedule.slices == all.cells_traced);
}

// Neither accepts; `text`: what the first slice says, empty where the trips are not alike.
void check_refuted(const Schedule& schedule, const std::string& text) {
  CHECK_FALSE(prove_all_cells(schedule).proven);
  const auto slice = first_slice(schedule);
  CHECK(slice.has_value() == !text.empty());
  if (!slice) return;
  const Proof proof = prove_first_slice(*slice);
  CHECK_FALSE(proof.proven);
  REQUIRE_FALSE(proof.failures.empty());
  CHECK(proof.failures[0].text == text);
}

Schedule with_change(const Schedule& good, Rank rank, std::int32_t stream,
                     std::function<void(Binding&)> change) {
  Schedule bad = good;
  bad.bind = [good, rank, stream, change](Rank of, std::int32_t number, Binding& binding) {
    good.bind(of, number, binding);
    if (of == rank && number == stream) change(binding);
  };
  return bad;
}

std::int32_t program_of(const Schedule& schedule, Rank rank, std::int32_t stream) {
  Binding binding;
  schedule.bind(rank, stream, binding);
  return binding.program;
}

// Gives one stream a program of its own, changed.
Schedule with_program(const Schedule& good, Rank rank, std::int32_t stream,
                      const std::function<void(Program&)>& change) {
  Schedule bad = good;
  const auto number = static_cast<std::int32_t>(good.programs.size());
  bad.programs.push_back(good.programs[static_cast<std::size_t>(program_of(good, rank, stream))]);
  change(bad.programs.back());
  return with_change(bad, rank, stream, [number](Binding& binding) { binding.program = number; });
}

}  // namespace

TEST_CASE("First slice proves trees and aggregations as executing all cells does") {
  for (const std::int32_t slices : {2, 3, 7})
    for (const std::int32_t slots : {1, 2})
      for (const std::int32_t gpus : {1, 2, 3}) {
        CAPTURE(slots);
        for (const std::int32_t nodes : {2, 3, 6}) {
          check_alike(make("double_binary_tree", nodes, gpus, slices, true, slots));
          check_alike(make("sharp", nodes, gpus, slices, true, slots));
          check_alike(make("sharp", nodes, gpus, slices, false, slots));
        }
        if (gpus > 1) check_alike(make("nvls", 1, gpus, slices, true, slots));
      }
}

TEST_CASE("First slice is refused where trips are steps of an algorithm") {
  for (const char* name : {"ring", "cascade"})
    for (const std::int32_t slices : {1, 2, 3}) CHECK_FALSE(first_slice(make(name, 2, 3, slices)));
  CHECK_FALSE(first_slice(make("double_binary_tree", 2, 3, 1)));
}

TEST_CASE("Proof of a large tree executes its first slice") {
  Collective collective;
  collective.bytes = Bytes(std::int64_t{1} << 32);
  AlgorithmOptions options;
  options.channels = 8;
  const auto schedule = std::get<Schedule>(
      algorithms::make_schedule({"double_binary_tree", options}, collective, ideal_placement(32, 8, 8)));
  const Proof proof = prove(schedule);
  CHECK(proof.proven);
  CHECK(proof.method == ProofMethod::one_slice);
  CHECK(proof.cells_traced == 16);
  CHECK(proof.messages == 2LL * 255 * 16 * 256);
  // One rank adds where it should overwrite, in the last slice only.
  Schedule bad = schedule;
  for (std::int32_t stream = 0; stream < bad.stream_count(9); ++stream) {
    const auto program = static_cast<std::size_t>(program_of(schedule, 9, stream));
    if (schedule.programs[program].loops[0].body[0].kind != OperationKind::receive) continue;
    bad = with_program(schedule, 9, stream, [](Program& changed) {
      changed.loops.push_back(changed.loops[0]);
      changed.loops[0].trips = 255;
      changed.loops[1].trips = 1;
      changed.loops[1].body[0].chunk.region_offset = 255;
      changed.loops[1].body[0].kind = OperationKind::receive_reduce;
    });
    break;
  }
  const Proof refuted = prove(bad);
  CHECK_FALSE(refuted.proven);
  CHECK(refuted.method == ProofMethod::all_cells);
}

TEST_CASE("First slice is refused where one slice, trip or dependency differs") {
  const Schedule good = make("double_binary_tree", 1, 6, 3);
  std::int32_t stream = 0;  // one that waits
  const Rank rank = 2;
  Binding binding;
  for (;; ++stream) {
    binding.clear();
    good.bind(rank, stream, binding);
    if (!binding.streams.empty()) break;
  }
  const auto wait_of = [](Program& program) -> Dependency& {
    return program.loops[0].body[0].dependencies.at(0);
  };
  check_refuted(with_program(good, rank, stream, [](Program& program) { program.loops[0].trips -= 1; }), "");
  check_refuted(with_program(good, rank, stream, [&](Program& program) { wait_of(program).offset += 4; }),
                "");
  check_refuted(with_program(good, rank, stream, [&](Program& program) { wait_of(program).stride = 0; }), "");
  check_refuted(with_program(good, rank, stream, [&](Program& program) { wait_of(program).offset = -1; }),
                "");
  check_refuted(with_change(good, rank, stream, [](Binding& changed) { changed.bases[0] += 1; }), "");
  check_refuted(with_program(good, rank, stream,
                             [](Program& program) { program.loops[0].body[0].chunk.region_offset = 1; }),
                "");
  check_refuted(with_program(good, rank, stream,
                             [](Program& program) { program.loops[0].body[0].chunk.region_stride = 0; }),
                "");
  // Right, but not alike: the trips of one stream in two loops.
  const Schedule split = with_program(good, rank, stream, [&](Program& program) {
    program.loops.push_back(program.loops[0]);
    program.loops[0].trips = 2;
    program.loops[1].trips = 1;
    program.loops[1].body[0].chunk.region_offset = 2;
    program.loops[1].body[0].dependencies[0].offset += 2 * wait_of(program).stride;
  });
  CHECK(prove_all_cells(split).proven);
  CHECK_FALSE(first_slice(split));
  // Right for this layout, but a region is also a block.
  Schedule both = good;
  for (Program& program : both.programs) program.loops[0].body[0].chunk.block_base = 0;
  CHECK(prove_all_cells(both).proven);
  CHECK_FALSE(first_slice(both));
}

TEST_CASE("First slice that is alike but wrong is refuted") {
  const Schedule good = make("double_binary_tree", 1, 4, 3);
  Schedule bad = good;
  for (Program& program : bad.programs)
    for (OperationTemplate& operation : program.loops[0].body) operation.dependencies.clear();
  CHECK_FALSE(prove_all_cells(bad).proven);
  REQUIRE(first_slice(bad));
  CHECK_FALSE(prove_first_slice(*first_slice(bad)).proven);
  // Another part of the vector.
  bad = with_change(good, 1, 0, [](Binding& binding) { binding.bases[0] += 3; });
  CHECK_FALSE(prove_all_cells(bad).proven);
  REQUIRE(first_slice(bad));
  CHECK_FALSE(prove_first_slice(*first_slice(bad)).proven);
  bad.slots = 0;
  check_refuted(bad, "a connection needs at least one slot");
}

TEST_CASE("First slice that leaves results for the next is not repeated") {
  // Two posts and one collect a trip: trip 1 collects what trip 0 has left.
  Schedule bad = make("nvls", 1, 3, 2);
  std::vector<OperationTemplate>& posts = bad.programs[0].loops[0].body;
  posts.push_back(posts[0]);
  bad.programs[1].loops[0].body[0].dependencies.push_back(Dependency{0, 1, 2});
  const Schedule before = bad;
  bad.bind = [before](Rank rank, std::int32_t stream, Binding& binding) {
    before.bind(rank, stream, binding);
    if (stream % 2 == 1) binding.streams.push_back(stream - 1);
  };
  check_refuted(bad, "what the first slice does cannot be repeated");
}

TEST_CASE("First slice whose posts only happen to fit is not repeated") {
  // A member that gives nothing to a multicast posts another block than the root.
  const Schedule good = make("sharp", 2, 2, 3);
  for (std::int32_t stream = 0; stream < good.stream_count(1); ++stream) {
    if (program_of(good, 1, stream) != 2) continue;
    Binding binding;
    good.bind(1, stream, binding);
    if (good.group(binding.groups[0]).mode != AggregationMode::multicast) continue;
    check_refuted(with_change(good, 1, stream, [](Binding& changed) { changed.bases[1] += 1; }),
                  "what the first slice does cannot be repeated");
    return;
  }
  FAIL("no such stream");
}

namespace {

void mutate_program(Schedule& schedule, Random& random) {
  Program& program = schedule.programs[random.below(schedule.programs.size())];
  Loop& loop = program.loops[0];
  OperationTemplate& operation = loop.body[random.below(loop.body.size())];
  const auto small = [&random] { return static_cast<std::int32_t>(random.below(5)) - 2; };
  switch (random.below(8)) {
    case 0:
      if (operation.kind == OperationKind::receive || operation.kind == OperationKind::receive_reduce)
        operation.kind =
            operation.kind == OperationKind::receive ? OperationKind::receive_reduce : OperationKind::receive;
      break;
    case 1:
      operation.chunk.region_offset += small() * static_cast<std::int32_t>(loop.trips);
      break;
    case 2:
      operation.dependencies.clear();
      break;
    case 3:
      if (!operation.dependencies.empty()) operation.dependencies[0].offset += small();
      break;
    case 4:
      if (!operation.dependencies.empty()) operation.dependencies[0].stride += small();
      break;
    case 5:
      loop.trips += small() / 2;
      break;
    case 6:
      std::swap(loop.body[0], loop.body[random.below(loop.body.size())]);
      break;
    default:
      operation.chunk.block_offset += small();
      break;
  }
}

Schedule mutate_binding(const Schedule& good, Random& random) {
  const auto rank = static_cast<Rank>(random.below(static_cast<std::uint64_t>(good.ranks)));
  const auto stream =
      static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(good.stream_count(rank))));
  const std::uint64_t kind = random.below(4);
  const std::uint64_t word = random.next();
  const std::int64_t slices = good.slices;
  return with_change(good, rank, stream, [=](Binding& binding) {
    if (kind == 0 && !binding.bases.empty()) binding.bases[word % binding.bases.size()] += slices;
    if (kind == 1 && !binding.streams.empty()) binding.streams[0] = static_cast<std::int32_t>(word % 3);
    if (kind == 2 && binding.peers.size() > 1) std::swap(binding.peers[0], binding.peers[1]);
    if (kind == 3 && !binding.groups.empty()) binding.groups[0] += 1;
  });
}

}  // namespace

TEST_CASE("First slice never accepts what executing all cells refutes") {
  int accepted = 0;
  int refuted = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const char* names[] = {"double_binary_tree", "double_binary_tree", "sharp", "nvls"};
    const std::string name = names[random.below(4)];
    const auto slices = 2 + static_cast<std::int32_t>(random.below(3));
    const auto gpus = 2 + static_cast<std::int32_t>(random.below(3));
    const std::int32_t nodes = name == "nvls" ? 1 : 2 + static_cast<std::int32_t>(random.below(2));
    const auto slots = 1 + static_cast<std::int32_t>(random.below(2));
    Schedule schedule = make(name, nodes, gpus, slices, random.below(2) == 0 || name == "nvls", slots);
    for (std::uint64_t i = random.below(3); i > 0; --i) mutate_program(schedule, random);
    if (random.below(3) == 0) schedule = mutate_binding(schedule, random);
    const auto slice = first_slice(schedule);
    const Proof all = prove_all_cells(schedule);
    if (!slice) {
      ++refused;
      continue;
    }
    const Proof proof = prove_first_slice(*slice);
    if (proof.proven) CHECK(all.proven);
    if (!all.proven) CHECK_FALSE(proof.proven);
    (proof.proven ? accepted : refuted) += 1;
  }
  CHECK(accepted > 500);
  CHECK(refuted > 300);
  CHECK(refused > 150);
}
