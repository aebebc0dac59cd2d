#include "algorithms/direct_streams.hpp"

namespace collsim::algorithms {

void add_peers_before(Rank rank, std::int32_t ranks, std::int32_t channel, Binding& binding) {
  for (Rank peer = rank; peer-- > 0;) binding.peers.push_back(Peer{peer, channel});
  for (Rank peer = ranks; --peer > rank;) binding.peers.push_back(Peer{peer, channel});
}

Program one_operation(const OperationTemplate& operation) { return Program{{Loop{1, {operation}}}}; }

Symmetry next_rank(std::int32_t ranks, std::int32_t stream_count, std::int32_t blocks) {
  Symmetry symmetry;
  symmetry.name = "next rank";
  symmetry.stream_count = stream_count;
  symmetry.region_count = 1;
  symmetry.rank = [ranks](Rank rank) { return (rank + 1) % ranks; };
  if (blocks > 1) symmetry.block = Rotation{0, blocks, 1, blocks, 1};
  return symmetry;
}

Schedule direct_all_gather(const char* name, const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, ranks);
  schedule.programs = {one_of_each_peer(OperationKind::receive, ranks - 1,
                                        [&](std::int32_t i) { return block_of(0, -1 - i, ranks); }),
                       one_operation(make_operation(OperationKind::send, 0, block_of(0, 0, ranks)))};
  schedule.stream_count = [ranks](Rank) { return ranks; };
  schedule.bind = [ranks](Rank rank, std::int32_t stream, Binding& binding) {
    binding.bases.push_back(rank);
    binding.program = stream == 0 ? 0 : 1;
    if (stream == 0)
      add_peers_before(rank, ranks, 0, binding);
    else
      binding.peers.push_back(Peer{peer_after(rank, stream - 1, ranks), 0});
  };
  schedule.symmetries.push_back(next_rank(ranks, ranks, ranks));
  return schedule;
}

}  // namespace collsim::algorithms
