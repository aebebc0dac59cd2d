#include "sim/model/bounds.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

// bytes * share / parts must pass `capacity`.
struct Crossing {
  Int128 share = 0;
  Int128 parts = 1;
  Int128 capacity = 1;
};

Int128 greatest_divisor(Int128 a, Int128 b) {
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a;
}

Duration time_of(const Crossing& crossing, Int128 bytes) {
  if (crossing.share <= 0 || crossing.capacity <= 0) return Duration();
  const Int128 common = greatest_divisor(crossing.share, crossing.parts);
  return time_at(bytes * (crossing.share / common), crossing.parts / common * crossing.capacity);
}

// Each rank a group by itself.
bool is_of_ranks(const Cut& cut) { return cut.name == "rank" || cut.name == "memory"; }

// Nothing reduces on the way from one group to another unless switches outside all groups do. The switches
// of a node lie inside every group but the single rank.
bool reduces_outside(const Placement& placement, const Cut& cut) {
  return placement.fabric_reduction.enabled || (placement.node_reduction.enabled && is_of_ranks(cut));
}

// How many ranks the groups of a cut have, at least and at most.
struct GroupSizes {
  Int128 least = 1;
  Int128 most = 1;
  Int128 squares = 0;  // the sum over groups of their squares; 0 = not known
};

// Of ranks and nodes exactly; of other groups no more is known than that each has a rank.
GroupSizes sizes_of(const Placement& placement, const Cut& cut) {
  const Int128 ranks = placement.ranks();
  if (is_of_ranks(cut)) return {1, 1, ranks};
  if (cut.name != "node") return {1, ranks - cut.groups + 1, 0};
  GroupSizes sizes{ranks, 1, 0};
  if (placement.is_even()) {
    const Int128 gpus = placement.gpus_per_node;
    return {gpus, gpus, gpus * ranks};
  }
  for (std::int32_t node = 0; node < placement.nodes; ++node) {
    const Int128 gpus = placement.gpus_of(node);
    sizes.least = std::min(sizes.least, gpus);
    sizes.most = std::max(sizes.most, gpus);
    sizes.squares += gpus * gpus;
  }
  return sizes;
}

// Ordered pairs of ranks in different groups: where nothing is known at least those of m - 1 single ranks and
// the rest.
Int128 pairs_of(const Cut& cut, const GroupSizes& sizes, Int128 ranks) {
  if (cut.pairs > 0) return cut.pairs;
  if (sizes.squares > 0) return ranks * ranks - sizes.squares;
  const Int128 rest = ranks - cut.groups + 1;
  return ranks * ranks - (cut.groups - 1) - rest * rest;
}

// The ranks outside the root's group, at least.
Int128 outside_of_root(const Collective& collective, const Placement& placement, const Cut& cut,
                       const GroupSizes& sizes) {
  const std::int32_t node = placement.node_of(collective.root);
  return placement.ranks() - (cut.name == "node" ? Int128{placement.gpus_of(node)} : sizes.most);
}

// What the worst-connected group, and all groups together, must let through.
struct Demand {
  Crossing alone;
  Crossing together;
};

Demand demand_on(const Cut& cut, const Placement& placement, const Collective& collective) {
  const Int128 ranks = placement.ranks();
  const Int128 groups = cut.groups;
  const GroupSizes sizes = sizes_of(placement, cut);
  const Crossing whole{1, 1, cut.smallest_exit};
  const auto all = [&](Int128 share, Int128 parts) { return Crossing{share, parts, cut.total_exit}; };
  const auto one = [&](Int128 share) { return Crossing{share, ranks, cut.smallest_exit}; };
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      return {whole, reduces_outside(placement, cut) ? Crossing{} : all(2 * (groups - 1), 1)};
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return {whole, all(groups - 1, 1)};
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return {one(ranks - sizes.most), all(groups - 1, 1)};
    case CollectiveKind::all_to_all:
      // n (N - n) rises and falls with n: the least is at one of the ends.
      return {one(std::min(sizes.least * (ranks - sizes.least), sizes.most * (ranks - sizes.most))),
              all(pairs_of(cut, sizes, ranks), ranks)};
    case CollectiveKind::send_recv:
      return {whole, all(groups, 1)};
    case CollectiveKind::scatter:
    case CollectiveKind::gather:
      // Which group is the root's is not known, unless all have the same links. The worst-connected one
      // exchanges its own parts or, if it is the root's, those of all others.
      if (cut.name != "memory" && cut.smallest_exit * groups == cut.total_exit)
        return {one(outside_of_root(collective, placement, cut, sizes)), {}};
      return {one(std::min(sizes.least, ranks - sizes.most)), {}};
    case CollectiveKind::barrier:
      break;
  }
  return {};
}

// What joins one GPU to the rest, in the direction in which it is counted.
struct Attachment {
  Int128 capacity = 0;
  Int128 memory = 0;  // of it, by the memory that the rank shares; at most what that lets through
  std::optional<Duration> latency;  // the smallest
};

// [rank of the topology]
std::vector<Attachment> attachments(const Topology& topology, bool inwards) {
  std::vector<Attachment> result(static_cast<std::size_t>(topology.ranks()));
  for (const Link& link : topology.links()) {
    const VertexId end = inwards ? link.target : link.source;
    if (end.value >= result.size() || !is_usable(topology, link)) continue;
    Attachment& each = result[end.value];
    each.capacity += link.bandwidth.bytes_per_second();
    const SharedMemory* memory = topology.memory_of(static_cast<Rank>(end.value));
    const VertexId other = inwards ? link.source : link.target;
    if (memory != nullptr && topology.vertex(other).kind == VertexKind::node_switch)
      each.memory += link.bandwidth.bytes_per_second();
    if (!each.latency || link.latency < *each.latency) each.latency = link.latency;
  }
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    const SharedMemory* memory = topology.memory_of(static_cast<Rank>(rank));
    const Int128 total = memory == nullptr ? Int128{0} : Int128{memory->total.bytes_per_second()};
    if (memory == nullptr || result[rank].memory <= total) continue;
    result[rank].capacity -= result[rank].memory - total;
    result[rank].memory = total;
  }
  return result;
}

// The links out of (or into) the root.
Crossing root_crossing(const Collective& collective, const Topology& topology) {
  const bool inwards = collective.kind == CollectiveKind::gather;
  const Int128 capacity = attachments(topology, inwards)[static_cast<std::size_t>(collective.root)].capacity;
  return {topology.ranks() - 1, topology.ranks(), capacity};
}

// By how much the attachments of the ranks exceed what the memories that they share let through.
Int128 beyond_memories(const Topology& topology, const std::vector<Rank>& ranks,
                       const std::vector<Attachment>& all) {
  std::map<LinkId, std::pair<Int128, Int128>> memories;  // by link: what all bring, what it lets through
  for (const Rank rank : ranks) {
    const SharedMemory* memory = topology.memory_of(rank);
    if (memory == nullptr) continue;
    auto& [brought, total] = memories[memory->link];
    brought += all[static_cast<std::size_t>(rank)].memory;
    total = memory->total.bytes_per_second();
  }
  Int128 result = 0;
  for (const auto& entry : memories) result += std::max(Int128{0}, entry.second.first - entry.second.second);
  return result;
}

// Latency of the shortest way from `rank` (or to it) of every rank.
std::vector<Duration> latencies(const Topology& topology, Rank rank, bool towards) {
  std::vector<std::vector<std::uint32_t>> links(topology.vertex_count());
  for (std::uint32_t id = 0; id < topology.link_count(); ++id) {
    const Link& link = topology.link(LinkId(id));
    if (is_usable(topology, link)) links[(towards ? link.target : link.source).value].push_back(id);
  }
  using Entry = std::pair<std::int64_t, std::uint32_t>;
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> distance(topology.vertex_count(), far);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  distance[static_cast<std::size_t>(rank)] = 0;
  next.emplace(0, static_cast<std::uint32_t>(rank));
  while (!next.empty()) {
    const Entry entry = next.top();
    next.pop();
    if (entry.first > distance[entry.second]) continue;
    for (const std::uint32_t id : links[entry.second]) {
      const Link& link = topology.link(LinkId(id));
      const std::uint32_t end = (towards ? link.source : link.target).value;
      const std::int64_t length = entry.first + link.latency.picoseconds();
      if (length >= distance[end]) continue;
      distance[end] = length;
      next.emplace(length, end);
    }
  }
  std::vector<Duration> result;
  for (Rank each = 0; each < topology.ranks(); ++each) {
    const std::int64_t length = distance[static_cast<std::size_t>(each)];
    result.push_back(length == far ? Duration() : Duration::picoseconds(length));
  }
  return result;
}

// The longest way that some data must go. Of sends to the next rank those from the first rank and to it are
// looked at; they are O(links) and no shorter than need be on most clusters.
Duration longest_way(const Collective& collective, const Topology& topology) {
  if (collective.kind == CollectiveKind::send_recv)
    return std::max(latencies(topology, 0, false)[1], latencies(topology, 0, true).back());
  if (!has_root(collective.kind)) return topology.latency_max();
  const bool towards = collective.kind == CollectiveKind::reduce || collective.kind == CollectiveKind::gather;
  const std::vector<Duration> ways = latencies(topology, collective.root, towards);
  return *std::max_element(ways.begin(), ways.end());
}

}  // namespace

bool is_usable(const Topology& topology, const Link& link) {
  const Placement& placement = topology.placement();
  if (placement.nodes > 1 || placement.interconnect == InterconnectKind::none) return true;
  return topology.vertex(link.source).kind != VertexKind::nic &&
         topology.vertex(link.target).kind != VertexKind::nic;
}

Duration time_at(Int128 work, Int128 capacity) {
  for (; capacity >> 87 != 0; work >>= 1) capacity = (capacity + 1) >> 1;
  // Whole seconds first: work * 10^12 can pass 2^127.
  const Int128 seconds = work / capacity;
  const Int128 rest = (work % capacity) * picoseconds_per_second / capacity;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  if (seconds > largest / picoseconds_per_second) return Duration::picoseconds(largest);
  const Int128 total = seconds * picoseconds_per_second + rest;
  return Duration::picoseconds(total > largest ? largest : static_cast<std::int64_t>(total));
}

LowerBound lower_bound(const Collective& collective, const Topology& topology) {
  const CollectiveKind kind = collective.kind;
  COLLSIM_CHECK(!has_root(kind) || (collective.root >= 0 && collective.root < topology.ranks()));
  const Int128 bytes = collective.bytes.count();
  if (topology.ranks() == 1 || (bytes == 0 && kind != CollectiveKind::barrier))
    return {Duration(), "nothing to move"};
  LowerBound bound{longest_way(collective, topology), "latency"};
  const auto take = [&](const Crossing& crossing, const std::string& reason) {
    const Duration time = time_of(crossing, bytes);
    if (time > bound.time) bound = {time, reason};
  };
  Placement placement = topology.placement();
  placement.node_reduction.enabled = topology.has_node_reduction();
  for (const Cut& cut : topology.cuts()) {
    const Demand demand = demand_on(cut, placement, collective);
    take(demand.alone, cut.name);
    take(demand.together, cut.name);
  }
  if (kind == CollectiveKind::scatter || kind == CollectiveKind::gather)
    take(root_crossing(collective, topology), "root");
  return bound;
}

LowerBound lower_bound(const Collective& collective, const Topology& topology,
                       const std::vector<Rank>& ranks) {
  const CollectiveKind kind = collective.kind;
  const std::size_t root = has_root(kind) ? static_cast<std::size_t>(collective.root) : 0;
  COLLSIM_CHECK(root < ranks.size());
  const Int128 bytes = collective.bytes.count();
  if (ranks.size() == 1 || (bytes == 0 && kind != CollectiveKind::barrier))
    return {Duration(), "nothing to move"};
  const bool inwards = kind == CollectiveKind::reduce || kind == CollectiveKind::gather;
  const std::vector<Attachment> all = attachments(topology, inwards);
  const auto of = [&](std::size_t index) { return all[static_cast<std::size_t>(ranks[index])]; };
  Cut cut{"rank", static_cast<std::int64_t>(ranks.size()), 0, of(0).capacity, 0};
  LowerBound bound{has_root(kind) ? of(root).latency.value_or(Duration()) : Duration(), "latency"};
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    cut.total_exit += of(index).capacity;
    cut.smallest_exit = std::min(cut.smallest_exit, of(index).capacity);
    if (!has_root(kind)) bound.time = std::max(bound.time, of(index).latency.value_or(Duration()));
  }
  if (const Int128 beyond = beyond_memories(topology, ranks, all); beyond > 0) {
    cut.name = "memory";
    cut.total_exit -= beyond;
  }
  Placement flat;
  flat.nodes = static_cast<std::int32_t>(ranks.size());
  flat.node_reduction.enabled = topology.has_node_reduction();
  flat.fabric_reduction = topology.placement().fabric_reduction;
  const auto take = [&](const Crossing& crossing, const std::string& reason) {
    const Duration time = time_of(crossing, bytes);
    if (time > bound.time) bound = {time, reason};
  };
  const Demand demand = demand_on(cut, flat, collective);
  take(demand.alone, cut.name);
  take(demand.together, cut.name);
  if (kind == CollectiveKind::scatter || kind == CollectiveKind::gather)
    take({flat.nodes - 1, flat.nodes, of(root).capacity}, "root");
  return bound;
}

}  // namespace collsim
