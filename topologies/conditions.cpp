#include "topologies/conditions.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "sim/core/random.hpp"
#include "topologies/detours.hpp"
#include "topologies/link_names.hpp"

namespace collsim::topologies {
namespace {

using Links = std::vector<LinkId>;

const char* field_of(FaultTarget target) {
  switch (target) {
    case FaultTarget::link:
      return "link";
    case FaultTarget::switch_:
      return "switch";
    case FaultTarget::nic:
      return "nic";
    case FaultTarget::rank:
      return "rank";
    case FaultTarget::aggregation:
      break;
  }
  return "aggregation";
}

Links links_at(const Topology& topology, VertexId vertex) {
  Links links;
  for (std::uint32_t i = 0; i < topology.link_count(); ++i)
    if (topology.link(LinkId(i)).source == vertex || topology.link(LinkId(i)).target == vertex)
      links.push_back(LinkId(i));
  return links;
}

// The links of a fault of a link, switch or NIC.
std::variant<Links, NameError> links_of(const Topology& topology, const LinkNames& names,
                                        const FaultSpec& fault) {
  if (fault.target == FaultTarget::link) return names.links(fault.name, false);
  const auto found = names.vertex(fault.name);
  if (const auto* error = std::get_if<NameError>(&found)) return *error;
  const VertexId vertex = std::get<VertexId>(found);
  const VertexKind kind = topology.vertex(vertex).kind;
  const bool is_switch = kind == VertexKind::node_switch || kind == VertexKind::fabric_switch;
  if (fault.target == FaultTarget::switch_ && !is_switch)
    return NameError{"'" + fault.name + "' is no switch", "a name such as leaf0 or node0/nvswitch0", ""};
  if (fault.target == FaultTarget::nic && kind != VertexKind::nic)
    return NameError{"'" + fault.name + "' is no NIC", "a name such as node0/nic1", ""};
  return links_at(topology, vertex);
}

// value * factor, rounded down, at least 1.
std::int64_t part_of(std::int64_t value, const Factor& factor) {
  const Int128 part = Int128{value} * factor.numerator / factor.denominator;
  return part < 1 ? 1 : static_cast<std::int64_t>(part);
}
Bandwidth part_of(Bandwidth bandwidth, const Factor& factor) {
  return Bandwidth::bytes_per_second(part_of(bandwidth.bytes_per_second(), factor));
}
// As long as the work takes at that part of the speed, rounded up.
Duration slowed(Duration duration, const Factor& speed) {
  const Int128 work = Int128{duration.picoseconds()} * speed.denominator;
  return Duration::picoseconds(static_cast<std::int64_t>((work + speed.numerator - 1) / speed.numerator));
}

GpuSpec slowed(GpuSpec gpu, const Factor& speed) {
  if (gpu.reduce_bandwidth) gpu.reduce_bandwidth = part_of(*gpu.reduce_bandwidth, speed);
  if (gpu.copy_bandwidth) gpu.copy_bandwidth = part_of(*gpu.copy_bandwidth, speed);
  gpu.send_overhead = slowed(gpu.send_overhead, speed);
  gpu.receive_overhead = slowed(gpu.receive_overhead, speed);
  return gpu;
}

using DeadLinks = std::map<LinkId, std::string>;  // what is down, by name

std::string tree_name(const AggregationGroup& group, const Topology& topology) {
  if (group.scope == AggregationScope::fabric) return "the tree of rail " + std::to_string(group.rail);
  return "the tree of node " + std::to_string(topology.placement().node_of(group.members[0]));
}

// The path of the group, unless it crosses something dead.
std::variant<AggregationPath, Impossible> live_path(const Topology& topology, const DeadLinks& dead,
                                                    const AggregationGroup& group) {
  auto path = topology.aggregation(group);
  if (const auto* found = std::get_if<AggregationPath>(&path))
    for (const LinkId id : found->links)
      if (const auto entry = dead.find(id); entry != dead.end())
        return Impossible{tree_name(group, topology) + " crosses " + entry->second + ", which is down"};
  return path;
}

// Aggregations of a topology, without those that cross what is down from the start.
class LiveAggregations final : public AggregationRule {
 public:
  LiveAggregations(std::shared_ptr<const Topology> base, DeadLinks dead)
      : base_(std::move(base)), dead_(std::move(dead)) {}
  std::variant<AggregationPath, Impossible> path(const AggregationGroup& group) const override {
    return live_path(*base_, dead_, group);
  }

 private:
  std::shared_ptr<const Topology> base_;
  DeadLinks dead_;
};

class BaseRoutes final : public RouteRule {
 public:
  explicit BaseRoutes(std::shared_ptr<const Topology> base) : base_(std::move(base)) {}
  void route(Rank source, Rank target, std::int32_t channel, Links& links) const override {
    base_->route(source, target, channel, links);
  }
  Spreading spreading() const override { return base_->routes().spreading(); }
  std::int32_t route_count(Rank source, Rank target, std::int32_t channel) const override {
    return base_->routes().route_count(source, target, channel);
  }
  void numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t number,
                      Links& links) const override {
    base_->routes().numbered_route(source, target, channel, number, links);
  }

 private:
  std::shared_ptr<const Topology> base_;
};

// The topology with what is down from the start taken into account.
Topology worn(const std::shared_ptr<const Topology>& base, std::shared_ptr<const RouteRule> routes,
              DeadLinks dead) {
  Topology::Parts parts;
  parts.name = base->name();
  parts.placement = base->placement();
  parts.gpu = base->gpu(0);
  if (base->has_unlike_gpus())
    for (std::int32_t node = 0; node < parts.placement.nodes; ++node)
      parts.node_gpus.push_back(base->gpu(parts.placement.first_rank_of(node)));
  for (std::int32_t node = 0; node < parts.placement.nodes; ++node) {
    const SharedMemory* memory = base->memory_of(parts.placement.first_rank_of(node));
    parts.node_memories.push_back(memory == nullptr ? SharedMemory() : *memory);
  }
  for (std::uint32_t i = 0; i < base->vertex_count(); ++i) {
    parts.vertices.push_back(base->vertex(VertexId(i)));
    parts.vertex_names.push_back(base->vertex_name(VertexId(i)));
  }
  parts.links = base->links();
  parts.routes = routes != nullptr ? std::move(routes) : std::make_shared<const BaseRoutes>(base);
  parts.aggregations = std::make_shared<const LiveAggregations>(base, std::move(dead));
  parts.cuts = base->cuts();
  parts.latency_max = base->latency_max();
  parts.has_sites = base->has_sites();
  parts.some_nodes_reduce = base->has_node_reduction();
  return Topology(std::move(parts));
}

class Resolver {
 public:
  Resolver(const Topology& topology, const ConditionsSpec& spec, std::uint64_t seed)
      : base_(std::make_shared<const Topology>(topology)), spec_(spec), seed_(seed), names_(*base_) {}

  std::variant<Resolved, std::vector<ConditionError>> run() {
    find_links();
    if (errors_.empty()) change_links();
    if (errors_.empty()) change_routes();
    change_ranks();
    draw_skew();
    conditions_.jitter = spec_.jitter;
    conditions_.seed = mix64(seed_ ^ 0x6a69747465720000ULL);
    DeadLinks dead;
    for (std::size_t i = 0; i < spec_.faults.size(); ++i)
      for (const LinkId id : links_[i])
        if (spec_.faults[i].down && spec_.faults[i].at == Instant()) dead.emplace(id, spec_.faults[i].name);
    const bool is_worn = errors_.empty() && (first_routes_ != nullptr || !dead.empty());
    Topology topology = is_worn ? worn(base_, first_routes_, std::move(dead)) : *base_;
    add_background(topology);
    if (!errors_.empty()) return std::move(errors_);
    return Resolved{std::move(topology), std::move(conditions_)};
  }

 private:
  static bool is_of_links(const FaultSpec& fault) {
    return fault.target != FaultTarget::rank && fault.target != FaultTarget::aggregation;
  }
  void fail(const std::string& list, std::size_t index, const std::string& field, NameError error) {
    errors_.push_back(
        {list, index, field, std::move(error.message), std::move(error.expected), std::move(error.hint)});
  }
  bool check_rank(const std::string& list, std::size_t index, const std::string& field, Rank rank) {
    if (rank >= 0 && rank < base_->ranks()) return true;
    fail(list, index, field,
         {"there is no rank " + std::to_string(rank),
          "a rank from 0 to " + std::to_string(base_->ranks() - 1), ""});
    return false;
  }

  void find_links() {
    for (std::size_t i = 0; i < spec_.faults.size(); ++i) {
      const FaultSpec& fault = spec_.faults[i];
      links_.emplace_back();
      if (fault.target == FaultTarget::rank) check_rank("faults", i, "rank", fault.rank);
      if (!is_of_links(fault)) continue;
      auto found = links_of(*base_, names_, fault);
      if (auto* error = std::get_if<NameError>(&found))
        fail("faults", i, field_of(fault.target), std::move(*error));
      else
        links_.back() = std::get<Links>(std::move(found));
    }
  }

  // The faults by their time, then as listed.
  std::vector<std::size_t> by_time() const {
    std::vector<std::size_t> order(spec_.faults.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return spec_.faults[a].at < spec_.faults[b].at; });
    return order;
  }

  void change_links() {
    std::map<LinkId, Bandwidth> now;  // of links that faults have changed; 0: down
    for (const std::size_t i : by_time()) {
      const FaultSpec& fault = spec_.faults[i];
      for (const LinkId id : links_[i]) {
        Bandwidth& bandwidth = now.try_emplace(id, base_->link(id).bandwidth).first->second;
        LinkChange change{fault.at, id, std::nullopt, fault.latency};
        if (bandwidth > Bandwidth() && (fault.down || fault.bandwidth || fault.bandwidth_factor)) {
          if (fault.bandwidth) bandwidth = *fault.bandwidth;
          if (fault.bandwidth_factor) bandwidth = part_of(bandwidth, *fault.bandwidth_factor);
          if (fault.down) bandwidth = Bandwidth();
          change.bandwidth = bandwidth;
        }
        if (change.bandwidth || change.latency) conditions_.link_changes.push_back(change);
      }
    }
  }

  void change_routes() {
    struct Turn {
      Instant at;
      std::size_t fault;
    };
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < spec_.faults.size(); ++i) {
      const FaultSpec& fault = spec_.faults[i];
      if (is_of_links(fault) && fault.down && fault.reroute && base_->ranks() > 1)
        turns.push_back({fault.at + *fault.reroute, i});
    }
    std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
    std::vector<bool> dead(base_->link_count(), false);
    for (std::size_t i = 0; i < turns.size(); ++i) {
      for (const LinkId id : links_[turns[i].fault]) dead[id.value] = true;
      if (i + 1 < turns.size() && turns[i + 1].at == turns[i].at) continue;
      if (const auto split = split_by(*base_, dead)) return add_split(turns[i].fault, *split);
      auto routes = std::make_shared<const Detours>(base_, dead);
      if (turns[i].at == Instant())
        first_routes_ = std::move(routes);
      else
        conditions_.route_changes.push_back({turns[i].at, std::move(routes)});
    }
  }
  void add_split(std::size_t index, const std::pair<Rank, Rank>& split) {
    const FaultSpec& fault = spec_.faults[index];
    fail("faults", index, field_of(fault.target),
         {"with '" + fault.name + "' down nothing leads from rank " + std::to_string(split.first) +
              " to rank " + std::to_string(split.second),
          "a fault that leaves a way between all ranks, or no reroute", ""});
  }

  void change_ranks() {
    std::map<Rank, GpuSpec> now;
    for (const std::size_t i : by_time()) {
      const FaultSpec& fault = spec_.faults[i];
      if (fault.target != FaultTarget::rank || !fault.speed || fault.rank < 0 || fault.rank >= base_->ranks())
        continue;
      GpuSpec& gpu = now.try_emplace(fault.rank, base_->gpu(fault.rank)).first->second;
      gpu = slowed(gpu, *fault.speed);
      conditions_.rank_changes.push_back({fault.at, fault.rank, gpu});
    }
  }

  void draw_skew() {
    if (spec_.skew.is_zero()) return;
    const auto ranks = static_cast<std::size_t>(base_->ranks());
    std::vector<Duration>& skew = conditions_.skew;
    skew.assign(ranks, Duration());
    if (!spec_.skew.distribution.is_zero()) {
      const std::uint64_t word = mix64(seed_ ^ 0x736b657700000000ULL);
      for (std::size_t rank = 0; rank < ranks; ++rank)
        skew[rank] = sample(spec_.skew.distribution, mix64(word ^ rank));
    }
    std::vector<bool> seen(ranks, false);
    for (std::size_t i = 0; i < spec_.skew.ranks.size(); ++i) {
      const auto& [rank, delay] = spec_.skew.ranks[i];
      if (!check_rank("skew", i, "rank", rank)) continue;
      const auto place = static_cast<std::size_t>(rank);
      if (seen[place])
        fail("skew", i, "rank", {"rank " + std::to_string(rank) + " is listed twice", "every rank once", ""});
      seen[place] = true;
      skew[place] += delay;
    }
  }

  void add_background(const Topology& topology) {
    for (std::size_t i = 0; i < spec_.background.size(); ++i) {
      const BackgroundSpec& each = spec_.background[i];
      if (each.link.empty())
        add_flow(topology, i, each);
      else
        add_loads(i, each);
    }
  }
  void add_loads(std::size_t index, const BackgroundSpec& each) {
    auto found = names_.links(each.link, true);
    if (auto* error = std::get_if<NameError>(&found))
      return fail("background", index, "link", std::move(*error));
    if (!each.load && !each.rate)
      return fail("background", index, "load", {"the traffic has no rate", "a load such as 0.3", ""});
    for (const LinkId id : std::get<Links>(found))
      conditions_.background.push_back(
          {{id}, each.rate ? *each.rate : part_of(base_->link(id).bandwidth, *each.load)});
  }
  void add_flow(const Topology& topology, std::size_t index, const BackgroundSpec& each) {
    const bool has_from = check_rank("background", index, "from", each.from);
    if (!check_rank("background", index, "to", each.to) || !has_from) return;
    if (each.from == each.to)
      return fail(
          "background", index, "to",
          {"traffic from rank " + std::to_string(each.from) + " to itself", "two different ranks", ""});
    if (!each.rate)
      return fail("background", index, "rate",
                  {"the traffic has no rate", "a bandwidth such as 10 GB/s", ""});
    BackgroundFlow flow{{}, *each.rate};
    topology.route(each.from, each.to, 0, flow.links);
    conditions_.background.push_back(std::move(flow));
  }

  std::shared_ptr<const Topology> base_;
  const ConditionsSpec& spec_;
  std::uint64_t seed_;
  LinkNames names_;
  std::vector<Links> links_;  // [fault]
  std::shared_ptr<const RouteRule> first_routes_;
  Conditions conditions_;
  std::vector<ConditionError> errors_;
};

}  // namespace

std::variant<Resolved, std::vector<ConditionError>> resolve(const Topology& topology,
                                                            const ConditionsSpec& spec, std::uint64_t seed) {
  return Resolver(topology, spec, seed).run();
}

}  // namespace collsim::topologies
