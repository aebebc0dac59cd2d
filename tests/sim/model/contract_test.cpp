// What each collective gives and wants, and that prove() accepts what fulfils it and refutes what does not.
#include "sim/model/contract.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/model/proof.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"

using namespace collsim;
using collsim::testing::roll;
using collsim::testing::Streams;

namespace {

using Texts = std::vector<std::string>;

Schedule frame_of(CollectiveKind kind, std::int32_t ranks, std::int32_t blocks, Rank root = 0,
                  bool in_place = true) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(std::int64_t{4} * blocks);
  collective.root = root;
  Schedule frame = empty_schedule("by hand", collective, ranks);
  frame.layout = Layout(blocks, 4, {}, blocks);
  frame.in_place = in_place;
  return frame;
}

Operation message(OperationKind kind, Rank peer, std::int32_t block, Buffer buffer = Buffer::output) {
  Operation item;
  item.kind = kind;
  item.peer = Peer{peer, 0};
  item.chunk.block = block;
  item.chunk.buffer = buffer;
  return item;
}
Operation send(Rank peer, std::int32_t block, Buffer buffer = Buffer::output) {
  return message(OperationKind::send, peer, block, buffer);
}
Operation receive(Rank peer, std::int32_t block) { return message(OperationKind::receive, peer, block); }
Operation add(Rank peer, std::int32_t block) { return message(OperationKind::receive_reduce, peer, block); }
// From input to output.
Operation copy(std::int32_t from, std::int32_t to) {
  Operation item;
  item.kind = OperationKind::copy;
  item.chunk.block = to;
  item.source.block = from;
  item.source.buffer = Buffer::input;
  return item;
}
// Output block = the same block of input + message.
Operation add_to_input(Rank peer, std::int32_t block) {
  Operation item = message(OperationKind::receive_reduce, peer, block);
  item.from_source = true;
  item.source = Chunk{Buffer::input, 0, block, 1};
  return item;
}

Texts texts(const Schedule& schedule) {
  Texts result;
  const Proof proof = prove(schedule);
  CHECK(proof.proven == proof.failures.empty());
  CHECK_FALSE(proof.undecided);
  for (const ProofFailure& failure : proof.failures) result.push_back(failure.text);
  return result;
}

// One stream a rank.
Streams alone(const std::vector<std::vector<Operation>>& ranks) {
  Streams streams;
  for (const std::vector<Operation>& operations : ranks) streams.push_back({operations});
  return streams;
}

std::string before(std::int32_t block, Rank rank) {
  return "what was in block " + std::to_string(block) + " of region 0 of rank " + std::to_string(rank) +
         " before";
}

}  // namespace

TEST_CASE("Contract says who gives and who wants which cell") {
  const Schedule frame = frame_of(CollectiveKind::all_gather, 3, 6);
  const Contract gather(frame);
  CHECK(gather.giver(0) == 0);
  CHECK(gather.giver(5) == 2);
  CHECK(gather.taker(5) == Contract::everybody);
  CHECK(gather.gives(1, 3));
  CHECK_FALSE(gather.gives(1, 4));
  CHECK(gather.wants(0, 4) == Contract::Wants::copy);
  CHECK(gather.origin(0, 4) == Contract::Origin{2, 4});
  const Schedule to_one = frame_of(CollectiveKind::reduce, 3, 6, 1);
  CHECK(Contract(to_one).wants(1, 4) == Contract::Wants::sum);
  CHECK(Contract(to_one).wants(2, 4) == Contract::Wants::nothing);
  CHECK(Contract(to_one).gives(2, 4));
  // Part s of rank r is the part r of rank s.
  const Schedule all = frame_of(CollectiveKind::all_to_all, 3, 6);
  CHECK(Contract(all).origin(1, 4) == Contract::Origin{2, 2});
  CHECK(Contract(all).origin(2, 1) == Contract::Origin{0, 5});
  const Schedule shift = frame_of(CollectiveKind::send_recv, 3, 1);
  CHECK(Contract(shift).origin(0, 0) == Contract::Origin{2, 0});
}

TEST_CASE("Contract is refused where it does not hold together") {
  CHECK(texts(frame_of(CollectiveKind::broadcast, 3, 1, 3)) ==
        Texts{"the root is rank 3, which does not exist"});
  CHECK(texts(frame_of(CollectiveKind::gather, 3, 3, -1)) ==
        Texts{"the root is rank -1, which does not exist"});
  CHECK(texts(frame_of(CollectiveKind::all_to_all, 3, 1)) ==
        Texts{"regions of 1 block have no equal parts for 3 ranks"});
  CHECK(texts(frame_of(CollectiveKind::reduce_scatter, 3, 4)) ==
        Texts{"regions of 4 blocks have no equal parts for 3 ranks"});
  Schedule owned = frame_of(CollectiveKind::scatter, 2, 2);
  owned.owner = [](std::int32_t, std::int32_t) { return 1; };
  CHECK(texts(owned) == Texts{"block 1 of region 0 belongs to rank 1, which has more than its part"});
  owned.owner = [](std::int32_t, std::int32_t block) { return block + 1; };
  CHECK(texts(owned) == Texts{"block 1 of region 0 belongs to rank 2, which does not exist"});
  owned = frame_of(CollectiveKind::all_to_all, 2, 2);
  owned.owner = [](std::int32_t, std::int32_t block) { return block; };
  CHECK(texts(owned) ==
        Texts{"the parts of an all_to_all are in the order of the ranks, and it needs no owners"});
}

TEST_CASE("Proof of a broadcast needs the root's cells everywhere") {
  Schedule frame = frame_of(CollectiveKind::broadcast, 3, 1, 1);
  const Streams good = alone({{receive(1, 0)}, {send(0, 0), send(2, 0)}, {receive(1, 0)}});
  CHECK(texts(roll(frame, good)).empty());
  CHECK(texts(roll(frame, alone({{receive(1, 0)}, {send(0, 0)}, {}}))) ==
        Texts{"rank 2: block 0 of region 0 holds " + before(0, 2) + " and lacks rank 1"});
  Streams adding = good;
  adding[2][0][0] = add(1, 0);
  CHECK(texts(roll(frame, adding)) == Texts{"rank 2: block 0 of region 0 holds " + before(0, 2)});
  frame.collective.root = 2;
  CHECK(texts(roll(frame, good)) ==
        Texts{"rank 0: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 2",
              "rank 1: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 2",
              "rank 2: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 2"});
}

TEST_CASE("Proof of a reduction to a root looks at the root only") {
  Schedule frame = frame_of(CollectiveKind::reduce, 3, 1, 2);
  const Streams good = alone({{send(2, 0)}, {send(2, 0)}, {add(0, 0), add(1, 0)}});
  CHECK(texts(roll(frame, good)).empty());
  Streams bad = good;
  bad[2][0][0] = receive(0, 0);
  CHECK(texts(roll(frame, bad)) == Texts{"rank 2: block 0 of region 0 lacks rank 2"});
  bad = alone({{send(2, 0), send(2, 0)}, {send(2, 0)}, {add(0, 0), add(1, 0), add(0, 0)}});
  CHECK(texts(roll(frame, bad)) == Texts{"rank 2: block 0 of region 0 holds rank 0 twice"});
  frame.collective.root = 0;
  CHECK(texts(roll(frame, good)) == Texts{"rank 0: block 0 of region 0 lacks rank 1, rank 2"});
}

TEST_CASE("Proof of a reduce-scatter asks each rank for its own part") {
  Schedule frame = frame_of(CollectiveKind::reduce_scatter, 2, 2);
  const Streams good = alone({{send(1, 1), add(1, 0)}, {send(0, 0), add(0, 1)}});
  CHECK(texts(roll(frame, good)).empty());
  Schedule turned = frame;
  turned.owner = [](std::int32_t, std::int32_t block) { return 1 - block; };
  CHECK(texts(roll(turned, good)) ==
        Texts{"rank 0: block 1 of region 0 lacks rank 1", "rank 1: block 0 of region 0 lacks rank 0"});
  CHECK(texts(roll(turned, alone({{send(1, 0), add(1, 1)}, {send(0, 1), add(0, 0)}}))).empty());
  // Two regions of one part a rank each, the second in the other order.
  Schedule two = frame;
  two.layout = Layout(4, 4, {2}, 2);
  two.owner = [](std::int32_t region, std::int32_t block) { return region == 0 ? block : 1 - block; };
  Streams streams = good;
  for (const Rank rank : {0, 1}) {
    std::vector<Operation> more = good[static_cast<std::size_t>(1 - rank)][0];
    for (Operation& item : more) {
      item.chunk.region = 1;
      item.peer.rank = 1 - rank;
      streams[static_cast<std::size_t>(rank)][0].push_back(item);
    }
  }
  CHECK(texts(roll(two, streams)).empty());
}

TEST_CASE("Proof of an all-gather wants every part from its owner, and nothing undefined") {
  const Schedule frame = frame_of(CollectiveKind::all_gather, 2, 2);
  const Streams good = alone({{send(1, 0), receive(1, 1)}, {send(0, 1), receive(0, 0)}});
  CHECK(texts(roll(frame, good)).empty());
  Streams bad = good;
  bad[0][0][0] = send(1, 1);  // what nobody has written
  bad[1][0][1] = receive(0, 0);
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 0 of region 0 holds " + before(1, 0) + " and lacks rank 0"});
  CHECK(texts(frame) == Texts{"rank 0: block 1 of region 0 holds " + before(1, 0) + " and lacks rank 1",
                              "rank 1: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 0"});
}

TEST_CASE("Proof of an all-gather that is not in place needs the own part copied") {
  const Schedule frame = frame_of(CollectiveKind::all_gather, 2, 2, 0, false);
  const Streams good = alone({{copy(0, 0), send(1, 0, Buffer::input), receive(1, 1)},
                              {copy(1, 1), send(0, 1, Buffer::input), receive(0, 0)}});
  CHECK(texts(roll(frame, good)).empty());
  Streams bad = good;
  bad[1][0].erase(bad[1][0].begin());
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 1 of region 0 holds " + before(1, 1) + " and lacks rank 1"});
  bad = good;
  bad[0][0][1] = send(1, 1, Buffer::input);  // not its part
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 0 of region 0 holds " + before(1, 0) + " and lacks rank 0"});
}

TEST_CASE("Proof of a scatter and a gather follows the root's parts") {
  Schedule frame = frame_of(CollectiveKind::scatter, 3, 3, 1);
  const Streams out = alone({{receive(1, 0)}, {send(0, 0), send(2, 2)}, {receive(1, 2)}});
  CHECK(texts(roll(frame, out)).empty());
  const Streams crossed = alone({{receive(1, 0)}, {send(0, 2), send(2, 2)}, {receive(1, 2)}});
  CHECK(texts(roll(frame, crossed)) ==
        Texts{"rank 0: block 0 of region 0 holds block 2 of region 0 of rank 1 and lacks rank 1"});
  frame = frame_of(CollectiveKind::gather, 3, 3, 1);
  const Streams in = alone({{send(1, 0)}, {receive(0, 0), receive(2, 2)}, {send(1, 2)}});
  CHECK(texts(roll(frame, in)).empty());
  frame.owner = [](std::int32_t, std::int32_t block) { return 2 - block; };
  CHECK(texts(roll(frame, in)) ==
        Texts{"rank 1: block 0 of region 0 holds " + before(0, 0) + " and lacks rank 2",
              "rank 1: block 2 of region 0 holds " + before(2, 2) + " and lacks rank 0"});
}

TEST_CASE("Proof of an all-to-all wants part r of rank s in part s of rank r") {
  const Schedule frame = frame_of(CollectiveKind::all_to_all, 2, 2, 0, false);
  const Streams good = alone({{copy(0, 0), send(1, 1, Buffer::input), receive(1, 1)},
                              {copy(1, 1), send(0, 0, Buffer::input), receive(0, 0)}});
  CHECK(texts(roll(frame, good)).empty());
  Streams bad = good;
  bad[0][0][1] = send(1, 0, Buffer::input);
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 0 of region 0 holds rank 0 and lacks block 1 of region 0 of rank 0"});
  bad = good;
  bad[1][0][0] = copy(0, 1);
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 1 of region 0 holds block 0 of region 0 of rank 1 and lacks rank 1"});
}

TEST_CASE("Proof of send_recv wants the cells of the rank before") {
  const Schedule frame = frame_of(CollectiveKind::send_recv, 3, 1, 0, false);
  Streams streams(3);
  for (const Rank rank : {0, 1, 2})
    streams[static_cast<std::size_t>(rank)] = {{send((rank + 1) % 3, 0, Buffer::input)},
                                               {receive((rank + 2) % 3, 0)}};
  CHECK(texts(roll(frame, streams)).empty());
  for (const Rank rank : {0, 1, 2}) {
    streams[static_cast<std::size_t>(rank)][0][0].peer.rank = (rank + 2) % 3;
    streams[static_cast<std::size_t>(rank)][1][0].peer.rank = (rank + 1) % 3;
  }
  CHECK(texts(roll(frame, streams)) == Texts{"rank 0: block 0 of region 0 holds rank 1 and lacks rank 2",
                                             "rank 1: block 0 of region 0 holds rank 2 and lacks rank 0",
                                             "rank 2: block 0 of region 0 holds rank 0 and lacks rank 1"});
}

TEST_CASE("Proof of a barrier is that of the collective that it is performed as") {
  Schedule frame = frame_of(CollectiveKind::barrier, 2, 1);
  const Streams sums = alone({{send(1, 0), add(1, 0)}, {send(0, 0), add(0, 0)}});
  Streams heard = sums;
  heard[1][0].pop_back();
  heard[0][0].erase(heard[0][0].begin());
  CHECK(texts(roll(frame, sums)).empty());
  CHECK(texts(roll(frame, heard)) == Texts{"rank 1: block 0 of region 0 lacks rank 0"});
  frame.barrier_as = CollectiveKind::all_gather;
  CHECK(texts(roll(frame, sums)) == Texts{"regions of 1 block have no equal parts for 2 ranks"});
  frame.layout = Layout(0, 1, {}, 2);
  CHECK(texts(roll(frame, alone({{send(1, 0), receive(1, 1)}, {send(0, 1), receive(0, 0)}}))).empty());
  frame.barrier_as = CollectiveKind::broadcast;
  CHECK(texts(roll(frame, sums)) ==
        Texts{"the barrier is performed as broadcast, in which not every rank hears of all others"});
  frame.barrier_as = CollectiveKind::barrier;
  CHECK(texts(roll(frame, sums)) ==
        Texts{"the barrier is performed as barrier, in which not every rank hears of all others"});
}

TEST_CASE("Proof of a one-shot sum reads the unchanged input") {
  const Schedule frame = frame_of(CollectiveKind::all_reduce, 3, 1, 0, false);
  Streams streams(3);
  for (const Rank rank : {0, 1, 2}) {
    const Rank next = (rank + 1) % 3;
    const Rank last = (rank + 2) % 3;
    streams[static_cast<std::size_t>(rank)] = {{send(next, 0, Buffer::input)},
                                               {send(last, 0, Buffer::input)},
                                               {add_to_input(last, 0), add(next, 0)}};
  }
  CHECK(texts(roll(frame, streams)).empty());
  Streams bad = streams;
  bad[1][2][0] = add(0, 0);  // adds to what nobody has written
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 1"});
  bad = streams;
  bad[1][2][1] = add_to_input(2, 0);  // forgets the first
  CHECK(texts(roll(frame, bad)) == Texts{"rank 1: block 0 of region 0 lacks rank 0"});
  bad = streams;
  bad[1][2][0].source.buffer = Buffer::output;
  CHECK(texts(roll(frame, bad)) ==
        Texts{"rank 1: block 0 of region 0 holds " + before(0, 1) + " and lacks rank 1"});
  Schedule in_place = frame;
  in_place.in_place = true;
  CHECK(texts(roll(in_place, streams)) ==
        Texts{"rank 0, stream 0, step 0: send reads the input, but a schedule in place has none beside its "
              "output"});
  bad = streams;
  bad[1][2][1].chunk.buffer = Buffer::input;
  CHECK(texts(roll(frame, bad)) == Texts{"rank 1, stream 2, step 1: receive_reduce writes to the input"});
}

TEST_CASE("Proof takes a complete sum for later than the read only where it contains the own contribution") {
  // Both ranks send their contribution in one stream and receive the sum in another. In place, the sum that
  // comes back contains what the read has taken away; not in place, the contribution is in input.
  for (const bool in_place : {true, false}) {
    CAPTURE(in_place);
    Schedule frame = frame_of(CollectiveKind::all_reduce, 2, 1, 0, in_place);
    Streams streams(2);
    if (in_place) {
      streams[0] = {{send(1, 0)}, {receive(1, 0)}};
      streams[1] = {{add(0, 0), send(0, 0)}};
      CHECK(texts(roll(frame, streams)).empty());
      continue;
    }
    // Rank 0 copies, sends its output to nobody's use, and receives the sum: the read is ordered with
    // nothing.
    streams[0] = {{copy(0, 0), send(1, 1)}, {receive(1, 0)}, {send(1, 0, Buffer::input)}};
    frame.layout = Layout(2, 4, {}, 2);
    streams[0][0][1].chunk.block = 0;
    streams[0][0][1].peer.channel = 1;
    streams[0][0].insert(streams[0][0].begin() + 1, copy(1, 1));
    streams[1] = {{add_to_input(0, 0), send(0, 0)}, {receive(0, 1)}};
    streams[1][1][0].peer.channel = 1;
    const Texts found = texts(roll(frame, streams));
    const std::string wanted =
        "rank 0, stream 1, step 0: receive of block 0 of region 0 is not ordered after send in step 2 of "
        "stream 0";
    CHECK(std::find(found.begin(), found.end(), wanted) != found.end());
  }
}
