// What a run of an instance says of links and ranks.
#include <algorithm>

#include "sim/execution/outcome.hpp"

namespace collsim {

std::vector<std::int64_t> resource_bytes(const Instance& instance, const Outcome& outcome) {
  std::vector<std::int64_t> bytes(instance.resources.size());
  const auto add = [&](std::uint32_t first, std::uint32_t end, std::int64_t count) {
    for (std::uint32_t hop = first; hop < end; ++hop)
      bytes[instance.hops[hop].resource] += count * instance.hops[hop].weight;
  };
  for (std::size_t id = 0; id < instance.connections.size(); ++id)
    add(instance.connections[id].first_hop, instance.connections[id].hop_end, outcome.connection_bytes[id]);
  for (std::size_t id = 0; id < instance.groups.size(); ++id)
    add(instance.groups[id].first_hop, instance.groups[id].hop_end, outcome.group_bytes[id]);
  return bytes;
}

RunResult totals_of(const Outcome& outcome) {
  RunResult result;
  result.status = outcome.status;
  result.time = outcome.time;
  result.job_start = outcome.job_start;
  result.job_finish = outcome.job_finish;
  result.messages = outcome.messages;
  result.events = outcome.events;
  result.fingerprint = outcome.fingerprint;
  result.blocked = outcome.blocked;
  result.packets = outcome.packets;
  return result;
}

RunResult result_of(const Topology& topology, const Instance& instance, const Instance& ran,
                    const Outcome& outcome, const Classes& classes) {
  RunResult result = totals_of(outcome);
  result.rank_finish.resize(static_cast<std::size_t>(topology.ranks()));
  for (std::size_t id = 0; id < instance.streams.size(); ++id) {
    Duration& finish = result.rank_finish[static_cast<std::size_t>(instance.streams[id].rank)];
    finish = std::max(finish, outcome.stream_finish[classes.stream(id)] - Instant());
  }
  if (!outcome.link_bytes.empty()) {
    result.link_bytes = outcome.link_bytes;
    return result;
  }
  result.link_bytes.resize(topology.link_count());
  const std::vector<std::int64_t> bytes = resource_bytes(ran, outcome);
  for (std::size_t id = 0; id < instance.resources.size(); ++id) {
    const LinkId link = instance.resources[id].link;
    if (link.exists()) result.link_bytes[link.value] = Bytes(bytes[classes.resource(id)]);
  }
  return result;
}

}  // namespace collsim
