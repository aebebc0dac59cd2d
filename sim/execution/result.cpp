// What a run leaves behind: times, link bytes, and for a deadlock who waits for what.
#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/execution/executor.hpp"

namespace collsim {

RunResult Executor::result() {
  RunResult result;
  result.messages = messages_;
  result.events = events_;
  result.fingerprint = fingerprint_.value();
  result.rank_finish.resize(static_cast<std::size_t>(topology_.ranks()));
  StreamId last = none;
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const Stream& stream = streams_[id];
    Duration& finish = result.rank_finish[static_cast<std::size_t>(stream.rank)];
    finish = std::max(finish, stream.finish - Instant());
    if (last == none || stream.finish > streams_[last].finish) last = id;
  }
  for (const JobState& job : jobs_) {
    result.job_finish.push_back(job.finish);
    result.time = std::max(result.time, job.finish - Instant());
  }
  add_link_bytes(result);
  if (limit_reached_) {
    result.status = RunStatus::limit;
    result.time = now_ - Instant();
  } else if (unfinished_jobs_ > 0) {
    result.status = RunStatus::deadlock;
    result.time = now_ - Instant();
    report_blocked(result);
  } else if (options_.explain && last != none) {
    COLLSIM_CHECK(chain_[last].total() == streams_[last].finish - Instant());
    result.critical_path = chain_[last].path(streams_[last].rank);
  } else if (options_.explain) {
    Chain chain;
    chain.launch = result.time;
    result.critical_path = chain.path(0);
  }
  return result;
}

void Executor::add_link_bytes(RunResult& result) const {
  result.link_bytes.resize(topology_.link_count());
  std::vector<LinkId> links;
  for (const Connection& connection : connections_) {
    links.clear();
    topology_.route(connection.source, connection.target, connection.channel, links);
    for (const LinkId link : links) result.link_bytes[link.value] += Bytes(connection.bytes);
  }
  for (const Group& group : groups_)
    for (const LinkId link : group.path.links) result.link_bytes[link.value] += Bytes(group.bytes);
}

void Executor::report_blocked(RunResult& result) const {
  for (const Stream& stream : streams_) {
    if (stream.phase == Phase::ended || jobs_[stream.job].ended) continue;
    BlockedStream blocked;
    blocked.job = static_cast<std::int32_t>(stream.job);
    blocked.rank = stream.rank;
    blocked.stream = stream.number;
    blocked.operation = stream.completed;
    blocked.waits_for = waits_for(stream);
    result.blocked.push_back(std::move(blocked));
  }
}

std::string Executor::waits_for(const Stream& stream) const {
  if (stream.phase == Phase::asleep) return "the start of its job";
  const CompiledOperation& operation = programs_.operations[stream.operation];
  const auto peer = stream.peers + static_cast<std::uint32_t>(std::max(operation.peer, 0));
  const auto channel_text = [](const Connection& connection) {
    return " on channel " + std::to_string(connection.channel);
  };
  switch (stream.phase) {
    case Phase::dependency:
      for (std::uint32_t index = 0; index < operation.wait_count; ++index) {
        const Dependency& wait = programs_.waits[operation.first_wait + index];
        const Stream& other =
            streams_[stream_slots_[stream.streams + static_cast<std::uint32_t>(wait.stream_slot)]];
        const std::int64_t target = wait.offset + stream.trip * wait.stride;
        if (other.completed <= target)
          return "operation " + std::to_string(target) + " of its stream " + std::to_string(other.number);
      }
      return "an operation of another stream";
    case Phase::slot: {
      const Connection& connection = connections_[send_to_[peer]];
      return "a free slot of its connection to rank " + std::to_string(connection.target) +
             channel_text(connection) + " (" + std::to_string(connection.in_use) + " of " +
             std::to_string(connection.slots) + " in use)";
    }
    case Phase::message: {
      const Connection& connection = connections_[receive_from_[peer]];
      return "message " + std::to_string(connection.messages) + " from rank " +
             std::to_string(connection.source) + channel_text(connection) + ", which has not been sent";
    }
    case Phase::draining:
      return "its message to drain over a link without capacity";
    case Phase::members:
    case Phase::result: {
      const Group& group =
          groups_[group_slots_[stream.groups + static_cast<std::uint32_t>(operation.peer)].group];
      return (stream.phase == Phase::members ? "the other members of aggregation group "
                                             : "a result of aggregation group ") +
             std::to_string(group.number) + " (" + std::to_string(group.posted.size()) + " of " +
             std::to_string(group.members) + " have posted)";
    }
    default:
      return "nothing";
  }
}

}  // namespace collsim
