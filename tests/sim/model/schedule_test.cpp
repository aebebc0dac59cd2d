// operation(), structure_digest() and the expressions that they interpret.
#include "sim/model/schedule.hpp"

#include <doctest/doctest.h>

#include "sim/core/check.hpp"

using namespace collsim;

namespace {

// Two ranks; stream 0 sends blocks 3, 2, 1, 0 of region 5 in two loops, stream 1 receives them.
Schedule example(std::int64_t elements = 100) {
  Schedule schedule = empty_schedule("example", Collective{}, 2);
  schedule.layout = Layout(elements, 4, {6}, 4);
  ChunkExpression chunk;
  chunk.region_base = 0;
  chunk.region_offset = 1;
  chunk.block_base = 1;
  chunk.block_offset = -1;
  chunk.block_stride = -1;
  chunk.block_modulus = 4;
  OperationTemplate send;
  send.kind = OperationKind::send;
  send.peer = 0;
  send.chunk = chunk;
  OperationTemplate late = send;
  late.chunk.block_offset = -3;
  late.dependencies.push_back(Dependency{0, 1, 2});
  OperationTemplate receive = send;
  receive.kind = OperationKind::receive;
  schedule.programs = {Program{{Loop{2, {send}}, Loop{2, {late, OperationTemplate{}}}}},
                       Program{{Loop{0, {receive}}, Loop{4, {receive}}}}};
  schedule.stream_count = [](Rank) { return 2; };
  schedule.bind = [](Rank rank, std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.peers.push_back(Peer{1 - rank, 7});
    binding.bases = {4, 0};
    binding.streams.push_back(1);
  };
  return schedule;
}

}  // namespace

TEST_CASE("operation resolves loops, bases, peers and dependencies") {
  const Schedule schedule = example();
  CHECK(operation_count(schedule, 0, 0) == 6);
  CHECK(operation_count(schedule, 0, 1) == 4);
  const std::vector<std::int32_t> blocks = {3, 2, 1, -1, 0, -1};
  for (std::int64_t i = 0; i < 6; ++i) {
    const Operation item = operation(schedule, 1, 0, i);
    CAPTURE(i);
    const std::int32_t block = blocks[static_cast<std::size_t>(i)];
    CHECK(item.kind == (block < 0 ? OperationKind::wait : OperationKind::send));
    if (block < 0) continue;
    CHECK(item.chunk == Chunk{Buffer::output, 5, block, 1});
    CHECK(item.peer == Peer{0, 7});
    CHECK(item.waits.size() == (i < 2 ? 0 : 1));
  }
  CHECK(operation(schedule, 1, 0, 4).waits[0].stream == 1);
  CHECK(operation(schedule, 1, 0, 4).waits[0].operation == 3);
  CHECK(operation(schedule, 0, 1, 3).chunk.block == 0);
}

TEST_CASE("operation is checked against the stream's length and the number of streams") {
  const Schedule schedule = example();
  CHECK_THROWS_AS(operation(schedule, 0, 0, 6), InternalError);
  CHECK_THROWS_AS(operation(schedule, 0, 0, -1), InternalError);
  CHECK_THROWS_AS(operation(schedule, 0, 2, 0), InternalError);
  CHECK_THROWS_AS(operation(schedule, 2, 0, 0), InternalError);
}

TEST_CASE("resolve takes the mathematical modulus and units of several blocks") {
  ChunkExpression chunk;
  chunk.block_base = 0;
  chunk.origin_base = 1;
  chunk.block_offset = -7;
  chunk.block_modulus = 3;
  chunk.block_unit = 4;
  chunk.span = 4;
  const std::int64_t bases[] = {2, 100};
  CHECK(resolve(chunk, bases, 0) == Chunk{Buffer::output, 0, 104, 4});
  chunk.buffer = Buffer::scratch;
  chunk.region_stride = 2;
  CHECK(resolve(chunk, bases, 5) == Chunk{Buffer::scratch, 10, 104, 4});
}

TEST_CASE("structure_digest does not depend on sizes") {
  CHECK(structure_digest(example(100)) == structure_digest(example(7)));
  Schedule other = example();
  other.collective.datatype = Datatype::int8;
  other.channel_bandwidth = Bandwidth::gigabytes_per_second(1);
  CHECK(structure_digest(example()) == structure_digest(other));
}

TEST_CASE("structure_digest depends on every part of the structure") {
  const StructureDigest reference = structure_digest(example());
  Schedule other = example();
  const auto differs = [&] {
    const bool result = !(structure_digest(other) == reference);
    other = example();
    return result;
  };
  other.slots = 9;
  CHECK(differs());
  other.layout = Layout(100, 4, {6}, 5);
  CHECK(differs());
  other.layout = Layout(100, 4, {7}, 4);
  CHECK(differs());
  other.layout.set_scratch_regions(1);
  CHECK(differs());
  other.programs[1].loops[1].trips = 5;
  CHECK(differs());
  other.programs[0].loops[0].body[0].chunk.span = 2;
  CHECK(differs());
  other.programs[0].loops[1].body[0].dependencies[0].offset = 0;
  CHECK(differs());
  other.programs[0].loops[1].body[1].kind = OperationKind::copy;
  CHECK(differs());
  other.group_count = 1;
  CHECK(differs());
  const auto bind = other.bind;
  other.bind = [bind](Rank rank, std::int32_t stream, Binding& binding) {
    bind(rank, stream, binding);
    if (rank == 1) binding.peers[0].channel = 8;
  };
  CHECK(differs());
}

TEST_CASE("empty_schedule has no streams and keeps the collective") {
  Collective collective;
  collective.bytes = Bytes(400);
  const Schedule schedule = empty_schedule("nothing", collective, 1);
  CHECK(schedule.stream_count(0) == 0);
  CHECK(schedule.algorithm == "nothing");
  CHECK(schedule.layout.size(0, 0, 1) == Bytes(400));
}

TEST_CASE("name_of names every kind of operation") {
  CHECK(std::string(name_of(OperationKind::send)) == "send");
  CHECK(std::string(name_of(OperationKind::receive)) == "receive");
  CHECK(std::string(name_of(OperationKind::receive_reduce)) == "receive_reduce");
  CHECK(std::string(name_of(OperationKind::copy)) == "copy");
  CHECK(std::string(name_of(OperationKind::reduce)) == "reduce");
  CHECK(std::string(name_of(OperationKind::aggregate)) == "aggregate");
  CHECK(std::string(name_of(OperationKind::collect)) == "collect");
  CHECK(std::string(name_of(OperationKind::wait)) == "wait");
}
