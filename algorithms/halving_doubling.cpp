// Halving-doubling: Gloo's all-reduce by recursive vector halving and distance doubling on chunks, with
// binary blocks where N is no power of two (gloo/allreduce_halving_doubling.h; Thakur, Rabenseifner, Gropp,
// IJHPCA 19(1), 2005).
//
// Chunks      The vector has as many as the largest power of two p <= N.
// Blocks      Ranks are split by the binary digits of N, the largest group first. Every group of 2^a ranks
//             does a reduce-scatter among itself, distances 1, 2, 4, ..: position q (the rank in its group
//             with a bits reversed) ends with chunks q p/2^a and up. Then sums go up: the smallest group
//             gives its chunks to the next larger one, in 2^(b-a) messages a rank, and so on; the largest
//             has the sums of all. They come down the same way, and every group gathers.
// Powers      of two are one group: rabenseifner's schedule.
// Streams     One a rank. Bytes out of a rank: at most about 2 S, and up to S less or more by the groups.
#include <algorithm>

#include "algorithms/butterfly_exchange.hpp"
#include "algorithms/exchange_common.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {
namespace {

// A group of `size` ranks from `first` on; sizes of its neighbours, 0 where there is none.
struct Group {
  std::int32_t first = 0;
  std::int32_t size = 1;
  std::int32_t smaller = 0;
  std::int32_t larger = 0;
  std::int32_t rounds = 0;

  std::int32_t position_of(std::int32_t place) const {
    std::int32_t position = 0;
    for (std::int32_t bit = 0; bit < rounds; ++bit) position = 2 * position + (place >> bit & 1);
    return position;
  }
};

std::vector<Group> groups_of(std::int32_t ranks) {
  std::vector<Group> groups;
  std::int32_t first = 0;
  for (std::int32_t rounds = 30; rounds >= 0; --rounds) {
    const std::int32_t size = std::int32_t{1} << rounds;
    if ((ranks & size) == 0) continue;
    const std::int32_t larger = groups.empty() ? 0 : groups.back().size;
    if (!groups.empty()) groups.back().smaller = size;
    groups.push_back(Group{first, size, 0, larger, rounds});
    first += size;
  }
  return groups;
}

// Bases: 0 the first chunk of the rank's own at the end; 1 + i the first chunk of what it keeps in round i,
// and after those of what it gives away. Peers: of the rounds, of the larger group, of the smaller one.
Program program_of(const Group& group, std::int32_t chunks) {
  const auto at_base = [](std::int32_t base, std::int32_t span) {
    ChunkExpression chunk;
    chunk.origin_base = static_cast<std::int8_t>(base);
    chunk.span = span;
    return chunk;
  };
  const ChunkExpression own = at_base(0, chunks / group.size);
  const std::int32_t larger_peers = group.larger / group.size;
  const std::int32_t smaller_peer = group.rounds + larger_peers;
  Program program;
  for (std::int32_t round = 0; round < group.rounds; ++round) {
    const std::int32_t span = chunks >> (round + 1);
    add_once(program, make_operation(OperationKind::send, round, at_base(1 + group.rounds + round, span)));
    add_once(program, make_operation(OperationKind::receive_reduce, round, at_base(1 + round, span)));
  }
  if (group.smaller > 0) add_once(program, make_operation(OperationKind::receive_reduce, smaller_peer, own));
  for (const OperationKind kind : {OperationKind::send, OperationKind::receive})
    for (std::int32_t i = 0; i < larger_peers; ++i) {
      ChunkExpression piece =
          fixed_blocks(Buffer::output, i * (chunks / group.larger), chunks / group.larger, chunks);
      piece.origin_base = 0;
      add_once(program, make_operation(kind, group.rounds + i, piece));
    }
  if (group.smaller > 0) add_once(program, make_operation(OperationKind::send, smaller_peer, own));
  for (std::int32_t round = group.rounds; round-- > 0;) {
    const std::int32_t span = chunks >> (round + 1);
    add_once(program, make_operation(OperationKind::send, round, at_base(1 + round, span)));
    add_once(program, make_operation(OperationKind::receive, round, at_base(1 + group.rounds + round, span)));
  }
  return program;
}

void bind_place(const Group& group, std::int32_t place, std::int32_t chunks, Binding& binding) {
  const std::int32_t position = group.position_of(place);
  binding.bases.push_back(std::int64_t{position} * (chunks / group.size));
  for (const bool gives : {false, true})
    for (std::int32_t round = 0; round < group.rounds; ++round) {
      const std::int32_t kept = position >> (group.rounds - 1 - round);  // its first round + 1 bits
      binding.bases.push_back(std::int64_t{gives ? kept ^ 1 : kept} * (chunks >> (round + 1)));
    }
  for (std::int32_t round = 0; round < group.rounds; ++round)
    binding.peers.push_back(Peer{group.first + (place ^ 1 << round), 0});
  if (group.larger > 0) {
    const std::int32_t ratio = group.larger / group.size;
    std::int32_t more = 0;  // bits of the larger group
    while (group.size << more < group.larger) ++more;
    const Group larger{group.first - group.larger, group.larger, 0, 0, group.rounds + more};
    for (std::int32_t i = 0; i < ratio; ++i)  // reversing bits again gives the place of a position
      binding.peers.push_back(Peer{larger.first + larger.position_of(position * ratio + i), 0});
  }
  if (group.smaller > 0) binding.peers.push_back(Peer{group.first + group.size + place % group.smaller, 0});
}

}  // namespace

ScheduleOrReason halving_doubling(const Collective& collective, const Placement& placement,
                                  const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("halving_doubling", collective, 1);
  const std::vector<Group> groups = groups_of(ranks);
  if (groups.size() == 1) {
    const auto butterfly =
        std::make_shared<const Butterfly>(ranks, 2, DigitOrder::ascending, FoldKind::even_extras);
    return exchange_in_butterflies({"halving_doubling", {butterfly}, false}, collective, placement, options);
  }
  const std::int32_t chunks = groups.front().size;
  Schedule schedule = schedule_frame("halving_doubling", collective, placement, options, {}, chunks);
  for (const Group& group : groups) schedule.programs.push_back(program_of(group, chunks));
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [groups, chunks](Rank rank, std::int32_t, Binding& binding) {
    std::size_t number = 0;
    while (rank >= groups[number].first + groups[number].size) ++number;
    binding.program = static_cast<std::int32_t>(number);
    bind_place(groups[number], rank - groups[number].first, chunks, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
