// The end of a run: its outcome, and for a deadlock who waits for what.
#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/execution/executor.hpp"

namespace collsim {

Outcome Executor::outcome() {
  Outcome outcome;
  outcome.messages = messages_;
  outcome.events = events_;
  outcome.fingerprint = fingerprint_.value();
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Instant finish = streams_[id].finish;
    outcome.stream_finish.push_back(finish);
    if (outcome.last_stream == none || finish > streams_[outcome.last_stream].finish)
      outcome.last_stream = id;
  }
  add_bytes(outcome);
  for (const Group& group : groups_) outcome.group_bytes.push_back(group.bytes);
  if (transport_) {
    outcome.link_bytes = transport_->link_bytes(now_);
    outcome.packets = transport_->facts();
  }
  for (const JobState& job : jobs_) {
    outcome.job_start.push_back(job.start);
    outcome.job_finish.push_back(job.finish);
    outcome.time = std::max(outcome.time, job.finish - Instant());
  }
  limit_reached_ = limit_reached_ || (unfinished_jobs_ > 0 && network_.overflowed() && drains_too_late());
  if (limit_reached_) outcome.status = RunStatus::limit;
  if (!limit_reached_ && unfinished_jobs_ > 0) {
    outcome.status = RunStatus::deadlock;
    find_down_link(outcome);
    outcome.blocked = blocked();
    if (transport_) outcome.standstill = transport_->standstill();
  }
  if (outcome.status != RunStatus::ok) {
    outcome.time = now_ - Instant();
  } else if (options_.explain && outcome.last_stream != none) {
    outcome.chain = chain_[outcome.last_stream];
    COLLSIM_CHECK(outcome.chain.total() == streams_[outcome.last_stream].finish - Instant());
  } else if (options_.explain) {
    outcome.chain.launch = outcome.time;
  }
  return outcome;
}

// Those on the present way of a connection are still in its account.
void Executor::add_bytes(Outcome& outcome) const {
  outcome.connection_bytes = first_bytes_;
  outcome.connection_bytes.resize(connections_.size());
  outcome.detour_bytes = detour_bytes_;
  for (ConnectionId id = 0; id < connections_.size(); ++id) {
    const std::uint32_t detour = detour_.empty() ? none : detour_[id];
    (detour == none ? outcome.connection_bytes[id] : outcome.detour_bytes[detour]) += connections_[id].bytes;
  }
}

std::vector<BlockedStream> Executor::blocked() const {
  std::vector<BlockedStream> result;
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Stream& stream = streams_[id];
    if (stream.phase == Phase::ended || jobs_[stream.job].ended) continue;
    BlockedStream entry;
    entry.job = static_cast<std::int32_t>(stream.job);
    entry.rank = instance_.streams[id].rank;
    entry.stream = instance_.streams[id].number;
    entry.operation = stream.completed;
    entry.waits_for = waits_for(id);
    result.push_back(std::move(entry));
  }
  return result;
}

std::string Executor::waits_for(StreamId id) const {
  const Stream& stream = streams_[id];
  if (stream.phase == Phase::asleep) return "the start of its job";
  const CompiledOperation& operation = instance_.programs.operations[stream.operation];
  const auto place = static_cast<std::uint32_t>(std::max(operation.peer, 0));
  const auto channel_text = [](const Instance::Connection& connection) {
    return " on channel " + std::to_string(connection.channel);
  };
  switch (stream.phase) {
    case Phase::dependency:
      return dependency_text(id, operation);
    case Phase::slot: {
      const ConnectionId number = instance_.send_to[stream.peers + place];
      const Instance::Connection& connection = instance_.connections[number];
      return "a free slot of its connection to rank " + std::to_string(connection.target) +
             channel_text(connection) + " (" + std::to_string(connections_[number].in_use) + " of " +
             std::to_string(connections_[number].slots) + " in use)";
    }
    case Phase::message: {
      const ConnectionId number = instance_.receive_from[stream.peers + place];
      const Instance::Connection& connection = instance_.connections[number];
      return "message " + std::to_string(connections_[number].messages) + " from rank " +
             std::to_string(connection.source) + channel_text(connection) + ", which has not been sent";
    }
    case Phase::draining:
      return transport_ ? "its message to leave" : "its message to drain over a link without capacity";
    case Phase::members:
    case Phase::result: {
      const std::uint32_t member = instance_.member_slots[instance_.streams[id].groups + place];
      const GroupId number = instance_.members[member].group;
      const Instance::Group& facts = instance_.groups[number];
      return (stream.phase == Phase::members ? "the other members of aggregation group "
                                             : "a result of aggregation group ") +
             std::to_string(facts.number) + " (" + std::to_string(groups_[number].posted.size()) + " of " +
             std::to_string(facts.member_end - facts.first_member) + " have posted)";
    }
    default:
      return "nothing";
  }
}

std::string Executor::dependency_text(StreamId id, const CompiledOperation& operation) const {
  for (std::uint32_t index = 0; index < operation.wait_count; ++index) {
    const Dependency& wait = instance_.programs.waits[operation.first_wait + index];
    const StreamId other =
        instance_.stream_slots[instance_.streams[id].streams + static_cast<std::uint32_t>(wait.stream_slot)];
    const std::int64_t target = wait.offset + streams_[id].trip * wait.stride;
    if (streams_[other].completed <= target)
      return "operation " + std::to_string(target) + " of its stream " +
             std::to_string(instance_.streams[other].number);
  }
  return "an operation of another stream";
}

}  // namespace collsim
