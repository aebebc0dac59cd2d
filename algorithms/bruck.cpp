// Bruck: all-gather, reduce-scatter and all-to-all of any number of ranks in ceil(log_k N) rounds (Bruck, Ho,
// Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997; MPICH allgather_intra_brucks, alltoall_intra_brucks).
//
// All-gather  Scratch block i is for the part of rank r + i (modulo N). In round j with d = k^j, for v = 1 ..
//             k-1: r gets from r + v d its first blocks, as blocks v d and up to (v+1) d, or as many as there
//             are. At the end the blocks are turned into place. A barrier (dissemination: Hensgen, Finkel,
//             Manber, IJPP 17(1), 1988) is the all-gather of nothing.
// Reduce-     scatter is the same backwards in time: what was received is sent and what was sent is received
//             and added.
// All-to-all  Scratch block i begins as the part for rank r + i. In round j all blocks with digit j of i
//             equal to v go v d ranks on, packed into one message; then block i is that of rank r - i.
// Streams     0 sends, 1 receives and copies. A send waits only for the receives of what it sends.
// Time        on a port a rank, k = 2: ceil(log2 N) latencies + (N-1)/N S/B, all-to-all ceil(log2 N)
//             (latency + about S/(2B)); the latency of a round whose data was there before is hidden.
#include <algorithm>

#include "algorithms/butterfly.hpp"
#include "algorithms/exchange_common.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {
namespace {

// One message a rank: `distance` ranks away, of `count` blocks.
struct Message {
  std::int32_t distance;  // v * unit
  std::int32_t count;
  std::int32_t unit;  // k^j
  std::int32_t value;
};

// What all-gather sends, in its order.
std::vector<Message> gather_messages(std::int32_t ranks, std::int32_t radix) {
  std::vector<Message> messages;
  for (std::int64_t unit = 1; unit < ranks; unit *= radix)
    for (std::int32_t value = 1; value < radix && value * unit < ranks; ++value) {
      const std::int64_t count = std::min((value + 1) * unit, std::int64_t{ranks}) - value * unit;
      messages.push_back({static_cast<std::int32_t>(value * unit), static_cast<std::int32_t>(count),
                          static_cast<std::int32_t>(unit), value});
    }
  return messages;
}

ChunkExpression scratch(std::int32_t first, std::int32_t span, std::int32_t blocks) {
  return fixed_blocks(Buffer::scratch, first, span, blocks);
}

std::vector<Program> gather_programs(std::int32_t ranks, const std::vector<Message>& messages) {
  Program sends;
  Program receives;
  add_once(receives, make_copy(scratch(0, 1, ranks), relative_block(Buffer::output, 0, ranks)));
  std::vector<std::int32_t> end_of = {1};  // [operation of receives]: the scratch blocks that are there then
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const auto peer = static_cast<std::int32_t>(i);
    OperationTemplate send = make_operation(OperationKind::send, peer, scratch(0, message.count, ranks));
    const auto there = std::lower_bound(end_of.begin(), end_of.end(), message.count);
    send.dependencies.push_back(Dependency{0, there - end_of.begin(), 0});
    add_once(sends, send);
    add_once(receives,
             make_operation(OperationKind::receive, peer, scratch(message.distance, message.count, ranks)));
    end_of.push_back(message.distance + message.count);
  }
  const OperationTemplate turn =
      make_copy(relative_block(Buffer::output, 1, ranks, 1), fixed_blocks(Buffer::scratch, 1, 1, ranks, 1));
  receives.loops.push_back(Loop{std::int64_t{ranks} - 1, {turn}});
  return {sends, receives};
}

std::vector<Program> scatter_programs(std::int32_t ranks, const std::vector<Message>& messages) {
  Program sends;
  Program receives;
  const OperationTemplate turn =
      make_copy(fixed_blocks(Buffer::scratch, 0, 1, ranks, 1), relative_block(Buffer::output, 0, ranks, 1));
  receives.loops.push_back(Loop{ranks, {turn}});
  std::vector<std::int32_t> added;  // [receive]: blocks 0 up to this were added to
  for (std::size_t i = messages.size(); i-- > 0;) {
    const Message& message = messages[i];
    const auto peer = static_cast<std::int32_t>(i);
    OperationTemplate send =
        make_operation(OperationKind::send, peer, scratch(message.distance, message.count, ranks));
    // The last sum into what is sent, or the copy of its last block.
    std::int64_t wait = message.distance + message.count - 1;
    for (std::size_t receive = 0; receive < added.size(); ++receive)
      if (added[receive] > message.distance) wait = ranks + static_cast<std::int64_t>(receive);
    send.dependencies.push_back(Dependency{0, wait, 0});
    add_once(sends, send);
    add_once(receives, make_operation(OperationKind::receive_reduce, peer, scratch(0, message.count, ranks)));
    added.push_back(message.count);
  }
  add_once(receives, make_copy(relative_block(Buffer::output, 0, ranks), scratch(0, 1, ranks)));
  return {sends, receives};
}

// Of the scratch blocks below `ranks`, those whose digit of this message has its value.
std::int32_t digit_blocks(std::int32_t ranks, std::int32_t radix, const Message& message) {
  const std::int64_t turn = std::int64_t{message.unit} * radix;
  const std::int64_t whole = ranks / turn;
  const std::int64_t rest = std::clamp<std::int64_t>(ranks % turn - message.distance, 0, message.unit);
  return static_cast<std::int32_t>(whole * message.unit + rest);
}

// Copies between the blocks of a message where they lie, runs of `unit`, and `packed` and up.
void add_packing(Program& program, std::int32_t ranks, std::int32_t radix, const Message& message,
                 std::int32_t packed, std::int32_t blocks, bool packs) {
  const auto add = [&](std::int64_t trips, std::int32_t first, std::int32_t span) {
    const std::int64_t turn = std::int64_t{message.unit} * radix;
    const auto stride = static_cast<std::int32_t>(trips > 1 ? turn : 0);
    const ChunkExpression apart = fixed_blocks(
        Buffer::scratch, static_cast<std::int32_t>(first * turn) + message.distance, span, blocks, stride);
    const ChunkExpression together = fixed_blocks(Buffer::scratch, packed + first * message.unit, span,
                                                  blocks, trips > 1 ? message.unit : 0);
    program.loops.push_back(Loop{trips, {packs ? make_copy(together, apart) : make_copy(apart, together)}});
  };
  const std::int32_t count = digit_blocks(ranks, radix, message);
  const std::int32_t whole = count / message.unit;
  if (whole > 0) add(whole, 0, message.unit);
  if (count % message.unit > 0) add(1, whole, count % message.unit);
}

// Scratch: the N blocks, a message to send, a message received.
std::vector<Program> exchange_programs(std::int32_t ranks, std::int32_t radix,
                                       const std::vector<Message>& messages, std::int32_t blocks) {
  const std::int32_t sent = ranks;
  const std::int32_t received = ranks + (blocks - ranks) / 2;
  Program sends;
  Program receives;
  receives.loops.push_back(Loop{ranks,
                                {make_copy(fixed_blocks(Buffer::scratch, 0, 1, blocks, 1),
                                           relative_block(Buffer::input, 0, ranks, 1))}});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto peer = static_cast<std::int32_t>(i);
    const std::int32_t count = digit_blocks(ranks, radix, messages[i]);
    const std::size_t first_pack = receives.loops.size();
    add_packing(receives, ranks, radix, messages[i], sent, blocks, true);
    if (i > 0) {  // the message before must have left its place
      OperationTemplate wait;
      wait.dependencies.push_back(Dependency{0, static_cast<std::int64_t>(i) - 1, 0});
      receives.loops.insert(receives.loops.begin() + static_cast<std::ptrdiff_t>(first_pack),
                            Loop{1, {wait}});
    }
    OperationTemplate send = make_operation(OperationKind::send, peer, scratch(sent, count, blocks));
    send.dependencies.push_back(Dependency{0, receives.operation_count() - 1, 0});
    add_once(sends, send);
    add_once(receives, make_operation(OperationKind::receive, peer, scratch(received, count, blocks)));
    add_packing(receives, ranks, radix, messages[i], received, blocks, false);
  }
  const OperationTemplate turn =
      make_copy(relative_block(Buffer::output, 0, ranks, -1), fixed_blocks(Buffer::scratch, 0, 1, blocks, 1));
  receives.loops.push_back(Loop{ranks, {turn}});
  return {sends, receives};
}

}  // namespace

ScheduleOrReason bruck(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options) {
  if (auto wrong = check_radix(options)) return *wrong;
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return single_rank_schedule("bruck", collective, placement, options);
  const std::int32_t radix = options.radix.value_or(2);
  const std::vector<Message> messages = gather_messages(ranks, radix);
  Schedule schedule = schedule_frame("bruck", collective, placement, options, {}, ranks);
  schedule.barrier_as = CollectiveKind::all_gather;
  std::int32_t blocks = ranks;
  if (collective.kind == CollectiveKind::all_to_all) {
    std::int32_t most = 0;
    for (const Message& message : messages) most = std::max(most, digit_blocks(ranks, radix, message));
    blocks += 2 * most;
    schedule.in_place = false;
    schedule.programs = exchange_programs(ranks, radix, messages, blocks);
  } else {
    schedule.programs = collective.kind == CollectiveKind::reduce_scatter ? scatter_programs(ranks, messages)
                                                                          : gather_programs(ranks, messages);
  }
  schedule.layout.set_scratch_blocks(blocks);
  const bool sends_up =
      collective.kind == CollectiveKind::reduce_scatter || collective.kind == CollectiveKind::all_to_all;
  // Of rank 0: bases 0 is the own rank.
  const auto bind = [messages, ranks, sends_up](std::int32_t stream, Binding& binding) {
    binding.program = stream;
    binding.bases.push_back(0);
    binding.streams.push_back(1 - stream);
    const bool up = (stream == 0) == sends_up;
    for (const Message& message : messages)
      binding.peers.push_back(Peer{up ? message.distance : ranks - message.distance, 0});
  };
  set_translated_streams(schedule, {{TranslationKind::rotation, ranks}, 2, 1, bind});
  schedule.symmetries = {next_rank_symmetry(ranks, 2)};
  return schedule;
}

}  // namespace collsim::algorithms
