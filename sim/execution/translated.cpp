#include "sim/execution/translated.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/core/check.hpp"
#include "sim/execution/ways.hpp"

namespace collsim {
namespace {

// Links of one kind: those that join vertices of the same kinds and levels.
struct LinkClass {
  LinkId first;
  std::int64_t links = 0;
  std::uint32_t resource = Instance::none;
};

struct LinkClasses {
  std::vector<std::uint32_t> number;  // [LinkId]
  std::vector<LinkClass> classes;
};

LinkClasses classes_of_links(const Topology& topology) {
  const auto kind_of = [&](VertexId id) {
    const Vertex& vertex = topology.vertex(id);
    return static_cast<int>(vertex.kind) * 8 + vertex.level;
  };
  LinkClasses result;
  std::map<std::pair<int, int>, std::uint32_t> numbers;
  result.number.reserve(topology.link_count());
  for (std::size_t id = 0; id < topology.link_count(); ++id) {
    const LinkId link(static_cast<std::uint32_t>(id));
    const std::pair ends{kind_of(topology.link(link).source), kind_of(topology.link(link).target)};
    const auto [entry, fresh] = numbers.try_emplace(ends, static_cast<std::uint32_t>(result.classes.size()));
    if (fresh) result.classes.push_back({link, 0, Instance::none});
    LinkClass& kind = result.classes[entry->second];
    const Link& one = topology.link(kind.first);
    COLLSIM_CHECK(one.bandwidth == topology.link(link).bandwidth &&
                  one.latency == topology.link(link).latency);
    ++kind.links;
    result.number.push_back(entry->second);
  }
  return result;
}

class TranslatedBuilder {
 public:
  TranslatedBuilder(const Topology& topology, const Schedule& schedule)
      : topology_(topology), schedule_(schedule), classes_(classes_of_links(topology)) {}

  TranslatedInstance build() {
    instance_.gpus.push_back({topology_.gpu(0), {}});
    instance_.programs.add(schedule_);
    add_streams();
    Instance::JobFacts facts;
    facts.schedule = &schedule_;
    facts.stream_end = static_cast<std::uint32_t>(instance_.streams.size());
    facts.ranks = schedule_.ranks;
    facts.slots = schedule_.slots;
    facts.channel_bandwidth = schedule_.channel_bandwidth;
    instance_.jobs.push_back(facts);
    add_connections();
    join_receivers();
    add_units();
    TranslatedInstance result;
    for (const std::uint32_t number : classes_.number)
      result.resource_of_link.push_back(classes_.classes[number].resource);
    result.streams = static_cast<std::int64_t>(instance_.streams.size()) * schedule_.ranks;
    result.instance = std::move(instance_);
    return result;
  }

 private:
  // Ends of connections by the rank at the other end and the channel.
  using End = std::tuple<Rank, std::int32_t, std::uint32_t>;  // rank, channel, connection

  void add_streams() {
    Binding binding;
    for (std::int32_t number = 0; number < schedule_.translated->streams; ++number) {
      binding.clear();
      schedule_.bind(0, number, binding);
      Instance::Stream stream;
      stream.weight = schedule_.ranks;
      stream.program = static_cast<std::uint32_t>(binding.program);
      stream.number = number;
      stream.bases = static_cast<std::uint32_t>(instance_.bases.size());
      stream.base_count = static_cast<std::uint32_t>(binding.bases.size());
      instance_.bases.insert(instance_.bases.end(), binding.bases.begin(), binding.bases.end());
      stream.peers = static_cast<std::uint32_t>(peers_.size());
      stream.peer_count = static_cast<std::uint32_t>(binding.peers.size());
      peers_.insert(peers_.end(), binding.peers.begin(), binding.peers.end());
      stream.streams = static_cast<std::uint32_t>(instance_.stream_slots.size());
      stream.stream_slot_count = static_cast<std::uint32_t>(binding.streams.size());
      for (const std::int32_t other : binding.streams) {
        COLLSIM_CHECK(other >= 0 && other < schedule_.translated->streams);
        instance_.stream_slots.push_back(static_cast<std::uint32_t>(other));
      }
      instance_.streams.push_back(stream);
    }
    instance_.send_to.resize(peers_.size(), Instance::none);
    instance_.receive_from.resize(peers_.size(), Instance::none);
  }

  void add_connections() {
    for (std::uint32_t id = 0; id < instance_.streams.size(); ++id) {
      const Instance::Stream& stream = instance_.streams[id];
      const auto& sends_to = instance_.programs.programs[stream.program].sends_to;
      for (std::uint32_t slot = 0; slot < sends_to.size(); ++slot)
        if (sends_to[slot]) add_connection(id, stream.peers + slot);
    }
  }

  void add_connection(std::uint32_t sender, std::uint32_t place) {
    const Peer peer = peers_[place];
    COLLSIM_CHECK(peer.rank != 0);
    const auto id = static_cast<std::uint32_t>(instance_.connections.size());
    Instance::Connection connection;
    connection.weight = schedule_.ranks;
    connection.sender = sender;
    connection.target = peer.rank;
    connection.channel = peer.channel;
    links_.clear();
    topology_.route(0, peer.rank, peer.channel, links_);
    connection.first_hop = static_cast<std::uint32_t>(instance_.hops.size());
    std::map<std::uint32_t, std::int64_t> crossed;  // by class: links of the route
    Bandwidth alone = schedule_.channel_bandwidth.value_or(topology_.link(links_.front()).bandwidth);
    for (const LinkId link : links_) {
      alone = std::min(alone, topology_.link(link).bandwidth);
      connection.latency += topology_.link(link).latency;
      ++crossed[classes_.number[link.value]];
    }
    for (const auto& entry : crossed) add_hop(classes_.classes[entry.first], entry.second);
    connection.hop_end = static_cast<std::uint32_t>(instance_.hops.size());
    connection.alone = alone;
    instance_.send_to[place] = id;
    senders_.emplace_back(peer.rank, peer.channel, id);
    instance_.connections.push_back(connection);
  }

  void add_hop(LinkClass& kind, std::int64_t crossed) {
    const std::uint32_t resource = resource_of(kind);
    const std::int64_t flows = schedule_.ranks * crossed;
    COLLSIM_CHECK(flows % kind.links == 0);
    instance_.hops.push_back({resource, static_cast<std::uint32_t>(flows / kind.links)});
  }
  std::uint32_t resource_of(LinkClass& kind) {
    if (kind.resource == Instance::none) {
      kind.resource = static_cast<std::uint32_t>(instance_.resources.size());
      instance_.resources.push_back(
          {topology_.link(kind.first).bandwidth, kind.first, false, Instance::none, false, Instance::none});
    }
    return kind.resource;
  }

  // What rank 0 receives from rank p is, moved by p's way home, what rank 0 sends to home(p).
  void join_receivers() {
    std::sort(senders_.begin(), senders_.end());
    for (std::uint32_t id = 0; id < instance_.streams.size(); ++id) {
      const Instance::Stream& stream = instance_.streams[id];
      const auto& receives_from = instance_.programs.programs[stream.program].receives_from;
      for (std::uint32_t slot = 0; slot < receives_from.size(); ++slot) {
        if (!receives_from[slot]) continue;
        const Peer peer = peers_[stream.peers + slot];
        const Rank target = schedule_.translated->translation.home(peer.rank);
        const auto at = std::lower_bound(senders_.begin(), senders_.end(), End{target, peer.channel, 0});
        COLLSIM_CHECK_MSG(
            at != senders_.end() && std::get<0>(*at) == target && std::get<1>(*at) == peer.channel,
            "a stream receives from a connection on which nobody sends");
        const std::uint32_t connection = std::get<2>(*at);
        COLLSIM_CHECK_MSG(instance_.connections[connection].receiver == Instance::none,
                          "two streams receive from one connection");
        instance_.connections[connection].receiver = id;
        instance_.receive_from[stream.peers + slot] = connection;
      }
    }
  }

  // Of rank 0, which stands for the ranks of all nodes: into memories.
  std::uint32_t add_memory() {
    const SharedMemory* memory = topology_.memory_of(0);
    if (memory == nullptr) return Instance::none;
    LinkClass& kind = classes_.classes[classes_.number[memory->link.value]];
    instance_.memories.push_back({resource_of(kind), *memory});
    return 0;
  }

  void add_units() {
    const std::uint32_t memory = add_memory();
    const auto memory_weight =
        memory == Instance::none ? 1U : static_cast<std::uint32_t>(topology_.placement().gpus_per_node);
    const auto unit = [this, memory](std::uint32_t& entry, bool copies) {
      const std::optional<Instance::Resource> wanted = unit_of(instance_, 0, copies, memory);
      if (entry == Instance::none && wanted) {
        entry = static_cast<std::uint32_t>(instance_.resources.size());
        instance_.resources.push_back(*wanted);
      }
      return entry;
    };
    std::uint32_t reduce_unit = Instance::none;
    std::uint32_t copy_unit = Instance::none;
    for (Instance::Stream& stream : instance_.streams) {
      const CompiledProgram& program = instance_.programs.programs[stream.program];
      if (program.reduces || program.copies) {
        stream.memory = memory;
        stream.memory_weight = memory_weight;
      }
      if (program.reduces) stream.reduce_unit = unit(reduce_unit, false);
      if (program.copies) stream.copy_unit = unit(copy_unit, true);
    }
  }

  const Topology& topology_;
  const Schedule& schedule_;
  LinkClasses classes_;
  Instance instance_;
  std::vector<Peer> peers_;  // parallel to send_to
  std::vector<End> senders_;
  std::vector<LinkId> links_;
};

}  // namespace

std::optional<TranslatedInstance> translated_instance(const Topology& topology, const std::vector<Job>& jobs,
                                                      const Conditions& conditions) {
  if (jobs.size() != 1 || !conditions.is_empty()) return std::nullopt;
  const Job& job = jobs[0];
  const Schedule& schedule = *job.schedule;
  const bool alike = !topology.has_unlike_gpus() &&
                     (topology.ranks() < 2 || topology.routes().spreading() == Spreading::none);
  const bool fits = alike && schedule.translated && job.rank_map.empty() && job.start == Instant() &&
                    schedule.ranks == topology.ranks() && uniform(schedule.layout) &&
                    topology.has_translation(schedule.translated->translation.kind);
  if (!fits) return std::nullopt;
  return TranslatedBuilder(topology, schedule).build();
}

RunResult result_of(const Topology& topology, const TranslatedInstance& translated, const Outcome& outcome) {
  RunResult result = totals_of(outcome);
  Duration last;
  for (const Instant finish : outcome.stream_finish) last = std::max(last, finish - Instant());
  result.rank_finish.assign(static_cast<std::size_t>(topology.ranks()), last);
  const std::vector<std::int64_t> bytes = resource_bytes(translated.instance, outcome);
  for (const std::uint32_t resource : translated.resource_of_link)
    result.link_bytes.push_back(Bytes(resource == Instance::none ? 0 : bytes[resource]));
  return result;
}

}  // namespace collsim
