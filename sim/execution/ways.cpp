#include "sim/execution/ways.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

constexpr std::uint32_t none = Instance::none;
constexpr std::int64_t shares_unit_max = std::int64_t{1} << 20;

template <class T>
std::uint32_t count_of(const std::vector<T>& items) {
  return static_cast<std::uint32_t>(items.size());
}

bool from_start(Instant at) { return at <= Instant(); }

std::int32_t parts_of(const RouteRule& routes, const Instance::Connection& connection) {
  if (routes.spreading() == Spreading::none) return 1;
  return routes.route_count(connection.source, connection.target, connection.channel);
}

}  // namespace

bool Instance::is_steady() const {
  const auto changes = [](const auto& element) { return element.changes; };
  return reroutes.empty() && !has_jitter && latency_changes.empty() && tree_changes.empty() &&
         std::none_of(resources.begin(), resources.end(), changes) &&
         std::all_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.changes.empty(); });
}

const RouteRule& first_routes(const Topology& topology, const Conditions& conditions) {
  const RouteRule* routes = &topology.routes();
  for (const RouteChange& change : conditions.route_changes)
    if (from_start(change.at)) routes = change.routes.get();
  return *routes;
}

// ---------------------------------------------------------------- ways

Ways::Ways(const Topology& topology, const Conditions& conditions, Instance& instance)
    : topology_(topology), conditions_(conditions), instance_(instance) {
  if (topology.ranks() > 1) routes_ = &first_routes(topology, conditions);
  for (std::uint32_t number = 0; number < conditions.route_changes.size(); ++number)
    if (!from_start(conditions.route_changes[number].at)) later_.push_back(number);
  link_resource_.assign(topology.link_count(), none);
  latency_.reserve(topology.link_count());
  for (const Link& link : topology.links()) latency_.push_back(link.latency);
  instance.has_jitter = !conditions.jitter.is_zero();
  for (const LinkChange& change : conditions.link_changes) {
    COLLSIM_CHECK(change.link.value < topology.link_count());
    Instance::Resource& resource = instance.resources[resource_of(change.link)];
    const bool carries = !change.bandwidth || *change.bandwidth > Bandwidth();
    if (!from_start(change.at) || !carries || resource.changes) {
      resource.changes = true;
      if (!from_start(change.at) || !change.latency) continue;
    } else if (change.bandwidth) {
      resource.capacity = *change.bandwidth;
    }
    if (change.latency) latency_[change.link.value] = *change.latency;
  }
}

std::uint32_t Ways::resource_of(LinkId link) {
  std::uint32_t& resource = link_resource_[link.value];
  if (resource == none) {
    resource = count_of(instance_.resources);
    instance_.resources.push_back({topology_.link(link).bandwidth, link, false, none, false});
  }
  return resource;
}

void Ways::find(Instance::Connection& connection, std::optional<Bandwidth> rate_max) {
  static_cast<Instance::Way&>(connection) = way_by(*routes_, connection, rate_max);
}

Instance::Way Ways::way_by(const RouteRule& routes, const Instance::Connection& connection,
                           std::optional<Bandwidth> rate_max) {
  Instance::Way way;
  way.parts = parts_of(routes, connection);
  way.latency = latency_by(routes, connection);
  way.first_hop = count_of(instance_.hops);
  if (way.parts > 1) std::sort(links_.begin(), links_.end());
  std::int64_t alone = std::numeric_limits<std::int64_t>::max();
  if (rate_max) alone = std::max<std::int64_t>(1, rate_max->bytes_per_second() / way.parts);
  for (std::size_t next = 0; next < links_.size();) {
    const LinkId link = links_[next];
    std::uint32_t crossing = 1;
    while (++next < links_.size() && links_[next] == link) ++crossing;
    const std::uint32_t resource = resource_of(link);
    instance_.hops.push_back({resource, crossing});
    alone = std::min(alone, instance_.resources[resource].capacity.bytes_per_second() / crossing);
  }
  way.hop_end = count_of(instance_.hops);
  way.alone = Bandwidth::bytes_per_second(alone);
  return way;
}

// The largest latency of its routes; leaves their links in links_.
Duration Ways::latency_by(const RouteRule& routes, const Instance::Connection& connection) {
  links_.clear();
  Duration largest;
  const std::int32_t parts = parts_of(routes, connection);
  for (std::int32_t number = 0; number < parts; ++number) {
    const std::size_t first = links_.size();
    if (parts == 1)
      routes.route(connection.source, connection.target, connection.channel, links_);
    else
      routes.numbered_route(connection.source, connection.target, connection.channel, number, links_);
    Duration latency;
    for (std::size_t index = first; index < links_.size(); ++index) latency += latency_[links_[index].value];
    largest = std::max(largest, latency);
  }
  return largest;
}

bool Ways::same(const Instance::Way& a, const Instance::Way& b) const {
  const auto begin = instance_.hops.begin();
  return a.parts == b.parts && std::equal(begin + a.first_hop, begin + a.hop_end, begin + b.first_hop,
                                          begin + b.hop_end, [](const auto& one, const auto& other) {
                                            return one.resource == other.resource &&
                                                   one.weight == other.weight;
                                          });
}

void Ways::finish() {
  if (!later_.empty())
    for (std::uint32_t id = 0; id < instance_.connections.size(); ++id) add_detours(id);
  std::stable_sort(
      instance_.reroutes.begin(), instance_.reroutes.end(),
      [](const Instance::Reroute& a, const Instance::Reroute& b) { return a.change < b.change; });
  find_tree_latencies();
  add_latency_changes();
  add_background();
  choose_weights();
}

void Ways::add_detours(std::uint32_t id) {
  const Instance::Connection& connection = instance_.connections[id];
  const auto rate_max = instance_.jobs[instance_.streams[connection.sender].job].channel_bandwidth;
  const std::uint32_t first = count_of(instance_.detours);
  std::uint32_t present = none;
  for (const std::uint32_t change : later_) {
    Instance::Detour detour;
    static_cast<Instance::Way&>(detour) =
        way_by(*conditions_.route_changes[change].routes, connection, rate_max);
    std::uint32_t number = first;
    while (number < instance_.detours.size() && !same(instance_.detours[number], detour)) ++number;
    if (same(connection, detour)) number = none;
    if (number == instance_.detours.size()) {
      detour.connection = id;
      detour.change = change;
      instance_.detours.push_back(detour);
    } else {
      instance_.hops.resize(detour.first_hop);
    }
    if (number != present) instance_.reroutes.push_back({change, id, number});
    present = number;
  }
}

void Ways::add_latency_changes() {
  for (std::uint32_t number = 0; number < conditions_.link_changes.size(); ++number)
    if (conditions_.link_changes[number].latency && !from_start(conditions_.link_changes[number].at))
      add_latency_change(number);
}

void Ways::add_latency_change(std::uint32_t number) {
  const LinkChange& change = conditions_.link_changes[number];
  latency_[change.link.value] = *change.latency;
  const std::uint32_t resource = link_resource_[change.link.value];
  const auto crosses = [&](const Instance::Way& way) {
    const auto begin = instance_.hops.begin();
    return std::any_of(begin + way.first_hop, begin + way.hop_end,
                       [&](const Instance::Hop& hop) { return hop.resource == resource; });
  };
  for (std::uint32_t id = 0; id < instance_.connections.size(); ++id)
    if (crosses(instance_.connections[id]))
      instance_.latency_changes.push_back(
          {number, id, none, latency_by(*routes_, instance_.connections[id])});
  for (std::uint32_t id = 0; id < instance_.detours.size(); ++id) {
    const Instance::Detour& detour = instance_.detours[id];
    const RouteRule& routes = *conditions_.route_changes[detour.change].routes;
    if (crosses(detour))
      instance_.latency_changes.push_back(
          {number, detour.connection, id, latency_by(routes, instance_.connections[detour.connection])});
  }
  for (std::uint32_t id = 0; id < instance_.groups.size(); ++id) {
    const Instance::Group& group = instance_.groups[id];
    const auto begin = instance_.hops.begin();
    if (std::any_of(begin + group.first_hop, begin + group.hop_end,
                    [&](const Instance::Hop& hop) { return hop.resource == resource; })) {
      instance_.tree_changes.push_back(tree_latencies(id));
      instance_.tree_changes.back().change = number;
    }
  }
}

// Those that latency changes at time 0 leave; the topology has told the others.
void Ways::find_tree_latencies() {
  const auto early = [](const LinkChange& change) { return change.latency && from_start(change.at); };
  if (std::none_of(conditions_.link_changes.begin(), conditions_.link_changes.end(), early)) return;
  for (std::uint32_t id = 0; id < instance_.groups.size(); ++id) {
    const Instance::TreeChange found = tree_latencies(id);
    Instance::Group& group = instance_.groups[id];
    group.up_latency_max = found.up_latency_max;
    group.down_latency_max = found.down_latency_max;
    for (std::uint32_t member = group.first_member; member < group.member_end; ++member)
      instance_.members[member].down_latency = found.down_latency[member - group.first_member];
  }
}

// By the present latencies of the links of its tree: up to the root from vertex to vertex, and down from it.
Instance::TreeChange Ways::tree_latencies(std::uint32_t id) const {
  const Instance::Group& group = instance_.groups[id];
  std::map<VertexId, Duration> up = {{group.root, Duration()}};
  std::map<VertexId, Duration> down = up;
  for (bool grown = true; grown;) {
    grown = false;
    for (std::uint32_t hop = group.first_hop; hop < group.hop_end; ++hop) {
      const LinkId link = instance_.resources[instance_.hops[hop].resource].link;
      const VertexId source = topology_.link(link).source;
      const VertexId target = topology_.link(link).target;
      const Duration latency = latency_[link.value];
      if (const auto known = up.find(target); known != up.end())
        grown |= up.try_emplace(source, known->second + latency).second;
      if (const auto known = down.find(source); known != down.end())
        grown |= down.try_emplace(target, known->second + latency).second;
    }
  }
  Instance::TreeChange result;
  result.group = id;
  for (std::uint32_t number = group.first_member; number < group.member_end; ++number) {
    const Instance::Member& member = instance_.members[number];
    const auto vertex = VertexId(member.rank);
    if (member.sends) result.up_latency_max = std::max(result.up_latency_max, up.at(vertex));
    result.down_latency.push_back(member.receives ? down.at(vertex) : Duration());
    result.down_latency_max = std::max(result.down_latency_max, result.down_latency.back());
  }
  return result;
}

void Ways::add_background() {
  for (const BackgroundFlow& wanted : conditions_.background) {
    if (wanted.rate <= Bandwidth() || wanted.links.empty()) continue;
    Instance::BackgroundFlow flow;
    flow.rate = wanted.rate;
    flow.first_hop = count_of(instance_.hops);
    for (const LinkId link : wanted.links) instance_.hops.push_back({resource_of(link), 1});
    flow.hop_end = count_of(instance_.hops);
    instance_.background.push_back(flow);
  }
}

// The least common multiple of the numbers of parts, so that weights are exact; capped, they are rounded.
void Ways::choose_weights() {
  std::int64_t unit = 1;
  const auto include = [&unit](const Instance::Way& way) {
    unit = std::min(shares_unit_max, std::lcm<std::int64_t>(unit, way.parts));
  };
  for (const Instance::Connection& connection : instance_.connections) include(connection);
  for (const Instance::Detour& detour : instance_.detours) include(detour);
  instance_.shares_unit = static_cast<std::uint32_t>(unit);
  if (unit == 1) return;
  const auto unlike = [unit](const Instance::Way& way) { return way.parts != unit; };
  instance_.has_unlike_weights =
      !instance_.groups.empty() || !instance_.background.empty() ||
      std::any_of(instance_.connections.begin(), instance_.connections.end(), unlike);
}

// ---------------------------------------------------------------- GPUs

Gpus::Gpus(const Topology& topology, const Conditions& conditions, std::vector<Instance::Gpu>& gpus) {
  if (!topology.has_unlike_gpus() && conditions.rank_changes.empty()) {
    gpus.push_back({topology.gpu(0), {}});
    return;
  }
  std::vector<Instance::Gpu> of_rank;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) of_rank.push_back({topology.gpu(rank), {}});
  for (const RankChange& change : conditions.rank_changes) {
    Instance::Gpu& gpu = of_rank[static_cast<std::size_t>(change.rank)];
    if (from_start(change.at))
      gpu.spec = change.gpu;
    else
      gpu.changes.emplace_back(change.at, change.gpu);
  }
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers;
  for (const Instance::Gpu& gpu : of_rank) {
    std::vector<std::int64_t> key;
    const auto add = [&key](const GpuSpec& spec) {
      key.push_back(spec.reduce_bandwidth ? spec.reduce_bandwidth->bytes_per_second() : -1);
      key.push_back(spec.copy_bandwidth ? spec.copy_bandwidth->bytes_per_second() : -1);
      key.push_back(spec.send_overhead.picoseconds());
      key.push_back(spec.receive_overhead.picoseconds());
    };
    add(gpu.spec);
    for (const auto& change : gpu.changes) {
      key.push_back(change.first.picoseconds());
      add(change.second);
    }
    const auto [entry, fresh] = numbers.try_emplace(key, count_of(gpus));
    if (fresh) gpus.push_back(gpu);
    number_.push_back(entry->second);
  }
}

Bandwidth unit_bandwidth(const Instance& instance, const GpuSpec& spec, bool copies, std::uint32_t memory) {
  constexpr std::int64_t largest = std::int64_t{1} << 62;
  const std::optional<Bandwidth> own = copies ? spec.copy_bandwidth : spec.reduce_bandwidth;
  if (!own) return Bandwidth::bytes_per_second(largest);
  return copies || memory == none ? *own : instance.memories[memory].terms.reduction(*own);
}

std::optional<Instance::Resource> unit_of(const Instance& instance, std::uint32_t gpu, bool copies,
                                          std::uint32_t memory) {
  const Instance::Gpu& facts = instance.gpus[gpu];
  const auto limited = [copies](const GpuSpec& spec) {
    return (copies ? spec.copy_bandwidth : spec.reduce_bandwidth).has_value();
  };
  const bool ever = std::any_of(facts.changes.begin(), facts.changes.end(),
                                [&](const auto& change) { return limited(change.second); });
  if (!ever && !limited(facts.spec)) return std::nullopt;
  return Instance::Resource{unit_bandwidth(instance, facts.spec, copies, memory),
                            LinkId(),
                            !facts.changes.empty(),
                            gpu,
                            copies,
                            memory};
}

}  // namespace collsim
