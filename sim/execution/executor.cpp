// Executor: the event loop.
#include "sim/execution/executor.hpp"

#include <algorithm>

#include "sim/core/check.hpp"

namespace collsim {

RunResult Executor::run() {
  for (std::uint32_t number = 0; number < jobs_.size(); ++number)
    if (after_[number] < 0) start_job(number);
  for (std::uint32_t number = 0; number < changes_.size(); ++number)
    queue_.push(Instant(), changes_[number].at - Instant(),
                {number, static_cast<std::uint8_t>(EventKind::capacity)});
  while (!queue_.empty() || network_.has_drain()) {
    now_ = next_instant();
    while (!queue_.empty() && queue_.next_time() == now_) {
      handle(queue_.pop());
      run_ready();
      ++events_;
    }
    while (network_.has_drain() && network_.next_drain() == now_) {
      flow_drained(network_.next_drained());
      run_ready();
      ++events_;
    }
    if (!queue_.empty() && queue_.next_time() == now_) continue;
    scheduled_.clear();
    network_.settle(now_, scheduled_);
    for (const FluidNetwork::Scheduled& plan : scheduled_)
      queue_.push(now_, plan.delay, {plan.flow, static_cast<std::uint8_t>(EventKind::drained)});
    if (events_ >= options_.events_max || network_.overflowed()) {
      limit_reached_ = unfinished_jobs_ > 0;
      break;
    }
  }
  return result();
}

Instant Executor::next_instant() const {
  if (queue_.empty()) return network_.next_drain();
  if (!network_.has_drain()) return queue_.next_time();
  return std::min(queue_.next_time(), network_.next_drain());
}

void Executor::handle(Event event) {
  switch (static_cast<EventKind>(event.kind)) {
    case EventKind::drained:
      if (network_.drained(event.subject, now_)) flow_drained(event.subject);
      return;
    case EventKind::arrived:
      return message_arrived(event.subject);
    case EventKind::timer:
      return wake(event.subject, Phase::after_overhead);
    case EventKind::credit:
      return slot_freed(event.subject);
    case EventKind::collected:
      return result_ready(event.subject);
    case EventKind::aggregation_over:
      return aggregation_over(event.subject);
    case EventKind::capacity: {
      const CapacityChange& change = changes_[event.subject];
      return network_.set_capacity(link_resource_[change.link.value], change.bandwidth, now_);
    }
    case EventKind::job_start: {
      const JobState& job = jobs_[event.subject];
      for (StreamId id = job.first_stream; id < job.stream_end; ++id) wake(id, Phase::begin);
      if (job.running == 0) end_job(event.subject);
      return;
    }
  }
}

void Executor::start_job(std::uint32_t number) {
  JobState& job = jobs_[number];
  const Instant begin = std::max(now_, job.start);
  const Instant first = begin + options_.launch_overhead;
  if (options_.explain) {
    Chain chain;
    chain.waiting = begin - Instant();
    chain.launch = options_.launch_overhead;
    for (StreamId id = job.first_stream; id < job.stream_end; ++id) chain_[id] = chain;
  }
  queue_.push(now_, first - now_, {number, static_cast<std::uint8_t>(EventKind::job_start)});
}

void Executor::end_job(std::uint32_t number) {
  JobState& job = jobs_[number];
  job.ended = true;
  job.finish = now_;
  --unfinished_jobs_;
  for (std::uint32_t later = number + 1; later < jobs_.size(); ++later)
    if (after_[later] == static_cast<std::int32_t>(number)) start_job(later);
}

// ---------------------------------------------------------------- streams

void Executor::wake(StreamId id, Phase phase) {
  streams_[id].phase = phase;
  ready_.push_back(id);
}

void Executor::run_ready() {
  while (!ready_.empty()) {
    const StreamId id = ready_.back();
    ready_.pop_back();
    while (step(id)) {
    }
  }
}

// Goes on with the present operation; true if the stream may go on at once.
bool Executor::step(StreamId id) {
  Stream& stream = streams_[id];
  if (stream.loop == stream.loop_end) {
    end_stream(id);
    return false;
  }
  const CompiledOperation& operation = programs_.operations[stream.operation];
  if (stream.phase == Phase::begin && operation.wait_count > 0 && !dependencies_met(id, stream, operation))
    return false;
  switch (operation.kind) {
    case OperationKind::send:
      return step_send(id, stream, operation);
    case OperationKind::receive:
    case OperationKind::receive_reduce:
      return step_receive(id, stream, operation);
    case OperationKind::copy:
    case OperationKind::reduce:
      return step_local(id, stream, operation);
    case OperationKind::aggregate:
      return step_aggregate(id, stream, operation);
    case OperationKind::collect:
      return step_collect(id, stream, operation);
    case OperationKind::wait:
      complete(id);
      return true;
  }
  return false;
}

bool Executor::dependencies_met(StreamId id, Stream& stream, const CompiledOperation& operation) {
  for (std::uint32_t index = 0; index < operation.wait_count; ++index) {
    const Dependency& wait = programs_.waits[operation.first_wait + index];
    const StreamId other = stream_slots_[stream.streams + static_cast<std::uint32_t>(wait.stream_slot)];
    const std::int64_t target = wait.offset + stream.trip * wait.stride + 1;
    if (streams_[other].completed >= target) continue;
    stream.phase = Phase::dependency;
    stream.wait_target = target;
    stream.next_waiter = streams_[other].first_waiter;
    streams_[other].first_waiter = id;
    return false;
  }
  return true;
}

// Whether the overhead before the present operation lies behind the stream; starts the timer if it does not.
bool Executor::overhead_paid(StreamId id, Stream& stream, Duration overhead) {
  if (stream.phase == Phase::after_overhead || overhead == Duration()) return true;
  stream.phase = Phase::overhead;
  if (options_.explain) chain_[id].overhead += overhead;
  queue_.push(now_, overhead, {id, static_cast<std::uint8_t>(EventKind::timer)});
  return false;
}

void Executor::next_operation(Stream& stream) {
  stream.phase = Phase::begin;
  const CompiledLoop& loop = programs_.loops[stream.loop];
  if (++stream.operation < loop.operation_end) return;
  if (++stream.trip < loop.trips) {
    stream.operation = loop.first_operation;
    return;
  }
  stream.trip = 0;
  if (++stream.loop < stream.loop_end) stream.operation = programs_.loops[stream.loop].first_operation;
}

// The present operation is done: moves on and wakes the streams that waited for it.
void Executor::complete(StreamId id) {
  Stream& stream = streams_[id];
  ++stream.completed;
  next_operation(stream);
  StreamId* entry = &stream.first_waiter;
  while (*entry != none) {
    const StreamId waiter = *entry;
    if (streams_[waiter].wait_target > stream.completed) {
      entry = &streams_[waiter].next_waiter;
      continue;
    }
    *entry = streams_[waiter].next_waiter;
    streams_[waiter].next_waiter = none;
    if (options_.explain) adopt(waiter, chain_[id]);
    wake(waiter, Phase::begin);
  }
}

void Executor::end_stream(StreamId id) {
  Stream& stream = streams_[id];
  stream.phase = Phase::ended;
  stream.finish = now_;
  const std::uint64_t what = (std::uint64_t{stream.job} << 48) ^
                             (static_cast<std::uint64_t>(stream.rank) << 16) ^
                             static_cast<std::uint64_t>(stream.number);
  fingerprint_.add(now_, mix64(what));
  if (--jobs_[stream.job].running == 0) end_job(stream.job);
}

// ---------------------------------------------------------------- messages

Bytes Executor::message_size(const Stream& stream, const CompiledOperation& operation) const {
  if (operation.bytes >= 0) return Bytes(operation.bytes);
  return size_of(jobs_[stream.job].schedule->layout,
                 resolve(operation.chunk, bases_.data() + stream.bases, stream.trip));
}

bool Executor::step_send(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const ConnectionId number = send_to_[stream.peers + static_cast<std::uint32_t>(operation.peer)];
  Connection& connection = connections_[number];
  if (connection.in_use >= connection.slots) {
    stream.phase = Phase::slot;
    return false;
  }
  if (!overhead_paid(id, stream, topology_.gpu(stream.rank).send_overhead)) return false;
  const Bytes size = message_size(stream, operation);
  ++connection.in_use;
  connection.bytes += size.count();
  if (options_.explain) drain_start_[number] = now_;
  if (size == Bytes(0)) {
    message_drained(number);
    complete(id);
    return true;
  }
  stream.phase = Phase::draining;
  network_.start(number, size);
  return false;
}

void Executor::flow_drained(FlowId flow) {
  network_.finish(flow);
  if (flow < first_group_flow_) {
    const StreamId sender = connections_[flow].sender;
    const Stream& stream = streams_[sender];
    account_drain(sender, flow, message_size(stream, programs_.operations[stream.operation]),
                  &Chain::bandwidth);
    message_drained(flow);
    complete(sender);
    ready_.push_back(sender);
  } else if (flow < first_local_flow_) {
    aggregation_drained(flow - first_group_flow_);
  } else {
    local_work_drained(flow - first_local_flow_);
  }
}

void Executor::message_drained(ConnectionId id) {
  Connection& connection = connections_[id];
  ++connection.messages;
  ++messages_;
  if (options_.explain) {
    Chain chain = chain_[connection.sender];
    chain.latency += connection.latency;
    ++chain.messages;
    in_flight_[id].push_back(chain);
  }
  queue_.push(now_, connection.latency, {id, static_cast<std::uint8_t>(EventKind::arrived)});
}

void Executor::message_arrived(ConnectionId id) {
  Connection& connection = connections_[id];
  ++connection.arrived;
  fingerprint_.add(now_, connection.identity);
  const StreamId receiver = connection.receiver;
  const Stream& stream = streams_[receiver];
  const bool awaited =
      stream.phase == Phase::message && connection.arrived == 1 &&
      receive_from_[stream.peers + static_cast<std::uint32_t>(programs_.operations[stream.operation].peer)] ==
          id;
  if (options_.explain) {
    if (awaited) adopt(receiver, in_flight_[id].front());
    in_flight_[id].pop_front();
  }
  if (awaited) wake(receiver, Phase::begin);
}

bool Executor::step_receive(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const ConnectionId number = receive_from_[stream.peers + static_cast<std::uint32_t>(operation.peer)];
  if (stream.phase == Phase::begin && connections_[number].arrived == 0) {
    stream.phase = Phase::message;
    return false;
  }
  if (stream.phase == Phase::begin) --connections_[number].arrived;
  if (!overhead_paid(id, stream, topology_.gpu(stream.rank).receive_overhead)) return false;
  if (operation.kind == OperationKind::receive_reduce &&
      start_local(id, stream, reduce_flow_[id], message_size(stream, operation)))
    return false;
  release_slot(number, id);
  complete(id);
  return true;
}

void Executor::release_slot(ConnectionId id, StreamId receiver) {
  if (options_.credit_latency == Duration()) {
    if (options_.explain) credits_[id].push_back(chain_[receiver]);
    return slot_freed(id);
  }
  if (options_.explain) {
    Chain chain = chain_[receiver];
    chain.waiting += options_.credit_latency;
    credits_[id].push_back(chain);
  }
  queue_.push(now_, options_.credit_latency, {id, static_cast<std::uint8_t>(EventKind::credit)});
}

void Executor::slot_freed(ConnectionId id) {
  Connection& connection = connections_[id];
  --connection.in_use;
  const Stream& stream = streams_[connection.sender];
  const bool awaited =
      stream.phase == Phase::slot &&
      send_to_[stream.peers + static_cast<std::uint32_t>(programs_.operations[stream.operation].peer)] == id;
  if (options_.explain) {
    if (awaited) adopt(connection.sender, credits_[id].front());
    credits_[id].pop_front();
  }
  if (awaited) wake(connection.sender, Phase::begin);
}

// ---------------------------------------------------------------- local work

// Whether local work of the stream has been started that takes time.
bool Executor::start_local(StreamId id, Stream& stream, FlowId flow, Bytes size) {
  if (flow == none || size == Bytes(0)) return false;
  stream.phase = Phase::draining;
  if (options_.explain) drain_start_[flow] = now_;
  network_.start(flow, size);
  static_cast<void>(id);
  return true;
}

bool Executor::step_local(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const FlowId flow = operation.kind == OperationKind::copy ? copy_flow_[id] : reduce_flow_[id];
  if (start_local(id, stream, flow, message_size(stream, operation))) return false;
  complete(id);
  return true;
}

void Executor::local_work_drained(std::uint32_t index) {
  const StreamId id = local_owner_[index];
  const Stream& stream = streams_[id];
  const CompiledOperation& operation = programs_.operations[stream.operation];
  account_drain(id, first_local_flow_ + index, message_size(stream, operation), &Chain::reduction);
  if (operation.kind == OperationKind::receive_reduce)
    release_slot(receive_from_[stream.peers + static_cast<std::uint32_t>(operation.peer)], id);
  complete(id);
  ready_.push_back(id);
}

// ---------------------------------------------------------------- aggregation

bool Executor::receives(const Group& group, std::uint32_t member) const {
  const bool root = member == static_cast<std::uint32_t>(group.root);
  switch (group.mode) {
    case AggregationMode::all_reduce:
      return true;
    case AggregationMode::reduce:
      return root;
    case AggregationMode::multicast:
      return !root;
  }
  return false;
}

bool Executor::step_aggregate(StreamId id, Stream& stream, const CompiledOperation& operation) {
  if (!overhead_paid(id, stream, topology_.gpu(stream.rank).send_overhead)) return false;
  const GroupId number = group_slots_[stream.groups + static_cast<std::uint32_t>(operation.peer)].group;
  Group& group = groups_[number];
  const std::int64_t payload = message_size(stream, operation).count();
  COLLSIM_CHECK_MSG(group.posted.empty() || group.payload == payload,
                    "members of an aggregation post unequal sizes");
  group.payload = payload;
  group.posted.push_back(id);
  stream.phase = Phase::members;
  if (group.posted.size() == group.members) start_aggregation(number);
  return false;
}

void Executor::start_aggregation(GroupId id) {
  Group& group = groups_[id];
  if (group.path.operations_max && group.in_flight >= *group.path.operations_max) return;
  ++group.in_flight;
  ++group.operations;
  const std::int32_t number = group.number;
  const Bytes bytes = jobs_[group.job].schedule->aggregated_bytes(number, Bytes(group.payload));
  group.bytes += bytes.count();
  if (options_.explain) {
    const Chain cause = chain_[group.posted.back()];
    for (const StreamId member : group.posted) adopt(member, cause);
    drain_start_[first_group_flow_ + id] = now_;
  }
  for (const StreamId member : group.posted) streams_[member].phase = Phase::draining;
  if (bytes == Bytes(0)) return aggregation_drained(id);
  network_.start(first_group_flow_ + id, bytes);
}

void Executor::aggregation_drained(GroupId id) {
  Group& group = groups_[id];
  ++messages_;
  fingerprint_.add(now_, group.identity + static_cast<std::uint64_t>(group.operations));
  const Bytes drained = jobs_[group.job].schedule->aggregated_bytes(group.number, Bytes(group.payload));
  std::vector<StreamId> posted;
  posted.swap(group.posted);
  for (const StreamId member : posted) {
    if (drained > Bytes(0)) account_drain(member, first_group_flow_ + id, drained, &Chain::bandwidth);
    if (options_.explain) ++chain_[member].messages;
  }
  for (std::uint32_t member = 0; member < group.members; ++member) {
    if (!receives(group, member)) continue;
    const Duration latency = group.up_latency_max + group.path.down_latency[member];
    if (options_.explain) {
      Chain chain = chain_[posted.front()];
      chain.latency += latency;
      results_coming_[group.first_member + member].push_back(chain);
    }
    queue_.push(now_, latency,
                {group.first_member + member, static_cast<std::uint8_t>(EventKind::collected)});
  }
  const Duration over = group.up_latency_max + group.down_latency_max;
  if (options_.explain) {
    Chain chain = chain_[posted.front()];
    chain.latency += over;
    aggregations_[id].push_back(chain);
  }
  queue_.push(now_, over, {id, static_cast<std::uint8_t>(EventKind::aggregation_over)});
  for (const StreamId member : posted) {
    complete(member);
    ready_.push_back(member);
  }
  posted.clear();
  if (group.posted.empty()) group.posted.swap(posted);  // keeps the storage
}

// The result has reached every member: another operation may start.
void Executor::aggregation_over(GroupId id) {
  Group& group = groups_[id];
  --group.in_flight;
  const bool waiting =
      group.posted.size() == group.members && streams_[group.posted.front()].phase == Phase::members;
  if (options_.explain) {
    if (waiting) chain_[group.posted.back()] = aggregations_[id].front();
    aggregations_[id].pop_front();
  }
  if (waiting) start_aggregation(id);
}

void Executor::result_ready(std::uint32_t member) {
  Result& result = results_[member];
  ++result.ready;
  const StreamId waiting = result.waiting;
  if (options_.explain) {
    if (waiting != none) adopt(waiting, results_coming_[member].front());
    results_coming_[member].pop_front();
  }
  if (waiting == none) return;
  result.waiting = none;
  wake(waiting, Phase::begin);
}

bool Executor::step_collect(StreamId id, Stream& stream, const CompiledOperation& operation) {
  Result& result = results_[group_slots_[stream.groups + static_cast<std::uint32_t>(operation.peer)].member];
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

// ---------------------------------------------------------------- accounts

void Executor::account_drain(StreamId id, FlowId flow, Bytes size, Duration Chain::*alone_part) {
  if (!options_.explain) return;
  const Duration elapsed = now_ - drain_start_[flow];
  const Duration alone = std::min(elapsed, network_.alone(flow, size));
  chain_[id].*alone_part += alone;
  chain_[id].contention += elapsed - alone;
}

void Executor::adopt(StreamId id, const Chain& cause) { chain_[id] = cause; }

}  // namespace collsim
