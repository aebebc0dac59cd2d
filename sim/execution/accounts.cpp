// Executor: accounts of the critical path. Only explained runs come here.
#include <algorithm>

#include "sim/execution/executor.hpp"

namespace collsim {

void Executor::add_accounts() {
  chain_.resize(streams_.size());
  drain_start_.resize(local_.first_background);
  alone_rate_.resize(local_.first_background);
  if (!transport_) {
    for (ConnectionId id = 0; id < connections_.size(); ++id)
      alone_rate_[connections_[id].flow] = instance_.connections[id].alone;
    for (std::uint32_t id = 0; id < instance_.detours.size(); ++id)
      alone_rate_[flow_of_detour(instance_, id)] = instance_.detours[id].alone;
    for (GroupId id = 0; id < groups_.size(); ++id) {
      const Instance::Group& group = instance_.groups[id];
      Bandwidth& rate = alone_rate_[group_flow(id)];
      rate = group.rate_max.value_or(instance_.resources[instance_.hops[group.first_hop].resource].capacity);
      for (std::uint32_t hop = group.first_hop; hop < group.hop_end; ++hop)
        rate = std::min(rate, instance_.resources[instance_.hops[hop].resource].capacity);
    }
  }
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Instance::Stream& stream = instance_.streams[id];
    const std::uint32_t memory = draws(id) ? instance_.memories[stream.memory].resource : none;
    const auto alone = [&](std::uint32_t unit) {
      if (unit == none || memory == none) return instance_.resources[std::min(unit, memory)].capacity;
      return std::min(instance_.resources[unit].capacity, instance_.resources[memory].capacity);
    };
    if (local_.reduce[id] != none) alone_rate_[local_.reduce[id]] = alone(stream.reduce_unit);
    if (local_.copy[id] != none) alone_rate_[local_.copy[id]] = alone(stream.copy_unit);
  }
  if (transport_) message_start_.resize(connections_.size() + groups_.size());
  in_flight_.resize(connections_.size());
  credits_.resize(connections_.size());
  results_coming_.resize(results_.size());
  aggregations_.resize(groups_.size());
}

void Executor::account_drain(StreamId id, FlowId flow, Bytes size, Duration Chain::*alone_part) {
  const Duration elapsed = now_ - drain_start_[flow];
  const Bandwidth rate = alone_rate_[flow];
  account_time(id, rate > Bandwidth() ? transfer_time(size, rate) : elapsed, elapsed, alone_part);
}

void Executor::account_time(StreamId id, Duration alone, Duration elapsed, Duration Chain::*alone_part) {
  chain_[id].*alone_part += std::min(alone, elapsed);
  chain_[id].contention += elapsed - std::min(alone, elapsed);
}

// With a transport: the account of a message that begins now, as of its arrival if it has the links to
// itself.
Chain Executor::account_start(ConnectionId id, Bytes size, Duration extra) {
  constexpr Duration end_of_time = Duration::picoseconds(std::int64_t{1} << 62);
  Chain chain = chain_[connections_[id].sender];
  Duration alone = transport_->alone_message(id, size);
  if (alone >= end_of_time) alone = Duration();  // a link is down: all of it will be waiting
  const Duration latency = std::min(alone, connections_[id].latency);
  ++chain.messages;
  chain.latency += latency + extra;
  chain.bandwidth += alone - latency;
  return chain;
}

// What took longer than the account expected was waiting for others. A message can also be sooner than it
// would be alone on its first route: over several routes, on another one, or over a link that has become
// better. Then it took less of what was expected of it.
Chain Executor::up_to_now(Chain chain) const {
  const Duration late = now_ - Instant() - chain.total();
  if (late >= Duration()) {
    chain.contention += late;
    return chain;
  }
  const Duration saved = std::min(Duration() - late, chain.bandwidth);
  chain.bandwidth = chain.bandwidth - saved;
  chain.latency = chain.latency - (Duration() - late - saved);
  return chain;
}

}  // namespace collsim
