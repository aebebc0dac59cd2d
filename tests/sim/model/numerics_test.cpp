// The order of additions of a schedule: who gets the same bits, whether runs repeat, how deep it is.
#include "sim/model/numerics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sim/model/proof.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"

using namespace collsim;
using collsim::testing::roll;
using collsim::testing::Streams;

namespace {

Collective collective_of(CollectiveKind kind, Datatype datatype, ReductionOp reduction) {
  Collective collective;
  collective.kind = kind;
  collective.datatype = datatype;
  collective.reduction = reduction;
  return collective;
}

Schedule frame_of(std::int32_t ranks, bool in_place = true,
                  CollectiveKind kind = CollectiveKind::all_reduce) {
  Collective collective;
  collective.kind = kind;
  Schedule frame = empty_schedule("by hand", collective, ranks);
  frame.in_place = in_place;
  return frame;
}

Operation message(OperationKind kind, Rank peer) {
  Operation item;
  item.kind = kind;
  item.peer = Peer{peer, 0};
  return item;
}

Numerics numerics_of(const Schedule& schedule) {
  ProofOptions options;
  options.numerics = true;
  const Proof proof = prove(schedule, options);
  CHECK(proof.proven);
  CHECK(proof.numerics.known);
  return proof.numerics;
}

// Both partners of every step add, at distances 1, 2, 4, ...
Streams recursive_doubling(std::int32_t ranks) {
  Streams streams;
  for (Rank rank = 0; rank < ranks; ++rank) {
    std::vector<Operation> operations;
    for (std::int32_t distance = 1; distance < ranks; distance *= 2) {
      operations.push_back(message(OperationKind::send, rank ^ distance));
      operations.push_back(message(OperationKind::receive_reduce, rank ^ distance));
    }
    streams.push_back({operations});
  }
  return streams;
}

// Every rank sends its input to all and adds what comes to its own, from the next rank on.
Streams one_shot(std::int32_t ranks) {
  Streams streams;
  for (Rank rank = 0; rank < ranks; ++rank) {
    std::vector<std::vector<Operation>>& of_rank = streams.emplace_back();
    std::vector<Operation> adds;
    for (std::int32_t i = 1; i < ranks; ++i) {
      of_rank.push_back({message(OperationKind::send, (rank + i) % ranks)});
      of_rank.back()[0].chunk.buffer = Buffer::input;
      adds.push_back(message(OperationKind::receive_reduce, (rank + i) % ranks));
    }
    adds[0].from_source = true;
    adds[0].source.buffer = Buffer::input;
    of_rank.push_back(adds);
  }
  return streams;
}

// Rank 0 adds one after the other, and gives the sum back.
Streams star(std::int32_t ranks) {
  Streams streams(static_cast<std::size_t>(ranks));
  streams[0].emplace_back();
  for (Rank rank = 1; rank < ranks; ++rank) {
    streams[0][0].push_back(message(OperationKind::receive_reduce, rank));
    streams[static_cast<std::size_t>(rank)] = {
        {message(OperationKind::send, 0), message(OperationKind::receive, 0)}};
  }
  for (Rank rank = 1; rank < ranks; ++rank) streams[0][0].push_back(message(OperationKind::send, rank));
  return streams;
}

Operation aggregation(OperationKind kind, std::int32_t group) {
  Operation item;
  item.kind = kind;
  item.group = group;
  return item;
}

Schedule switched(std::int32_t ranks, AggregationScope scope) {
  Schedule frame = frame_of(ranks);
  frame.group_count = 1;
  frame.group = [ranks, scope](std::int32_t) {
    AggregationGroup group;
    group.scope = scope;
    for (Rank rank = 0; rank < ranks; ++rank) group.members.push_back(rank);
    return group;
  };
  const Streams streams(static_cast<std::size_t>(ranks),
                        {{aggregation(OperationKind::aggregate, 0), aggregation(OperationKind::collect, 0)}});
  return roll(frame, streams);
}

}  // namespace

TEST_CASE("Numerics of a recursive doubling are the same on all ranks, and log2 deep") {
  for (const std::int32_t ranks : {2, 4, 8, 32}) {
    const Numerics numerics = numerics_of(roll(frame_of(ranks), recursive_doubling(ranks)));
    CHECK(numerics.same_on_all_ranks);
    CHECK(numerics.repeats);
    CHECK(numerics.additions_deep == std::lround(std::log2(ranks)));
  }
}

TEST_CASE("Numerics of a one-shot exchange differ from rank to rank beyond two") {
  for (const std::int32_t ranks : {2, 3, 4, 7}) {
    CAPTURE(ranks);
    const Numerics numerics = numerics_of(roll(frame_of(ranks, false), one_shot(ranks)));
    CHECK(numerics.same_on_all_ranks == (ranks == 2));
    CHECK(numerics.repeats);
    CHECK(numerics.additions_deep == ranks - 1);
  }
}

TEST_CASE("Numerics of a sum made once are the same on all ranks") {
  const Numerics numerics = numerics_of(roll(frame_of(6), star(6)));
  CHECK(numerics.same_on_all_ranks);
  CHECK(numerics.additions_deep == 5);
  // Scratch, copies and local sums count as well: (own + (a + b)) where the other way round is ((a + b) +
  // own).
  Schedule frame = frame_of(3, true, CollectiveKind::reduce);
  frame.layout.set_scratch_regions(1);
  Streams streams(3);
  streams[1] = {{message(OperationKind::send, 0)}};
  streams[2] = {{message(OperationKind::send, 0)}};
  Operation first = message(OperationKind::receive, 1);
  Operation second = message(OperationKind::receive_reduce, 2);
  Operation local;
  local.kind = OperationKind::reduce;
  first.chunk.buffer = second.chunk.buffer = local.source.buffer = Buffer::scratch;
  streams[0] = {{first, second, local}};
  const Numerics kept = numerics_of(roll(frame, streams));
  CHECK(kept.same_on_all_ranks);
  CHECK(kept.additions_deep == 2);
}

TEST_CASE("Numerics of what switches add do not repeat, but for sums of two") {
  for (const std::int32_t ranks : {2, 3, 5})
    for (const AggregationScope scope : {AggregationScope::node, AggregationScope::fabric}) {
      const Numerics numerics = numerics_of(switched(ranks, scope));
      CHECK(numerics.same_on_all_ranks);
      CHECK(numerics.repeats == (ranks == 2));
      CHECK(numerics.node_switches_add == (ranks > 2 && scope == AggregationScope::node));
      CHECK(numerics.fabric_switches_add == (ranks > 2 && scope == AggregationScope::fabric));
      CHECK(numerics.additions_deep == ranks - 1);
    }
}

TEST_CASE("Numerics of a sum that switches make once for each rank differ") {
  Schedule frame = frame_of(3, false);
  frame.group_count = 3;
  frame.group = [](std::int32_t number) {
    AggregationGroup group;
    group.mode = AggregationMode::reduce;
    group.members = {0, 1, 2};
    group.root = number;
    return group;
  };
  Streams streams(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    std::vector<Operation> operations;
    for (std::int32_t group = 0; group < 3; ++group) {
      operations.push_back(aggregation(OperationKind::aggregate, group));
      operations.back().chunk.buffer = Buffer::input;
    }
    operations.push_back(aggregation(OperationKind::collect, rank));
    streams[static_cast<std::size_t>(rank)] = {operations};
  }
  CHECK_FALSE(numerics_of(roll(frame, streams)).same_on_all_ranks);
}

TEST_CASE("Numerics are not known of what is not proven, and trivial where nothing is added") {
  ProofOptions options;
  options.numerics = true;
  const Proof wrong = prove(frame_of(2), options);
  CHECK_FALSE(wrong.numerics.known);
  CHECK(wrong.numerics.reason == "the schedule is not proven");
  CHECK_FALSE(prove(frame_of(1)).numerics.known);
  CHECK(prove(frame_of(1), options).numerics.known);
  Schedule copies = frame_of(2, true, CollectiveKind::broadcast);
  copies = roll(copies, {{{message(OperationKind::send, 1)}}, {{message(OperationKind::receive, 0)}}});
  CHECK(numerics_of(copies).additions_deep == 0);
}

TEST_CASE("Numerics say for each type and reduction what the order means") {
  Numerics numerics;
  numerics.known = true;
  numerics.same_on_all_ranks = false;
  numerics.repeats = false;
  numerics.node_switches_add = true;
  numerics.additions_deep = 4;
  const auto of = [](Datatype datatype, ReductionOp reduction) {
    return collective_of(CollectiveKind::all_reduce, datatype, reduction);
  };
  const Collective sum = of(Datatype::float32, ReductionOp::sum);
  CHECK_FALSE(same_on_all_ranks(numerics, sum));
  CHECK_FALSE(repeats(numerics, sum));
  CHECK(why_not_repeated(numerics, sum) == "the switches of a node add in an order of their own (NVLS)");
  numerics.fabric_switches_add = true;
  CHECK(why_not_repeated(numerics, sum) ==
        "the switches of a node and of the fabric add in an order of their own (NVLS, SHARP)");
  for (const Collective& exact :
       {of(Datatype::int32, ReductionOp::sum), of(Datatype::uint8, ReductionOp::prod),
        of(Datatype::float16, ReductionOp::max), of(Datatype::float64, ReductionOp::min),
        collective_of(CollectiveKind::all_gather, Datatype::float32, ReductionOp::sum)}) {
    CHECK(is_exact(exact));
    CHECK(same_on_all_ranks(numerics, exact));
    CHECK(repeats(numerics, exact));
    CHECK(why_not_repeated(numerics, exact) == "");
    CHECK(error_bound(numerics, exact, 16) == 0.0);
  }
  // gamma(k) = k u / (1 - k u), u = 2^-p.
  CHECK(error_bound(numerics, sum, 16) == (4 * 0x1p-24) / (1 - 4 * 0x1p-24));
  CHECK(error_bound(numerics, of(Datatype::float64, ReductionOp::avg), 16) ==
        (5 * 0x1p-53) / (1 - 5 * 0x1p-53));
  CHECK(error_bound(numerics, of(Datatype::bfloat16, ReductionOp::prod), 16) ==
        (15 * 0x1p-8) / (1 - 15 * 0x1p-8));
  CHECK(error_bound(numerics, of(Datatype::float16, ReductionOp::sum), 16) ==
        (4 * 0x1p-11) / (1 - 4 * 0x1p-11));
  CHECK(error_bound(numerics, of(Datatype::float8_e4m3, ReductionOp::sum), 16) == 0.25 / 0.75);
  CHECK(error_bound(numerics, of(Datatype::float8_e5m2, ReductionOp::sum), 16) == 1.0);
  CHECK_FALSE(error_bound(numerics, of(Datatype::float8_e4m3, ReductionOp::prod), 17));
  CHECK_FALSE(error_bound(Numerics{}, sum, 16));
  CHECK_FALSE(repeats(Numerics{}, sum));
}

TEST_CASE("Error bound holds for sums of random numbers in the order of a recursive doubling") {
  // In float, compared with double.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<float> values;
    double exact = 0;
    double size = 0;
    for (int i = 0; i < 64; ++i) {
      const auto whole = static_cast<std::int64_t>(random.below(2000001)) - 1000000;
      values.push_back(static_cast<float>(whole) / 777.0F);
      exact += static_cast<double>(values.back());
      size += std::fabs(static_cast<double>(values.back()));
    }
    for (std::size_t distance = 1; distance < values.size(); distance *= 2)
      for (std::size_t i = 0; i < values.size(); i += 2 * distance) values[i] += values[i + distance];
    const Numerics numerics = numerics_of(roll(frame_of(64), recursive_doubling(64)));
    const Collective sum = collective_of(CollectiveKind::all_reduce, Datatype::float32, ReductionOp::sum);
    CHECK(std::fabs(static_cast<double>(values[0]) - exact) <= *error_bound(numerics, sum, 64) * size);
  }
}
