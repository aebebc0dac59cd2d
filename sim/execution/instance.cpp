// instance_of(): from jobs and a topology to streams, connections, groups and resources.
#include "sim/execution/instance.hpp"

#include <algorithm>
#include <map>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/ways.hpp"

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

std::uint64_t identity_of(const AggregationGroup& group) {
  std::uint64_t hash =
      mix64(static_cast<std::uint64_t>(group.scope) * 16 + static_cast<std::uint64_t>(group.mode));
  hash = mix64(hash + static_cast<std::uint64_t>(group.root));
  hash = mix64(hash + static_cast<std::uint64_t>(group.rail));
  for (const Rank member : group.members) hash = mix64(hash + static_cast<std::uint64_t>(member));
  return hash;
}

// Ranks of a group's members with their places, for finding a rank's member.
using MemberIndex = std::vector<std::pair<Rank, std::uint32_t>>;

class Builder {
 public:
  Builder(const Topology& topology, const Conditions& conditions)
      : topology_(topology), conditions_(conditions) {
    ways_.emplace(topology, conditions, instance_);
    gpus_.emplace(topology, conditions, instance_.gpus);
  }

  void add(const Job& job) {
    const Schedule& schedule = *job.schedule;
    const auto number = static_cast<std::uint32_t>(instance_.jobs.size());
    COLLSIM_CHECK(job.after < static_cast<std::int32_t>(number));
    COLLSIM_CHECK(job.rank_map.empty() || job.rank_map.size() == static_cast<std::size_t>(schedule.ranks));
    COLLSIM_CHECK(!job.rank_map.empty() || schedule.ranks <= topology_.ranks());
    Instance::JobFacts facts{&schedule,
                             job.start,
                             job.after,
                             count_of(instance_.streams),
                             0,
                             schedule.ranks,
                             schedule.slots,
                             schedule.group_count,
                             schedule.channel_bandwidth};
    const std::vector<MemberIndex> members = add_groups(job, number);
    peers_.clear();
    first_peer_ = count_of(instance_.send_to);
    add_streams(job, number, members);
    facts.stream_end = count_of(instance_.streams);
    instance_.jobs.push_back(facts);
    add_connections(facts);
  }

  Instance take() {
    ways_->finish();
    add_units();
    // Local work has the weight of a message in one part.
    if (!instance_.memories.empty() && instance_.shares_unit > 1) instance_.has_unlike_weights = true;
    return std::move(instance_);
  }

 private:
  static constexpr std::uint32_t none = Instance::none;

  template <class T>
  static std::uint32_t count_of(const std::vector<T>& items) {
    return static_cast<std::uint32_t>(items.size());
  }

  std::vector<MemberIndex> add_groups(const Job& job, std::uint32_t number) {
    std::vector<MemberIndex> indices;
    for (std::int32_t index = 0; index < job.schedule->group_count; ++index) {
      AggregationGroup wanted = job.schedule->group(index);
      const std::uint64_t identity = identity_of(wanted);
      MemberIndex& places = indices.emplace_back();
      for (std::uint32_t place = 0; place < wanted.members.size(); ++place) {
        places.emplace_back(wanted.members[place], count_of(instance_.members) + place);
        wanted.members[place] = mapped(job, wanted.members[place]);
      }
      std::sort(places.begin(), places.end());
      add_group(wanted, number, index);
      instance_.groups.back().identity = identity;
    }
    return indices;
  }

  void add_group(const AggregationGroup& wanted, std::uint32_t job, std::int32_t number) {
    auto result = topology_.aggregation(wanted);
    COLLSIM_CHECK_MSG(std::holds_alternative<AggregationPath>(result), std::get<Impossible>(result).reason);
    const auto& path = std::get<AggregationPath>(result);
    Instance::Group group;
    group.job = job;
    group.number = number;
    group.members = static_cast<std::int32_t>(wanted.members.size());
    group.root = path.root;
    group.rate_max = path.rate_max;
    group.operations_max = path.operations_max;
    group.first_member = count_of(instance_.members);
    for (std::size_t place = 0; place < wanted.members.size(); ++place) {
      const bool root = place == static_cast<std::size_t>(wanted.root);
      const bool sends = wanted.mode != AggregationMode::multicast || root;
      const bool receives =
          wanted.mode == AggregationMode::all_reduce || (wanted.mode == AggregationMode::reduce) == root;
      if (sends) group.up_latency_max = std::max(group.up_latency_max, path.up_latency[place]);
      if (receives) group.down_latency_max = std::max(group.down_latency_max, path.down_latency[place]);
      instance_.members.push_back(
          {count_of(instance_.groups), receives, sends, wanted.members[place], path.down_latency[place]});
    }
    group.member_end = count_of(instance_.members);
    group.first_hop = count_of(instance_.hops);
    for (const LinkId link : path.links) instance_.hops.push_back({ways_->resource_of(link), 1});
    group.hop_end = count_of(instance_.hops);
    instance_.groups.push_back(group);
  }

  void add_streams(const Job& job, std::uint32_t number, const std::vector<MemberIndex>& members) {
    const Schedule& schedule = *job.schedule;
    const std::uint32_t first_program = instance_.programs.add(schedule);
    std::size_t total = instance_.streams.size();
    for (Rank rank = 0; rank < schedule.ranks; ++rank)
      total += static_cast<std::size_t>(schedule.stream_count(rank));
    instance_.streams.reserve(total);
    const Sizes before = sizes();
    Binding binding;
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      const std::uint32_t rank_streams = count_of(instance_.streams);
      const std::int32_t count = schedule.stream_count(rank);
      for (std::int32_t index = 0; index < count; ++index) {
        binding.clear();
        schedule.bind(rank, index, binding);
        Instance::Stream stream;
        stream.program = first_program + static_cast<std::uint32_t>(binding.program);
        stream.job = number;
        stream.rank = mapped(job, rank);
        stream.gpu = gpus_->of(stream.rank);
        if (!conditions_.skew.empty()) stream.skew = conditions_.skew[static_cast<std::size_t>(stream.rank)];
        stream.number = index;
        stream.bases = count_of(instance_.bases);
        stream.base_count = count_of(binding.bases);
        instance_.bases.insert(instance_.bases.end(), binding.bases.begin(), binding.bases.end());
        stream.peers = first_peer_ + count_of(peers_);
        stream.peer_count = count_of(binding.peers);
        for (const Peer& peer : binding.peers) peers_.push_back({mapped(job, peer.rank), peer.channel});
        stream.streams = count_of(instance_.stream_slots);
        stream.stream_slot_count = count_of(binding.streams);
        for (const std::int32_t other : binding.streams) {
          COLLSIM_CHECK(other >= 0 && other < count);
          instance_.stream_slots.push_back(rank_streams + static_cast<std::uint32_t>(other));
        }
        stream.groups = count_of(instance_.member_slots);
        stream.group_slot_count = count_of(binding.groups);
        for (const std::int32_t group : binding.groups)
          instance_.member_slots.push_back(member_of(members[static_cast<std::size_t>(group)], rank));
        instance_.streams.push_back(stream);
      }
      if (rank == 0) reserve_like_first(before, static_cast<std::size_t>(schedule.ranks));
    }
    instance_.send_to.resize(first_peer_ + peers_.size(), none);
    instance_.receive_from.resize(first_peer_ + peers_.size(), none);
  }

  struct Sizes {
    std::size_t bases = 0;
    std::size_t stream_slots = 0;
    std::size_t member_slots = 0;
  };
  Sizes sizes() const {
    return {instance_.bases.size(), instance_.stream_slots.size(), instance_.member_slots.size()};
  }
  // Most ranks are like the first: room for all of them at once. `before`: without the first.
  void reserve_like_first(const Sizes& before, std::size_t ranks) {
    const Sizes with = sizes();
    const auto room = [ranks](std::size_t none_yet, std::size_t first) {
      return none_yet + (first - none_yet) * ranks;
    };
    instance_.bases.reserve(room(before.bases, with.bases));
    instance_.stream_slots.reserve(room(before.stream_slots, with.stream_slots));
    instance_.member_slots.reserve(room(before.member_slots, with.member_slots));
    peers_.reserve(peers_.size() * ranks);
  }

  static std::uint32_t member_of(const MemberIndex& index, Rank rank) {
    const auto entry = std::lower_bound(index.begin(), index.end(), std::pair<Rank, std::uint32_t>(rank, 0));
    COLLSIM_CHECK(entry != index.end() && entry->first == rank);
    return entry->second;
  }

  // Connections in the order of their sending streams, then the streams that receive from them.
  void add_connections(const Instance::JobFacts& facts) {
    const std::uint32_t first = count_of(instance_.connections);
    for (std::uint32_t id = facts.first_stream; id < facts.stream_end; ++id) {
      const Instance::Stream& stream = instance_.streams[id];
      const auto& sends_to = instance_.programs.programs[stream.program].sends_to;
      for (std::uint32_t slot = 0; slot < sends_to.size(); ++slot)
        if (sends_to[slot]) add_connection(id, stream.peers + slot);
    }
    ConnectionIndex index(instance_.connections.size() - first);
    for (std::uint32_t id = first; id < instance_.connections.size(); ++id) {
      const Instance::Connection& connection = instance_.connections[id];
      std::uint32_t& entry = index.at(connection.source, connection.target, connection.channel);
      COLLSIM_CHECK_MSG(entry == none, "two streams send on one connection");
      entry = id;
    }
    for (std::uint32_t id = facts.first_stream; id < facts.stream_end; ++id) {
      const Instance::Stream& stream = instance_.streams[id];
      const auto& receives_from = instance_.programs.programs[stream.program].receives_from;
      for (std::uint32_t slot = 0; slot < receives_from.size(); ++slot) {
        if (!receives_from[slot]) continue;
        const Peer peer = peers_[stream.peers + slot - first_peer_];
        const std::uint32_t connection = index.at(peer.rank, stream.rank, peer.channel);
        COLLSIM_CHECK_MSG(connection != none, "a stream receives from a connection on which nobody sends");
        COLLSIM_CHECK_MSG(instance_.connections[connection].receiver == none,
                          "two streams receive from one connection");
        instance_.connections[connection].receiver = id;
        instance_.receive_from[stream.peers + slot] = connection;
      }
    }
  }

  void add_connection(std::uint32_t sender, std::uint32_t place) {
    const Peer peer = peers_[place - first_peer_];
    Instance::Connection connection;
    connection.sender = sender;
    connection.source = instance_.streams[sender].rank;
    connection.target = peer.rank;
    connection.channel = peer.channel;
    COLLSIM_CHECK(connection.source != connection.target);
    ways_->find(connection, instance_.jobs[instance_.streams[sender].job].channel_bandwidth);
    instance_.send_to[place] = count_of(instance_.connections);
    instance_.connections.push_back(connection);
  }

  // Reductions and copies of a rank share its units, and draw on the memory that it shares.
  void add_units() {
    std::vector<std::uint32_t> reduce_unit(static_cast<std::size_t>(topology_.ranks()), none);
    std::vector<std::uint32_t> copy_unit = reduce_unit;
    const auto unit = [this](std::uint32_t& entry, const Instance::Stream& stream, bool copies) {
      const std::optional<Instance::Resource> wanted = unit_of(instance_, stream.gpu, copies, stream.memory);
      if (entry == none && wanted) {
        entry = count_of(instance_.resources);
        instance_.resources.push_back(*wanted);
      }
      return entry;
    };
    for (Instance::Stream& stream : instance_.streams) {
      const CompiledProgram& program = instance_.programs.programs[stream.program];
      const auto rank = static_cast<std::size_t>(stream.rank);
      if (program.reduces || program.copies) stream.memory = memory_of(stream.rank);
      if (program.reduces) stream.reduce_unit = unit(reduce_unit[rank], stream, false);
      if (program.copies) stream.copy_unit = unit(copy_unit[rank], stream, true);
    }
  }

  // Into memories; none where the rank shares none.
  std::uint32_t memory_of(Rank rank) {
    const SharedMemory* memory = topology_.memory_of(rank);
    if (memory == nullptr) return none;
    const auto [entry, fresh] = memory_number_.try_emplace(memory->link, count_of(instance_.memories));
    if (fresh) instance_.memories.push_back({ways_->resource_of(memory->link), *memory});
    return entry->second;
  }

  const Topology& topology_;
  const Conditions& conditions_;
  Instance instance_;
  std::map<LinkId, std::uint32_t> memory_number_;
  std::optional<Ways> ways_;
  std::optional<Gpus> gpus_;
  std::vector<Peer> peers_;  // of the job being added, parallel to send_to from first_peer_ on
  std::uint32_t first_peer_ = 0;
};

bool same_shape(const CompiledPrograms& a, const CompiledPrograms& b) {
  const auto same_operation = [&](const CompiledOperation& one, const CompiledOperation& other) {
    if (one.kind != other.kind || one.peer != other.peer || one.wait_count != other.wait_count) return false;
    for (std::uint32_t index = 0; index < one.wait_count; ++index)
      if (a.waits[one.first_wait + index].stream_slot != b.waits[other.first_wait + index].stream_slot)
        return false;
    return true;
  };
  const auto same_loop = [](const CompiledLoop& one, const CompiledLoop& other) {
    return one.first_operation == other.first_operation && one.operation_end == other.operation_end;
  };
  const auto same_program = [](const CompiledProgram& one, const CompiledProgram& other) {
    return one.first_loop == other.first_loop && one.loop_end == other.loop_end;
  };
  return std::equal(a.programs.begin(), a.programs.end(), b.programs.begin(), b.programs.end(),
                    same_program) &&
         std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), same_loop) &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(),
                    same_operation);
}

// Whether a stream of the instance is bound as `binding` says, whatever the bases.
bool same_binding(const Instance& instance, std::uint32_t id, std::uint32_t rank_streams,
                  const Binding& binding) {
  const Instance::Stream& stream = instance.streams[id];
  if (stream.program != static_cast<std::uint32_t>(binding.program) ||
      stream.peer_count != binding.peers.size() || stream.stream_slot_count != binding.streams.size() ||
      stream.group_slot_count != binding.groups.size())
    return false;
  for (std::uint32_t slot = 0; slot < stream.peer_count; ++slot) {
    const Peer peer = binding.peers[slot];
    const std::uint32_t to = instance.send_to[stream.peers + slot];
    const std::uint32_t from = instance.receive_from[stream.peers + slot];
    const auto is = [&](std::uint32_t connection, Rank far) {
      return far == peer.rank && instance.connections[connection].channel == peer.channel;
    };
    if (to != Instance::none && !is(to, instance.connections[to].target)) return false;
    if (from != Instance::none && !is(from, instance.connections[from].source)) return false;
  }
  for (std::uint32_t slot = 0; slot < stream.stream_slot_count; ++slot)
    if (instance.stream_slots[stream.streams + slot] !=
        rank_streams + static_cast<std::uint32_t>(binding.streams[slot]))
      return false;
  for (std::uint32_t slot = 0; slot < stream.group_slot_count; ++slot) {
    const std::uint32_t group = instance.members[instance.member_slots[stream.groups + slot]].group;
    if (instance.groups[group].number != binding.groups[slot]) return false;
  }
  return true;
}

}  // namespace

bool rebind(Instance& instance, const Schedule& schedule) {
  const Instance::JobFacts& old = instance.jobs[0];
  if (instance.jobs.size() != 1 || old.ranks != schedule.ranks || old.slots != schedule.slots ||
      old.channel_bandwidth != schedule.channel_bandwidth || old.group_count != schedule.group_count)
    return false;
  for (std::int32_t index = 0; index < schedule.group_count; ++index)
    if (identity_of(schedule.group(index)) != instance.groups[static_cast<std::size_t>(index)].identity)
      return false;
  CompiledPrograms programs;
  programs.add(schedule);
  if (!same_shape(programs, instance.programs)) return false;
  std::vector<std::int64_t> bases;
  bases.reserve(instance.bases.size());
  Binding binding;
  std::uint32_t id = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::uint32_t rank_streams = id;
    const std::int32_t count = schedule.stream_count(rank);
    for (std::int32_t number = 0; number < count; ++number, ++id) {
      binding.clear();
      schedule.bind(rank, number, binding);
      if (id >= instance.streams.size() || instance.streams[id].rank != rank ||
          binding.bases.size() != instance.streams[id].base_count ||
          !same_binding(instance, id, rank_streams, binding))
        return false;
      bases.insert(bases.end(), binding.bases.begin(), binding.bases.end());
    }
  }
  if (id != instance.streams.size()) return false;
  instance.programs = std::move(programs);
  instance.bases = std::move(bases);
  instance.jobs[0].schedule = &schedule;
  return true;
}

Instance instance_of(const Topology& topology, const std::vector<Job>& jobs, const Conditions& conditions) {
  Builder builder(topology, conditions);
  for (const Job& job : jobs) builder.add(job);
  return builder.take();
}

}  // namespace collsim
