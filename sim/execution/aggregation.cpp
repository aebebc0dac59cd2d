// Executor: aggregations.
#include "sim/core/check.hpp"
#include "sim/execution/executor.hpp"

namespace collsim {

bool Executor::step_aggregate(StreamId id, Stream& stream, const CompiledOperation& operation) {
  if (!overhead_paid(id, stream, gpu_of(id).send_overhead)) return false;
  const std::uint32_t slot = instance_.streams[id].groups + static_cast<std::uint32_t>(operation.peer);
  const GroupId number = instance_.members[instance_.member_slots[slot]].group;
  Group& group = groups_[number];
  const std::int64_t payload = message_size(id, operation).count();
  COLLSIM_CHECK_MSG(group.posted.empty() || group.payload == payload,
                    "members of an aggregation post unequal sizes");
  group.payload = payload;
  group.posted.push_back(id);
  stream.phase = Phase::members;
  const Instance::Group& facts = instance_.groups[number];
  if (group.posted.size() == facts.member_end - facts.first_member) start_aggregation(number);
  return false;
}

void Executor::start_aggregation(GroupId id) {
  Group& group = groups_[id];
  const Instance::Group& facts = instance_.groups[id];
  if (facts.operations_max && group.in_flight >= *facts.operations_max) return;
  ++group.in_flight;
  const Bytes bytes =
      instance_.jobs[facts.job].schedule->aggregated_bytes(facts.number, Bytes(group.payload));
  group.drained_bytes = bytes.count();
  group.bytes += bytes.count();
  if (options_.explain) {
    const Chain cause = chain_[group.posted.back()];
    for (const StreamId member : group.posted) adopt(member, cause);
    if (transport_)
      message_start_[connections_.size() + id] = now_;
    else
      drain_start_[group_flow(id)] = now_;
  }
  for (const StreamId member : group.posted) streams_[member].phase = Phase::draining;
  if (transport_) return transport_->start_aggregation(id, bytes, now_);
  const bool empty = bytes == Bytes(0);
  if (empty && !crosses_down(facts)) return aggregation_drained(id);
  network_.start(group_flow(id), empty ? Bytes(1) : bytes);
}

void Executor::aggregation_drained(GroupId id) {
  Group& group = groups_[id];
  const std::int64_t weight = instance_.groups[id].weight;
  messages_ += weight;
  fingerprint_.add(now_, weight);
  std::vector<StreamId> posted;
  posted.swap(group.posted);
  for (const StreamId member : posted) {
    if (!options_.explain) break;
    const Bytes size(group.drained_bytes);
    if (transport_)
      account_time(member, transport_->alone_aggregation(id, size),
                   now_ - message_start_[connections_.size() + id], &Chain::bandwidth);
    else if (group.drained_bytes > 0)
      account_drain(member, group_flow(id), size, &Chain::bandwidth);
    ++chain_[member].messages;
  }
  send_results(id, posted.front());
  for (const StreamId member : posted) {
    complete(member);
    ready_.push_back(member);
  }
  posted.clear();
  if (group.posted.empty()) group.posted.swap(posted);  // keeps the storage
}

// Results travel down to the members that receive; `cause` is one of the streams whose aggregation has
// drained. A transport brings them by itself.
void Executor::send_results(GroupId id, StreamId cause) {
  const Instance::Group& facts = instance_.groups[id];
  for (MemberId member = facts.first_member; member < facts.member_end; ++member) {
    if (!instance_.members[member].receives) continue;
    const Duration latency = up_latency(id) + member_latency(member);
    if (options_.explain) {
      results_coming_[member].push_back(chain_[cause]);
      results_coming_[member].back().latency += latency;
    }
    if (!transport_) queue_.push(now_, latency, {member, static_cast<std::uint8_t>(EventKind::collected)});
  }
  const Duration over = up_latency(id) + down_latency(id);
  if (options_.explain) {
    aggregations_[id].push_back(chain_[cause]);
    aggregations_[id].back().latency += over;
  }
  if (!transport_) queue_.push(now_, over, {id, static_cast<std::uint8_t>(EventKind::aggregation_over)});
}

// The result has reached every member: another operation may start.
void Executor::aggregation_over(GroupId id) {
  Group& group = groups_[id];
  --group.in_flight;
  const Instance::Group& facts = instance_.groups[id];
  const bool waiting = group.posted.size() == facts.member_end - facts.first_member &&
                       streams_[group.posted.front()].phase == Phase::members;
  if (options_.explain) {
    if (waiting) chain_[group.posted.back()] = up_to_now(aggregations_[id].front());
    aggregations_[id].pop_front();
  }
  if (waiting) start_aggregation(id);
}

void Executor::result_ready(MemberId member) {
  Result& result = results_[member];
  ++result.ready;
  const StreamId waiting = result.waiting;
  if (options_.explain) {
    if (waiting != none) adopt(waiting, up_to_now(results_coming_[member].front()));
    results_coming_[member].pop_front();
  }
  if (waiting == none) return;
  result.waiting = none;
  wake(waiting, Phase::begin);
}

bool Executor::step_collect(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const std::uint32_t slot = instance_.streams[id].groups + static_cast<std::uint32_t>(operation.peer);
  Result& result = results_[instance_.member_slots[slot]];
  if (result.ready == 0) {
    COLLSIM_CHECK_MSG(result.waiting == none, "two streams of a rank collect from one group");
    result.waiting = id;
    stream.phase = Phase::result;
    return false;
  }
  --result.ready;
  complete(id);
  return true;
}

}  // namespace collsim
