// van de Geijn's broadcast: scatter along a binomial tree, then an all-gather; and the reverse of both as a
// reduce: a reduce-scatter, then a gather along the binomial tree (Barnett, Shuler, van de Geijn et al.,
// Interprocessor collective communication library, SHPCC 1994; Thakur, Rabenseifner, Gropp, IJHPCA 19(1),
// 2005, the broadcast of long messages and Rabenseifner's reduce).
//
//   form ring      N blocks, all-gather or reduce-scatter around the ring of the relative numbers v =
//                  (rank - root) mod N. Broadcast over one port: (ceil(log2 N) + N - 1) latency + 2 (N - 1) /
//                  N * S / B for N a power of two
//   form doubling  P blocks for P the largest power of two up to N: recursive doubling, or halving, among
//                  v < P: 2 log2 P latency + 2 (P - 1) / P * S / B. Number v + P has the whole vector from v
//                  at the end, or gives it to v at the start: latency + S / B more
//
// One stream a rank. The blocks that a rank of the tree holds for its subtree come to it again in the
// all-gather, as in MPI libraries. Channel 0 is the tree's and the whole vectors', channel 1 the exchange's.
#include <bit>

#include "algorithms/common.hpp"
#include "algorithms/nomial.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

// Blocks [Binding::bases[base] + offset, + span). REQUIRES: 0 <= offset < modulus
ChunkExpression range_at(std::int8_t base, std::int32_t offset, std::int32_t modulus, std::int32_t span) {
  ChunkExpression chunk;
  chunk.origin_base = base;
  chunk.block_offset = offset;
  chunk.block_modulus = modulus;
  chunk.span = span;
  return chunk;
}

struct Geijn {
  std::int32_t ranks = 1;
  Rank root = 0;
  bool doubling = false;
  bool reduces = false;
  std::int32_t members = 1;  // of tree and exchange: N, or P
  std::int32_t rounds = 0;   // of recursive doubling
  // Programs: [2 * z + (has an extra rank)] of extent 2^z, then the same for the numbers that `members` cuts
  // off (ring), the last for extra ranks (doubling).
  std::int32_t levels = 0;  // extents 2^0 .. 2^(levels - 1), and the root's

  std::int32_t extra(std::int32_t number) const { return number + members < ranks ? 1 : 0; }
  Peer peer(std::int64_t number, std::int32_t channel) const {
    return Peer{static_cast<Rank>((number + root) % ranks), channel};
  }
  std::int32_t level_of(std::int32_t number) const {
    return number == 0 ? levels : std::countr_zero(static_cast<std::uint32_t>(number));
  }
  std::int32_t extent_of(std::int32_t number) const {
    const std::int64_t whole = std::int64_t{1} << level_of(number);
    return static_cast<std::int32_t>(std::min<std::int64_t>(whole, members - number));
  }
  std::int32_t program_of(std::int32_t number) const {
    if (number >= members) return 4 * (levels + 1);
    const std::int32_t level = level_of(number);
    const bool cut = extent_of(number) < std::int64_t{1} << level;
    return 2 * (level + (cut ? levels + 1 : 0)) + extra(number);
  }

  std::vector<Program> programs() const;
  Program member_program(std::int32_t extent, bool is_root, bool has_extra) const;
  void add_tree(std::vector<OperationTemplate>& body, std::int32_t extent, bool is_root) const;
  std::vector<Loop> exchange(std::int32_t first_peer) const;
  void bind(Rank rank, Binding& binding) const;
};

// Peers 0 .. children - 1 are the children, nearest first, then the parent.
void Geijn::add_tree(std::vector<OperationTemplate>& body, std::int32_t extent, bool is_root) const {
  std::vector<OperationTemplate> children;
  for_each_child(extent, 2, [&](std::int32_t distance, std::int32_t span) {
    children.push_back(make_operation(reduces ? OperationKind::receive : OperationKind::send,
                                      static_cast<std::int32_t>(children.size()),
                                      range_at(0, distance, members, span)));
  });
  const auto parent = static_cast<std::int32_t>(children.size());
  if (reduces) {
    body.insert(body.end(), children.begin(), children.end());
    if (!is_root)
      body.push_back(make_operation(OperationKind::send, parent, range_at(0, 0, members, extent)));
    return;
  }
  if (!is_root)
    body.push_back(make_operation(OperationKind::receive, parent, range_at(0, 0, members, extent)));
  body.insert(body.end(), children.rbegin(), children.rend());
}

// Ring: peers next and previous. Doubling: the partner of each round; bases 1 + 2j and 2 + 2j are where the
// own and the partner's blocks of round j begin.
std::vector<Loop> Geijn::exchange(std::int32_t first_peer) const {
  const OperationKind kind = reduces ? OperationKind::receive_reduce : OperationKind::receive;
  if (!doubling) {
    // Trip k: all-gather sends block v - k and receives v - 1 - k, reduce-scatter one block further back.
    const auto block = [&](std::int32_t offset) {
      ChunkExpression chunk;
      chunk.block_base = 0;
      chunk.block_offset = offset - (reduces ? 1 : 0);
      chunk.block_stride = -1;
      chunk.block_modulus = members;
      return chunk;
    };
    return {Loop{members - 1,
                 {make_operation(OperationKind::send, first_peer, block(0)),
                  make_operation(kind, first_peer + 1, block(-1))}}};
  }
  Loop loop;
  for (std::int32_t step = 0; step < rounds; ++step) {
    const std::int32_t round = reduces ? rounds - 1 - step : step;
    const auto own = range_at(static_cast<std::int8_t>(1 + 2 * round), 0, 1, 1 << round);
    const auto theirs = range_at(static_cast<std::int8_t>(2 + 2 * round), 0, 1, 1 << round);
    loop.body.push_back(make_operation(OperationKind::send, first_peer + round, reduces ? theirs : own));
    loop.body.push_back(make_operation(kind, first_peer + round, reduces ? own : theirs));
  }
  return {loop};
}

Program Geijn::member_program(std::int32_t extent, bool is_root, bool has_extra) const {
  std::int32_t next = is_root ? 0 : 1;  // peer
  for_each_child(extent, 2, [&](std::int32_t, std::int32_t) { ++next; });
  Loop tree;
  add_tree(tree.body, extent, is_root);
  ChunkExpression whole;
  whole.span = members;
  const std::int32_t extra_peer = next + (doubling ? rounds : 2);
  Program program;
  if (has_extra && reduces)
    program.loops.push_back(Loop{1, {make_operation(OperationKind::receive_reduce, extra_peer, whole)}});
  if (!reduces) program.loops.push_back(tree);
  for (const Loop& loop : exchange(next)) program.loops.push_back(loop);
  if (reduces) program.loops.push_back(tree);
  if (has_extra && !reduces)
    program.loops.push_back(Loop{1, {make_operation(OperationKind::send, extra_peer, whole)}});
  return program;
}

std::vector<Program> Geijn::programs() const {
  std::vector<Program> programs;
  const auto add = [&](std::int32_t extent, bool is_root) {
    for (const bool has_extra : {false, true}) programs.push_back(member_program(extent, is_root, has_extra));
  };
  for (std::int32_t level = 0; level < levels; ++level) add(1 << level, false);
  add(members, true);
  for (std::int32_t level = 0; level < levels; ++level) {
    const std::int32_t last = ((members - 1) >> level) << level;
    add(std::min(1 << level, members - last), false);
  }
  add(members, true);
  ChunkExpression whole;
  whole.span = members;
  const OperationKind kind = reduces ? OperationKind::send : OperationKind::receive;
  programs.push_back(Program{{Loop{1, {make_operation(kind, 0, whole)}}}});
  return programs;
}

void Geijn::bind(Rank rank, Binding& binding) const {
  const std::int32_t number = (rank - root + ranks) % ranks;
  binding.program = program_of(number);
  if (number >= members) {
    binding.peers.push_back(peer(number - members, 0));
    return;
  }
  binding.bases.push_back(number);
  for_each_child(extent_of(number), 2, [&](std::int32_t distance, std::int32_t) {
    binding.peers.push_back(peer(std::int64_t{number} + distance, 0));
  });
  if (number > 0) binding.peers.push_back(peer(number & (number - 1), 0));
  if (!doubling) {
    binding.peers.push_back(peer((number + 1) % ranks, 1));
    binding.peers.push_back(peer((number + ranks - 1) % ranks, 1));
    return;
  }
  for (std::int32_t round = 0; round < rounds; ++round) {
    const std::int32_t partner = number ^ (1 << round);
    binding.peers.push_back(peer(partner, 1));
    for (const std::int32_t member : {number, partner}) binding.bases.push_back((member >> round) << round);
  }
  if (extra(number) != 0) binding.peers.push_back(peer(std::int64_t{number} + members, 0));
}

}  // namespace

ScheduleOrReason van_de_geijn(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("van_de_geijn", collective, 1);
  Geijn plan;
  plan.ranks = ranks;
  plan.root = collective.root;
  plan.doubling = options.form == "doubling";
  plan.reduces = collective.kind == CollectiveKind::reduce;
  const auto largest = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(ranks)));
  plan.members = plan.doubling ? largest : ranks;
  plan.rounds = std::countr_zero(static_cast<std::uint32_t>(largest));
  plan.levels = static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(plan.members - 1)));
  Schedule schedule = schedule_frame("van_de_geijn", collective, placement, options, {}, plan.members);
  schedule.programs = plan.programs();
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [plan](Rank rank, std::int32_t, Binding& binding) { plan.bind(rank, binding); };
  return schedule;
}

}  // namespace collsim::algorithms
