#include "sim/execution/packet_transport.hpp"

#include <algorithm>
#include <map>

#include "sim/core/check.hpp"
#include "sim/execution/ways.hpp"
#include "sim/network/packet.hpp"

namespace collsim {
namespace {

using Route = PacketNetwork::Route;
using FlowId = PacketNetwork::FlowId;
using TreeVertex = PacketNetwork::TreeVertex;

PathChoice choice_of(Spreading spreading) {
  switch (spreading) {
    case Spreading::even:
      return PathChoice::round_robin;
    case Spreading::shortest_queue:
      return PathChoice::least_queue;
    case Spreading::none:
      break;
  }
  return PathChoice::first;
}

std::vector<Route> routes_of(const RouteRule& rule, const Instance::Connection& connection) {
  const bool spreads = rule.spreading() != Spreading::none;
  const std::int32_t count =
      spreads ? rule.route_count(connection.source, connection.target, connection.channel) : 1;
  std::vector<Route> routes;
  std::vector<LinkId> links;
  for (std::int32_t number = 0; number < count; ++number) {
    links.clear();
    if (spreads)
      rule.numbered_route(connection.source, connection.target, connection.channel, number, links);
    else
      rule.route(connection.source, connection.target, connection.channel, links);
    Route& route = routes.emplace_back();
    for (const LinkId link : links) route.push_back(link.value);
  }
  return routes;
}

// How connections use their routes: as the first rule that has several says. With one route it is all the
// same.
PathChoice first_choice(const RouteRule* rule, const Conditions& conditions) {
  Spreading spreading = rule != nullptr ? rule->spreading() : Spreading::none;
  for (const RouteChange& change : conditions.route_changes)
    if (spreading == Spreading::none) spreading = change.routes->spreading();
  return choice_of(spreading);
}

// The links of the start.
std::vector<Link> first_links(const Topology& topology, const Conditions& conditions) {
  std::vector<Link> links = topology.links();
  for (const LinkChange& change : conditions.link_changes) {
    if (change.at > Instant()) break;
    Link& link = links[change.link.value];
    link.bandwidth = change.bandwidth.value_or(link.bandwidth);
    link.latency = change.latency.value_or(link.latency);
  }
  return links;
}

class PacketTransport final : public Transport {
 public:
  PacketTransport(const Topology& topology, const Instance& instance, const RunOptions& options,
                  const Conditions& conditions)
      : topology_(topology),
        instance_(instance),
        network_(options.network.packet, options.seed),
        rule_(topology.ranks() > 1 ? &first_routes(topology, conditions) : nullptr) {
    for (const Link& link : first_links(topology, conditions)) {
      network_.add_link(link.bandwidth, link.latency, link.source.value, link.target.value);
      bandwidth_.push_back(link.bandwidth);
      latency_.push_back(link.latency);
    }
    expect_changes(conditions);
    const PathChoice choice = first_choice(rule_, conditions);
    for (const Instance::Connection& connection : instance.connections) {
      const Instance::JobFacts& job = instance.jobs[instance.streams[connection.sender].job];
      network_.add_flow(routes_of(*rule_, connection), choice, job.channel_bandwidth);
    }
    for (const Instance::Group& group : instance.groups)
      network_.add_aggregation(tree_of(group), group.rate_max);
    for (const BackgroundFlow& other : conditions.background) {
      Route route;
      for (const LinkId link : other.links) route.push_back(link.value);
      network_.add_background(route, other.rate);
    }
    std::vector<Route> later;
    for (const RouteChange& change : conditions.route_changes)
      for (const Instance::Connection& connection : instance.connections)
        for (Route& route : routes_of(*change.routes, connection)) later.push_back(std::move(route));
    std::sort(later.begin(), later.end());
    later.erase(std::unique(later.begin(), later.end()), later.end());
    network_.freeze(later);
  }

  // What links will be, for the reduction buffers of trees, which do not grow.
  void expect_changes(const Conditions& conditions) {
    std::vector<Bandwidth> bandwidth = bandwidth_;
    std::vector<Duration> latency = latency_;
    for (const LinkChange& change : conditions.link_changes) {
      const std::uint32_t link = change.link.value;
      bandwidth[link] = change.bandwidth.value_or(bandwidth[link]);
      latency[link] = change.latency.value_or(latency[link]);
      network_.expect_link(link, bandwidth[link], latency[link]);
    }
  }

  void start_message(std::uint32_t connection, Bytes size, Duration extra, Instant now) override {
    network_.start(connection, size, now);
    if (extra > Duration()) network_.delay_message(connection, extra);
  }
  void start_aggregation(std::uint32_t group, Bytes size, Instant now) override {
    network_.start(flow_of_group(group), size, now);
  }

  void change_link(const LinkChange& change, Instant now) override {
    const std::uint32_t link = change.link.value;
    bandwidth_[link] = change.bandwidth.value_or(bandwidth_[link]);
    latency_[link] = change.latency.value_or(latency_[link]);
    network_.set_link(link, bandwidth_[link], latency_[link], now);
  }
  void change_routes(const RouteRule& rule, Instant now) override {
    for (FlowId flow = 0; flow < instance_.connections.size(); ++flow) {
      const std::vector<Route> routes = routes_of(rule, instance_.connections[flow]);
      if (routes != routes_of(*rule_, instance_.connections[flow])) network_.set_routes(flow, routes, now);
    }
    rule_ = &rule;
  }

  bool has_event() const override { return network_.has_event(); }
  Instant next_event() const override { return network_.next_event(); }
  void advance(Instant now, std::vector<TransportNotice>& notices) override;

  Duration alone_message(std::uint32_t connection, Bytes size) const override {
    return network_.alone(connection, size);
  }
  Duration alone_aggregation(std::uint32_t group, Bytes size) const override {
    return network_.alone(flow_of_group(group), size);
  }

  std::optional<LinkId> down_link() const override {
    std::optional<LinkId> lowest;
    for (const auto& [link, other] : network_.blocked())
      if (link == other && (!lowest || link < lowest->value)) lowest = LinkId(link);
    return lowest;
  }
  std::string standstill() const override;
  std::vector<Bytes> link_bytes(Instant now) const override {
    network_.check_conservation(now);
    std::vector<Bytes> bytes;
    for (std::uint32_t link = 0; link < topology_.link_count(); ++link)
      bytes.emplace_back(network_.facts(link).payload);
    return bytes;
  }
  PacketFacts facts() const override;

 private:
  FlowId flow_of_group(std::uint32_t group) const {
    return static_cast<FlowId>(instance_.connections.size()) + group;
  }
  std::vector<TreeVertex> tree_of(const Instance::Group& group) const;

  const Topology& topology_;
  const Instance& instance_;
  PacketNetwork network_;
  const RouteRule* rule_;             // as it is now
  std::vector<Bandwidth> bandwidth_;  // [link], as it is now
  std::vector<Duration> latency_;
  std::vector<PacketNetwork::Notice> notices_;
};

// Grows the tree from its root: a link that leads to a vertex of it goes up, one that leads away goes down.
std::vector<TreeVertex> PacketTransport::tree_of(const Instance::Group& group) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> touching;  // [vertex]
  for (std::uint32_t hop = group.first_hop; hop < group.hop_end; ++hop) {
    const LinkId id = instance_.resources[instance_.hops[hop].resource].link;
    touching[topology_.link(id).source.value].push_back(id.value);
    touching[topology_.link(id).target.value].push_back(id.value);
  }
  std::map<std::uint32_t, std::uint32_t> place_of;  // [vertex]
  std::vector<std::uint32_t> vertices{group.root.value};
  std::vector<TreeVertex> tree(1);
  place_of[group.root.value] = 0;
  for (std::uint32_t place = 0; place < vertices.size(); ++place)
    for (const std::uint32_t id : touching[vertices[place]]) {
      const Link& link = topology_.link(LinkId(id));
      const bool leads_up = link.target.value == vertices[place];
      const std::uint32_t other = (leads_up ? link.source : link.target).value;
      if (place_of.emplace(other, static_cast<std::uint32_t>(vertices.size())).second) {
        vertices.push_back(other);
        tree.emplace_back().parent = place;
      }
      TreeVertex& child = tree[place_of[other]];
      if (child.parent != place) continue;  // the way to this vertex itself
      std::uint32_t& way = leads_up ? child.up : child.down;
      COLLSIM_CHECK_MSG(way == TreeVertex::none, "the links of a group are no tree");
      way = id;
    }
  for (std::uint32_t member = group.first_member; member < group.member_end; ++member) {
    const auto place = place_of.find(static_cast<std::uint32_t>(instance_.members[member].rank));
    COLLSIM_CHECK_MSG(place != place_of.end(), "a member is not on its tree");
    tree[place->second].member = static_cast<std::int32_t>(member - group.first_member);
  }
  return tree;
}

void PacketTransport::advance(Instant now, std::vector<TransportNotice>& notices) {
  using From = PacketNetwork::NoticeKind;
  using Kind = TransportNotice::Kind;
  notices_.clear();
  network_.advance(now, notices_);
  const auto first_group = static_cast<FlowId>(instance_.connections.size());
  for (const PacketNetwork::Notice& notice : notices_) switch (notice.kind) {
      case From::sent:
        notices.push_back({Kind::sent, notice.flow});
        break;
      case From::delivered:
        notices.push_back({Kind::arrived, notice.flow});
        break;
      case From::posted:
        notices.push_back({Kind::posted, notice.flow - first_group});
        break;
      case From::result: {
        const std::uint32_t member = instance_.groups[notice.flow - first_group].first_member +
                                     static_cast<std::uint32_t>(notice.member);
        if (instance_.members[member].receives) notices.push_back({Kind::result, member});
        break;
      }
      case From::over:
        notices.push_back({Kind::over, notice.flow - first_group});
        break;
    }
}

std::string PacketTransport::standstill() const {
  const auto pairs = network_.blocked();
  const bool is_circle =
      pairs.size() > 1 && pairs.back().second == pairs.front().first && pairs[0].second == pairs[1].first;
  if (!is_circle) return {};
  constexpr std::size_t named_max = 16;
  const auto name = [&](std::uint32_t link) { return topology_.link_name(LinkId(link)); };
  std::string text = "packets on " + name(pairs.front().first) + " wait for room on ";
  for (std::size_t place = 0; place < pairs.size(); ++place) {
    if (place == named_max) return text + std::to_string(pairs.size() - place) + " more links in a circle";
    if (place > 0) text += ", those for room on ";
    text += name(pairs[place].second);
  }
  return text;
}

PacketFacts PacketTransport::facts() const {
  PacketFacts facts;
  facts.packets = network_.packets();
  facts.hops = network_.hops();
  facts.marks = network_.marks();
  facts.virtual_channels = static_cast<std::int32_t>(network_.virtual_channels());
  for (std::uint32_t link = 0; link < topology_.link_count(); ++link) {
    if (network_.facts(link).queue_max <= facts.queue_max) continue;
    facts.queue_max = network_.facts(link).queue_max;
    facts.queue_link = LinkId(link);
  }
  return facts;
}

}  // namespace

std::unique_ptr<Transport> packet_transport(const Topology& topology, const Instance& instance,
                                            const RunOptions& options, const Conditions& conditions) {
  return std::make_unique<PacketTransport>(topology, instance, options, conditions);
}

}  // namespace collsim
