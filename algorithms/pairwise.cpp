// Pairwise: in step k = 1 .. N-1 every rank exchanges one part with one partner, so that each step is a
// permutation (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPICH alltoall_intra_pairwise and
// reduce_scatter_intra_pairwise).
//
// Form        rotation: sends to r + k, receives from r - k. xor: both with r XOR k, for powers of two.
// Collectives all_to_all: the part for the partner. reduce_scatter: the same, added up at the receiver.
//             all_gather: the own part.
// Streams     A step begins when the one before has ended, as in one stream. That is cut into pieces of 64
//             steps that wait for each other, so that a binding has few peers at any rank count.
// Time        on a port a rank: (N-1) (latency + S/(NB)). Bytes out of a rank: (N-1)/N of the vector.
#include <algorithm>

#include "algorithms/exchange_common.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t steps_of_piece = 64;

// Steps [begin, end) of one stream. Bases: 0 is the own rank; form xor: then the partner of every step.
struct Piece {
  CollectiveKind kind;
  std::int32_t ranks;
  bool by_xor;
  std::int32_t begin;
  std::int32_t end;
};

ChunkExpression part_of(const Piece& piece, std::int32_t step, bool sends, Buffer buffer) {
  ChunkExpression chunk = relative_block(buffer, sends ? step : -step, piece.ranks);
  if (!piece.by_xor) return chunk;
  chunk.block_base = static_cast<std::int8_t>(1 + step - piece.begin);
  chunk.block_offset = 0;
  return chunk;
}

Program program_of(const Piece& piece) {
  const bool exchanges = piece.kind == CollectiveKind::all_to_all;
  const bool gathers = piece.kind == CollectiveKind::all_gather;
  const bool adds = piece.kind == CollectiveKind::reduce_scatter;
  const ChunkExpression own = relative_block(Buffer::output, 0, piece.ranks);
  Program program;
  if (exchanges && piece.begin == 1)
    add_once(program, make_copy(own, relative_block(Buffer::input, 0, piece.ranks)));
  for (std::int32_t step = piece.begin; step < piece.end; ++step) {
    const std::int32_t peer = 2 * (step - piece.begin);
    const Buffer from = exchanges ? Buffer::input : Buffer::output;
    OperationTemplate send =
        make_operation(OperationKind::send, peer, gathers ? own : part_of(piece, step, true, from));
    // The last operation of the piece before; the first one has the copy on top.
    const std::int64_t last = 2 * std::int64_t{steps_of_piece} - 1;
    if (step == piece.begin && step > 1)
      send.dependencies.push_back(Dependency{0, last + (exchanges && piece.begin == 1 + steps_of_piece), 0});
    add_once(program, send);
    add_once(program, make_operation(adds ? OperationKind::receive_reduce : OperationKind::receive, peer + 1,
                                     adds ? own : part_of(piece, step, false, Buffer::output)));
  }
  return program;
}

// One bit of all rank numbers turned.
std::vector<Symmetry> bit_symmetries(std::int32_t ranks, std::int32_t streams) {
  std::vector<Symmetry> symmetries;
  for (std::int32_t unit = 1; unit < ranks; unit *= 2) {
    Symmetry& symmetry = symmetries.emplace_back(next_rank_symmetry(ranks, streams));
    symmetry.name = "rank XOR " + std::to_string(unit);
    symmetry.rank = [unit](Rank rank) { return rank ^ unit; };
    symmetry.block = Rotation{0, ranks, unit, 2, 1};
  }
  return symmetries;
}

}  // namespace

ScheduleOrReason pairwise(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const bool by_xor = options.form == "xor";
  if (by_xor && (ranks & (ranks - 1)) != 0)
    return Impossible{"form xor needs a power of two of ranks, not " + std::to_string(ranks)};
  if (ranks == 1) return single_rank_schedule("pairwise", collective, placement, options);
  Schedule schedule = schedule_frame("pairwise", collective, placement, options, {}, ranks);
  schedule.in_place = collective.kind != CollectiveKind::all_to_all;
  const std::int32_t size = steps_of_piece;
  for (std::int32_t begin = 1; begin < ranks; begin += size)
    schedule.programs.push_back(
        program_of({collective.kind, ranks, by_xor, begin, std::min(begin + size, ranks)}));
  const auto streams = static_cast<std::int32_t>(schedule.programs.size());
  const Translation translation{by_xor ? TranslationKind::exclusive_or : TranslationKind::rotation, ranks};
  const auto bind = [translation, by_xor](std::int32_t stream, Binding& binding) {  // of rank 0
    binding.program = stream;
    binding.bases.push_back(0);
    if (stream > 0) binding.streams.push_back(stream - 1);
    const std::int32_t begin = 1 + stream * steps_of_piece;
    for (Rank to = begin; to < std::min(begin + steps_of_piece, translation.ranks); ++to) {
      binding.peers.push_back(Peer{to, 0});
      binding.peers.push_back(Peer{translation.home(to), 0});
      if (by_xor) binding.bases.push_back(to);
    }
  };
  set_translated_streams(schedule, {translation, streams, 1 + steps_of_piece, bind});
  if (by_xor)
    schedule.symmetries = bit_symmetries(ranks, streams);
  else
    schedule.symmetries = {next_rank_symmetry(ranks, streams)};
  return schedule;
}

}  // namespace collsim::algorithms
