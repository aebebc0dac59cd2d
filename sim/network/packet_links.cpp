// Ports, queues and credits of the packet network.
#include <algorithm>
#include <bit>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"
#include "sim/network/packet_state.hpp"

namespace collsim {

using packet::Hop;
using packet::never;

std::int64_t PacketNetwork::Impl::default_buffer(const Link& link) const {
  const Int128 round_trip = static_cast<Int128>(link.bandwidth_built) * 2 * link.latency_built;
  const Int128 bytes = (round_trip + picoseconds_per_second - 1) / picoseconds_per_second;
  return static_cast<std::int64_t>(bytes) + 4 * wire(mtu);
}

// The link is looked at again at `at`, or earlier.
void PacketNetwork::Impl::wake(std::uint32_t id, std::int64_t at) {
  Link& link = links[id];
  if (link.wake_at <= at) return;
  link.wake_at = at;
  push(EventKind::wake, id, at);
}

// Lets the next packet leave if one can, and sees to it that the link is looked at again when that changes.
void PacketNetwork::Impl::serve(std::uint32_t id) {
  Link& link = links[id];
  if (link.pending == 0) return;
  if (link.free.ceil() > now) return wake(id, link.free.ceil());
  if (link.rate.rate() == 0) return;
  std::int64_t next_room = never;
  // Lanes from `turn` on, then those before it.
  const std::uint64_t later = link.pending & (~std::uint64_t{0} << link.turn);
  for (std::uint64_t lanes : {later, link.pending & ~later})
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
      if (!lane_can_go(id, lane, next_room)) continue;
      link.turn = lane + 1;
      link.needs_room = false;
      send_lane(id, lane);
      Link& after = links[id];
      if (after.pending != 0) wake(id, after.free.ceil());
      return;
    }
  link.needs_room = true;
  if (next_room != never) wake(id, next_room);
}

// Whether the far end of the link has room; if not, `next_room` becomes no later than when some comes back.
bool PacketNetwork::Impl::has_room(std::uint32_t id, std::uint32_t number, std::int64_t bytes,
                                   std::int64_t& next_room) {
  Channel& far = channel(id, number);
  while (!far.returning.empty() && far.returning.front().at <= now) {
    far.room += far.returning.front().bytes;
    far.returning.pop();
  }
  if (far.room >= bytes) return true;
  if (!far.returning.empty()) next_room = std::min(next_room, far.returning.front().at);
  return false;
}

bool PacketNetwork::Impl::lane_can_go(std::uint32_t id, std::uint32_t lane, std::int64_t& next_room) {
  if (lane > channel_count) return true;  // edges are in the turn only when they can go
  if (lane == channel_count)
    return has_room(id, 0, wire(next_payload(flows[links[id].flows.head])), next_room);
  return has_room(id, lane, wire(packets[channel(id, lane).head].payload), next_room);
}

void PacketNetwork::Impl::send_lane(std::uint32_t id, std::uint32_t lane) {
  if (lane > channel_count) return send_edge(id);
  if (lane < channel_count) return send_queued(id, lane);
  const std::uint32_t flow = take(links[id], links[id].flows, flows);
  if (links[id].flows.head == none) links[id].pending &= ~(std::uint64_t{1} << lane);
  const std::uint32_t packet_id = make_packet(flow);
  transmit(id, packet_id);
  // The connection gets back in turn at the earliest when its packet is on its way.
  prepare_next(flow, false);
}

void PacketNetwork::Impl::send_queued(std::uint32_t id, std::uint32_t number) {
  Link& link = links[id];
  Channel& near = channel(id, number);
  const std::uint32_t packet_id = near.head;
  Packet& first = packets[packet_id];
  near.head = first.next;
  if (near.head == none) link.pending &= ~(std::uint64_t{1} << number);
  if (spec.ecn) mark(first, link);
  link.queue_bytes -= wire(first.payload);
  transmit(id, packet_id);
}

// The transmission of so many bytes begins. Returns when it ends, rounded up to a picosecond.
std::int64_t PacketNetwork::Impl::begin_transmission(Link& link, std::int64_t payload) {
  if (link.free.ceil() < now) link.free = {now, 0};
  link.rate.add(wire(payload), link.free);
  const std::int64_t end = link.free.ceil();
  link.facts.busy += Duration::picoseconds(end - now);
  link.facts.payload += payload;
  ++link.facts.packets;
  ++hop_count;
  return end;
}

// When a packet that began to cross `link` now may leave over `next` (none: when all of it is there).
std::int64_t PacketNetwork::Impl::ready_time(const Link& link, std::int64_t end, std::int64_t bytes,
                                             Link* next) const {
  if (!cut_through || next == nullptr) return end + link.latency;
  if (next->rate.rate() <= link.rate.rate()) return now + link.latency;
  return std::max(now, end - next->rate.floor(bytes)) + link.latency;
}

PacketNetwork::Impl::Link* PacketNetwork::Impl::fastest(std::uint32_t hop) {
  Link* best = &links[hops[hop].link];
  for (std::uint32_t other = hops[hop].sibling; other != none; other = hops[other].sibling)
    if (links[hops[other].link].rate.rate() > best->rate.rate()) best = &links[hops[other].link];
  return best;
}

void PacketNetwork::Impl::transmit(std::uint32_t id, std::uint32_t packet_id) {
  Link& link = links[id];
  Packet& which = packets[packet_id];
  const Hop& hop = hops[which.hop];
  const std::int64_t bytes = wire(which.payload);
  const std::int64_t end = begin_transmission(link, which.payload);
  channel(id, hop.channel).room -= bytes;
  if (has_background) note_progress(!flows[which.flow].background);
  if (which.in_link == none)
    packet_taken(which.flow, packet_id, end);
  else
    give_back(which.in_link, which.in_channel, bytes, cut_through ? now : end);
  if (hop.child == none) {
    const std::int64_t at = end + link.latency;
    link.facts.arrived += which.payload;
    give_back(id, hop.channel, bytes, at);
    packet_arrives(which, at);
    free_packet(packet_id);
    return;
  }
  which.in_link = id;
  which.in_channel = hop.channel;
  push(EventKind::ready, packet_id, ready_time(link, end, bytes, fastest(hop.child)));
}

// Room at the far end of a link becomes free at `at`; its sender sees that the latency later.
void PacketNetwork::Impl::give_back(std::uint32_t id, std::uint32_t number, std::int64_t bytes,
                                    std::int64_t at) {
  packet::Ring<Credit>& returning = channel(id, number).returning;
  Link& link = links[id];
  const Credit credit{at + link.latency, bytes};
  returning.push(credit);
  for (std::size_t place = returning.size() - 1; place > 0 && returning[place - 1].at > credit.at; --place)
    std::swap(returning[place - 1], returning[place]);
  if (link.needs_room) wake(id, std::max(credit.at, now));
}

// A packet has come to a switch and may go on.
void PacketNetwork::Impl::packet_ready(std::uint32_t packet_id) {
  Packet& which = packets[packet_id];
  links[which.in_link].facts.arrived += which.payload;
  if (which.withdrawn) return withdraw(packet_id);
  which.hop = choose(hops[which.hop].child);
  enqueue(packet_id);
}

// Bytes that a packet would find before it.
std::int64_t PacketNetwork::Impl::backlog(const Link& link) const {
  if (link.rate.rate() == 0) return never;
  return link.queue_bytes + (link.senders + (link.free.ceil() > now ? 1 : 0)) * wire(mtu);
}

// The next link with the shortest queue. The siblings of a vertex share a pointer to the one that comes first
// among equals: its first sibling's `turn` moves on with each choice.
std::uint32_t PacketNetwork::Impl::choose(std::uint32_t sibling) {
  if (hops[sibling].sibling == none) return sibling;
  const std::uint32_t first = sibling;
  std::uint32_t start = hops[first].turn == none ? first : hops[first].turn;
  std::uint32_t best = start;
  std::int64_t least = never;
  std::uint32_t hop = start;
  do {
    const std::int64_t bytes = backlog(links[hops[hop].link]);
    if (bytes < least) {
      least = bytes;
      best = hop;
    }
    hop = hops[hop].sibling == none ? first : hops[hop].sibling;
  } while (hop != start);
  hops[first].turn = hops[best].sibling == none ? first : hops[best].sibling;
  return best;
}

void PacketNetwork::Impl::enqueue(std::uint32_t packet_id) {
  Packet& which = packets[packet_id];
  const Hop& hop = hops[which.hop];
  Link& link = links[hop.link];
  const std::int64_t bytes = wire(which.payload);
  if (link.pending == 0 && link.free.ceil() <= now && link.rate.rate() != 0) {
    std::int64_t next_room = never;
    if (has_room(hop.link, hop.channel, bytes, next_room)) return transmit(hop.link, packet_id);
  }
  Channel& near = channel(hop.link, hop.channel);
  which.next = none;
  (near.head == none ? near.head : packets[near.tail].next) = packet_id;
  near.tail = packet_id;
  link.pending |= std::uint64_t{1} << hop.channel;
  link.queue_bytes += bytes;
  link.facts.queue_max = std::max(link.facts.queue_max, link.queue_bytes);
  serve(hop.link);
}

// RED: the probability of a mark grows linearly between two lengths of the queue that the packet leaves.
void PacketNetwork::Impl::mark(Packet& which, const Link& link) {
  const std::int64_t least = spec.ecn->k_min.count();
  const std::int64_t most = spec.ecn->k_max.count();
  if (which.marked || link.queue_bytes <= least) return;
  if (link.queue_bytes < most) {
    const auto ppm = static_cast<std::uint64_t>(static_cast<Int128>(spec.ecn->mark_max_ppm) *
                                                (link.queue_bytes - least) / (most - least));
    const auto place = static_cast<std::uint64_t>(&link - links.data());
    const auto number = static_cast<std::uint64_t>(link.facts.packets);
    if (mix64(mix64(seed ^ place) ^ number) % 1'000'000 >= ppm) return;
  }
  which.marked = true;
  ++mark_count;
}

// A packet that is crossing the link ends as it would have. A buffer of the default size grows with the link.
void PacketNetwork::Impl::set_link(std::uint32_t id, std::int64_t bandwidth, std::int64_t latency) {
  Link& link = links[id];
  link.free = {link.free.ceil(), 0};
  link.rate.set(bandwidth, wire(mtu));
  link.latency = latency;
  link.bandwidth_built = std::max(link.bandwidth_built, bandwidth);
  link.latency_built = std::max(link.latency_built, latency);
  if (!spec.buffer)
    for (std::uint32_t number = 0; number < channel_count; ++number) {
      Channel& far = channel(id, number);
      const std::int64_t more = std::max<std::int64_t>(default_buffer(link) - far.capacity, 0);
      far.capacity += more;
      far.room += more;
    }
  serve(id);
}

std::uint32_t PacketNetwork::Impl::new_packet() {
  if (free_packets == none) {
    packets.emplace_back();
    return static_cast<std::uint32_t>(packets.size() - 1);
  }
  const std::uint32_t id = free_packets;
  free_packets = packets[id].next;
  packets[id] = Packet();
  return id;
}

void PacketNetwork::Impl::free_packet(std::uint32_t packet_id) {
  packets[packet_id].flow = none;
  packets[packet_id].next = free_packets;
  free_packets = packet_id;
}

}  // namespace collsim
