// Executor: from jobs to streams, connections and flows.
#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/executor.hpp"

namespace collsim {
namespace {

// An open-addressing map from (source, target, channel) to a connection; lives during set-up only.
class ConnectionIndex {
 public:
  explicit ConnectionIndex(std::size_t count) {
    std::size_t size = 16;
    while (size < 2 * count) size *= 2;
    slots_.resize(size);
  }
  // The value stored for the key, or a reference to the place for it, holding `none`.
  std::uint32_t& at(Rank source, Rank target, std::int32_t channel) {
    std::size_t place = hash(source, target, channel) & (slots_.size() - 1);
    for (;; place = (place + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[place];
      if (slot.value == none) {
        slot.source = source;
        slot.target = target;
        slot.channel = channel;
        return slot.value;
      }
      if (slot.source == source && slot.target == target && slot.channel == channel) return slot.value;
    }
  }
  static constexpr std::uint32_t none = 0xffffffffU;

 private:
  struct Slot {
    Rank source = 0;
    Rank target = 0;
    std::int32_t channel = 0;
    std::uint32_t value = none;
  };
  static std::size_t hash(Rank source, Rank target, std::int32_t channel) {
    return mix64((static_cast<std::uint64_t>(source) << 32) ^ (static_cast<std::uint64_t>(target) << 8) ^
                 static_cast<std::uint64_t>(channel) * 0x9e3779b97f4a7c15ULL);
  }
  std::vector<Slot> slots_;
};

Rank mapped(const Job& job, Rank rank) {
  return job.rank_map.empty() ? rank : job.rank_map[static_cast<std::size_t>(rank)];
}

std::uint64_t identity_of(std::uint64_t job, std::uint64_t first, std::uint64_t second, std::uint64_t third) {
  return mix64(mix64(mix64(mix64(job) + first) + second) + third);
}

}  // namespace

Executor::Executor(const Topology& topology, const std::vector<Job>& jobs, const RunOptions& options,
                   const std::vector<CapacityChange>& changes)
    : topology_(topology), options_(options), changes_(changes) {
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    COLLSIM_CHECK(jobs[number].after < static_cast<std::int32_t>(number));
    add_job(jobs[number], static_cast<std::uint32_t>(number));
    after_.push_back(jobs[number].after);
  }
  add_resources(changes);
  add_connection_flows();
  add_group_flows();
  add_local_flows();
  network_.freeze();
  unfinished_jobs_ = static_cast<std::uint32_t>(jobs_.size());
  if (!options_.explain) return;
  chain_.resize(streams_.size());
  drain_start_.resize(first_local_flow_ + local_owner_.size());
  in_flight_.resize(connections_.size());
  credits_.resize(connections_.size());
  results_coming_.resize(results_.size());
  aggregations_.resize(groups_.size());
}

void Executor::add_job(const Job& job, std::uint32_t number) {
  const Schedule& schedule = *job.schedule;
  COLLSIM_CHECK(job.rank_map.empty() || job.rank_map.size() == static_cast<std::size_t>(schedule.ranks));
  COLLSIM_CHECK(!job.rank_map.empty() || schedule.ranks <= topology_.ranks());
  JobState state;
  state.schedule = &schedule;
  state.start = job.start;
  state.first_stream = static_cast<std::uint32_t>(streams_.size());
  const auto first_group = static_cast<GroupId>(groups_.size());
  add_groups(job, number);
  add_streams(job, state, number);
  state.stream_end = static_cast<std::uint32_t>(streams_.size());
  state.running = state.stream_end - state.first_stream;
  add_connections(state, number);
  for (GroupId group = first_group; group < groups_.size(); ++group)
    groups_[group].posted.reserve(groups_[group].members);
  jobs_.push_back(state);
}

void Executor::add_streams(const Job& job, JobState& state, std::uint32_t number) {
  const Schedule& schedule = *job.schedule;
  const std::uint32_t first_program = programs_.add(schedule);
  const auto first_group = static_cast<GroupId>(groups_.size()) - static_cast<GroupId>(schedule.group_count);
  Binding binding;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const auto rank_streams = static_cast<StreamId>(streams_.size());
    const std::int32_t count = schedule.stream_count(rank);
    for (std::int32_t index = 0; index < count; ++index) {
      binding.clear();
      schedule.bind(rank, index, binding);
      const std::uint32_t program_number = first_program + static_cast<std::uint32_t>(binding.program);
      const CompiledProgram& program = programs_.programs[program_number];
      Stream stream;
      stream.loop = program.first_loop;
      stream.loop_end = program.loop_end;
      if (stream.loop < stream.loop_end) stream.operation = programs_.loops[stream.loop].first_operation;
      stream.bases = static_cast<std::uint32_t>(bases_.size());
      stream.peers = static_cast<std::uint32_t>(peers_.size());
      stream.streams = static_cast<std::uint32_t>(stream_slots_.size());
      stream.groups = static_cast<std::uint32_t>(group_slots_.size());
      stream.job = number;
      stream.rank = mapped(job, rank);
      stream.number = index;
      bases_.insert(bases_.end(), binding.bases.begin(), binding.bases.end());
      for (const Peer& peer : binding.peers) peers_.push_back({mapped(job, peer.rank), peer.channel});
      for (const std::int32_t other : binding.streams) {
        COLLSIM_CHECK(other >= 0 && other < count);
        stream_slots_.push_back(rank_streams + static_cast<StreamId>(other));
      }
      for (const std::int32_t group : binding.groups) {
        const GroupId id = first_group + static_cast<GroupId>(group);
        const auto& members = schedule.group(group).members;
        const auto place = std::find(members.begin(), members.end(), rank) - members.begin();
        COLLSIM_CHECK(place < static_cast<std::ptrdiff_t>(members.size()));
        group_slots_.push_back({id, groups_[id].first_member + static_cast<std::uint32_t>(place)});
      }
      streams_.push_back(stream);
      stream_program_.push_back(program_number);
    }
  }
  static_cast<void>(state);
}

void Executor::add_groups(const Job& job, std::uint32_t number) {
  const Schedule& schedule = *job.schedule;
  for (std::int32_t index = 0; index < schedule.group_count; ++index) {
    AggregationGroup wanted = schedule.group(index);
    for (Rank& member : wanted.members) member = mapped(job, member);
    auto path = topology_.aggregation(wanted);
    COLLSIM_CHECK_MSG(std::holds_alternative<AggregationPath>(path), std::get<Impossible>(path).reason);
    Group group;
    group.path = std::get<AggregationPath>(std::move(path));
    group.members = static_cast<std::uint32_t>(wanted.members.size());
    group.first_member = static_cast<std::uint32_t>(results_.size());
    group.job = number;
    group.number = index;
    group.root = wanted.root;
    group.mode = wanted.mode;
    group.identity = identity_of(number, static_cast<std::uint64_t>(index), 0, 1);
    for (std::uint32_t member = 0; member < group.members; ++member) {
      const bool sends =
          group.mode != AggregationMode::multicast || member == static_cast<std::uint32_t>(group.root);
      if (sends) group.up_latency_max = std::max(group.up_latency_max, group.path.up_latency[member]);
      if (receives(group, member))
        group.down_latency_max = std::max(group.down_latency_max, group.path.down_latency[member]);
      results_.push_back({0, none, static_cast<GroupId>(groups_.size())});
    }
    groups_.push_back(std::move(group));
  }
}

void Executor::add_connections(const JobState& state, std::uint32_t number) {
  send_to_.resize(peers_.size(), none);
  receive_from_.resize(peers_.size(), none);
  const auto first = static_cast<ConnectionId>(connections_.size());
  for (StreamId id = state.first_stream; id < state.stream_end; ++id) {
    const Stream& stream = streams_[id];
    const CompiledProgram& program = programs_.programs[stream_program_[id]];
    for (std::size_t slot = 0; slot < program.sends_to.size(); ++slot) {
      if (!program.sends_to[slot]) continue;
      const Peer peer = peers_[stream.peers + slot];
      COLLSIM_CHECK(peer.rank != stream.rank);
      Connection connection;
      connection.sender = id;
      connection.slots = state.schedule->slots;
      connection.source = stream.rank;
      connection.target = peer.rank;
      connection.channel = peer.channel;
      connection.identity =
          identity_of(number, static_cast<std::uint64_t>(stream.rank), static_cast<std::uint64_t>(peer.rank),
                      (static_cast<std::uint64_t>(peer.channel) << 8) | 2U);
      send_to_[stream.peers + slot] = static_cast<ConnectionId>(connections_.size());
      connections_.push_back(connection);
    }
  }
  ConnectionIndex index(connections_.size() - first);
  for (auto id = first; id < connections_.size(); ++id) {
    const Connection& connection = connections_[id];
    std::uint32_t& entry = index.at(connection.source, connection.target, connection.channel);
    COLLSIM_CHECK_MSG(entry == none, "two streams send on one connection");
    entry = id;
  }
  for (StreamId id = state.first_stream; id < state.stream_end; ++id) {
    const Stream& stream = streams_[id];
    const CompiledProgram& program = programs_.programs[stream_program_[id]];
    for (std::size_t slot = 0; slot < program.receives_from.size(); ++slot) {
      if (!program.receives_from[slot]) continue;
      const Peer peer = peers_[stream.peers + slot];
      const std::uint32_t connection = index.at(peer.rank, stream.rank, peer.channel);
      COLLSIM_CHECK_MSG(connection != none, "a stream receives from a connection on which nobody sends");
      COLLSIM_CHECK_MSG(connections_[connection].receiver == none, "two streams receive from one connection");
      connections_[connection].receiver = id;
      receive_from_[stream.peers + slot] = connection;
    }
  }
}

// ---------------------------------------------------------------- flows

void Executor::add_resources(const std::vector<CapacityChange>& changes) {
  link_resource_.assign(topology_.link_count(), none);
  for (const CapacityChange& change : changes) {
    COLLSIM_CHECK(change.link.value < topology_.link_count());
    if (link_resource_[change.link.value] == none)
      link_resource_[change.link.value] = network_.add_resource(topology_.link(change.link).bandwidth, true);
  }
}

ResourceId Executor::resource_of(LinkId link) {
  ResourceId& resource = link_resource_[link.value];
  if (resource == none) resource = network_.add_resource(topology_.link(link).bandwidth);
  return resource;
}

// Flow of a connection = its number. Connections of one stream lie together, as the network wants them.
void Executor::add_connection_flows() {
  std::vector<LinkId> links;
  std::vector<ResourceId> route;
  for (Connection& connection : connections_) {
    links.clear();
    route.clear();
    topology_.route(connection.source, connection.target, connection.channel, links);
    for (const LinkId link : links) {
      route.push_back(resource_of(link));
      connection.latency += topology_.link(link).latency;
    }
    const Schedule& schedule = *jobs_[streams_[connection.sender].job].schedule;
    network_.add_flow(route, schedule.channel_bandwidth, connection.sender);
  }
}

void Executor::add_group_flows() {
  first_group_flow_ = static_cast<FlowId>(connections_.size());
  std::vector<ResourceId> route;
  for (std::size_t id = 0; id < groups_.size(); ++id) {
    route.clear();
    for (const LinkId link : groups_[id].path.links) route.push_back(resource_of(link));
    network_.add_flow(route, groups_[id].path.rate_max, (std::uint64_t{1} << 33) + id);
  }
}

// Reductions and copies of a rank share its units; one flow a stream that has any.
void Executor::add_local_flows() {
  first_local_flow_ = first_group_flow_ + static_cast<FlowId>(groups_.size());
  std::vector<ResourceId> reduce_unit(static_cast<std::size_t>(topology_.ranks()), none);
  std::vector<ResourceId> copy_unit = reduce_unit;
  reduce_flow_.assign(streams_.size(), none);
  copy_flow_.assign(streams_.size(), none);
  const auto add = [this](StreamId id, std::vector<ResourceId>& units, Bandwidth bandwidth, FlowId& flow) {
    ResourceId& unit = units[static_cast<std::size_t>(streams_[id].rank)];
    if (unit == none) unit = network_.add_resource(bandwidth);
    flow = network_.add_flow({&unit, 1}, std::nullopt, (std::uint64_t{1} << 34) + id);
    local_owner_.push_back(id);
  };
  for (StreamId id = 0; id < streams_.size(); ++id) {
    const CompiledProgram& program = programs_.programs[stream_program_[id]];
    const GpuSpec& gpu = topology_.gpu(streams_[id].rank);
    if (program.reduces && gpu.reduce_bandwidth)
      add(id, reduce_unit, *gpu.reduce_bandwidth, reduce_flow_[id]);
    if (program.copies && gpu.copy_bandwidth) add(id, copy_unit, *gpu.copy_bandwidth, copy_flow_[id]);
  }
}

}  // namespace collsim
