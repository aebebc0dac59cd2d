// Connections of the packet network: paths, pacing, rate control, delivery in order, new routes.
#include <algorithm>

#include "sim/core/check.hpp"
#include "sim/network/packet_state.hpp"

namespace collsim {

using packet::Hop;
using packet::never;

// The hops of the routes, and the first of the first links. Routes of a connection that looks for the
// shortest queue share their beginnings; others stay apart.
std::uint32_t PacketNetwork::Impl::add_hops(std::span<const Route> routes, PathChoice choice) {
  const std::size_t count = choice == PathChoice::first ? 1 : routes.size();
  std::uint32_t first = none;
  for (const Route& route : routes.first(count)) {
    std::uint32_t parent = none;
    std::uint32_t before = none;
    std::uint32_t number = 0;
    for (std::size_t place = 0; place < route.size(); ++place) {
      if (place > 0 && order.goes_back(route[place - 1], route[place])) ++number;
      std::uint32_t hop = parent == none ? first : hops[parent].child;
      before = none;
      while (hop != none && (choice != PathChoice::least_queue || hops[hop].link != route[place])) {
        before = hop;
        hop = hops[hop].sibling;
      }
      if (hop == none) {
        hop = static_cast<std::uint32_t>(hops.size());
        hops.push_back(
            {route[place], none, none, none, static_cast<std::uint8_t>(std::min(number, channel_count - 1))});
        if (before != none)
          hops[before].sibling = hop;
        else
          (parent == none ? first : hops[parent].child) = hop;
      }
      parent = hop;
    }
  }
  return first;
}

void PacketNetwork::Impl::start_flow(std::uint32_t id, std::int64_t size) {
  Flow& flow = flows[id];
  COLLSIM_CHECK_MSG(flow.packets_left == 0, "the last message has not been sent");
  if (free_message == none) {
    free_message = static_cast<std::uint32_t>(messages.size());
    messages.emplace_back();
  }
  const std::uint32_t message = free_message;
  free_message = messages[message].next;
  messages[message] = Message();
  messages[message].packets_left = std::max<std::int64_t>((size + mtu - 1) / mtu, 1);
  (flow.first_message == none ? flow.first_message : messages[flow.last_message].next) = message;
  flow.last_message = message;
  flow.message = message;
  flow.packets_left = messages[message].packets_left;
  flow.bytes_left = size;
  flow.sent_at = now;
  ++outstanding;
  if (flow.state == SourceState::idle) prepare_next(id, true);
}

std::int64_t PacketNetwork::Impl::line_rate(const Flow& flow) const {
  const std::int64_t first = links[hops[flow.first_hop].link].rate.rate();
  return flow.rate_max > 0 ? std::min(first, flow.rate_max) : first;
}

void PacketNetwork::Impl::set_pace(Flow& flow) {
  const std::int64_t rate = flow.control.limited() ? flow.control.rate() : flow.rate_max;
  flow.paces = rate > 0;
  if (rate == flow.pace.rate() || rate == 0) return;
  flow.pace_end = {flow.pace_end.ceil(), 0};
  flow.pace.set(rate, wire(mtu));
}

std::int64_t PacketNetwork::Impl::next_payload(const Flow& flow) const {
  if (flow.again_head != none) return packets[flow.again_head].payload;
  return flow.background ? mtu : std::min(mtu, flow.bytes_left);
}

// The next packet of a connection waits for its link, at once or when the connection's rate lets it. A rate
// is a pipe before the first link: bytes come out of it at that rate, and one packet can wait at its end
// while the next one comes through. `first`: of a message.
void PacketNetwork::Impl::prepare_next(std::uint32_t id, bool first) {
  Flow& flow = flows[id];
  flow.state = SourceState::idle;
  if (flow.packets_left == 0 && flow.again_head == none && !flow.background) return;
  const std::int64_t line = flow.control.limited() ? line_rate(flow) : 0;
  if (line > 0 && flow.control.advance(*spec.rate_control, line, now)) set_pace(flow);
  if (!flow.paces) return wait_for_link(id);
  const std::int64_t bytes = wire(next_payload(flow));
  const std::int64_t begin = first ? now : flow.taken_at - flow.pace.floor(bytes);
  if (flow.pace_end.ceil() < begin) flow.pace_end = {begin, 0};
  flow.pace.add(bytes, flow.pace_end);
  packet::ExactRate& link = links[hops[flow.first_hop].link].rate;
  const std::int64_t crossing = link.rate() > flow.pace.rate() ? link.floor(bytes) : flow.pace.floor(bytes);
  const std::int64_t due = flow.pace_end.ceil() - crossing;
  if (due <= now) return wait_for_link(id);
  flow.state = SourceState::paced;
  push(EventKind::paced, id, due);
}

void PacketNetwork::Impl::wait_for_link(std::uint32_t id) {
  Flow& flow = flows[id];
  flow.state = SourceState::waiting;
  if (flow.choice == PathChoice::least_queue) {
    flow.waits_for = choose(flow.first_hop);
  } else {
    flow.waits_for = flow.next_hop;
    const std::uint32_t other = hops[flow.next_hop].sibling;
    flow.next_hop = other == none ? flow.first_hop : other;
  }
  const std::uint32_t id_of_link = hops[flow.waits_for].link;
  Link& link = links[id_of_link];
  append(link, link.flows, flows, id);
  link.pending |= std::uint64_t{1} << channel_count;
  serve(id_of_link);
}

// The packet that has its turn.
std::uint32_t PacketNetwork::Impl::make_packet(std::uint32_t id) {
  Flow& flow = flows[id];
  if (flow.again_head != none) {
    const std::uint32_t again = flow.again_head;
    flow.again_head = packets[again].next;
    packets[again].hop = flow.waits_for;
    return again;
  }
  const std::uint32_t packet_id = new_packet();
  Packet& made = packets[packet_id];
  made.flow = id;
  made.hop = flow.waits_for;
  made.message = flow.message;
  made.payload = static_cast<std::int32_t>(next_payload(flow));
  if (flow.background) return packet_id;
  flow.bytes_left -= made.payload;
  --flow.packets_left;
  return packet_id;
}

// A packet has begun to leave its source, and will have left at `end`.
void PacketNetwork::Impl::packet_taken(std::uint32_t id, std::uint32_t packet_id, std::int64_t end) {
  Flow& flow = flows[id];
  Packet& which = packets[packet_id];
  flow.injected += which.payload;
  flow.taken_at = now;
  ++packet_count;
  if (flow.background || which.withdrawn) {
    which.withdrawn = false;
    return;
  }
  flow.sent_at = std::max(flow.sent_at, end);
  if (flow.packets_left == 0) push(EventKind::sent, id, flow.sent_at);
}

// A packet has begun to cross its last link, and arrives at `at`.
void PacketNetwork::Impl::packet_arrives(const Packet& which, std::int64_t at) {
  Flow& flow = flows[which.flow];
  flow.consumed += which.payload;
  if (flow.background) return;
  if (which.marked && spec.rate_control &&
      (flow.notified_at < 0 ||
       at - flow.notified_at >= spec.rate_control->notification_interval.picoseconds())) {
    flow.notified_at = at;
    push(EventKind::congestion, which.flow, at + route_latency(flow));
  }
  Message& message = messages[which.message];
  message.due = std::max(message.due, at);
  if (--message.packets_left > 0) return;
  message.arrived = true;
  message.due += message.extra;
  push(EventKind::delivered, which.flow, message.due);
}

// Messages arrive in order: one that is complete waits for those before it.
void PacketNetwork::Impl::deliver(std::uint32_t id) {
  Flow& flow = flows[id];
  while (flow.first_message != none) {
    const std::uint32_t first = flow.first_message;
    Message& message = messages[first];
    if (!message.arrived || message.due > now) return;
    flow.first_message = message.next;
    message.next = free_message;
    free_message = first;
    --outstanding;
    notice(NoticeKind::delivered, id);
  }
}

std::int64_t PacketNetwork::Impl::route_latency(const Flow& flow) const {
  std::int64_t sum = 0;
  for (std::uint32_t hop = flow.first_hop; hop != none; hop = hops[hop].child)
    sum += links[hops[hop].link].latency;
  return sum;
}

void PacketNetwork::Impl::congestion(std::uint32_t id) {
  Flow& flow = flows[id];
  const std::int64_t line = line_rate(flow);
  if (line == 0) return;
  flow.control.cut(*spec.rate_control, line, now);
  set_pace(flow);
}

// A packet goes back to its source, to be sent again.
void PacketNetwork::Impl::withdraw(std::uint32_t packet_id) {
  Packet& which = packets[packet_id];
  const std::uint32_t id = which.flow;
  Flow& flow = flows[id];
  give_back(which.in_link, which.in_channel, wire(which.payload), now);
  flow.withdrawn += which.payload;
  withdrawn_at[links[which.in_link].target] += which.payload;
  which.withdrawn = true;
  which.in_link = none;
  which.next = none;
  (flow.again_head == none ? flow.again_head : packets[flow.again_tail].next) = packet_id;
  flow.again_tail = packet_id;
  if (flow.state == SourceState::idle) prepare_next(id, true);
}

// Whether the packet has a link before it that is down. Where it may choose, it needs one way.
bool PacketNetwork::Impl::crosses_down_link(const Packet& which) const {
  const auto is_cut = [&](const auto& self, std::uint32_t hop) -> bool {
    if (links[hops[hop].link].rate.rate() == 0) return true;
    if (hops[hop].child == none) return false;
    for (std::uint32_t next = hops[hop].child; next != none; next = hops[next].sibling)
      if (!self(self, next)) return false;
    return true;
  };
  // A packet that crosses a link gets to its end.
  if (which.in_link != hops[which.hop].link) return is_cut(is_cut, which.hop);
  for (std::uint32_t next = hops[which.hop].child; next != none; next = hops[next].sibling)
    if (!is_cut(is_cut, next)) return false;
  return true;
}

// Takes the packets of a connection that are to be sent again out of the queues.
void PacketNetwork::Impl::withdraw_queued(std::uint32_t id) {
  for (std::uint32_t place = 0; place < channels.size(); ++place) {
    Channel& near = channels[place];
    std::uint32_t packet_id = near.head;
    near.head = none;
    const std::uint32_t link_id = place / channel_count;
    Link& link = links[link_id];
    const std::int64_t bytes_before = link.queue_bytes;
    while (packet_id != none) {
      Packet& which = packets[packet_id];
      const std::uint32_t following = which.next;
      which.next = none;
      if (which.flow == id && which.withdrawn) {
        link.queue_bytes -= wire(which.payload);
        withdraw(packet_id);
      } else {
        (near.head == none ? near.head : packets[near.tail].next) = packet_id;
        near.tail = packet_id;
      }
      packet_id = following;
    }
    if (near.head == none) link.pending &= ~(std::uint64_t{1} << (place % channel_count));
    if (link.queue_bytes != bytes_before) serve(link_id);
  }
}

void PacketNetwork::Impl::leave_turn(std::uint32_t id) {
  Link& link = links[hops[flows[id].waits_for].link];
  Turn others = std::exchange(link.flows, Turn());
  while (others.head != none) {
    const std::uint32_t other = take(link, others, flows);
    if (other != id) append(link, link.flows, flows, other);
  }
  if (link.flows.head == none) link.pending &= ~(std::uint64_t{1} << channel_count);
}

void PacketNetwork::Impl::set_routes(std::uint32_t id, std::span<const Route> routes) {
  Flow& flow = flows[id];
  const bool waited = flow.state == SourceState::waiting;
  if (waited) leave_turn(id);
  // Nothing leaves before all is in order again.
  const SourceState state = flow.state;
  flow.state = SourceState::paced;
  flow.first_hop = flow.next_hop = add_hops(routes, flow.choice);
  if (flow.injected > flow.consumed + flow.withdrawn) {
    for (Packet& which : packets)
      if (which.flow == id && which.in_link != none && !which.withdrawn)
        which.withdrawn = crosses_down_link(which);
    withdraw_queued(id);
  }
  if (state == SourceState::paced) return;
  flow.state = SourceState::idle;
  if (waited)
    wait_for_link(id);
  else
    prepare_next(id, true);
}

}  // namespace collsim
