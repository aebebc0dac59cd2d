#include "sim/model/dataflow.hpp"

#include <algorithm>
#include <tuple>

namespace collsim {

// What one program uses of its binding, and what it does with each peer.
struct DataflowGraph::ProgramFacts {
  struct PeerUse {
    std::int64_t sends = 0;
    std::int64_t receives = 0;
  };
  struct GroupFacts {
    std::int64_t posts = 0;
    std::int64_t collects = 0;
  };
  struct Waiting {
    Dependency dependency;
    std::int64_t trips = 0;
    std::int64_t first = 0;   // index of the operation in the first trip
    std::int64_t length = 0;  // of the loop's body
  };
  std::vector<PeerUse> peers;
  std::vector<GroupFacts> groups;
  std::vector<Waiting> waits;
  std::size_t bases = 0;
  std::size_t streams = 0;
  // Regions of output, relative to bases[base] (or 0), that the program's chunks can name.
  struct Regions {
    std::int8_t base = -1;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<Regions> regions;
  std::int64_t operations = 0;

  void name_regions(const ChunkExpression& chunk, std::int64_t trips) {
    const std::int64_t last = chunk.region_offset + (trips - 1) * chunk.region_stride;
    const Regions named{chunk.region_base, std::min<std::int64_t>(chunk.region_offset, last),
                        std::max<std::int64_t>(chunk.region_offset, last)};
    for (Regions& known : regions)
      if (known.base == named.base) {
        known.least = std::min(known.least, named.least);
        known.most = std::max(known.most, named.most);
        return;
      }
    regions.push_back(named);
  }
};

struct DataflowGraph::End {
  Rank source;
  Rank target;
  std::int32_t channel;
  std::int32_t stream;
  std::uint32_t link;  // where the connection's number is stored; odd = the receiving end

  bool receives() const { return link % 2 != 0; }
  auto key() const { return std::tuple(source, target, channel); }
  bool operator<(const End& other) const {
    return std::tuple(source, target, channel, receives(), stream) <
           std::tuple(other.source, other.target, other.channel, other.receives(), other.stream);
  }
};

// How the stream of a Membership, which has the same index, uses its group.
struct DataflowGraph::GroupUse {
  std::int32_t stream;
  bool posts;
  bool collects;
};

namespace {

// Operation indices leave three bits of a word free for the proof's memory.
constexpr std::int64_t operations_max = (std::int64_t{1} << 29) - 1;

std::string at_stream(Rank rank, std::int32_t stream) {
  return "rank " + std::to_string(rank) + ", stream " + std::to_string(stream) + ": ";
}

std::string plural(std::int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void use_bases(std::size_t& bases, const ChunkExpression& chunk) {
  for (const std::int8_t slot : {chunk.region_base, chunk.origin_base, chunk.block_base})
    if (slot >= 0) bases = std::max(bases, static_cast<std::size_t>(slot) + 1);
}

// Room for what all ranks add if they are like the first, which most are; bounded in case they are not.
template <class Item>
void reserve_alike(std::vector<Item>& items, std::int32_t ranks) {
  constexpr std::size_t items_max = std::size_t{1} << 23;
  items.reserve(std::min(items.size() * static_cast<std::size_t>(ranks), items_max));
}

template <class Item>
Item& grow(std::vector<Item>& items, std::int32_t index) {
  if (items.size() <= static_cast<std::size_t>(index)) items.resize(static_cast<std::size_t>(index) + 1);
  return items[static_cast<std::size_t>(index)];
}

}  // namespace

std::string text_of(const Chunk& chunk) {
  std::string text = chunk.span == 1 ? "block " + std::to_string(chunk.block)
                                     : "blocks " + std::to_string(chunk.block) + " to " +
                                           std::to_string(std::int64_t{chunk.block} + chunk.span - 1);
  text += " of region " + std::to_string(chunk.region);
  if (chunk.buffer == Buffer::scratch) text += " of scratch";
  if (chunk.buffer == Buffer::input) text += " of input";
  return text;
}

DataflowGraph::~DataflowGraph() = default;

void DataflowGraph::fail(Rank rank, std::int32_t stream, std::int64_t step, std::string text) {
  if (failures_.size() < proof_failures_max)
    failures_.push_back(ProofFailure{rank, stream, step, std::move(text)});
}

DataflowGraph::DataflowGraph(const Schedule& schedule) : schedule_(schedule) {
  if (schedule.slots < 1) fail(-1, -1, -1, "a connection needs at least one slot");
  facts_.resize(schedule.programs.size());
  for (std::size_t number = 0; number < facts_.size(); ++number) check_program(number);
  if (!failures_.empty()) return;
  std::vector<End> ends;
  std::vector<GroupUse> uses;
  Binding binding;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    stream_start_.push_back(static_cast<std::int32_t>(streams_.size()));
    const std::int32_t count = schedule.stream_count(rank);
    for (std::int32_t stream = 0; stream < count; ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      add_stream(rank, stream, binding, ends, uses);
      if (failures_.size() >= proof_failures_max) return;
    }
    if (failures_.empty()) check_waits(rank);
    if (rank == 0) {
      reserve_alike(streams_, schedule.ranks);
      reserve_alike(bases_, schedule.ranks);
      reserve_alike(links_, schedule.ranks);
      reserve_alike(waits_, schedule.ranks);
      reserve_alike(ends, schedule.ranks);
      reserve_alike(memberships_, schedule.ranks);
      reserve_alike(uses, schedule.ranks);
    }
  }
  if (!failures_.empty()) return;
  connect(ends);
  resolve_groups(uses);
  if (failures_.empty()) find_components(uses);
}

void DataflowGraph::check_program(std::size_t number) {
  ProgramFacts& facts = facts_[number];
  const std::string name = "program " + std::to_string(number) + ": ";
  for (const Loop& loop : schedule_.programs[number].loops) {
    if (loop.trips < 0) fail(-1, -1, -1, name + "a loop has a negative number of trips");
    const auto length = static_cast<std::int64_t>(loop.body.size());
    for (std::int64_t i = 0; i < length; ++i) {
      const OperationTemplate& operation = loop.body[static_cast<std::size_t>(i)];
      if (operation.chunk.block_modulus < 1 || operation.source.block_modulus < 1)
        fail(-1, -1, -1, name + "a block modulus is below 1");
      use_bases(facts.bases, operation.chunk);
      use_bases(facts.bases, operation.source);
      single_blocks_ = single_blocks_ && operation.chunk.span == 1 && operation.source.span == 1;
      if (loop.trips > 0 && operation.kind != OperationKind::wait)
        facts.name_regions(operation.chunk, loop.trips);
      const bool needs_index = operation.kind != OperationKind::copy &&
                               operation.kind != OperationKind::reduce &&
                               operation.kind != OperationKind::wait;
      if (needs_index && operation.peer < 0) {
        fail(-1, -1, -1, name + name_of(operation.kind) + " names no peer or group");
        continue;
      }
      if (operation.kind == OperationKind::send) grow(facts.peers, operation.peer).sends += loop.trips;
      if (operation.kind == OperationKind::receive || operation.kind == OperationKind::receive_reduce)
        grow(facts.peers, operation.peer).receives += loop.trips;
      if (operation.kind == OperationKind::aggregate) grow(facts.groups, operation.peer).posts += loop.trips;
      if (operation.kind == OperationKind::collect) grow(facts.groups, operation.peer).collects += loop.trips;
      for (const Dependency& dependency : operation.dependencies) {
        if (dependency.stream_slot < 0) fail(-1, -1, -1, name + "a dependency names no stream");
        facts.streams = std::max(facts.streams, static_cast<std::size_t>(dependency.stream_slot) + 1);
        facts.waits.push_back({dependency, loop.trips, facts.operations + i, length});
      }
    }
    facts.operations += loop.trips * length;
  }
  too_large_ = too_large_ || facts.operations > operations_max;
  if (facts.operations > operations_max)
    fail(-1, -1, -1, name + "it has more operations than a proof can follow");
}

void DataflowGraph::add_stream(Rank rank, std::int32_t number, const Binding& binding, std::vector<End>& ends,
                               std::vector<GroupUse>& uses) {
  if (binding.program < 0 || static_cast<std::size_t>(binding.program) >= facts_.size())
    return fail(rank, number, -1, at_stream(rank, number) + "its program does not exist");
  const ProgramFacts& facts = facts_[static_cast<std::size_t>(binding.program)];
  if (binding.peers.size() < facts.peers.size() || binding.bases.size() < facts.bases ||
      binding.streams.size() < facts.streams || binding.groups.size() < facts.groups.size())
    return fail(rank, number, -1, at_stream(rank, number) + "its binding is shorter than its program needs");
  Stream stream;
  stream.program = binding.program;
  stream.rank = rank;
  stream.first_base = static_cast<std::uint32_t>(bases_.size());
  stream.first_link = static_cast<std::uint32_t>(links_.size());
  stream.first_wait = static_cast<std::uint32_t>(waits_.size());
  stream.first_group = static_cast<std::uint32_t>(memberships_.size());
  const auto global = static_cast<std::int32_t>(streams_.size());
  streams_.push_back(stream);
  bases_.insert(bases_.end(), binding.bases.begin(), binding.bases.end());
  add_ends(rank, number, binding, ends);
  waits_.insert(waits_.end(), binding.streams.begin(),
                binding.streams.begin() + static_cast<std::ptrdiff_t>(facts.streams));
  for (std::size_t slot = 0; slot < facts.groups.size(); ++slot) {
    memberships_.push_back(Membership{binding.groups[slot], -1});
    uses.push_back({global, facts.groups[slot].posts > 0, facts.groups[slot].collects > 0});
  }
}

void DataflowGraph::add_ends(Rank rank, std::int32_t number, const Binding& binding, std::vector<End>& ends) {
  const ProgramFacts& facts = facts_[static_cast<std::size_t>(binding.program)];
  const auto global = static_cast<std::int32_t>(streams_.size()) - 1;
  for (std::size_t slot = 0; slot < facts.peers.size(); ++slot) {
    const auto link = static_cast<std::uint32_t>(links_.size());
    links_.insert(links_.end(), {-1, -1});
    const Peer& peer = binding.peers[slot];
    const ProgramFacts::PeerUse& use = facts.peers[slot];
    messages_ += use.sends;
    if (use.sends + use.receives == 0) continue;
    if (peer.rank < 0 || peer.rank >= schedule_.ranks || peer.rank == rank) {
      fail(rank, number, -1,
           at_stream(rank, number) + "its peer is rank " + std::to_string(peer.rank) +
               (peer.rank == rank ? ", which is itself" : ", which does not exist"));
      continue;
    }
    if (use.sends > 0) ends.push_back({rank, peer.rank, peer.channel, global, link});
    if (use.receives > 0) ends.push_back({peer.rank, rank, peer.channel, global, link + 1});
  }
}

// The dependencies of a rank name streams and operations that exist; then makes their stream numbers global.
void DataflowGraph::check_waits(Rank rank) {
  const std::int32_t start = stream_start_.back();
  const auto count = static_cast<std::int32_t>(streams_.size()) - start;
  for (std::int32_t number = 0; number < count; ++number) {
    const Stream& stream = streams_[static_cast<std::size_t>(start + number)];
    const ProgramFacts& facts = facts_[static_cast<std::size_t>(stream.program)];
    std::int32_t* targets = waits_.data() + stream.first_wait;
    for (const ProgramFacts::Waiting& wait : facts.waits) {
      if (wait.trips == 0) continue;
      const std::int32_t target = targets[wait.dependency.stream_slot];
      if (target < 0 || target >= count)
        return fail(rank, number, wait.first,
                    at_stream(rank, number) + "it waits for stream " + std::to_string(target) +
                        ", which does not exist");
      const std::int32_t program = streams_[static_cast<std::size_t>(start + target)].program;
      const std::int64_t operations = facts_[static_cast<std::size_t>(program)].operations;
      for (const std::int64_t trip : {std::int64_t{0}, wait.trips - 1}) {
        const std::int64_t wanted = wait.dependency.offset + trip * wait.dependency.stride;
        const std::int64_t step = wait.first + trip * wait.length;
        if (wanted >= 0 && wanted < operations) continue;
        return fail(rank, number, step,
                    at_stream(rank, number) + "step " + std::to_string(step) + " waits for step " +
                        std::to_string(wanted) + " of stream " + std::to_string(target) + ", which has " +
                        plural(operations, "step"));
      }
    }
    for (std::size_t slot = 0; slot < facts.streams; ++slot) targets[slot] += start;
  }
}

void DataflowGraph::connect(std::vector<End>& ends) {
  std::sort(ends.begin(), ends.end());
  for (std::size_t first = 0; first < ends.size();) {
    std::size_t last = first;
    while (last < ends.size() && ends[last].key() == ends[first].key()) ++last;
    const End* sender = nullptr;
    const End* receiver = nullptr;
    bool shared = false;
    for (std::size_t i = first; i < last; ++i) {
      const End*& side = ends[i].receives() ? receiver : sender;
      if (side != nullptr && !shared) {
        const Rank rank = ends[i].receives() ? ends[i].target : ends[i].source;
        fail(rank, local_number(ends[i].stream), -1,
             "rank " + std::to_string(rank) + ": streams " + std::to_string(local_number(side->stream)) +
                 " and " + std::to_string(local_number(ends[i].stream)) + " both " +
                 (ends[i].receives() ? "receive" : "send") + " on the connection from rank " +
                 std::to_string(ends[i].source) + " to rank " + std::to_string(ends[i].target) +
                 " on channel " + std::to_string(ends[i].channel));
        shared = true;
      }
      side = &ends[i];
    }
    if (!shared) join_pair(sender, receiver);
    first = last;
  }
}

// One connection; either side may be missing.
void DataflowGraph::join_pair(const End* sender, const End* receiver) {
  const End& any = sender != nullptr ? *sender : *receiver;
  const auto use_of = [this](const End& end) {
    const Stream& stream = streams_[static_cast<std::size_t>(end.stream)];
    return facts_[static_cast<std::size_t>(stream.program)].peers[(end.link - stream.first_link) / 2];
  };
  const std::int64_t sends = sender != nullptr ? use_of(*sender).sends : 0;
  const std::int64_t receives = receiver != nullptr ? use_of(*receiver).receives : 0;
  if (sends != receives) {
    const Rank rank = sender != nullptr ? any.source : any.target;
    return fail(rank, local_number(any.stream), -1,
                "rank " + std::to_string(any.source) + " sends " + plural(sends, "message") + " to rank " +
                    std::to_string(any.target) + " on channel " + std::to_string(any.channel) +
                    ", which receives " + std::to_string(receives));
  }
  const auto number = static_cast<std::int32_t>(connections_.size());
  connections_.push_back({any.source, any.target, any.channel, sender->stream, receiver->stream});
  links_[sender->link] = number;
  links_[receiver->link] = number;
}

// The uses by group, in their order; those of groups that do not exist come first and last. Counted, because
// where there are groups there are often as many as ranks.
std::vector<std::uint32_t> DataflowGraph::order_by_group(const std::vector<GroupUse>& uses) const {
  const std::int32_t groups = std::max(schedule_.group_count, 0);
  const auto place_of = [this, groups](std::size_t use) {
    return static_cast<std::size_t>(std::clamp(memberships_[use].group, -1, groups) + 1);
  };
  std::vector<std::uint32_t> next(static_cast<std::size_t>(groups) + 3);
  for (std::size_t i = 0; i < uses.size(); ++i) ++next[place_of(i) + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<std::uint32_t> order(uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i) order[next[place_of(i)]++] = static_cast<std::uint32_t>(i);
  return order;
}

void DataflowGraph::resolve_groups(const std::vector<GroupUse>& uses) {
  groups_.reserve(static_cast<std::size_t>(std::max(schedule_.group_count, 0)));
  for (std::int32_t group = 0; group < schedule_.group_count; ++group)
    groups_.push_back(schedule_.group(group));
  collectors_.assign(groups_.size(), 0);
  const std::vector<std::uint32_t> order = order_by_group(uses);
  std::vector<std::int32_t> member_of(static_cast<std::size_t>(schedule_.ranks), -1);
  const auto missing = [&](std::uint32_t use) {
    const std::int32_t stream = uses[use].stream;
    fail(streams_[static_cast<std::size_t>(stream)].rank, local_number(stream), -1,
         "group " + std::to_string(memberships_[use].group) + ": it does not exist");
  };
  std::size_t next = 0;
  while (next < order.size() && memberships_[order[next]].group < 0) missing(order[next++]);
  for (std::int32_t group = 0; group < schedule_.group_count; ++group) {
    if (!number_members(group, member_of)) return;
    const std::size_t first = next;
    while (next < order.size() && memberships_[order[next]].group == group) ++next;
    check_uses(uses, {order.data() + first, next - first}, member_of);
    for (const Rank rank : groups_[static_cast<std::size_t>(group)].members)
      member_of[static_cast<std::size_t>(rank)] = -1;
  }
  if (next < order.size()) missing(order[next]);
}

bool DataflowGraph::number_members(std::int32_t group, std::vector<std::int32_t>& member_of) {
  const AggregationGroup& members = groups_[static_cast<std::size_t>(group)];
  const auto size = static_cast<std::int32_t>(members.members.size());
  const std::string text = "group " + std::to_string(group) + ": ";
  if (size < 2 || members.root < 0 || members.root >= size) {
    fail(-1, -1, -1, text + "it needs two members and a root among them");
    return false;
  }
  for (std::int32_t i = 0; i < size; ++i) {
    const Rank rank = members.members[static_cast<std::size_t>(i)];
    if (rank < 0 || rank >= schedule_.ranks || member_of[static_cast<std::size_t>(rank)] >= 0) {
      fail(rank, -1, -1, text + "rank " + std::to_string(rank) + " is twice in it or does not exist");
      return false;
    }
    member_of[static_cast<std::size_t>(rank)] = i;
  }
  return true;
}

// Who posts to one group and who collects: `chosen` of the uses.
void DataflowGraph::check_uses(const std::vector<GroupUse>& uses, std::span<const std::uint32_t> chosen,
                               const std::vector<std::int32_t>& member_of) {
  posters_.clear();
  takers_.clear();
  for (const std::uint32_t index : chosen) {
    const GroupUse& use = uses[index];
    const Rank rank = streams_[static_cast<std::size_t>(use.stream)].rank;
    const std::int32_t number = memberships_[index].group;
    const AggregationGroup& group = groups_[static_cast<std::size_t>(number)];
    posters_.resize(group.members.size(), -1);
    takers_.resize(group.members.size(), -1);
    const std::int32_t member = member_of[static_cast<std::size_t>(rank)];
    const auto place = static_cast<std::size_t>(std::max(member, 0));
    const auto wrong = [&](const char* what) {
      fail(rank, local_number(use.stream), -1,
           "group " + std::to_string(number) + ": rank " + std::to_string(rank) + what);
    };
    if (member < 0 || (use.posts && posters_[place] >= 0) || (use.collects && takers_[place] >= 0)) {
      wrong(member < 0 ? " is no member" : " uses it in two streams");
      continue;
    }
    if (use.collects && group.mode == AggregationMode::reduce && member != group.root)
      wrong(" collects, but only the root receives");
    if (use.posts) posters_[place] = use.stream;
    if (use.collects) {
      takers_[place] = use.stream;
      ++collectors_[static_cast<std::size_t>(number)];
    }
    memberships_[index].member = member;
  }
}

// Union-find over connections, dependencies and groups; a root is the smallest stream of its component.
void DataflowGraph::find_components(const std::vector<GroupUse>& uses) {
  std::vector<std::int32_t>& parent = components_;
  parent.resize(streams_.size());
  for (std::size_t stream = 0; stream < parent.size(); ++stream)
    parent[stream] = static_cast<std::int32_t>(stream);
  const auto root_of = [&parent](std::int32_t stream) {
    while (parent[static_cast<std::size_t>(stream)] != stream) {
      std::int32_t& up = parent[static_cast<std::size_t>(stream)];
      up = parent[static_cast<std::size_t>(up)];
      stream = up;
    }
    return stream;
  };
  const auto unite = [&](std::int32_t a, std::int32_t b) {
    a = root_of(a);
    b = root_of(b);
    parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  };
  for (const Connection& connection : connections_) unite(connection.sender, connection.receiver);
  std::vector<std::int32_t> user(groups_.size(), -1);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    std::int32_t& first = user[static_cast<std::size_t>(memberships_[i].group)];
    if (first < 0) first = uses[i].stream;
    unite(uses[i].stream, first);
  }
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    const Stream& fixed = streams_[stream];
    const std::size_t waits = facts_[static_cast<std::size_t>(fixed.program)].streams;
    for (std::size_t slot = 0; slot < waits; ++slot)
      unite(static_cast<std::int32_t>(stream), waits_of(fixed)[slot]);
  }
  for (std::size_t stream = 0; stream < streams_.size(); ++stream)
    parent[stream] = root_of(static_cast<std::int32_t>(stream));
  // From roots to components numbered from 0; a root comes before its streams.
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    const bool is_root = parent[stream] == static_cast<std::int32_t>(stream);
    parent[stream] = is_root ? static_cast<std::int32_t>(region_ranges_.size())
                             : parent[static_cast<std::size_t>(parent[stream])];
    if (is_root) region_ranges_.emplace_back();
    const Stream& fixed = streams_[stream];
    RegionRange& range = region_ranges_[static_cast<std::size_t>(parent[stream])];
    for (const ProgramFacts::Regions& named : facts_[static_cast<std::size_t>(fixed.program)].regions) {
      const std::int64_t base = named.base < 0 ? 0 : bases_of(fixed)[named.base];
      range.least = std::min(range.least, base + named.least);
      range.most = std::max(range.most, base + named.most);
    }
  }
}

bool DataflowGraph::touches(std::int32_t stream, std::int64_t first, std::int64_t count) const {
  const auto component = static_cast<std::size_t>(components_[static_cast<std::size_t>(stream)]);
  const std::int64_t last_region = schedule_.layout.regions() - 1;
  const std::int64_t blocks = schedule_.layout.blocks();
  const RegionRange& range = region_ranges_[component];
  // Whatever lies outside the layout is found in the first or last batch.
  const std::int64_t least = std::clamp<std::int64_t>(range.least, 0, last_region) * blocks;
  const std::int64_t end = (std::clamp<std::int64_t>(range.most, 0, last_region) + 1) * blocks;
  return (least < first + count && first < end) || (first == 0 && range.most < range.least);
}

}  // namespace collsim
