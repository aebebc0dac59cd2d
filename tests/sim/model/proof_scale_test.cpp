// Collectives at many ranks, proven by one cell an orbit; and symmetries that do not map the contract.
#include <doctest/doctest.h>

#include <string>

#include "sim/model/proof.hpp"
#include "sim/model/proof_orbits.hpp"
#include "sim/model/symmetry.hpp"

using namespace collsim;

namespace {

constexpr std::int64_t any_work = std::int64_t{1} << 40;

Schedule frame_of(CollectiveKind kind, std::int32_t ranks, std::int32_t blocks) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(std::int64_t{4} * blocks);
  Schedule frame = empty_schedule("by hand", collective, ranks);
  frame.layout = Layout(blocks, 4, {}, blocks);
  return frame;
}

Symmetry next_rank(std::int32_t ranks, std::int32_t streams, std::int32_t blocks) {
  Symmetry symmetry;
  symmetry.name = "next rank";
  symmetry.stream_count = streams;
  symmetry.region_count = 1;
  symmetry.rank = [ranks](Rank rank) { return (rank + 1) % ranks; };
  if (blocks == ranks) symmetry.block = Rotation{0, ranks, 1, ranks, 1};
  return symmetry;
}

Symmetry other_bit(std::int32_t bit, std::int32_t blocks) {
  Symmetry symmetry;
  symmetry.name = "bit " + std::to_string(bit);
  symmetry.stream_count = 1;
  symmetry.region_count = 1;
  symmetry.rank = [bit](Rank rank) { return rank ^ (1 << bit); };
  if (blocks > 1) symmetry.block = Rotation{0, blocks, std::int64_t{1} << bit, 2, 1};
  return symmetry;
}

OperationTemplate operation_of(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk) {
  OperationTemplate operation;
  operation.kind = kind;
  operation.peer = peer;
  operation.chunk = chunk;
  return operation;
}

// N - 1 steps round a ring: reducing, rank r ends with block r + 1 (its owner); gathering, it starts with it.
Schedule ring(CollectiveKind kind, std::int32_t ranks, bool in_place = true) {
  Schedule schedule = frame_of(kind, ranks, ranks);
  schedule.in_place = in_place;
  const bool reducing = kind == CollectiveKind::reduce_scatter;
  ChunkExpression chunk;
  chunk.block_base = 0;
  chunk.block_offset = reducing ? 0 : 1;
  chunk.block_stride = -1;
  chunk.block_modulus = ranks;
  Loop sends{ranks - 1, {operation_of(OperationKind::send, 0, chunk)}};
  chunk.block_offset -= 1;
  Loop receives{ranks - 1,
                {operation_of(reducing ? OperationKind::receive_reduce : OperationKind::receive, 0, chunk)}};
  Loop first = sends;
  first.trips = 1;
  sends.trips = ranks - 2;
  sends.body[0].chunk.block_offset -= 1;
  sends.body[0].dependencies = {Dependency{0, 0, 1}};
  if (!in_place) {
    first.body[0].chunk.buffer = Buffer::input;
    OperationTemplate own = first.body[0];
    own.kind = OperationKind::copy;
    own.source = own.chunk;
    own.chunk.buffer = Buffer::output;
    own.peer = -1;
    first.body.push_back(own);
  }
  schedule.programs = {Program{{first, sends}}, Program{{receives}}};
  schedule.owner = [ranks](std::int32_t, std::int32_t block) { return (block + ranks - 1) % ranks; };
  schedule.stream_count = [](Rank) { return 2; };
  schedule.bind = [ranks](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.peers.push_back(Peer{stream == 0 ? (rank + 1) % ranks : (rank + ranks - 1) % ranks, 0});
    binding.bases.push_back(rank);
    if (stream == 0) binding.streams.push_back(1);
  };
  schedule.symmetries = {next_rank(ranks, 2, ranks)};
  return schedule;
}

// Halving and doubling of `blocks` = ranks blocks, or the doubling alone of one.
Schedule exchanges(std::int32_t bits, bool halves) {
  const std::int32_t ranks = 1 << bits;
  Schedule schedule = frame_of(CollectiveKind::all_reduce, ranks, halves ? ranks : 1);
  const auto half = [halves](std::int32_t bit, bool own) {
    ChunkExpression chunk;
    if (!halves) return chunk;
    chunk.origin_base = static_cast<std::int8_t>(2 * bit + (own ? 1 : 0));
    chunk.span = 1 << bit;
    return chunk;
  };
  Loop loop;
  for (std::int32_t bit = bits; halves && bit-- > 0;) {
    loop.body.push_back(operation_of(OperationKind::send, bit, half(bit, false)));
    loop.body.push_back(operation_of(OperationKind::receive_reduce, bit, half(bit, true)));
  }
  for (std::int32_t bit = 0; bit < bits; ++bit) {
    const auto kind = halves ? OperationKind::receive : OperationKind::receive_reduce;
    loop.body.push_back(operation_of(OperationKind::send, bit, half(bit, true)));
    loop.body.push_back(operation_of(kind, bit, half(bit, false)));
  }
  schedule.programs = {Program{{loop}}};
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [bits](Rank rank, std::int32_t, Binding& binding) {
    for (std::int32_t bit = 0; bit < bits; ++bit) {
      const std::int32_t distance = 1 << bit;
      binding.peers.push_back(Peer{rank ^ distance, 0});
      binding.bases.push_back((rank ^ distance) & ~(distance - 1));
      binding.bases.push_back(rank & ~(distance - 1));
    }
  };
  for (std::int32_t bit = 0; bit < bits; ++bit)
    schedule.symmetries.push_back(other_bit(bit, schedule.layout.blocks()));
  return schedule;
}

// Rank r sends its input to r + 1.
Schedule shift(std::int32_t ranks) {
  Schedule schedule = frame_of(CollectiveKind::send_recv, ranks, 1);
  schedule.in_place = false;
  ChunkExpression input;
  input.buffer = Buffer::input;
  schedule.programs = {Program{{Loop{1, {operation_of(OperationKind::send, 0, input)}}}},
                       Program{{Loop{1, {operation_of(OperationKind::receive, 0, {})}}}}};
  schedule.stream_count = [](Rank) { return 2; };
  schedule.bind = [ranks](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.peers.push_back(Peer{stream == 0 ? (rank + 1) % ranks : (rank + ranks - 1) % ranks, 0});
  };
  schedule.symmetries = {next_rank(ranks, 2, 1)};
  return schedule;
}

ProofOptions with_numerics() {
  ProofOptions options;
  options.numerics = true;
  return options;
}

// Both methods say that it is right, and the same of its numbers.
void check_small(const Schedule& schedule) {
  const Proof all = prove_all_cells(schedule, with_numerics());
  CHECK(all.proven);
  for (const ProofFailure& failure : all.failures) MESSAGE(failure.text);
  Numerics numerics;
  const OrbitProof orbits = prove_by_orbits(schedule, any_work, &numerics);
  CHECK(orbits.proof.proven);
  for (const ProofFailure& failure : orbits.proof.failures) MESSAGE(failure.text);
  for (const std::string& text : orbits.proof.rejected_symmetries) MESSAGE(text);
  CHECK(orbits.proof.rejected_symmetries.empty());
  if (!reduces(schedule.collective.kind)) return;
  CHECK(numerics.same_on_all_ranks == all.numerics.same_on_all_ranks);
  CHECK(numerics.additions_deep == all.numerics.additions_deep);
}

void check_large(const Schedule& schedule, std::int64_t deep) {
  const Proof proof = prove(schedule, with_numerics());
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) MESSAGE(failure.text);
  CHECK(proof.method == ProofMethod::one_cell_an_orbit);
  CHECK(proof.cells_traced == 1);
  CHECK(proof.numerics.known);
  CHECK(proof.numerics.same_on_all_ranks);
  CHECK(proof.numerics.repeats);
  CHECK(proof.numerics.additions_deep == deep);
}

// Not proven by either method.
void check_wrong(const Schedule& schedule) {
  CHECK_FALSE(prove_all_cells(schedule).proven);
  CHECK_FALSE(prove_by_orbits(schedule, any_work).proof.proven);
}

}  // namespace

TEST_CASE("Orbits agree with all cells for rings, exchanges and shifts") {
  for (const std::int32_t ranks : {2, 3, 5, 8}) {
    check_small(ring(CollectiveKind::reduce_scatter, ranks));
    check_small(ring(CollectiveKind::all_gather, ranks));
    check_small(ring(CollectiveKind::all_gather, ranks, false));
    check_small(shift(ranks));
  }
  for (const std::int32_t bits : {1, 2, 3, 4})
    for (const bool halves : {false, true}) check_small(exchanges(bits, halves));
}

TEST_CASE("Proof of 4,096 ranks traces one cell") {
  check_large(ring(CollectiveKind::reduce_scatter, 4096), 4095);
  check_large(ring(CollectiveKind::all_gather, 4096), 0);
  check_large(ring(CollectiveKind::all_gather, 4096, false), 0);
  check_large(exchanges(12, true), 12);
  check_large(shift(16384), 0);
}

TEST_CASE("Proof of 131,072 ranks of a ring and of halving and doubling is a matter of seconds") {
  check_large(ring(CollectiveKind::reduce_scatter, 131072), 131071);
  check_large(exchanges(17, true), 17);
}

TEST_CASE("Orbits refute what is alike everywhere but wrong") {
  Schedule schedule = ring(CollectiveKind::reduce_scatter, 6);
  schedule.owner = [](std::int32_t, std::int32_t block) { return block; };
  CHECK(prove_by_orbits(schedule, any_work).proof.symmetries == 1);
  check_wrong(schedule);
  schedule = ring(CollectiveKind::all_gather, 6);
  schedule.programs[1].loops[0].body[0].kind = OperationKind::receive_reduce;
  check_wrong(schedule);
  const OrbitProof orbits = prove_by_orbits(schedule, any_work);
  CHECK(orbits.proof.failures.at(0).text ==
        "rank 0: block 0 of region 0 does not hold what the collective wants there");
  schedule = ring(CollectiveKind::all_gather, 6, false);
  schedule.programs[0].loops[0].body.pop_back();
  check_wrong(schedule);
  schedule = ring(CollectiveKind::all_gather, 6, false);
  schedule.in_place = true;  // has no input
  CHECK_FALSE(prove_all_cells(schedule).proven);
  CHECK_FALSE(prove_by_orbits(schedule, any_work).decided);
}

TEST_CASE("Symmetry that does not map the contract is not used") {
  Schedule schedule = ring(CollectiveKind::reduce_scatter, 6);
  schedule.owner = [](std::int32_t, std::int32_t block) { return block ^ 1; };
  REQUIRE_FALSE(verify_symmetry(schedule, schedule.symmetries[0]));
  CHECK(verify_contract(schedule, schedule.symmetries[0]).value_or("") ==
        "next rank: block 0 of region 0 does not move with its owner");
  CHECK(prove_by_orbits(schedule, any_work).proof.symmetries == 0);
  schedule = shift(8);
  Symmetry swapped = schedule.symmetries[0];
  swapped.rank = [](Rank rank) { return rank ^ 1; };
  CHECK(verify_contract(schedule, swapped).value_or("") ==
        "next rank: the image of rank 0 does not come before that of the next");
  CHECK_FALSE(verify_contract(schedule, schedule.symmetries[0]));
  for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
    schedule = ring(CollectiveKind::all_gather, 6);
    schedule.collective.kind = kind;
    CHECK(verify_contract(schedule, schedule.symmetries[0]).value_or("") == "next rank: it moves the root");
  }
  // Blocks of one part must keep their order where they go to other places: an all-to-all of two blocks a
  // part.
  schedule = frame_of(CollectiveKind::all_to_all, 2, 4);
  Symmetry turned = next_rank(2, 0, 4);
  turned.block = Rotation{0, 4, 2, 2, 1};
  CHECK_FALSE(verify_contract(schedule, turned));
  turned.rank = [](Rank rank) { return rank; };
  turned.block = Rotation{0, 4, 1, 2, 1};
  CHECK(verify_contract(schedule, turned).value_or("") ==
        "next rank: block 0 of region 0 does not move with its owner");
}
