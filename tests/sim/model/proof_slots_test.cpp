// The smallest number of slots with which a schedule does not deadlock.
#include <doctest/doctest.h>

#include "sim/model/proof.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"

using namespace collsim;
using collsim::testing::roll;
using collsim::testing::Streams;

namespace {

// Two ranks that both send `before` messages, receive as many, and do it again.
Schedule exchange(std::size_t before) {
  Collective collective;
  Schedule frame = empty_schedule("by hand", collective, 2);
  frame.layout = Layout(0, 1, {static_cast<std::int32_t>(2 * before)}, 1);
  Streams streams(2);
  for (const Rank rank : {0, 1}) {
    std::vector<Operation> operations;
    for (const std::size_t half : {0U, 1U})
      for (const OperationKind kind : {OperationKind::send, OperationKind::receive_reduce})
        for (std::size_t i = 0; i < before; ++i) {
          Operation item;
          item.kind = kind;
          item.peer = Peer{1 - rank, 0};
          item.chunk.region = static_cast<std::int32_t>(half * before + i);
          operations.push_back(item);
        }
    streams[static_cast<std::size_t>(rank)] = {operations};
  }
  return roll(frame, streams);
}

}  // namespace

TEST_CASE("Smallest number of slots is what the proof needs, one less deadlocks") {
  for (const std::size_t before : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 100U}) {
    Schedule schedule = exchange(before);
    schedule.slots = 0;
    const SmallestSlots found = smallest_slots(schedule);
    REQUIRE(found.known);
    REQUIRE(found.slots);
    CHECK(*found.slots == static_cast<std::int32_t>(before));
    schedule.slots = *found.slots;
    CHECK(prove(schedule).proven);
    schedule.slots = *found.slots - 1;
    CHECK_FALSE(prove(schedule).proven);
  }
}

TEST_CASE("Smallest number of slots is none where receives wait for each other") {
  Schedule frame = exchange(1);
  Streams streams = collsim::testing::unroll(frame);
  for (const std::size_t rank : {0U, 1U}) std::swap(streams[rank][0][0], streams[rank][0][1]);
  const SmallestSlots found = smallest_slots(roll(frame, streams));
  CHECK(found.known);
  CHECK_FALSE(found.slots);
}

TEST_CASE("Smallest number of slots is not known of what is malformed or too long") {
  Schedule frame = exchange(1);
  Streams streams = collsim::testing::unroll(frame);
  streams[0][0][0].peer.rank = 0;
  CHECK_FALSE(smallest_slots(roll(frame, streams)).known);
  streams = collsim::testing::unroll(frame);
  streams[0][0][0].chunk.region = 9;
  CHECK_FALSE(smallest_slots(roll(frame, streams)).known);
  Schedule endless = frame;
  endless.programs[0].loops[0].trips = 100'000'000;
  CHECK_FALSE(smallest_slots(endless).known);
}
