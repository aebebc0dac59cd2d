// Executor: the event loop.
#include "sim/execution/executor.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim {

Executor::Executor(const Instance& instance, const RunOptions& options, const Conditions& conditions,
                   std::unique_ptr<Transport> transport)
    : instance_(instance), options_(options), conditions_(conditions), transport_(std::move(transport)) {
  for (const Instance::Gpu& gpu : instance_.gpus) gpus_.push_back(gpu.spec);
  one_gpu_ = gpus_.size() == 1;
  add_streams();
  add_connections();
  groups_.resize(instance_.groups.size());
  results_.resize(instance_.members.size());
  local_ = add_flows(network_, instance, transport_ == nullptr);
  if (!transport_) first_group_flow_ = static_cast<FlowId>(connections_.size() + instance_.detours.size());
  network_.freeze();
  add_changes();
  unfinished_jobs_ = static_cast<std::uint32_t>(jobs_.size());
  if (options_.explain) add_accounts();
}

void Executor::add_streams() {
  for (const Instance::JobFacts& job : instance_.jobs)
    jobs_.push_back({Instant(), Instant(), job.stream_end - job.first_stream, false});
  streams_.reserve(instance_.streams.size());
  for (const Instance::Stream& from : instance_.streams) {
    const CompiledProgram& program = instance_.programs.programs[from.program];
    Stream stream;
    stream.loop = program.first_loop;
    stream.loop_end = program.loop_end;
    if (stream.loop < stream.loop_end)
      stream.operation = instance_.programs.loops[stream.loop].first_operation;
    stream.peers = from.peers;
    stream.job = from.job;
    streams_.push_back(stream);
  }
}

void Executor::add_connections() {
  std::size_t detour = 0;
  connections_.reserve(instance_.connections.size());
  for (const Instance::Connection& from : instance_.connections) {
    Connection connection;
    connection.weight = from.weight;
    connection.latency = from.latency;
    connection.sender = from.sender;
    connection.receiver = from.receiver;
    connection.slots = instance_.jobs[instance_.streams[from.sender].job].schedule->slots;
    connection.parts = from.parts;
    const auto number = static_cast<ConnectionId>(connections_.size());
    connection.flow = number + static_cast<FlowId>(detour);
    while (detour < instance_.detours.size() && instance_.detours[detour].connection == number) ++detour;
    connections_.push_back(connection);
  }
}

Outcome Executor::run() {
  for (std::uint32_t number = 0; number < jobs_.size(); ++number)
    if (instance_.jobs[number].after < 0) start_job(number);
  schedule_changes();
  while (unfinished_jobs_ > 0 &&
         (!queue_.empty() || network_.has_drain() || (transport_ && transport_->has_event()))) {
    now_ = next_instant();
    do handle_instant();
    while (something_at(now_));
    scheduled_.clear();
    network_.settle(now_, scheduled_);
    for (const FluidNetwork::Scheduled& plan : scheduled_)
      queue_.push(now_, plan.delay, {plan.flow, static_cast<std::uint8_t>(EventKind::drained)});
    if (events_ >= options_.events_max || (network_.overflowed() && instance_.background.empty())) {
      limit_reached_ = unfinished_jobs_ > 0;
      break;
    }
  }
  return outcome();
}

Instant Executor::next_instant() const {
  std::optional<Instant> next;
  const auto consider = [&next](Instant instant) { next = next ? std::min(*next, instant) : instant; };
  if (!queue_.empty()) consider(queue_.next_time());
  if (network_.has_drain()) consider(network_.next_drain());
  if (transport_ && transport_->has_event()) consider(transport_->next_event());
  return *next;
}

// Drains of flows that share come from the network all at once, so only these two can have more.
bool Executor::something_at(Instant instant) const {
  if (!queue_.empty() && queue_.next_time() == instant) return true;
  return transport_ && transport_->has_event() && transport_->next_event() == instant;
}

void Executor::handle_instant() {
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
  if (!transport_ || !transport_->has_event() || transport_->next_event() != now_) return;
  notices_.clear();
  transport_->advance(now_, notices_);
  for (const TransportNotice& notice : notices_) {
    handle(notice);
    run_ready();
    ++events_;
  }
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
    case EventKind::stream_start:
      return wake(event.subject, Phase::begin);
    case EventKind::link_change:
      return change_link(event.subject);
    case EventKind::gpu_change:
      return change_gpu(gpu_changes_[event.subject]);
    case EventKind::reroute:
      return change_routes(event.subject);
    case EventKind::job_start: {
      const Instance::JobFacts& job = instance_.jobs[event.subject];
      for (StreamId id = job.first_stream; id < job.stream_end; ++id) wake(id, Phase::begin);
      if (jobs_[event.subject].running == 0) end_job(event.subject);
      return;
    }
  }
}

void Executor::handle(TransportNotice notice) {
  switch (notice.kind) {
    case TransportNotice::Kind::sent:
      return message_sent(notice.subject);
    case TransportNotice::Kind::arrived:
      return message_arrived(notice.subject);
    case TransportNotice::Kind::posted:
      return aggregation_drained(notice.subject);
    case TransportNotice::Kind::result:
      return result_ready(notice.subject);
    case TransportNotice::Kind::over:
      return aggregation_over(notice.subject);
  }
}

void Executor::start_job(std::uint32_t number) {
  const Instance::JobFacts& job = instance_.jobs[number];
  const Instant begin = std::max(now_, job.start);
  const Instant first = begin + options_.launch_overhead;
  jobs_[number].start = begin;
  for (StreamId id = job.first_stream; options_.explain && id < job.stream_end; ++id) {
    Chain chain;
    chain.waiting = begin + instance_.streams[id].skew - Instant();
    chain.launch = options_.launch_overhead;
    chain_[id] = chain;
  }
  if (conditions_.skew.empty() || job.first_stream == job.stream_end)
    return queue_.push(now_, first - now_, {number, static_cast<std::uint8_t>(EventKind::job_start)});
  for (StreamId id = job.first_stream; id < job.stream_end; ++id)
    queue_.push(now_, first + instance_.streams[id].skew - now_,
                {id, static_cast<std::uint8_t>(EventKind::stream_start)});
}

void Executor::end_job(std::uint32_t number) {
  JobState& job = jobs_[number];
  job.ended = true;
  job.finish = now_;
  --unfinished_jobs_;
  for (std::uint32_t later = number + 1; later < jobs_.size(); ++later)
    if (instance_.jobs[later].after == static_cast<std::int32_t>(number)) start_job(later);
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
  const CompiledOperation& operation = instance_.programs.operations[stream.operation];
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
      return step_local(id, operation);
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
    const Dependency& wait = instance_.programs.waits[operation.first_wait + index];
    const StreamId other =
        instance_.stream_slots[instance_.streams[id].streams + static_cast<std::uint32_t>(wait.stream_slot)];
    const std::int64_t target = wait.offset + stream.trip * wait.stride + 1;
    if (streams_[other].completed >= target) continue;
    stream.phase = Phase::dependency;
    stream.wait_target = target;
    Stream& awaited = streams_[other];
    awaited.least_target = awaited.first_waiter == none ? target : std::min(awaited.least_target, target);
    stream.next_waiter = awaited.first_waiter;
    awaited.first_waiter = id;
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
  const CompiledLoop& loop = instance_.programs.loops[stream.loop];
  if (++stream.operation < loop.operation_end) return;
  if (++stream.trip < loop.trips) {
    stream.operation = loop.first_operation;
    return;
  }
  stream.trip = 0;
  if (++stream.loop < stream.loop_end)
    stream.operation = instance_.programs.loops[stream.loop].first_operation;
}

// The present operation is done: moves on and wakes the streams that waited for it.
void Executor::complete(StreamId id) {
  Stream& stream = streams_[id];
  ++stream.completed;
  next_operation(stream);
  if (stream.first_waiter != none && stream.least_target <= stream.completed) wake_waiters(id, stream);
}

// Those whose operation is done; the others stay in the list.
void Executor::wake_waiters(StreamId id, Stream& stream) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  StreamId* entry = &stream.first_waiter;
  while (*entry != none) {
    const StreamId waiter = *entry;
    if (streams_[waiter].wait_target > stream.completed) {
      least = std::min(least, streams_[waiter].wait_target);
      entry = &streams_[waiter].next_waiter;
      continue;
    }
    *entry = streams_[waiter].next_waiter;
    streams_[waiter].next_waiter = none;
    if (options_.explain) adopt(waiter, chain_[id]);
    wake(waiter, Phase::begin);
  }
  stream.least_target = least;
}

void Executor::end_stream(StreamId id) {
  Stream& stream = streams_[id];
  stream.phase = Phase::ended;
  stream.finish = now_;
  fingerprint_.add(now_, instance_.streams[id].weight);
  if (--jobs_[stream.job].running == 0) end_job(stream.job);
}

// ---------------------------------------------------------------- messages

bool Executor::step_send(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const ConnectionId number = instance_.send_to[stream.peers + static_cast<std::uint32_t>(operation.peer)];
  Connection& connection = connections_[number];
  if (connection.in_use >= connection.slots) {
    stream.phase = Phase::slot;
    return false;
  }
  if (!overhead_paid(id, stream, gpu_of(id).send_overhead)) return false;
  const Bytes size = message_size(id, operation);
  ++connection.in_use;
  connection.bytes += size.count();
  if (transport_) {
    start_by_transport(number, size);
    return false;
  }
  if (options_.explain) drain_start_[connection.flow] = now_;
  const bool empty = size == Bytes(0);
  if (empty && !crosses_down(way_of(number))) {
    message_drained(number);
    complete(id);
    return true;
  }
  stream.phase = Phase::draining;
  network_.start(connection.flow, empty ? Bytes(1) : part_of(connection, size));
  return false;
}

void Executor::flow_drained(FlowId flow) {
  network_.finish(flow);
  if (flow < first_group_flow_) {
    const ConnectionId id = connection_of(flow);
    const StreamId sender = connections_[id].sender;
    if (options_.explain) {
      const CompiledOperation& operation = instance_.programs.operations[streams_[sender].operation];
      account_drain(sender, flow, part_of(connections_[id], message_size(sender, operation)),
                    &Chain::bandwidth);
    }
    message_drained(id);
    complete(sender);
    ready_.push_back(sender);
  } else if (flow < local_.first) {
    aggregation_drained(flow - first_group_flow_);
  } else if (flow < local_.first_background) {
    local_work_drained(flow - local_.first);
  } else {
    start_background(flow);
  }
}

void Executor::message_drained(ConnectionId id) {
  Connection& connection = connections_[id];
  ++connection.messages;
  messages_ += connection.weight;
  const Duration latency = in_order_ ? latency_in_order(id) : connection.latency;
  if (options_.explain) {
    ++chain_[connection.sender].messages;
    in_flight_[id].push_back(chain_[connection.sender]);
    in_flight_[id].back().latency += latency;
  }
  queue_.push(now_, latency, {id, static_cast<std::uint8_t>(EventKind::arrived)});
}

void Executor::start_by_transport(ConnectionId id, Bytes size) {
  streams_[connections_[id].sender].phase = Phase::draining;
  const Duration extra = jitter(id, connections_[id].messages);
  if (options_.explain) {
    message_start_[id] = now_;
    in_flight_[id].push_back(account_start(id, size, extra));
  }
  transport_->start_message(id, size, extra, now_);
}

// With a transport: the sender goes on; the arrival is told by itself.
void Executor::message_sent(ConnectionId id) {
  Connection& connection = connections_[id];
  ++connection.messages;
  messages_ += connection.weight;
  const StreamId sender = connection.sender;
  if (options_.explain) {
    const Bytes size = message_size(sender, instance_.programs.operations[streams_[sender].operation]);
    const Duration alone = transport_->alone_message(id, size);
    account_time(sender, alone - std::min(alone, connection.latency), now_ - message_start_[id],
                 &Chain::bandwidth);
    ++chain_[sender].messages;
  }
  complete(sender);
  ready_.push_back(sender);
}

void Executor::message_arrived(ConnectionId id) {
  Connection& connection = connections_[id];
  ++connection.arrived;
  fingerprint_.add(now_, connection.weight);
  const StreamId receiver = connection.receiver;
  const Stream& stream = streams_[receiver];
  const bool awaited =
      stream.phase == Phase::message && connection.arrived == 1 &&
      instance_.receive_from[stream.peers + static_cast<std::uint32_t>(
                                                instance_.programs.operations[stream.operation].peer)] == id;
  if (options_.explain) {
    if (awaited) adopt(receiver, up_to_now(in_flight_[id].front()));
    in_flight_[id].pop_front();
  }
  if (awaited) wake(receiver, Phase::begin);
}

bool Executor::step_receive(StreamId id, Stream& stream, const CompiledOperation& operation) {
  const ConnectionId number =
      instance_.receive_from[stream.peers + static_cast<std::uint32_t>(operation.peer)];
  if (stream.phase == Phase::begin && connections_[number].arrived == 0) {
    stream.phase = Phase::message;
    return false;
  }
  if (stream.phase == Phase::begin) --connections_[number].arrived;
  if (!overhead_paid(id, stream, gpu_of(id).receive_overhead)) return false;
  if (operation.kind == OperationKind::receive_reduce && start_local(id, false, message_size(id, operation)))
    return false;
  release_slot(number, id);
  complete(id);
  return true;
}

void Executor::release_slot(ConnectionId id, StreamId receiver) {
  const Duration delay = credit_delay(id);
  if (delay == Duration()) {
    if (options_.explain) credits_[id].push_back(chain_[receiver]);
    return slot_freed(id);
  }
  if (options_.explain) {
    Chain chain = chain_[receiver];
    chain.waiting += delay;
    credits_[id].push_back(chain);
  }
  queue_.push(now_, delay, {id, static_cast<std::uint8_t>(EventKind::credit)});
}

void Executor::slot_freed(ConnectionId id) {
  Connection& connection = connections_[id];
  --connection.in_use;
  const Stream& stream = streams_[connection.sender];
  const bool awaited =
      stream.phase == Phase::slot &&
      instance_.send_to[stream.peers + static_cast<std::uint32_t>(
                                           instance_.programs.operations[stream.operation].peer)] == id;
  if (options_.explain) {
    if (awaited) adopt(connection.sender, credits_[id].front());
    credits_[id].pop_front();
  }
  if (awaited) wake(connection.sender, Phase::begin);
}

// ---------------------------------------------------------------- local work

// Whether local work of the stream has been started that takes time.
bool Executor::start_local(StreamId id, bool copies, Bytes size) {
  const FlowId flow = copies ? copy_of(id) : reduction_of(id);
  if (flow == none || size == Bytes(0)) return false;
  streams_[id].phase = Phase::draining;
  if (options_.explain) drain_start_[flow] = now_;
  network_.start(flow, instance_.local_size(instance_.streams[id], copies, size));
  return true;
}

bool Executor::step_local(StreamId id, const CompiledOperation& operation) {
  if (start_local(id, operation.kind == OperationKind::copy, message_size(id, operation))) return false;
  complete(id);
  return true;
}

void Executor::local_work_drained(std::uint32_t index) {
  const StreamId id = local_.owner[index];
  const Stream& stream = streams_[id];
  const CompiledOperation& operation = instance_.programs.operations[stream.operation];
  if (options_.explain) {
    const bool copies = operation.kind == OperationKind::copy;
    const Bytes size = message_size(id, operation);
    account_drain(id, local_.first + index, instance_.local_size(instance_.streams[id], copies, size),
                  &Chain::reduction);
  }
  if (operation.kind == OperationKind::receive_reduce)
    release_slot(instance_.receive_from[stream.peers + static_cast<std::uint32_t>(operation.peer)], id);
  complete(id);
  ready_.push_back(id);
}

}  // namespace collsim
