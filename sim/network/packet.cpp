// PacketNetwork: the public door. The state is in packet_state.hpp.
#include "sim/network/packet.hpp"

#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/network/packet_state.hpp"

namespace collsim {

PacketNetwork::Impl::Impl(const PacketSpec& the_spec, std::uint64_t the_seed)
    : spec(the_spec),
      seed(the_seed),
      mtu(the_spec.mtu.count()),
      header(the_spec.header.count()),
      cut_through(the_spec.switching == Switching::cut_through) {
  COLLSIM_CHECK_MSG(mtu > 0 && mtu + header < 0x7fffffff && header >= 0, "sizes of packets");
  COLLSIM_CHECK_MSG(!spec.rate_control || spec.ecn, "rate control needs marks");
  if (spec.rate_control)
    COLLSIM_CHECK_MSG(spec.rate_control->increase_interval.picoseconds() > 0 &&
                          spec.rate_control->alpha_interval.picoseconds() > 0,
                      "intervals of rate control");
}

PacketNetwork::PacketNetwork(const PacketSpec& spec, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(spec, seed)) {}

PacketNetwork::~PacketNetwork() = default;

// ---- building

PacketNetwork::LinkIndex PacketNetwork::add_link(Bandwidth bandwidth, Duration latency, std::uint32_t source,
                                                 std::uint32_t target) {
  COLLSIM_CHECK(!impl_->frozen);
  Impl::Link link;
  link.bandwidth_built = bandwidth.bytes_per_second();
  link.latency = link.latency_built = latency.picoseconds();
  link.rate.set(link.bandwidth_built, impl_->mtu + impl_->header);
  link.source = source;
  link.target = target;
  impl_->links.push_back(link);
  return static_cast<LinkIndex>(impl_->links.size() - 1);
}

PacketNetwork::FlowId PacketNetwork::add_flow(std::span<const Route> routes, PathChoice choice,
                                              std::optional<Bandwidth> rate_max) {
  COLLSIM_CHECK(!impl_->frozen && !routes.empty() && !routes.front().empty());
  const auto id = static_cast<FlowId>(impl_->flows.size());
  Impl::Flow& flow = impl_->flows.emplace_back();
  flow.choice = choice;
  flow.source = impl_->links[routes.front().front()].source;
  flow.target = impl_->links[routes.front().back()].target;
  flow.rate_max = rate_max ? rate_max->bytes_per_second() : 0;
  impl_->unbuilt.push_back({id, {routes.begin(), routes.end()}});
  return id;
}

PacketNetwork::FlowId PacketNetwork::add_aggregation(std::span<const TreeVertex> tree,
                                                     std::optional<Bandwidth> rate_max) {
  COLLSIM_CHECK(!impl_->frozen && !tree.empty());
  const auto id = static_cast<FlowId>(impl_->flows.size());
  const std::uint32_t number = impl_->add_tree(tree, rate_max);
  impl_->trees[number].flow = id;
  impl_->flows.emplace_back().tree = number;
  return id;
}

void PacketNetwork::add_background(const Route& route, Bandwidth rate) {
  const Route routes[] = {route};
  const FlowId id = add_flow(routes, PathChoice::first, rate);
  impl_->flows[id].background = true;
  impl_->has_background = true;
}

void PacketNetwork::freeze(std::span<const Route> later) {
  COLLSIM_CHECK(!impl_->frozen);
  impl_->freeze(later);
}

void PacketNetwork::Impl::freeze(std::span<const Route> later) {
  frozen = true;
  for (const Routes& of : unbuilt)
    for (const Route& route : of.routes) order.add_route(route);
  for (const Route& route : later) order.add_route(route);
  order.number(links.size());
  std::int32_t needed = 1;
  for (const Routes& of : unbuilt)
    for (const Route& route : of.routes) needed = std::max(needed, order.channels(route));
  for (const Route& route : later) needed = std::max(needed, order.channels(route));
  if (spec.virtual_channels) needed = std::min(*spec.virtual_channels, 60);
  COLLSIM_CHECK_MSG(needed >= 1 && needed <= 60, "virtual channels");
  channel_count = static_cast<std::uint32_t>(needed);
  channels.resize(links.size() * channel_count);
  for (std::uint32_t id = 0; id < links.size(); ++id)
    for (std::uint32_t number = 0; number < channel_count; ++number) {
      Channel& far = channel(id, number);
      far.capacity = spec.buffer ? std::max(spec.buffer->count(), wire(mtu)) : default_buffer(links[id]);
      far.room = far.capacity;
    }
  for (const Routes& of : unbuilt) {
    Flow& flow = flows[of.flow];
    flow.first_hop = flow.next_hop = add_hops(of.routes, flow.choice);
    set_pace(flow);
  }
  unbuilt = {};
  for (std::uint32_t id = 0; id < flows.size(); ++id)
    if (flows[id].background && flows[id].rate_max > 0) prepare_next(id, true);
}

// ---- the run

// While nothing of ours is on its way nobody asks for events. What others did meanwhile is made up for.
void PacketNetwork::Impl::catch_up(Instant at) {
  notices = &none_expected;
  while (!queue.empty() && queue.next_time() < at) {
    now = queue.next_time().picoseconds();
    handle(queue.pop());
  }
  now = at.picoseconds();
  stuck = false;
  quiet_events = 0;
  COLLSIM_CHECK(none_expected.empty());
}

void PacketNetwork::start(FlowId flow, Bytes size, Instant now) {
  impl_->catch_up(now);
  const std::uint32_t tree = impl_->flows[flow].tree;
  if (tree == Impl::none) return impl_->start_flow(flow, size.count());
  impl_->start_tree(tree, size.count());
}

void PacketNetwork::delay_message(FlowId id, Duration extra) {
  Impl::Flow& flow = impl_->flows[id];
  if (flow.tree != Impl::none) {
    Impl::Tree& tree = impl_->trees[flow.tree];
    tree.open[tree.open.size() - 1].extra += extra.picoseconds();
    return;
  }
  Impl::Message& message = impl_->messages[flow.last_message];
  message.extra += extra.picoseconds();
  if (!message.arrived) return;
  message.due += extra.picoseconds();
  impl_->push(Impl::EventKind::delivered, id, message.due);
}

void PacketNetwork::expect_link(LinkIndex id, Bandwidth bandwidth, Duration latency) {
  Impl::Link& link = impl_->links[id];
  Impl::Link later = link;
  later.bandwidth_built = std::max(later.bandwidth_built, bandwidth.bytes_per_second());
  later.latency_built = std::max(later.latency_built, latency.picoseconds());
  link.expected_buffer = std::max(link.expected_buffer, impl_->default_buffer(later));
}

void PacketNetwork::set_link(LinkIndex link, Bandwidth bandwidth, Duration latency, Instant now) {
  impl_->catch_up(now);
  impl_->set_link(link, bandwidth.bytes_per_second(), latency.picoseconds());
}

void PacketNetwork::set_routes(FlowId flow, std::span<const Route> routes, Instant now) {
  COLLSIM_CHECK(!routes.empty() && impl_->flows[flow].tree == Impl::none);
  impl_->catch_up(now);
  impl_->set_routes(flow, routes);
}

bool PacketNetwork::has_event() const {
  return impl_->outstanding > 0 && !impl_->stuck && !impl_->queue.empty();
}

Instant PacketNetwork::next_event() const { return impl_->queue.next_time(); }

void PacketNetwork::advance(Instant now, std::vector<Notice>& notices) {
  impl_->notices = &notices;
  impl_->now = now.picoseconds();
  EventQueue& queue = impl_->queue;
  while (!queue.empty() && queue.next_time() == now) impl_->handle(queue.pop());
  if (impl_->has_background) impl_->note_progress(false);
}

void PacketNetwork::Impl::handle(Event event) {
  const std::uint32_t subject = event.subject;
  switch (static_cast<EventKind>(event.kind)) {
    case EventKind::wake:
      if (links[subject].wake_at != now) return;  // an earlier one came instead
      links[subject].wake_at = packet::never;
      return serve(subject);
    case EventKind::ready:
      return packet_ready(subject);
    case EventKind::paced:
      return wait_for_link(subject);
    case EventKind::sent:
      return notice(NoticeKind::sent, subject);
    case EventKind::delivered:
      return deliver(subject);
    case EventKind::congestion:
      return congestion(subject);
    case EventKind::segment:
      return segment_arrives(subject);
    case EventKind::offer:
      edges[subject].offered = false;
      return offer(subject);
    case EventKind::posted:
      return notice(NoticeKind::posted, subject);
    case EventKind::result:
      return result(subject);
  }
}

// ---- afterwards

std::int64_t PacketNetwork::packets() const { return impl_->packet_count; }
std::int64_t PacketNetwork::hops() const { return impl_->hop_count; }
std::int64_t PacketNetwork::marks() const { return impl_->mark_count; }
std::uint32_t PacketNetwork::virtual_channels() const { return impl_->channel_count; }
const PacketNetwork::LinkFacts& PacketNetwork::facts(LinkIndex link) const {
  return impl_->links[link].facts;
}

std::vector<std::pair<PacketNetwork::LinkIndex, PacketNetwork::LinkIndex>> PacketNetwork::blocked() const {
  return impl_->blocked();
}

void PacketNetwork::check_conservation(Instant now) const {
  impl_->check_flows();
  impl_->check_links(now.picoseconds());
  impl_->check_vertices();
  impl_->check_trees();
}

Duration PacketNetwork::alone(FlowId flow, Bytes size) const { return impl_->alone(flow, size.count()); }

}  // namespace collsim
