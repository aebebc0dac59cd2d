// prove() accepts what is right, refutes what is not, and says why.
#include "sim/model/proof.hpp"

#include <doctest/doctest.h>

#include "algorithms/registry.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"

using namespace collsim;
using collsim::testing::Reference;
using collsim::testing::ReferenceOutcome;
using collsim::testing::roll;
using collsim::testing::Streams;
using collsim::testing::unroll;

namespace {

Schedule make(const char* name, std::int32_t nodes, std::int32_t gpus, const AlgorithmOptions& options = {}) {
  Placement placement;
  placement.nodes = nodes;
  placement.gpus_per_node = gpus;
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = true;
  Collective collective;
  collective.bytes = Bytes(4 * 4 * 1000);
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  return std::get<Schedule>(made);
}

std::vector<std::string> texts(const Proof& proof) {
  std::vector<std::string> result;
  for (const ProofFailure& failure : proof.failures) result.push_back(failure.text);
  return result;
}

using Texts = std::vector<std::string>;

bool any_contains(const Proof& proof, const std::string& part) {
  for (const ProofFailure& failure : proof.failures)
    if (failure.text.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("Proof counts the messages of a ring") {
  const Proof proof = prove(make("ring", 1, 5));
  CHECK(proof.proven);
  CHECK_FALSE(proof.deadlock);
  CHECK(proof.messages == 2 * 5 * 4);
}

TEST_CASE("Proof of one rank that does nothing holds, of several does not") {
  Collective collective;
  CHECK(prove(empty_schedule("none", collective, 1)).proven);
  const Proof proof = prove(empty_schedule("none", collective, 2));
  CHECK_FALSE(proof.proven);
  CHECK(texts(proof) ==
        Texts{"rank 0: block 0 of region 0 lacks rank 1", "rank 1: block 0 of region 0 lacks rank 0"});
}

TEST_CASE("Proof holds for the unrolled form of every algorithm") {
  for (const char* name : {"ring", "double_binary_tree", "binomial_tree", "cascade", "two_shot"})
    for (const std::int32_t gpus : {2, 3, 6, 7}) {
      const Schedule schedule = make(name, 1, gpus);
      CAPTURE(name);
      CHECK(prove(roll(schedule, unroll(schedule))).proven);
    }
  CHECK(prove(roll(make("nvls", 1, 4), unroll(make("nvls", 1, 4)))).proven);
  CHECK(prove(roll(make("sharp", 2, 3), unroll(make("sharp", 2, 3)))).proven);
}

TEST_CASE("Proof finds a dropped contribution") {
  const Schedule good = make("ring", 1, 3);
  Streams streams = unroll(good);
  // Rank 1 overwrites block 2 in its first receive instead of adding.
  streams[1][1][0].kind = OperationKind::receive;
  const Proof proof = prove(roll(good, streams));
  CHECK_FALSE(proof.proven);
  CHECK(texts(proof) == Texts{"rank 0: block 2 of region 0 lacks rank 1",
                              "rank 1: block 2 of region 0 lacks rank 1",
                              "rank 2: block 2 of region 0 lacks rank 1"});
  CHECK(proof.failures[0].rank == 0);
  CHECK(proof.failures[0].stream == 1);
  CHECK(proof.failures[0].step == 2);
}

TEST_CASE("Proof finds a doubled contribution") {
  const Schedule good = make("binomial_tree", 1, 4);
  Streams streams = unroll(good);
  // Rank 1 sends twice, and rank 0 adds twice.
  streams[1][0].insert(streams[1][0].begin(), streams[1][0][0]);
  streams[0][0].insert(streams[0][0].begin(), streams[0][0][0]);
  const Proof proof = prove(roll(good, streams));
  CHECK(texts(proof) == Texts{"rank 0: block 0 of region 0 holds rank 1 twice",
                              "rank 1: block 0 of region 0 holds rank 1 twice",
                              "rank 2: block 0 of region 0 holds rank 1 twice",
                              "rank 3: block 0 of region 0 holds rank 1 twice"});
}

TEST_CASE("Proof names what is doubled and what is missing in one sentence") {
  const Schedule good = make("binomial_tree", 1, 2);
  Streams streams = unroll(good);
  // Rank 1 keeps its own and gets its own back: rank 0 sends before it has added, three times over.
  const Operation send = streams[0][0][1];
  const Operation add = streams[0][0][0];
  const Operation up = streams[1][0][0];
  streams[0][0] = {add, add, add, send};
  streams[1][0] = {up, up, up, streams[1][0][1]};
  const Proof proof = prove(roll(good, streams));
  CHECK(texts(proof) == Texts{"rank 0: block 0 of region 0 holds rank 1 3 times",
                              "rank 1: block 0 of region 0 holds rank 1 3 times"});
  streams[0][0][0].kind = OperationKind::receive;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 0: block 0 of region 0 holds rank 1 3 times and lacks rank 0",
              "rank 1: block 0 of region 0 holds rank 1 3 times and lacks rank 0"});
}

TEST_CASE("Proof finds contents that arrive in the wrong block") {
  const Schedule good = make("ring", 1, 2);
  Streams streams = unroll(good);
  // In the gathering step rank 1 stores block 0 as block 1.
  streams[1][1][1].chunk.block = 1;
  const Proof proof = prove(roll(good, streams));
  CHECK_FALSE(proof.proven);
  CHECK(any_contains(proof, "rank 1: block 0 of region 0 lacks rank 0"));
  CHECK(
      any_contains(proof,
                   "rank 1: block 1 of region 0 holds block 0 of region 0 of rank 0, block 0 of region 0 of "
                   "rank 1 and lacks rank 0, rank 1"));
}

TEST_CASE("Proof finds a wrong peer") {
  const Schedule good = make("ring", 1, 4);
  Streams streams = unroll(good);
  for (Operation& item : streams[2][0]) item.peer.rank = 0;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 2 sends 6 messages to rank 0 on channel 0, which receives 0",
              "rank 2 sends 0 messages to rank 3 on channel 0, which receives 6"});
  streams = unroll(good);
  for (Operation& item : streams[2][0]) item.peer.rank = 2;
  CHECK(texts(prove(roll(good, streams))) == Texts{"rank 2, stream 0: its peer is rank 2, which is itself"});
  for (Operation& item : streams[2][0]) item.peer.rank = 9;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 2, stream 0: its peer is rank 9, which does not exist"});
}

TEST_CASE("Proof finds two streams on one connection") {
  const Schedule good = make("two_shot", 1, 2);
  Streams streams = unroll(good);
  streams[1][0][0].peer.channel = 1;
  const Proof proof = prove(roll(good, streams));
  CHECK(any_contains(
      proof, "rank 1: streams 0 and 1 both receive on the connection from rank 0 to rank 1 on channel 1"));
}

TEST_CASE("Proof finds an access outside the layout") {
  const Schedule good = make("ring", 1, 3);
  Streams streams = unroll(good);
  streams[0][0][0].chunk.block = 3;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 0, stream 0, step 0: send of block 3 of region 0 is outside the 1 regions of 3 blocks"});
  streams[0][0][0].chunk = Chunk{Buffer::scratch, 0, 0, 1};
  CHECK(texts(prove(roll(good, streams))) == Texts{"rank 0, stream 0, step 0: send of block 0 of region 0 of "
                                                   "scratch is outside the 0 regions of 3 blocks"});
  streams = unroll(good);
  streams[0][1][0].chunk.buffer = Buffer::input;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 0, stream 1, step 0: receive_reduce writes to the input"});
}

TEST_CASE("Proof finds messages of unequal size") {
  const Schedule good = make("ring", 1, 3);
  Streams streams = unroll(good);
  streams[1][1][0].chunk.block = 0;
  streams[1][1][0].chunk.span = 2;
  CHECK(texts(prove(roll(good, streams))) == Texts{"rank 1, stream 1, step 0: receive_reduce of blocks 0 to "
                                                   "1 of region 0 (10668 bytes) does not fit what "
                                                   "rank 0 gives, block 2 of region 0 (5332 bytes)"});
}

TEST_CASE("Proof finds a dependency on nothing") {
  const Schedule good = make("ring", 1, 3);
  Streams streams = unroll(good);
  streams[1][0][1].waits[0].operation = 4;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 1, stream 0: step 1 waits for step 4 of stream 1, which has 4 steps"});
  streams[1][0][1].waits[0].stream = 2;
  CHECK(texts(prove(roll(good, streams))) ==
        Texts{"rank 1, stream 0: it waits for stream 2, which does not exist"});
}

TEST_CASE("Proof finds a dropped dependency that could read too early") {
  const Schedule good = make("ring", 1, 3);
  Streams streams = unroll(good);
  streams[1][0][2].waits.clear();
  const Proof proof = prove(roll(good, streams));
  CHECK_FALSE(proof.proven);
  CHECK_FALSE(proof.deadlock);
  // Without it, what goes round is old, and the later overwrites no longer follow the reads.
  CHECK(
      texts(proof) ==
      Texts{"rank 0: block 1 of region 0 lacks rank 0, rank 2",
            "rank 2: block 1 of region 0 lacks rank 0, rank 2",
            "rank 1, stream 1, step 1: receive_reduce of block 1 of region 0 is not ordered after send in "
            "step 2 "
            "of stream 0",
            "rank 2, stream 1, step 2: receive of block 1 of region 0 is not ordered after send in step 0 of "
            "stream 0",
            "rank 0, stream 1, step 3: receive of block 1 of region 0 is not ordered after send in step 1 of "
            "stream 0"});
}

TEST_CASE("Proof finds an overwrite that does not wait for a read") {
  // Rank 0 sends its own vector to rank 1 in one stream, and overwrites it by rank 2's in another.
  const Schedule frame = make("binomial_tree", 1, 3);
  Streams streams(3);
  const auto item = [](OperationKind kind, Rank peer, std::int32_t channel) {
    Operation result;
    result.kind = kind;
    result.peer = Peer{peer, channel};
    return result;
  };
  streams[0] = {{item(OperationKind::send, 1, 0)}, {item(OperationKind::receive, 2, 0)}};
  streams[1] = {{item(OperationKind::receive_reduce, 0, 0)}};
  streams[2] = {{item(OperationKind::send, 0, 0)}};
  const Proof proof = prove(roll(frame, streams));
  CHECK(any_contains(
      proof,
      "rank 0, stream 1, step 0: receive of block 0 of region 0 is not ordered after send in step 0 "
      "of stream 0"));
}

TEST_CASE("Proof follows order through messages where the dependencies do not show it") {
  // Rank 0 sends, rank 1 answers, twice: the second answer comes after both sends, in another stream.
  const Schedule frame = make("binomial_tree", 1, 2);
  Streams streams(2);
  const auto item = [](OperationKind kind, Rank peer) {
    Operation result;
    result.kind = kind;
    result.peer = Peer{peer, 0};
    return result;
  };
  streams[0] = {{item(OperationKind::send, 1), item(OperationKind::send, 1)},
                {item(OperationKind::receive, 1)}};
  streams[1] = {
      {item(OperationKind::receive, 0), item(OperationKind::receive, 0), item(OperationKind::send, 0)}};
  // Values are wrong (rank 1 overwrites), but the order is certain.
  CHECK(texts(prove(roll(frame, streams))) ==
        Texts{"rank 0: block 0 of region 0 lacks rank 1", "rank 1: block 0 of region 0 lacks rank 1"});
  // Answering after the first message leaves the second send unordered.
  std::swap(streams[1][0][1], streams[1][0][2]);
  CHECK(any_contains(
      prove(roll(frame, streams)),
      "rank 0, stream 1, step 0: receive of block 0 of region 0 is not ordered after send in step 1 "
      "of stream 0"));
}

TEST_CASE("Proof reports who waits for what in a deadlock") {
  const Schedule good = make("binomial_tree", 1, 2);
  Streams streams = unroll(good);
  std::swap(streams[1][0][0], streams[1][0][1]);
  const Proof proof = prove(roll(good, streams));
  CHECK(proof.deadlock);
  CHECK(texts(proof) ==
        Texts{"rank 0, stream 0, step 0: receive_reduce waits for a message from rank 1 on channel 0",
              "rank 1, stream 0, step 0: receive waits for a message from rank 0 on channel 0"});
}

TEST_CASE("Proof reports a deadlock for want of slots") {
  // Both ranks send two messages before they receive.
  Schedule frame = make("binomial_tree", 1, 2);
  frame.layout = Layout(4, 4, {2}, 1);
  Streams streams(2);
  for (const Rank rank : {0, 1}) {
    std::vector<Operation> items(4);
    for (std::size_t i = 0; i < 4; ++i) {
      items[i].kind = i < 2 ? OperationKind::send : OperationKind::receive_reduce;
      items[i].peer = Peer{1 - rank, 0};
      items[i].chunk.region = static_cast<std::int32_t>(i % 2);
    }
    streams[static_cast<std::size_t>(rank)] = {items};
  }
  Schedule schedule = roll(frame, streams);
  schedule.slots = 2;
  CHECK(prove(schedule).proven);
  schedule.slots = 1;
  const Proof proof = prove(schedule);
  CHECK(proof.deadlock);
  CHECK(texts(proof) == Texts{"rank 0, stream 0, step 1: send waits for a free slot to rank 1 on channel 0",
                              "rank 1, stream 0, step 1: send waits for a free slot to rank 0 on channel 0"});
  schedule.slots = 0;
  CHECK(texts(prove(schedule)) == Texts{"a connection needs at least one slot"});
}

TEST_CASE("Proof reports a missing member of an aggregation, and results that nobody gives") {
  const Schedule good = make("nvls", 1, 3);
  Streams streams = unroll(good);
  streams[1][0].clear();
  const Proof proof = prove(roll(good, streams));
  CHECK(proof.deadlock);
  CHECK(texts(proof) == Texts{"rank 0, stream 0, step 0: aggregate waits for rank 1 in group 0",
                              "rank 0, stream 1, step 0: collect waits for aggregation 0 of group 0",
                              "rank 1, stream 1, step 0: collect waits for aggregation 0 of group 0",
                              "rank 2, stream 0, step 0: aggregate waits for rank 1 in group 0",
                              "rank 2, stream 1, step 0: collect waits for aggregation 0 of group 0"});
}

TEST_CASE("Proof reports a dependency that is never met") {
  const Schedule good = make("ring", 1, 2);
  Streams streams = unroll(good);
  streams[0][0][0].waits.push_back({1, 1});
  const Proof proof = prove(roll(good, streams));
  CHECK(proof.deadlock);
  CHECK(texts(proof)[0] == "rank 0, stream 0, step 0: send waits for step 1 of stream 1");
}

TEST_CASE("Proof checks who is in a group and who may collect") {
  Schedule bad = make("nvls", 1, 3);
  bad.group = [](std::int32_t) {
    AggregationGroup group;
    group.members = {0, 1};
    return group;
  };
  CHECK(texts(prove(bad)) == Texts{"group 0: rank 2 is no member", "group 0: rank 2 is no member"});
  bad.group = [](std::int32_t) {
    AggregationGroup group;
    group.members = {0, 1, 1};
    return group;
  };
  CHECK(texts(prove(bad)) == Texts{"group 0: rank 1 is twice in it or does not exist"});
  bad.group = [](std::int32_t) {
    AggregationGroup group;
    group.members = {0, 1, 2};
    group.mode = AggregationMode::reduce;
    return group;
  };
  CHECK(texts(prove(bad)) == Texts{"group 0: rank 1 collects, but only the root receives",
                                   "group 0: rank 2 collects, but only the root receives"});
  bad.group_count = 0;
  CHECK_FALSE(prove(bad).proven);
}

TEST_CASE("Proof follows contents through scratch, copies and local reductions") {
  Schedule frame = make("binomial_tree", 1, 2);
  frame.layout.set_scratch_regions(1);
  const Chunk output;
  const Chunk scratch{Buffer::scratch, 0, 0, 1};
  Streams streams(2);
  for (const Rank rank : {0, 1}) {
    std::vector<Operation> items(3);
    items[0].kind = OperationKind::send;
    items[1].kind = OperationKind::receive;
    items[1].chunk = scratch;
    items[2].kind = OperationKind::reduce;
    items[2].source = scratch;
    items[2].chunk = output;
    items[0].peer = items[1].peer = Peer{1 - rank, 0};
    streams[static_cast<std::size_t>(rank)] = {items};
  }
  CHECK(prove(roll(frame, streams)).proven);
  streams[0][0][2].kind = OperationKind::copy;
  CHECK(texts(prove(roll(frame, streams))) == Texts{"rank 0: block 0 of region 0 lacks rank 0"});
  std::swap(streams[1][0][1], streams[1][0][2]);
  CHECK(any_contains(prove(roll(frame, streams)),
                     "rank 1: block 0 of region 0 holds what was in block 0 of region 0 of scratch of rank 1 "
                     "before and lacks rank 0"));
}

TEST_CASE("Proof in batches gives what one pass gives") {
  // 600 ranks x 8 channels x 600 blocks do not fit in one pass.
  AlgorithmOptions options;
  options.channels = 8;
  const Schedule good = make("ring", 1, 600, options);
  const Proof proof = prove_all_cells(good);
  CHECK(proof.proven);
  CHECK(proof.messages == 8LL * 600 * 2 * 599);
  Schedule bad = good;
  bad.bind = [good](Rank rank, std::int32_t stream, Binding& binding) {
    good.bind(rank, stream, binding);
    if (rank == 7 && stream == 15) binding.bases[1] = 6;
  };
  CHECK_FALSE(prove_all_cells(bad).proven);
}

namespace {

// One random change of one operation, or of the order of two.
void mutate(Streams& streams, Random& random, std::int32_t blocks) {
  std::vector<std::vector<Operation>*> filled;
  for (auto& rank : streams)
    for (auto& stream : rank)
      if (!stream.empty()) filled.push_back(&stream);
  std::vector<Operation>& stream = *filled[static_cast<std::size_t>(random.below(filled.size()))];
  const auto at = static_cast<std::size_t>(random.below(stream.size()));
  Operation& item = stream[at];
  switch (random.below(5)) {
    case 0:
      item.waits.clear();
      break;
    case 1:
      item.chunk.block = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(blocks)));
      break;
    case 2:
      if (item.kind != OperationKind::send)
        item.kind =
            item.kind == OperationKind::receive ? OperationKind::receive_reduce : OperationKind::receive;
      break;
    case 3:
      if (at + 1 < stream.size()) std::swap(stream[at], stream[at + 1]);
      break;
    default:
      if (at + 1 < stream.size()) std::swap(stream[at].chunk, stream[at + 1].chunk);
      break;
  }
}

}  // namespace

TEST_CASE("Proof agrees with an independent execution in random orders on mutated schedules") {
  int refuted = 0;
  int accepted = 0;
  int races = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const char* names[] = {"ring", "double_binary_tree", "binomial_tree", "cascade", "two_shot"};
    AlgorithmOptions options;
    options.slots = 1 + static_cast<std::int32_t>(random.below(2));
    const char* const name = names[random.below(5)];
    const auto nodes = 1 + static_cast<std::int32_t>(random.below(2));
    const Schedule good = make(name, nodes, 2 + static_cast<std::int32_t>(random.below(2)), options);
    Schedule frame = good;
    frame.layout = Layout(good.layout.blocks() * good.layout.regions(), 4, {good.layout.regions()},
                          good.layout.blocks());  // all cells equal
    Streams streams = unroll(good);
    const auto mutations = random.below(3);
    for (std::uint64_t i = 0; i < mutations; ++i) mutate(streams, random, good.layout.blocks());
    const Schedule schedule = roll(frame, streams);
    const Proof proof = prove(schedule);
    // Not for the reference, which knows no sizes.
    if (any_contains(proof, "outside") || any_contains(proof, "does not fit")) continue;
    bool wrong = false;
    bool stuck = false;
    for (std::uint64_t order = 0; order < 6; ++order) {
      Reference reference(schedule, seed * 100 + order);
      const ReferenceOutcome outcome = reference.run();
      wrong = wrong || outcome == ReferenceOutcome::wrong;
      stuck = stuck || outcome == ReferenceOutcome::deadlock;
    }
    const bool ordered = !any_contains(proof, "ordered after");
    CHECK(proof.deadlock == stuck);
    if (proof.proven) CHECK_FALSE(wrong);
    if (!proof.proven && !stuck && ordered) CHECK(wrong);
    if (mutations == 0) CHECK(proof.proven);
    (proof.proven ? accepted : refuted) += 1;
    if (!ordered) ++races;
  }
  CHECK(accepted > 150);
  CHECK(refuted > 100);
  CHECK(races > 20);
}
