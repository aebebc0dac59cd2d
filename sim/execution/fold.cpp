#include "sim/execution/fold.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/refinement.hpp"

namespace collsim {
namespace {

// Kinds of edges; a label is kind + kinds * slot.
enum : std::uint32_t {
  sends,
  receives,
  depends,
  depended,
  posts,
  belongs,
  uses,
  reduces,
  copies,
  draws,
  kinds
};

// The instance as a graph: streams, then connections, members, groups, background flows, resources.
class InstanceGraph {
 public:
  explicit InstanceGraph(const Instance& instance)
      : instance_(instance),
        first_connection_(static_cast<std::uint32_t>(instance.streams.size())),
        first_member_(first_connection_ + static_cast<std::uint32_t>(instance.connections.size())),
        first_group_(first_member_ + static_cast<std::uint32_t>(instance.members.size())),
        first_background_(first_group_ + static_cast<std::uint32_t>(instance.groups.size())),
        first_resource_(first_background_ + static_cast<std::uint32_t>(instance.background.size())),
        graph_(first_resource_ + instance.resources.size()) {
    number_latencies();
    each_edge([this](std::uint32_t from, std::uint32_t to, std::uint32_t, std::uint32_t) {
      graph_.count_edge(from, to);
    });
    graph_.reserve();
    each_edge([this](std::uint32_t from, std::uint32_t to, std::uint32_t label, std::uint32_t back) {
      graph_.add_edge(from, to, label, back);
    });
  }

  const LabelledGraph& graph() const { return graph_; }
  std::uint32_t connection(std::uint32_t id) const { return first_connection_ + id; }
  std::uint32_t member(std::uint32_t id) const { return first_member_ + id; }
  std::uint32_t group(std::uint32_t id) const { return first_group_ + id; }
  std::uint32_t background(std::uint32_t id) const { return first_background_ + id; }
  std::uint32_t resource(std::uint32_t id) const { return first_resource_ + id; }

  // Equal numbers for connections whose latencies change alike; 0 for those whose latency stays.
  void number_latencies() {
    std::map<std::tuple<std::uint64_t, std::uint32_t, Duration>, std::uint64_t> numbers;
    latencies_.resize(instance_.connections.size());
    for (const Instance::LatencyChange& change : instance_.latency_changes) {
      std::uint64_t& number = latencies_[change.connection];
      number = numbers.try_emplace({number, change.change, change.latency}, numbers.size() + 1).first->second;
    }
  }

  // What vertices of a cell must have in common beside their neighbours.
  std::vector<std::uint64_t> colours() const {
    std::vector<std::uint64_t> result;
    result.reserve(graph_.size());
    for (const Instance::Stream& stream : instance_.streams) result.push_back(colour(stream));
    for (std::size_t id = 0; id < instance_.connections.size(); ++id) {
      const Instance::Connection& connection = instance_.connections[id];
      result.push_back(hash({2, static_cast<std::uint64_t>(connection.latency.picoseconds()),
                             static_cast<std::uint64_t>(connection.parts), latencies_[id]}));
    }
    for (const Instance::Member& member : instance_.members)
      result.push_back(
          hash({3, member.receives, static_cast<std::uint64_t>(member.down_latency.picoseconds())}));
    for (const Instance::Group& group : instance_.groups) result.push_back(colour(group));
    for (const Instance::BackgroundFlow& flow : instance_.background)
      result.push_back(hash({6, static_cast<std::uint64_t>(flow.rate.bytes_per_second())}));
    for (std::size_t id = 0; id < instance_.resources.size(); ++id) {
      const Instance::Resource& resource = instance_.resources[id];
      const bool unit = !resource.link.exists();
      const std::uint64_t own = resource.changes && !unit ? id + 1 : 0;
      result.push_back(hash({5, static_cast<std::uint64_t>(resource.capacity.bytes_per_second()), unit, own,
                             resource.gpu, resource.copies, terms(resource.memory)}));
    }
    return result;
  }

  // Whether two vertices of one colour really have in common what their colour says.
  bool alike(std::uint32_t a, std::uint32_t b) const {
    if (a >= first_resource_)
      return alike(instance_.resources[a - first_resource_], instance_.resources[b - first_resource_]);
    if (a >= first_background_)
      return instance_.background[a - first_background_].rate ==
             instance_.background[b - first_background_].rate;
    if (a >= first_group_)
      return alike(instance_.groups[a - first_group_], instance_.groups[b - first_group_]);
    if (a >= first_member_) {
      const Instance::Member& one = instance_.members[a - first_member_];
      const Instance::Member& other = instance_.members[b - first_member_];
      return one.receives == other.receives && one.down_latency == other.down_latency;
    }
    if (a >= first_connection_) {
      const std::uint32_t one = a - first_connection_;
      const std::uint32_t other = b - first_connection_;
      return instance_.connections[one].latency == instance_.connections[other].latency &&
             instance_.connections[one].parts == instance_.connections[other].parts &&
             latencies_[one] == latencies_[other];
    }
    return alike(instance_.streams[a], instance_.streams[b]);
  }

 private:
  // Of a memory that local work draws on: what a reduction is as bytes copied.
  std::uint64_t terms(std::uint32_t memory) const {
    if (memory == Instance::none) return 0;
    const SharedMemory& shared = instance_.memories[memory].terms;
    return hash({static_cast<std::uint64_t>(shared.total.bytes_per_second()),
                 static_cast<std::uint64_t>(shared.reduce_total.bytes_per_second())});
  }
  bool same_terms(std::uint32_t a, std::uint32_t b) const {
    if (a == Instance::none || b == Instance::none) return a == b;
    const SharedMemory& one = instance_.memories[a].terms;
    const SharedMemory& other = instance_.memories[b].terms;
    return one.total == other.total && one.reduce_total == other.reduce_total;
  }

  bool alike(const Instance::Resource& a, const Instance::Resource& b) const {
    if (!a.link.exists() || !b.link.exists())
      return !a.link.exists() && !b.link.exists() && a.gpu == b.gpu && a.copies == b.copies &&
             same_terms(a.memory, b.memory);
    return a.capacity == b.capacity && !a.changes && !b.changes;
  }
  static bool alike(const Instance::Group& a, const Instance::Group& b) {
    return a.job == b.job && a.members == b.members && a.up_latency_max == b.up_latency_max &&
           a.down_latency_max == b.down_latency_max && a.rate_max == b.rate_max &&
           a.operations_max == b.operations_max;
  }
  bool alike(const Instance::Stream& a, const Instance::Stream& b) const {
    if (a.program != b.program || a.job != b.job || a.base_count != b.base_count || a.gpu != b.gpu ||
        a.skew != b.skew || !same_terms(a.memory, b.memory))
      return false;
    const CompiledProgram& program = instance_.programs.programs[a.program];
    if (program.uniform) return true;
    if (program.by_region) {
      bool equal = true;
      each_operation(program, [&](const CompiledOperation& operation) {
        equal = equal && instance_.size(a, operation, 0) == instance_.size(b, operation, 0);
      });
      return equal;
    }
    const auto first = instance_.bases.begin();
    return std::equal(first + a.bases, first + a.bases + a.base_count, first + b.bases);
  }

  static std::uint64_t hash(std::initializer_list<std::uint64_t> words) {
    std::uint64_t result = 0;
    for (const std::uint64_t word : words) result = mix64(result ^ mix64(word));
    return result;
  }

  // Those with a chunk.
  template <class Visit>
  void each_operation(const CompiledProgram& program, Visit visit) const {
    for (std::uint32_t loop = program.first_loop; loop < program.loop_end; ++loop)
      for (std::uint32_t id = instance_.programs.loops[loop].first_operation;
           id < instance_.programs.loops[loop].operation_end; ++id)
        if (instance_.programs.operations[id].kind != OperationKind::wait)
          visit(instance_.programs.operations[id]);
  }

  // Where sizes differ between the blocks of a region, streams with other bases are taken to have other
  // sizes.
  std::uint64_t colour(const Instance::Stream& stream) const {
    std::uint64_t sizes = 0;
    const CompiledProgram& program = instance_.programs.programs[stream.program];
    if (!program.uniform && program.by_region)
      each_operation(program, [&](const CompiledOperation& operation) {
        sizes = hash({sizes, static_cast<std::uint64_t>(instance_.size(stream, operation, 0).count())});
      });
    else if (!program.uniform)
      for (auto base = stream.bases; base < stream.bases + stream.base_count; ++base)
        sizes = hash({sizes, static_cast<std::uint64_t>(instance_.bases[base])});
    return hash({1, stream.program, stream.job, sizes, stream.gpu,
                 static_cast<std::uint64_t>(stream.skew.picoseconds()), terms(stream.memory)});
  }

  std::uint64_t colour(const Instance::Group& group) const {
    const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    return hash({4, group.job, word(group.members), word(group.up_latency_max.picoseconds()),
                 word(group.down_latency_max.picoseconds()),
                 word(group.rate_max ? group.rate_max->bytes_per_second() : -1),
                 word(group.operations_max.value_or(-1))});
  }

  template <class Visit>
  void each_edge(Visit visit) const {
    for (std::uint32_t id = 0; id < instance_.streams.size(); ++id) {
      const Instance::Stream& stream = instance_.streams[id];
      for (std::uint32_t slot = 0; slot < stream.peer_count; ++slot) {
        const std::uint32_t to = instance_.send_to[stream.peers + slot];
        const std::uint32_t from = instance_.receive_from[stream.peers + slot];
        if (to != Instance::none) visit(id, connection(to), sends + kinds * slot, sends + kinds * slot);
        if (from != Instance::none)
          visit(id, connection(from), receives + kinds * slot, receives + kinds * slot);
      }
      for (std::uint32_t slot = 0; slot < stream.stream_slot_count; ++slot)
        visit(id, instance_.stream_slots[stream.streams + slot], depends + kinds * slot,
              depended + kinds * slot);
      for (std::uint32_t slot = 0; slot < stream.group_slot_count; ++slot)
        visit(id, member(instance_.member_slots[stream.groups + slot]), posts + kinds * slot,
              posts + kinds * slot);
      if (stream.reduce_unit != Instance::none) visit(id, resource(stream.reduce_unit), reduces, reduces);
      if (stream.copy_unit != Instance::none) visit(id, resource(stream.copy_unit), copies, copies);
      if (stream.memory != Instance::none)
        visit(id, resource(instance_.memories[stream.memory].resource), draws, draws);
    }
    for (std::uint32_t id = 0; id < instance_.members.size(); ++id)
      visit(member(id), group(instance_.members[id].group), belongs, belongs);
    const auto hops = [&](std::uint32_t user, std::uint32_t first, std::uint32_t end) {
      for (std::uint32_t hop = first; hop < end; ++hop)
        for (std::uint32_t part = 0; part < instance_.hops[hop].weight; ++part)
          visit(user, resource(instance_.hops[hop].resource), uses, uses);
    };
    for (std::uint32_t id = 0; id < instance_.background.size(); ++id)
      hops(background(id), instance_.background[id].first_hop, instance_.background[id].hop_end);
    for (std::uint32_t id = 0; id < instance_.connections.size(); ++id)
      hops(connection(id), instance_.connections[id].first_hop, instance_.connections[id].hop_end);
    for (std::uint32_t id = 0; id < instance_.groups.size(); ++id)
      hops(group(id), instance_.groups[id].first_hop, instance_.groups[id].hop_end);
  }

  const Instance& instance_;
  std::uint32_t first_connection_;
  std::uint32_t first_member_;
  std::uint32_t first_group_;
  std::uint32_t first_background_;
  std::uint32_t first_resource_;
  std::vector<std::uint64_t> latencies_;  // [connection]: of the changes of its latency, or 0
  LabelledGraph graph_;
};

// Numbers the cells of one kind of vertex in the order of their first members, which keeps the orders that an
// Instance promises: streams by job, connections by sender, members by group.
struct Numbering {
  std::vector<std::uint32_t> number;  // [element of the whole instance]
  std::vector<std::uint32_t> first;   // [class]: its first element
  std::vector<std::int64_t> size;     // [class]
};

Numbering numbering(const Partition& partition, std::uint32_t offset, std::size_t count) {
  Numbering result;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t id = 0; id < count; ++id) {
    const std::uint32_t cell = partition.cell[offset + id];
    const auto [entry, fresh] = numbers.try_emplace(cell, static_cast<std::uint32_t>(result.first.size()));
    if (fresh) {
      result.first.push_back(id);
      result.size.push_back(static_cast<std::int64_t>(partition.members[cell].size()));
    }
    result.number.push_back(entry->second);
  }
  return result;
}

class Quotient {
 public:
  Quotient(const Instance& whole, const InstanceGraph& graph, const Partition& partition)
      : whole_(whole),
        streams_(numbering(partition, 0, whole.streams.size())),
        connections_(numbering(partition, graph.connection(0), whole.connections.size())),
        members_(numbering(partition, graph.member(0), whole.members.size())),
        groups_(numbering(partition, graph.group(0), whole.groups.size())),
        background_(numbering(partition, graph.background(0), whole.background.size())),
        resources_(numbering(partition, graph.resource(0), whole.resources.size())) {
    folded_.programs = whole.programs;
    folded_.gpus = whole.gpus;
    folded_.shares_unit = whole.shares_unit;
    for (const std::uint32_t id : resources_.first) {
      Instance::Resource resource = whole.resources[id];
      if (resource.memory != Instance::none) resource.memory = memory_of(resource.memory);
      folded_.resources.push_back(resource);
    }
    count_shares(graph);
    add_streams();
    add_jobs();
    add_connections();
    add_groups();
    add_background();
    add_latency_changes();
  }

  Folded take() {
    return {std::move(folded_),
            {std::move(streams_.number), std::move(resources_.number), std::move(connections_.number)},
            std::move(streams_.first)};
  }

 private:
  using Shares = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

  // How many flows of each class the first resource of each class carries.
  void count_shares(const InstanceGraph& graph) {
    for (std::uint32_t id = 0; id < resources_.first.size(); ++id)
      for (const LabelledGraph::Edge& edge : graph.graph().edges(graph.resource(resources_.first[id]))) {
        if (edge.to >= graph.background(0))
          ++background_shares_[{background_.number[edge.to - graph.background(0)], id}];
        else if (edge.to >= graph.group(0))
          ++group_shares_[{groups_.number[edge.to - graph.group(0)], id}];
        else if (edge.to >= graph.connection(0))
          ++connection_shares_[{connections_.number[edge.to - graph.connection(0)], id}];
        else
          ++unit_shares_[{streams_.number[edge.to], id}];
      }
  }

  void add_streams() {
    for (std::uint32_t id = 0; id < streams_.first.size(); ++id) {
      Instance::Stream stream = whole_.streams[streams_.first[id]];
      const Instance::Stream from = stream;
      stream.weight = streams_.size[id];
      stream.bases = count_of(folded_.bases);
      for (auto base = from.bases; base < from.bases + from.base_count; ++base)
        folded_.bases.push_back(whole_.bases[base]);
      stream.peers = count_of(folded_.send_to);
      for (std::uint32_t slot = from.peers; slot < from.peers + from.peer_count; ++slot) {
        folded_.send_to.push_back(class_of(connections_, whole_.send_to[slot]));
        folded_.receive_from.push_back(class_of(connections_, whole_.receive_from[slot]));
      }
      stream.streams = count_of(folded_.stream_slots);
      for (std::uint32_t slot = 0; slot < from.stream_slot_count; ++slot)
        folded_.stream_slots.push_back(streams_.number[whole_.stream_slots[from.streams + slot]]);
      stream.groups = count_of(folded_.member_slots);
      for (std::uint32_t slot = 0; slot < from.group_slot_count; ++slot)
        folded_.member_slots.push_back(members_.number[whole_.member_slots[from.groups + slot]]);
      stream.reduce_unit = class_of(resources_, from.reduce_unit);
      stream.copy_unit = class_of(resources_, from.copy_unit);
      const std::uint32_t unit = stream.reduce_unit != Instance::none ? stream.reduce_unit : stream.copy_unit;
      if (unit != Instance::none) stream.unit_weight = unit_shares_.at({id, unit});
      if (from.memory != Instance::none) {
        stream.memory = memory_of(from.memory);
        stream.memory_weight = unit_shares_.at({id, folded_.memories[stream.memory].resource});
      }
      folded_.streams.push_back(stream);
    }
  }

  // The memory of the folded instance that stands for one of the whole.
  std::uint32_t memory_of(std::uint32_t number) {
    Instance::Memory wanted = whole_.memories[number];
    wanted.resource = resources_.number[wanted.resource];
    std::uint32_t id = 0;
    for (; id < folded_.memories.size(); ++id) {
      const Instance::Memory& known = folded_.memories[id];
      if (known.resource == wanted.resource && known.terms.total == wanted.terms.total &&
          known.terms.reduce_total == wanted.terms.reduce_total)
        return id;
    }
    folded_.memories.push_back(wanted);
    return id;
  }

  void add_jobs() {
    folded_.jobs = whole_.jobs;
    std::uint32_t next = 0;
    for (std::uint32_t job = 0; job < folded_.jobs.size(); ++job) {
      folded_.jobs[job].first_stream = next;
      while (next < folded_.streams.size() && folded_.streams[next].job == job) ++next;
      folded_.jobs[job].stream_end = next;
    }
    COLLSIM_CHECK(next == folded_.streams.size());
  }

  void add_connections() {
    for (std::uint32_t id = 0; id < connections_.first.size(); ++id) {
      Instance::Connection connection = whole_.connections[connections_.first[id]];
      connection.weight = connections_.size[id];
      connection.sender = streams_.number[connection.sender];
      connection.receiver = class_of(streams_, connection.receiver);
      add_hops(connection_shares_, id, connection.first_hop, connection.hop_end);
      folded_.connections.push_back(connection);
    }
  }

  void add_groups() {
    for (const std::uint32_t id : members_.first) {
      Instance::Member member = whole_.members[id];
      member.group = groups_.number[member.group];
      folded_.members.push_back(member);
    }
    std::uint32_t next = 0;
    for (std::uint32_t id = 0; id < groups_.first.size(); ++id) {
      Instance::Group group = whole_.groups[groups_.first[id]];
      group.weight = groups_.size[id];
      group.first_member = next;
      while (next < folded_.members.size() && folded_.members[next].group == id) ++next;
      group.member_end = next;
      add_hops(group_shares_, id, group.first_hop, group.hop_end);
      folded_.groups.push_back(group);
    }
    COLLSIM_CHECK(next == folded_.members.size());
  }

  void add_background() {
    for (std::uint32_t id = 0; id < background_.first.size(); ++id) {
      Instance::BackgroundFlow flow = whole_.background[background_.first[id]];
      add_hops(background_shares_, id, flow.first_hop, flow.hop_end);
      folded_.background.push_back(flow);
    }
  }

  // Those of the first connection of each class.
  void add_latency_changes() {
    for (Instance::LatencyChange change : whole_.latency_changes) {
      const std::uint32_t number = connections_.number[change.connection];
      if (connections_.first[number] != change.connection) continue;
      change.connection = number;
      folded_.latency_changes.push_back(change);
    }
  }

  // Each class of resources once, with the shares that the class of flows has of each of them.
  void add_hops(const Shares& shares, std::uint32_t flow, std::uint32_t& first_hop, std::uint32_t& hop_end) {
    first_hop = count_of(folded_.hops);
    for (auto entry = shares.lower_bound({flow, 0}); entry != shares.end() && entry->first.first == flow;
         ++entry)
      folded_.hops.push_back({entry->first.second, entry->second});
    hop_end = count_of(folded_.hops);
  }

  template <class T>
  static std::uint32_t count_of(const std::vector<T>& items) {
    return static_cast<std::uint32_t>(items.size());
  }
  static std::uint32_t class_of(const Numbering& numbers, std::uint32_t id) {
    return id == Instance::none ? Instance::none : numbers.number[id];
  }

  const Instance& whole_;
  Numbering streams_;
  Numbering connections_;
  Numbering members_;
  Numbering groups_;
  Numbering background_;
  Numbering resources_;
  Shares connection_shares_;
  Shares group_shares_;
  Shares background_shares_;
  Shares unit_shares_;
  Instance folded_;
};

// Colours are hashes: no collision may put unlike elements into one class.
bool all_alike(const InstanceGraph& graph, const Partition& partition) {
  for (const auto& members : partition.members)
    for (std::size_t index = 1; index < members.size(); ++index)
      if (!graph.alike(members.front(), members[index])) return false;
  return true;
}

}  // namespace

std::optional<Folded> fold(const Instance& instance, std::size_t classes_max) {
  if (!instance.may_fold()) return std::nullopt;
  const InstanceGraph graph(instance);
  const Partition partition = equitable_partition(graph.graph(), graph.colours(), classes_max);
  if (partition.members.empty()) return std::nullopt;
  if (!is_equitable(graph.graph(), partition) || !all_alike(graph, partition)) return std::nullopt;
  return Quotient(instance, graph, partition).take();
}

void rebind(Folded& folded, const Instance& whole) {
  Instance& instance = folded.instance;
  instance.programs = whole.programs;
  instance.jobs[0].schedule = whole.jobs[0].schedule;
  for (std::size_t id = 0; id < instance.streams.size(); ++id) {
    const Instance::Stream& from = whole.streams[folded.first_streams[id]];
    const auto first = whole.bases.begin() + from.bases;
    std::copy(first, first + from.base_count, instance.bases.begin() + instance.streams[id].bases);
  }
}

}  // namespace collsim
