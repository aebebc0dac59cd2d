// Executor: what changes while jobs run, and what differs from rank to rank and message to message.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/execution/executor.hpp"
#include "sim/execution/jitter.hpp"
#include "sim/execution/ways.hpp"

namespace collsim {
namespace {

const Int128 work_per_byte = Int128{1'000'000'000'000} * 1'000'000;

template <class Entry>
auto entries_of(const std::vector<Entry>& entries, std::uint32_t change) {
  const auto before = [](const Entry& entry, std::uint32_t number) { return entry.change < number; };
  return std::pair{std::lower_bound(entries.begin(), entries.end(), change, before),
                   std::lower_bound(entries.begin(), entries.end(), change + 1, before)};
}

}  // namespace

// ---------------------------------------------------------------- setting up

void Executor::add_changes() {
  std::vector<ResourceId> by_link;
  for (ResourceId id = 0; id < instance_.resources.size(); ++id) {
    const Instance::Resource& resource = instance_.resources[id];
    if (!resource.link.exists() || !resource.changes) continue;
    by_link.resize(std::max<std::size_t>(by_link.size(), resource.link.value + 1), none);
    by_link[resource.link.value] = id;
  }
  for (const LinkChange& change : conditions_.link_changes)
    change_resource_.push_back(change.link.value < by_link.size() ? by_link[change.link.value] : none);
  if (!change_resource_.empty()) down_since_.resize(instance_.resources.size());
  for (std::uint32_t gpu = 0; gpu < instance_.gpus.size(); ++gpu)
    for (std::uint32_t number = 0; number < instance_.gpus[gpu].changes.size(); ++number)
      gpu_changes_.push_back({gpu, number});
  in_order_ = instance_.has_jitter || !instance_.latency_changes.empty() || !instance_.reroutes.empty();
  if (in_order_) {
    last_arrival_.resize(connections_.size());
    last_credit_.resize(connections_.size());
  }
  for (const Instance::Connection& connection : instance_.connections)
    if (!instance_.latency_changes.empty()) way_latency_.push_back(connection.latency);
  for (const Instance::Detour& detour : instance_.detours)
    if (!instance_.latency_changes.empty()) way_latency_.push_back(detour.latency);
  if (!instance_.tree_changes.empty()) {
    for (const Instance::Group& group : instance_.groups) {
      tree_up_.push_back(group.up_latency_max);
      tree_down_.push_back(group.down_latency_max);
    }
    for (const Instance::Member& member : instance_.members) member_down_.push_back(member.down_latency);
  }
  if (instance_.detours.empty()) return;
  detour_.resize(connections_.size(), none);
  first_bytes_.resize(connections_.size());
  detour_bytes_.resize(instance_.detours.size());
  for (ConnectionId id = 0; id < connections_.size(); ++id) {
    const FlowId next = id + 1 < connections_.size() ? connections_[id + 1].flow : first_group_flow_;
    flow_owner_.resize(next, id);
  }
}

void Executor::schedule_changes() {
  const auto schedule = [this](Instant at, std::uint32_t number, EventKind kind) {
    queue_.push(Instant(), at - Instant(), {number, static_cast<std::uint8_t>(kind)});
  };
  for (std::uint32_t number = 0; number < change_resource_.size(); ++number)
    if (transport_ || change_resource_[number] != none)
      schedule(conditions_.link_changes[number].at, number, EventKind::link_change);
  for (std::uint32_t number = 0; number < gpu_changes_.size(); ++number) {
    const GpuChange& change = gpu_changes_[number];
    schedule(instance_.gpus[change.gpu].changes[change.number].first, number, EventKind::gpu_change);
  }
  for (std::uint32_t number = 0; number < conditions_.route_changes.size(); ++number)
    if (conditions_.route_changes[number].at > Instant())
      schedule(conditions_.route_changes[number].at, number, EventKind::reroute);
  if (!transport_)
    for (std::size_t id = 0; id < instance_.background.size(); ++id)
      start_background(local_.first_background + static_cast<FlowId>(id));
}

// As much as a message can be: it does not end within simulated time, and begins again if it does.
void Executor::start_background(FlowId flow) {
  network_.start(flow, Bytes(std::numeric_limits<std::int64_t>::max()));
}

// ---------------------------------------------------------------- links

void Executor::change_link(std::uint32_t number) {
  const LinkChange& change = conditions_.link_changes[number];
  const ResourceId resource = change_resource_[number];
  if (change.bandwidth && resource != none) {
    std::optional<Instant>& down = down_since_[resource];
    if (*change.bandwidth > Bandwidth())
      down.reset();
    else if (!down)
      down = now_;
    if (!transport_ || is_memory(resource)) network_.set_capacity(resource, *change.bandwidth, now_);
  }
  if (transport_) transport_->change_link(change, now_);
  const auto [first, last] = entries_of(instance_.latency_changes, number);
  for (auto entry = first; entry != last; ++entry) {
    const bool detours = entry->detour != none;
    way_latency_[detours ? connections_.size() + entry->detour : entry->connection] = entry->latency;
    if (detour_.empty() || detour_[entry->connection] == entry->detour)
      connections_[entry->connection].latency = entry->latency;
  }
  change_trees(number);
}

// Of aggregations that drain from now on.
void Executor::change_trees(std::uint32_t number) {
  const auto [first, last] = entries_of(instance_.tree_changes, number);
  for (auto entry = first; entry != last; ++entry) {
    tree_up_[entry->group] = entry->up_latency_max;
    tree_down_[entry->group] = entry->down_latency_max;
    std::copy(entry->down_latency.begin(), entry->down_latency.end(),
              member_down_.begin() + instance_.groups[entry->group].first_member);
  }
}

// The latency of the message that has just drained. It may not overtake the one before.
Duration Executor::latency_in_order(ConnectionId id) {
  const Duration own = connections_[id].latency + jitter(id, connections_[id].messages - 1);
  last_arrival_[id] = std::max(last_arrival_[id], now_ + own);
  return last_arrival_[id] - now_;
}

// From the end of a receive until the sender sees the slot. Credits do not overtake each other either.
Duration Executor::credit_delay(ConnectionId id) {
  if (!options_.credit_by_route) return options_.credit_latency;
  const Duration own = options_.credit_latency + connections_[id].latency;
  if (!in_order_) return own;
  last_credit_[id] = std::max(last_credit_[id], now_ + own);
  return last_credit_[id] - now_;
}

Duration Executor::jitter(ConnectionId id, std::int64_t number) const {
  if (!instance_.has_jitter) return {};
  const Instance::Connection& facts = instance_.connections[id];
  return jitter_of(conditions_,
                   {instance_.streams[facts.sender].job, facts.source, facts.target, facts.channel, number});
}

// Whether local work draws on the link.
bool Executor::is_memory(ResourceId resource) const {
  return std::any_of(instance_.memories.begin(), instance_.memories.end(),
                     [&](const Instance::Memory& memory) { return memory.resource == resource; });
}

// ---------------------------------------------------------------- routes

void Executor::change_routes(std::uint32_t number) {
  if (transport_) transport_->change_routes(*conditions_.route_changes[number].routes, now_);
  const auto [first, last] = entries_of(instance_.reroutes, number);
  for (auto entry = first; entry != last; ++entry) {
    if (!transport_) move_message(*entry);
    take_way(*entry);
  }
}

// The connection is on its new way from now on.
void Executor::take_way(const Instance::Reroute& reroute) {
  const ConnectionId id = reroute.connection;
  Connection& connection = connections_[id];
  detour_[id] = reroute.detour;
  connection.parts = way_of(id).parts;
  connection.latency = way_of(id).latency;
  if (!way_latency_.empty())
    connection.latency = way_latency_[reroute.detour == none ? id : connections_.size() + reroute.detour];
}

// What is left of the message that drains goes on there; what has drained counts where it did.
void Executor::move_message(const Instance::Reroute& reroute) {
  const ConnectionId id = reroute.connection;
  Connection& connection = connections_[id];
  const Instance::Way& from = way_of(id);
  std::int64_t& bytes = detour_[id] == none ? first_bytes_[id] : detour_bytes_[detour_[id]];
  const Instance::Way& to = reroute.detour == none
                                ? static_cast<const Instance::Way&>(instance_.connections[id])
                                : instance_.detours[reroute.detour];
  const auto owners = std::lower_bound(flow_owner_.begin(), flow_owner_.end(), id);
  const FlowId flow = reroute.detour == none ? static_cast<FlowId>(owners - flow_owner_.begin())
                                             : flow_of_detour(instance_, reroute.detour);
  std::int64_t left = 0;
  if (is_draining(id) && !network_.drained(connection.flow, now_)) {
    const Int128 work = network_.abort(connection.flow, now_) * from.parts;
    const StreamId sender = connection.sender;
    const Bytes whole = message_size(sender, instance_.programs.operations[streams_[sender].operation]);
    left = static_cast<std::int64_t>((work + work_per_byte - 1) / work_per_byte);
    left = std::min(left, whole.count());  // an empty message drains as one of a byte
    network_.start_rest(flow, (work + to.parts - 1) / to.parts, now_);
    if (options_.explain) drain_start_[flow] = drain_start_[connection.flow];
  }
  bytes += connection.bytes - left;
  connection.bytes = left;
  connection.flow = flow;
}

const Instance::Way& Executor::way_of(ConnectionId id) const {
  if (detour_.empty() || detour_[id] == none) return instance_.connections[id];
  return instance_.detours[detour_[id]];
}

// Whether a message of the connection drains: its stream stands at the send.
bool Executor::is_draining(ConnectionId id) const {
  const Stream& stream = streams_[connections_[id].sender];
  if (stream.phase != Phase::draining) return false;
  const CompiledOperation& operation = instance_.programs.operations[stream.operation];
  return operation.kind == OperationKind::send &&
         instance_.send_to[stream.peers + static_cast<std::uint32_t>(operation.peer)] == id;
}

// ---------------------------------------------------------------- GPUs

void Executor::change_gpu(const GpuChange& change) {
  gpus_[change.gpu] = instance_.gpus[change.gpu].changes[change.number].second;
  for (ResourceId id = 0; id < instance_.resources.size(); ++id)
    if (const Instance::Resource& unit = instance_.resources[id]; unit.gpu == change.gpu)
      network_.set_capacity(id, unit_bandwidth(instance_, gpus_[change.gpu], unit.copies, unit.memory), now_);
}

// The flow of a stream's reductions; none where they take no time now.
FlowId Executor::reduction_of(StreamId id) const {
  return gpu_changes_.empty() || draws(id) || gpu_of(id).reduce_bandwidth ? local_.reduce[id] : none;
}

FlowId Executor::copy_of(StreamId id) const {
  return gpu_changes_.empty() || draws(id) || gpu_of(id).copy_bandwidth ? local_.copy[id] : none;
}

// ---------------------------------------------------------------- the end

// Whether a copy or a reduction of the stream drains.
bool Executor::works_locally(StreamId id) const {
  const Stream& stream = streams_[id];
  if (stream.phase != Phase::draining) return false;
  const OperationKind kind = instance_.programs.operations[stream.operation].kind;
  return kind == OperationKind::copy || kind == OperationKind::reduce ||
         kind == OperationKind::receive_reduce;
}

// The first link that carries nothing and holds a message, an aggregation or local work.
void Executor::find_down_link(Outcome& outcome) const {
  const auto down = [this](ResourceId id) { return id < down_since_.size() && down_since_[id].has_value(); };
  ResourceId found = none;
  const auto look_at = [&](ResourceId id) {
    if (down(id) && (found == none || instance_.resources[id].link < instance_.resources[found].link))
      found = id;
  };
  const auto look = [&](const auto& user) {
    for (std::uint32_t hop = user.first_hop; hop < user.hop_end; ++hop) look_at(instance_.hops[hop].resource);
  };
  for (StreamId id = 0; id < streams_.size() && !instance_.memories.empty(); ++id)
    if (draws(id) && works_locally(id)) look_at(instance_.memories[instance_.streams[id].memory].resource);
  if (transport_) {
    const std::optional<LinkId> link = transport_->down_link();
    for (ResourceId id = 0; link && id < instance_.resources.size(); ++id)
      if (instance_.resources[id].link == *link) look_at(id);
  } else {
    for (ConnectionId id = 0; id < connections_.size(); ++id)
      if (is_draining(id)) look(way_of(id));
    for (GroupId id = 0; id < groups_.size(); ++id)
      if (!groups_[id].posted.empty() && streams_[groups_[id].posted.front()].phase == Phase::draining)
        look(instance_.groups[id]);
  }
  if (found == none) return;
  outcome.status = RunStatus::failed;
  outcome.down_link = instance_.resources[found].link;
  outcome.down_since = *down_since_[found];
}

// Whether something drains that would end after the end of simulated time.
bool Executor::drains_too_late() const {
  for (FlowId flow = 0; flow < local_.first_background; ++flow)
    if (network_.rate(flow) > 0 && !network_.drain_time(flow)) return true;
  return false;
}

}  // namespace collsim
