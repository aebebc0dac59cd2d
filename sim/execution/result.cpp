// What a run of an instance says of links and ranks.
#include <algorithm>

#include "sim/execution/outcome.hpp"
#include "sim/execution/ways.hpp"

namespace collsim {
namespace {

void add_bytes(const Instance& instance, std::uint32_t first, std::uint32_t end, std::int64_t count,
               std::vector<std::int64_t>& bytes) {
  for (std::uint32_t hop = first; hop < end; ++hop)
    bytes[instance.hops[hop].resource] += count * instance.hops[hop].weight;
}

// Bytes of connections with several routes: each takes its part, the first ones a byte more where they are
// uneven.
class SpreadBytes {
 public:
  SpreadBytes(const Topology& topology, const Conditions& conditions, const WhatRan& what,
              const Outcome& outcome, std::vector<Bytes>& link_bytes)
      : link_bytes_(link_bytes) {
    const Instance& whole = what.whole;
    for (std::size_t id = 0; id < whole.connections.size(); ++id)
      if (whole.connections[id].parts > 1)
        add(first_routes(topology, conditions), whole.connections[id], whole.connections[id].parts,
            outcome.connection_bytes[what.classes.connection(id)]);
    for (std::size_t id = 0; id < whole.detours.size(); ++id)
      if (const Instance::Detour& detour = whole.detours[id]; detour.parts > 1)
        add(*conditions.route_changes[detour.change].routes, whole.connections[detour.connection],
            detour.parts, outcome.detour_bytes[id]);
  }

 private:
  void add(const RouteRule& routes, const Instance::Connection& connection, std::int32_t parts,
           std::int64_t bytes) {
    for (std::int32_t number = 0; number < parts; ++number) {
      links_.clear();
      routes.numbered_route(connection.source, connection.target, connection.channel, number, links_);
      for (const LinkId link : links_)
        link_bytes_[link.value] += Bytes(bytes / parts + (number < bytes % parts ? 1 : 0));
    }
  }

  std::vector<Bytes>& link_bytes_;
  std::vector<LinkId> links_;
};

}  // namespace

std::vector<std::int64_t> resource_bytes(const Instance& instance, const Outcome& outcome) {
  std::vector<std::int64_t> bytes(instance.resources.size());
  const auto add = [&](const auto& user, std::int64_t count) {
    add_bytes(instance, user.first_hop, user.hop_end, count, bytes);
  };
  for (std::size_t id = 0; id < instance.connections.size(); ++id)
    if (instance.connections[id].parts == 1) add(instance.connections[id], outcome.connection_bytes[id]);
  for (std::size_t id = 0; id < instance.detours.size(); ++id)
    if (instance.detours[id].parts == 1) add(instance.detours[id], outcome.detour_bytes[id]);
  for (std::size_t id = 0; id < instance.groups.size(); ++id)
    add(instance.groups[id], outcome.group_bytes[id]);
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

RunResult result_of(const Topology& topology, const Conditions& conditions, const WhatRan& what,
                    const Outcome& outcome) {
  RunResult result = totals_of(outcome);
  result.rank_finish.resize(static_cast<std::size_t>(topology.ranks()));
  for (std::size_t id = 0; id < what.whole.streams.size(); ++id) {
    Duration& finish = result.rank_finish[static_cast<std::size_t>(what.whole.streams[id].rank)];
    finish = std::max(finish, outcome.stream_finish[what.classes.stream(id)] - Instant());
  }
  if (!outcome.link_bytes.empty()) {
    result.link_bytes = outcome.link_bytes;
    return result;
  }
  result.link_bytes.resize(topology.link_count());
  const std::vector<std::int64_t> bytes = resource_bytes(what.ran, outcome);
  for (std::size_t id = 0; id < what.whole.resources.size(); ++id) {
    const LinkId link = what.whole.resources[id].link;
    if (link.exists()) result.link_bytes[link.value] = Bytes(bytes[what.classes.resource(id)]);
  }
  SpreadBytes(topology, conditions, what, outcome, result.link_bytes);
  return result;
}

}  // namespace collsim
