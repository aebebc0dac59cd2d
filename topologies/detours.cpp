#include "topologies/detours.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/model/bounds.hpp"

namespace collsim::topologies {
namespace {

// The live links by their ends, and which vertices forward for all.
class LiveGraph {
 public:
  LiveGraph(const Topology& topology, const std::vector<bool>& dead)
      : topology_(topology), forwards_(topology.vertex_count(), false) {
    for (std::size_t i = 0; i < forwards_.size(); ++i)
      forwards_[i] = topology.vertex(VertexId(i)).kind == VertexKind::fabric_switch;
    for (const Link& link : topology.links()) {
      const std::int32_t a = topology.vertex(link.source).node;
      const std::int32_t b = topology.vertex(link.target).node;
      // Joined to another node without a switch: a point of the fabric.
      if (a >= 0 && b >= 0 && a != b) forwards_[link.source.value] = forwards_[link.target.value] = true;
    }
    index(dead, outgoing_, [](const Link& link) { return link.source.value; });
    index(dead, incoming_, [](const Link& link) { return link.target.value; });
  }

  struct Index {
    std::vector<std::uint32_t> start;
    std::vector<LinkId> links;
    const LinkId* begin(VertexId id) const { return links.data() + start[id.value]; }
    const LinkId* end(VertexId id) const { return links.data() + start[id.value + 1]; }
  };
  const Index& outgoing() const { return outgoing_; }
  const Index& incoming() const { return incoming_; }
  bool forwards(VertexId id) const { return forwards_[id.value]; }
  std::int32_t node(VertexId id) const { return topology_.vertex(id).node; }
  const Topology& topology() const { return topology_; }

 private:
  template <class End>
  void index(const std::vector<bool>& dead, Index& result, End end) const {
    result.start.assign(forwards_.size() + 1, 0);
    const auto is_live = [&](std::uint32_t i) {
      return !dead[i] && is_usable(topology_, topology_.link(LinkId(i)));
    };
    const auto count = static_cast<std::uint32_t>(topology_.link_count());
    for (std::uint32_t i = 0; i < count; ++i)
      if (is_live(i)) ++result.start[end(topology_.link(LinkId(i))) + 1];
    for (std::size_t i = 1; i < result.start.size(); ++i) result.start[i] += result.start[i - 1];
    result.links.assign(result.start.back(), LinkId());
    std::vector<std::uint32_t> next(result.start.begin(), result.start.end() - 1);
    for (std::uint32_t i = 0; i < count; ++i)
      if (is_live(i)) result.links[next[end(topology_.link(LinkId(i)))]++] = LinkId(i);
  }
  const Topology& topology_;
  std::vector<bool> forwards_;
  Index outgoing_;
  Index incoming_;
};

// Fewest live links from every vertex to `target`, on the fabric and the nodes of the two ranks; -1: none.
std::vector<std::int32_t> hops_to(const LiveGraph& graph, VertexId source, VertexId target) {
  std::vector<std::int32_t> hops(graph.topology().vertex_count(), -1);
  std::vector<VertexId> queue = {target};
  hops[target.value] = 0;
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const VertexId at = queue[next];
    if (at == source) break;
    for (const LinkId* link = graph.incoming().begin(at); link != graph.incoming().end(at); ++link) {
      const VertexId before = graph.topology().link(*link).source;
      const std::int32_t node = graph.node(before);
      const bool may = graph.forwards(before) || node == graph.node(source) || node == graph.node(target);
      if (!may || hops[before.value] >= 0) continue;
      hops[before.value] = hops[at.value] + 1;
      queue.push_back(before);
    }
  }
  return hops;
}

std::vector<LinkId> find_path(const LiveGraph& graph, Rank source, Rank target, std::int32_t channel) {
  const VertexId end(target);
  VertexId at(source);
  const std::vector<std::int32_t> hops = hops_to(graph, at, end);
  COLLSIM_CHECK_MSG(hops[at.value] >= 0,
                    "ranks " + std::to_string(source) + " and " + std::to_string(target) + " are split");
  std::uint64_t word = mix64(static_cast<std::uint64_t>(source));
  word = mix64(word ^ static_cast<std::uint64_t>(target));
  word = mix64(word ^ static_cast<std::uint64_t>(channel));
  std::vector<LinkId> path;
  std::vector<LinkId> closer;
  while (at != end) {
    closer.clear();
    for (const LinkId* link = graph.outgoing().begin(at); link != graph.outgoing().end(at); ++link)
      if (hops[graph.topology().link(*link).target.value] == hops[at.value] - 1) closer.push_back(*link);
    word = mix64(word ^ at.value);
    path.push_back(closer[word % closer.size()]);
    at = graph.topology().link(path.back()).target;
  }
  return path;
}

}  // namespace

struct Detours::Paths {
  using Key = std::tuple<Rank, Rank, std::int32_t>;
  static constexpr std::size_t kept_max = std::size_t{1} << 20;

  Paths(const Topology& topology, const std::vector<bool>& dead) : graph(topology, dead) {}

  void append(const Key& key, std::vector<LinkId>& links) {
    const auto take = [&](const std::vector<LinkId>& path) {
      links.insert(links.end(), path.begin(), path.end());
    };
    {
      const std::lock_guard lock(mutex);
      if (const auto entry = kept.find(key); entry != kept.end()) return take(entry->second);
    }
    std::vector<LinkId> path = find_path(graph, std::get<0>(key), std::get<1>(key), std::get<2>(key));
    take(path);
    const std::lock_guard lock(mutex);
    if (kept.size() >= kept_max) kept.clear();
    kept.emplace(key, std::move(path));
  }

  LiveGraph graph;
  std::mutex mutex;
  std::map<Key, std::vector<LinkId>> kept;
};

Detours::Detours(std::shared_ptr<const Topology> base, std::vector<bool> dead)
    : base_(std::move(base)), dead_(std::move(dead)), paths_(std::make_unique<Paths>(*base_, dead_)) {
  COLLSIM_CHECK(dead_.size() == base_->link_count());
}
Detours::~Detours() = default;

bool Detours::is_live(const std::vector<LinkId>& links) const {
  return std::none_of(links.begin(), links.end(), [&](LinkId id) { return dead_[id.value]; });
}

Spreading Detours::spreading() const { return base_->routes().spreading(); }

void Detours::route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const {
  numbered_route(source, target, channel, 0, links);
}

std::int32_t Detours::route_count(Rank source, Rank target, std::int32_t channel) const {
  const RouteRule& routes = base_->routes();
  const std::int32_t all = routes.route_count(source, target, channel);
  std::int32_t live = 0;
  std::vector<LinkId> links;
  for (std::int32_t number = 0; number < all; ++number) {
    links.clear();
    routes.numbered_route(source, target, channel, number, links);
    live += is_live(links);
  }
  return std::max(live, 1);
}

void Detours::numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t number,
                             std::vector<LinkId>& links) const {
  const RouteRule& routes = base_->routes();
  const std::int32_t all = routes.route_count(source, target, channel);
  std::vector<LinkId> found;
  for (std::int32_t each = 0; each < all; ++each) {
    found.clear();
    routes.numbered_route(source, target, channel, each, found);
    if (!is_live(found) || number-- > 0) continue;
    links.insert(links.end(), found.begin(), found.end());
    return;
  }
  paths_->append({source, target, channel}, links);
}

// ---------------------------------------------------------------- splits

namespace {

// Where a rank meets the fabric: vertices that forward, reached over its own node. As a set, for comparing.
using Borders = std::set<std::uint32_t>;

struct Reach {
  Borders borders;
  std::set<std::uint32_t> own;  // vertices of the node
};

Reach reach_of(const LiveGraph& graph, Rank rank, bool outwards) {
  Reach reach;
  const VertexId start(rank);
  std::vector<VertexId> queue = {start};
  reach.own.insert(start.value);
  const LiveGraph::Index& index = outwards ? graph.outgoing() : graph.incoming();
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const VertexId at = queue[next];
    if (graph.forwards(at)) reach.borders.insert(at.value);
    for (const LinkId* id = index.begin(at); id != index.end(at); ++id) {
      const Link& link = graph.topology().link(*id);
      const VertexId other = outwards ? link.target : link.source;
      if (graph.node(other) != graph.node(start)) {
        if (graph.forwards(other)) reach.borders.insert(other.value);
      } else if (reach.own.insert(other.value).second) {
        queue.push_back(other);
      }
    }
  }
  return reach;
}

// Vertices that forward and lead to one of `borders`.
std::vector<bool> leading_to(const LiveGraph& graph, const Borders& borders) {
  std::vector<bool> result(graph.topology().vertex_count(), false);
  std::vector<VertexId> queue;
  const auto add = [&](VertexId id) {
    if (result[id.value]) return;
    result[id.value] = true;
    queue.push_back(id);
  };
  for (const std::uint32_t border : borders) add(VertexId(border));
  for (std::size_t next = 0; next < queue.size(); ++next)
    for (const LinkId* id = graph.incoming().begin(queue[next]); id != graph.incoming().end(queue[next]);
         ++id) {
      const VertexId before = graph.topology().link(*id).source;
      if (graph.forwards(before)) add(before);
    }
  return result;
}

// Ranks of one node that are split from each other, if any.
std::optional<std::pair<Rank, Rank>> split_within(const LiveGraph& graph, Rank first, std::int32_t gpus) {
  for (Rank source = first; source < first + gpus; ++source)
    for (Rank target = first; target < first + gpus; ++target)
      if (source != target &&
          hops_to(graph, VertexId(source), VertexId(target))[static_cast<std::size_t>(source)] < 0)
        return std::pair{source, target};
  return std::nullopt;
}

bool touches(const std::vector<bool>& vertices, const Borders& borders) {
  return std::any_of(borders.begin(), borders.end(), [&](std::uint32_t border) { return vertices[border]; });
}

}  // namespace

std::optional<std::pair<Rank, Rank>> split_by(const Topology& topology, const std::vector<bool>& dead) {
  const LiveGraph graph(topology, dead);
  const Placement& placement = topology.placement();
  // Ranks with the same borders: the first, and the first of another node.
  using Classes = std::map<Borders, std::vector<Rank>>;
  Classes exits;
  Classes entries;
  const auto add = [&](Classes& classes, bool outwards, Rank rank) {
    std::vector<Rank>& members = classes[reach_of(graph, rank, outwards).borders];
    if (members.empty() || (members.size() == 1 && placement.node_of(members[0]) != placement.node_of(rank)))
      members.push_back(rank);
  };
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    add(exits, true, rank);
    add(entries, false, rank);
  }
  std::vector<bool> is_hurt(static_cast<std::size_t>(placement.nodes), false);
  for (std::size_t i = 0; i < dead.size(); ++i)
    for (const VertexId end : {topology.link(LinkId(i)).source, topology.link(LinkId(i)).target})
      if (dead[i] && topology.vertex(end).node >= 0)
        is_hurt[static_cast<std::size_t>(topology.vertex(end).node)] = true;
  for (std::int32_t node = 0; node < placement.nodes; ++node)
    if (is_hurt[static_cast<std::size_t>(node)])
      if (auto split = split_within(graph, placement.first_rank_of(node), placement.gpus_of(node)))
        return split;
  if (placement.nodes == 1) return std::nullopt;
  for (const auto& [entry, targets] : entries) {
    const std::vector<bool> leading = leading_to(graph, entry);
    for (const auto& [exit, sources] : exits) {
      if (touches(leading, exit)) continue;
      for (const Rank source : sources)
        for (const Rank target : targets)
          if (source != target &&
              hops_to(graph, VertexId(source), VertexId(target))[static_cast<std::size_t>(source)] < 0)
            return std::pair{source, target};
    }
  }
  return std::nullopt;
}

}  // namespace collsim::topologies
