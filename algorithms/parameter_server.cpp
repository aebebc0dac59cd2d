// Parameter server: the baseline that all-reduce replaced (Li et al., Scaling distributed machine learning
// with the parameter server, OSDI 2014). Every rank pushes its vector to the servers, which add it up and
// send the sums back.
//
// The servers are ranks 0 .. k-1 and workers as well: they contribute and want the result. Server s has block
// s of k.
//   form central   k = 1: over one port a rank 2 (latency + (N - 1) S / B), as if N - 1 workers had a server
//                  that does not contribute
//   form sharded   k = servers, all ranks by default, which is two-shot: 2 (latency + (N - 1) S / (N B))
// Without a form it is sharded where `servers` is given. Servers that only serve do not fit a collective to
// which every rank contributes.
//
// Streams: a server's additions (channel 0); the results of the other servers (channel 1); then one a peer
// that this rank sends to: all others for a server, the servers for a worker. The order is that of two_shot.
#include <algorithm>

#include "algorithms/direct_streams.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t contributions = 0;  // channels
constexpr std::int32_t results = 1;

enum ProgramNumber : std::int32_t {
  server_adds,
  server_receives,
  worker_receives,
  server_to_server,
  server_to_worker,
  worker_to_server
};

// Bases: 0 the own rank, 1 the peer's.
std::vector<Program> programs_of(std::int32_t ranks, std::int32_t servers) {
  const OperationTemplate push = make_operation(OperationKind::send, 0, block_of(1, 0, servers));
  const auto answer = [&](std::int32_t peer) {
    OperationTemplate operation = make_operation(OperationKind::send, peer, block_of(0, 0, servers));
    operation.dependencies.push_back(Dependency{0, std::int64_t{ranks} - 2, 0});
    return operation;
  };
  std::vector<Program> programs(6);
  programs[server_adds] = one_of_each_peer(OperationKind::receive_reduce, ranks - 1,
                                           [&](std::int32_t) { return block_of(0, 0, servers); });
  programs[server_receives] = one_of_each_peer(OperationKind::receive, servers - 1,
                                               [&](std::int32_t i) { return block_of(0, -1 - i, servers); });
  programs[worker_receives] = one_of_each_peer(OperationKind::receive, servers,
                                               [&](std::int32_t i) { return block_of(-1, -1 - i, servers); });
  programs[server_to_server] = Program{{Loop{1, {push, answer(1)}}}};
  programs[server_to_worker] = one_operation(answer(0));
  programs[worker_to_server] = one_operation(push);
  return programs;
}

// rank - 1, rank - 2, ... around the first `count` ranks.
void add_peers_before(Rank rank, std::int32_t count, std::int32_t channel, Binding& binding) {
  for (Rank peer = rank; peer-- > 0;) binding.peers.push_back(Peer{peer, channel});
  for (Rank peer = count; --peer > rank;) binding.peers.push_back(Peer{peer, channel});
}

struct Servers {
  std::int32_t ranks;
  std::int32_t servers;

  // Streams that receive come first.
  std::int32_t receiving(Rank rank) const { return rank < servers && servers > 1 ? 2 : 1; }
  std::int32_t stream_count(Rank rank) const {
    return receiving(rank) + (rank < servers ? ranks - 1 : servers);
  }
  void bind_receives(Rank rank, std::int32_t stream, Binding& binding) const {
    if (rank >= servers) {
      binding.program = worker_receives;
      for (Rank server = servers; server-- > 0;) binding.peers.push_back(Peer{server, results});
    } else if (stream == 0) {
      binding.program = server_adds;
      add_peers_before(rank, ranks, contributions, binding);
    } else {
      binding.program = server_receives;
      add_peers_before(rank, servers, results, binding);
    }
  }
  void bind(Rank rank, std::int32_t stream, Binding& binding) const {
    binding.bases.push_back(rank);
    const std::int32_t number = stream - receiving(rank);
    if (number < 0) return bind_receives(rank, stream, binding);
    const bool serves = rank < servers;
    const Rank peer = serves ? (rank + 1 + number) % ranks : (rank + number) % servers;
    if (peer < servers) binding.peers.push_back(Peer{peer, contributions});
    if (serves) binding.peers.push_back(Peer{peer, results});
    binding.bases.push_back(peer);
    if (serves) binding.streams.push_back(0);
    binding.program = !serves ? worker_to_server : peer < servers ? server_to_server : server_to_worker;
  }
};

std::variant<std::int32_t, Impossible> server_count(const AlgorithmOptions& options, std::int32_t ranks) {
  if (options.servers && (*options.servers < 1 || *options.servers > ranks))
    return Impossible{"servers is " + std::to_string(*options.servers) + "; it must be 1 to " +
                      std::to_string(ranks)};
  const bool central = options.form == "central" || (options.form.empty() && !options.servers);
  if (!central) return options.servers.value_or(ranks);
  if (options.servers.value_or(1) != 1)
    return Impossible{"form central has 1 server, not " + std::to_string(*options.servers)};
  return 1;
}

}  // namespace

ScheduleOrReason parameter_server(const Collective& collective, const Placement& placement,
                                  const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const auto count = server_count(options, ranks);
  if (const auto* wrong = std::get_if<Impossible>(&count)) return *wrong;
  if (ranks == 1) return empty_schedule("parameter_server", collective, 1);
  const Servers servers{ranks, std::get<std::int32_t>(count)};
  if (servers.servers == ranks)
    return direct_reduce_scatter("parameter_server", collective, placement, options);
  Schedule schedule = schedule_frame("parameter_server", collective, placement, options, {}, servers.servers);
  schedule.programs = programs_of(ranks, servers.servers);
  schedule.stream_count = [servers](Rank rank) { return servers.stream_count(rank); };
  schedule.bind = [servers](Rank rank, std::int32_t stream, Binding& binding) {
    servers.bind(rank, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
