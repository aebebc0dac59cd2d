// What must hold of the packet network, what waits in it for what, and how long a message takes alone.
#include <algorithm>
#include <map>
#include <string>

#include "sim/core/check.hpp"
#include "sim/network/packet_state.hpp"

namespace collsim {

using packet::never;

// ---- alone

// Cut-through: all links carry all bytes at the pace of the slowest. Store-and-forward: the last full packet
// leaves link k when the first has crossed all links up to it, and the others have followed at the pace of
// the slowest of them; the last packet follows that one link by link.
Duration PacketNetwork::Impl::alone(std::uint32_t id, std::int64_t size) const {
  const Flow& flow = flows[id];
  if (flow.tree != none) return alone_tree(trees[flow.tree], size);
  const std::int64_t count = std::max<std::int64_t>((size + mtu - 1) / mtu, 1);
  const auto crossing = [](std::int64_t bytes, std::int64_t rate) {
    return transfer_time(Bytes(bytes), Bandwidth::bytes_per_second(rate)).picoseconds();
  };
  std::int64_t slowest = flow.rate_max > 0 ? flow.rate_max : never;
  const std::int64_t last_bytes = wire(size - (count - 1) * mtu);
  std::int64_t first_end = 0;  // of the first full packet
  std::int64_t latency = 0;
  std::int64_t last_end = 0;
  for (std::uint32_t hop = flow.first_hop; hop != none; hop = hops[hop].child) {
    const Link& link = links[hops[hop].link];
    const std::int64_t rate = link.rate.rate();
    if (rate == 0) return Duration::picoseconds(never);
    slowest = std::min(slowest, rate);
    first_end += crossing(wire(mtu), hop == flow.first_hop ? slowest : rate);
    const std::int64_t before = count > 1 ? first_end + crossing((count - 2) * wire(mtu), slowest) : 0;
    last_end = std::max(last_end, before) + crossing(last_bytes, rate) + link.latency;
    first_end += link.latency;
    latency += link.latency;
  }
  if (!cut_through) return Duration::picoseconds(last_end);
  return Duration::picoseconds(crossing(size + count * header, slowest) + latency);
}

Duration PacketNetwork::Impl::alone_tree(const Tree& tree, std::int64_t size) const {
  const std::int64_t count = std::max<std::int64_t>((size + mtu - 1) / mtu, 1);
  std::int64_t slowest = tree.pace.rate() > 0 ? tree.pace.rate() : never;
  for (std::uint32_t id = tree.first_stage; id < tree.stage_end; ++id)
    for (const std::uint32_t out : stages[id].out)
      slowest = std::min(slowest, links[edges[out].link].rate.rate());
  if (slowest == 0) return Duration::picoseconds(never);
  return transfer_time(Bytes(size + count * header), Bandwidth::bytes_per_second(slowest));
}

// ---- what waits for what

// A channel moves if its link is up and there is room for its first packet, or what fills its far end moves.
// What is not reached from those that can go at once is stopped for ever.
PacketNetwork::Impl::Waits PacketNetwork::Impl::waits() const {
  Waits result;
  result.stopped.assign(channels.size(), false);
  result.on.resize(channels.size());
  std::vector<bool> goes(channels.size());
  for (std::uint32_t place = 0; place < channels.size(); ++place) {
    const Channel& far = channels[place];
    goes[place] = !far.returning.empty() || far.room >= waiting_bytes(place);
    for (std::uint32_t id = far.head; id != none; id = packets[id].next)
      if (packets[id].in_link != none)
        result.on[packets[id].in_link * channel_count + packets[id].in_channel].push_back(place);
  }
  for (const Packet& which : packets)
    if (which.flow != none && which.in_link != none && hops[which.hop].link == which.in_link)
      goes[which.in_link * channel_count + which.in_channel] = true;
  for (std::vector<std::uint32_t>& places : result.on) {
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
  result.moves.assign(channels.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t place = 0; place < channels.size(); ++place) {
      if (result.moves[place] || links[place / channel_count].rate.rate() == 0) continue;
      bool can = goes[place];
      for (const std::uint32_t other : result.on[place]) can = can || result.moves[other];
      if (can) result.moves[place] = changed = true;
    }
  }
  for (std::uint32_t place = 0; place < channels.size(); ++place)
    result.stopped[place] = !result.moves[place] && waiting_bytes(place) >= 0;
  return result;
}

// Of the first packet that waits for the channel, in its queue or at its source; -1 if none does. An edge of
// a tree that waits for the link counts as 0 bytes: it needs no room, but the link.
std::int64_t PacketNetwork::Impl::waiting_bytes(std::uint32_t place) const {
  const Link& link = links[place / channel_count];
  std::int64_t bytes = -1;
  if (channels[place].head != none) bytes = wire(packets[channels[place].head].payload);
  if (place % channel_count != 0) return bytes;
  if (link.flows.head != none) bytes = std::max(bytes, wire(next_payload(flows[link.flows.head])));
  return link.edges.head != none ? std::max<std::int64_t>(bytes, 0) : bytes;
}

std::vector<std::pair<PacketNetwork::LinkIndex, PacketNetwork::LinkIndex>> PacketNetwork::Impl::blocked()
    const {
  const Waits found = waits();
  std::vector<std::pair<LinkIndex, LinkIndex>> pairs;
  const auto link_of = [&](std::uint32_t place) { return place / channel_count; };
  // A depth-first search for a circle of stopped channels.
  std::vector<std::uint8_t> seen(channels.size(), 0);  // 1: on the path, 2: left
  for (std::uint32_t root = 0; root < channels.size(); ++root) {
    if (!found.stopped[root] || seen[root] != 0) continue;
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{root, 0}};
    seen[root] = 1;
    while (!path.empty()) {
      const std::uint32_t place = path.back().first;
      const std::size_t next = path.back().second++;
      if (next == found.on[place].size()) {
        seen[place] = 2;
        path.pop_back();
        continue;
      }
      const std::uint32_t other = found.on[place][next];
      if (!found.stopped[other] || seen[other] == 2) continue;
      if (seen[other] == 0) {
        seen[other] = 1;
        path.emplace_back(other, 0);
        continue;
      }
      std::size_t begin = 0;
      while (path[begin].first != other) ++begin;
      for (; begin < path.size(); ++begin)
        pairs.emplace_back(link_of(path[begin].first),
                           link_of(begin + 1 < path.size() ? path[begin + 1].first : other));
      return pairs;
    }
  }
  for (std::uint32_t place = 0; place < channels.size(); ++place) {
    if (!found.stopped[place]) continue;
    if (links[link_of(place)].rate.rate() == 0) pairs.emplace_back(link_of(place), link_of(place));
    for (const std::uint32_t other : found.on[place])
      if (found.stopped[other]) pairs.emplace_back(link_of(place), link_of(other));
  }
  add_blocked_trees(pairs);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

void PacketNetwork::Impl::add_blocked_trees(std::vector<std::pair<LinkIndex, LinkIndex>>& pairs) const {
  for (const Edge& edge : edges) {
    if (!edge.waits) continue;
    const Stage& to = stages[edge.to];
    for (const std::uint32_t out : to.out)
      if (edges[out].sent == to.released) pairs.emplace_back(edge.link, edges[out].link);
  }
}

// Whether something has left or arrived of which the notice is still to come.
bool PacketNetwork::Impl::has_news_coming() const {
  for (const Flow& flow : flows) {
    if (flow.first_message == none) continue;
    const Message& first = messages[flow.first_message];
    if (flow.sent_at >= now || (first.arrived && first.due >= now)) return true;
  }
  for (const Stage& stage : stages)
    if (stage.is_receiver && stage.in.size() == 1 && edges[stage.in.front()].operation > stage.results)
      return true;
  for (const Edge& edge : edges)
    if (edge.offered || (stages[edge.to].window > 0 && edge.arrived < edge.sent)) return true;
  return false;
}

// Whether nothing but the traffic of others can ever move. A channel moves if its link is up and there is
// room for its first packet, or what fills its far end moves; the rest is what cannot be reached from those.
bool PacketNetwork::Impl::is_stuck() const {
  if (has_news_coming()) return false;
  const Waits found = waits();
  std::vector<bool> is_queued(packets.size(), false);
  for (std::uint32_t place = 0; place < channels.size(); ++place)
    for (std::uint32_t id = channels[place].head; id != none; id = packets[id].next) {
      is_queued[id] = true;
      if (found.moves[place] && !flows[packets[id].flow].background) return false;
    }
  for (const Flow& flow : flows) {
    if (flow.background || flow.tree != none || flow.state == SourceState::idle) continue;
    if (flow.state == SourceState::paced || found.moves[hops[flow.waits_for].link * channel_count])
      return false;
    for (std::uint32_t id = flow.again_head; id != none; id = packets[id].next) is_queued[id] = true;
  }
  for (std::uint32_t id = 0; id < packets.size(); ++id)
    if (packets[id].flow != none && !is_queued[id] && !flows[packets[id].flow].background) return false;
  return std::none_of(edges.begin(), edges.end(),
                      [&](const Edge& edge) { return edge.queued && links[edge.link].rate.rate() > 0; });
}

// Others' traffic never ends, so ours may be stuck although events go on. Looked at now and then only.
void PacketNetwork::Impl::note_progress(bool foreground) {
  if (foreground) {
    quiet_events = 0;
    return;
  }
  const auto patience = static_cast<std::int64_t>(10'000 + 4 * channels.size() + packets.size());
  if (outstanding == 0 || ++quiet_events < patience) return;
  quiet_events = 0;
  stuck = is_stuck();
}

// ---- conservation

void PacketNetwork::Impl::check_flows() const {
  std::vector<std::int64_t> on_the_way(flows.size(), 0);
  std::vector<std::int64_t> to_send_again(flows.size(), 0);
  for (const Packet& which : packets) {
    if (which.flow == none) continue;
    (which.in_link == none ? to_send_again : on_the_way)[which.flow] += which.payload;
  }
  for (std::size_t id = 0; id < flows.size(); ++id) {
    const Flow& flow = flows[id];
    COLLSIM_CHECK_MSG(flow.injected == flow.consumed + flow.withdrawn + on_the_way[id],
                      "bytes of flow " + std::to_string(id));
    COLLSIM_CHECK_MSG(to_send_again[id] <= flow.withdrawn,
                      "bytes to send again of flow " + std::to_string(id));
    const bool is_idle = flow.first_message == none && flow.tree == none && !flow.background;
    COLLSIM_CHECK_MSG(!is_idle || on_the_way[id] + to_send_again[id] + flow.bytes_left == 0,
                      "packets are left of flow " + std::to_string(id));
  }
}

void PacketNetwork::Impl::check_links(std::int64_t at) const {
  std::vector<std::int64_t> crossing(links.size(), 0);
  std::vector<std::int64_t> held(channels.size(), 0);
  for (const Packet& which : packets) {
    if (which.flow == none || which.in_link == none) continue;
    if (hops[which.hop].link == which.in_link) crossing[which.in_link] += which.payload;
    held[which.in_link * channel_count + which.in_channel] += wire(which.payload);
  }
  for (std::size_t id = 0; id < links.size(); ++id) {
    const Link& link = links[id];
    COLLSIM_CHECK_MSG(link.facts.payload == link.facts.arrived + crossing[id],
                      "bytes on link " + std::to_string(id));
    // What has begun may end after the run.
    const std::int64_t over = std::max<std::int64_t>(link.free.ceil() - at, 0);
    COLLSIM_CHECK_MSG(link.facts.busy.picoseconds() <= at + over,
                      "link " + std::to_string(id) + " was too busy");
  }
  for (std::size_t place = 0; place < channels.size(); ++place) {
    std::int64_t sum = channels[place].room + held[place];
    for (std::size_t credit = 0; credit < channels[place].returning.size(); ++credit)
      sum += channels[place].returning[credit].bytes;
    COLLSIM_CHECK_MSG(sum == channels[place].capacity && channels[place].room >= 0,
                      "room of link " + std::to_string(place / channel_count));
  }
}

// At each vertex: what came in or began there has gone out, ended there, or waits there.
void PacketNetwork::Impl::check_vertices() const {
  std::map<std::uint32_t, std::int64_t> left;
  for (const Link& link : links) {
    left[link.target] += link.facts.arrived - link.tree_payload;
    left[link.source] -= link.facts.payload - link.tree_payload;
  }
  for (const Flow& flow : flows) {
    if (flow.tree != none) continue;
    left[flow.source] += flow.injected;
    left[flow.target] -= flow.consumed;
  }
  for (const auto& [vertex, bytes] : withdrawn_at) left[vertex] -= bytes;
  for (const Packet& which : packets)
    if (which.flow != none && which.in_link != none && hops[which.hop].link != which.in_link)
      left[links[which.in_link].target] -= which.payload;
  for (const auto& [vertex, bytes] : left)
    COLLSIM_CHECK_MSG(bytes == 0, "bytes at vertex " + std::to_string(vertex));
}

void PacketNetwork::Impl::check_trees() const {
  for (const Tree& tree : trees) {
    if (!tree.open.empty()) continue;
    for (std::uint32_t id = tree.first_stage; id < tree.stage_end; ++id)
      for (const std::uint32_t out : stages[id].out)
        COLLSIM_CHECK_MSG(edges[out].sent == tree.segments && edges[out].arrived == tree.segments,
                          "segments of aggregation " + std::to_string(tree.flow));
  }
}

}  // namespace collsim
