// PacketNetwork::Impl: the state of the packet network. Internal to sim/network.
//
//   packet.cpp        the public door: building, the loop, messages
//   packet_links.cpp  ports, queues, credits: what a packet and a link cost
//   packet_flows.cpp  connections: paths, pacing, rate control, delivery in order, new routes
//   packet_trees.cpp  aggregations: stages and edges
//   packet_checks.cpp conservation, what waits for what
//
// Events. A link has no event for the end of a transmission unless something waits for it (`wake`), and
// credits that come back are looked at when they are needed. So a packet costs one event a switch, and one a
// packet where packets queue.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/network/packet.hpp"
#include "sim/network/packet_channels.hpp"
#include "sim/network/packet_parts.hpp"
#include "sim/network/packet_rate.hpp"

namespace collsim {

struct PacketNetwork::Impl {
  using LinkIndex = PacketNetwork::LinkIndex;
  static constexpr std::uint32_t none = packet::none;

  enum class EventKind : std::uint8_t {
    wake,        // a link: look what can leave
    ready,       // a packet: it may leave the vertex that it has come to
    paced,       // a flow: its next packet is due
    sent,        // a flow: the last packet of its message has left
    delivered,   // a flow: all of a message has arrived
    congestion,  // a flow: a notification has come back
    segment,     // an edge of a tree: a segment may leave the stage that it has come to
    offer,       // an edge of a tree: room has come back
    posted,      // a tree: an operation has left its members
    result       // a stage of a tree: an operation has arrived
  };

  struct Packet {
    std::uint32_t next = none;  // in its queue, or of the free ones
    std::uint32_t flow = none;  // none: a free one
    std::uint32_t hop = none;   // that it waits for, or crosses
    std::uint32_t message = none;
    std::uint32_t in_link = none;  // whose input buffer holds it; none: it is still at its source
    std::int32_t payload = 0;
    std::uint8_t in_channel = 0;
    bool marked = false;
    bool withdrawn = false;  // to be sent again from its source
  };

  struct Credit {
    std::int64_t at;  // when the sender sees it
    std::int64_t bytes;
  };

  // A virtual channel of a link: packets that wait for it, and room at its far end.
  struct Channel {
    std::int64_t room = 0;
    std::int64_t capacity = 0;
    std::uint32_t head = none;
    std::uint32_t tail = none;
    packet::Ring<Credit> returning;  // by time
  };

  // Waiting senders of a link: flows, or edges of trees.
  struct Turn {
    std::uint32_t head = none;
    std::uint32_t tail = none;
  };

  // Lanes of a link take turns: lane v < V is the queue of virtual channel v, lane V are the flows that begin
  // here, lane V + 1 the aggregations.
  // What a choice among links looks at lies in one line of the cache.
  struct alignas(64) Link {
    std::int64_t queue_bytes = 0;
    std::int64_t senders = 0;  // flows and edges that wait for a turn
    packet::ExactTime free;    // when the last transmission ends
    packet::ExactRate rate;
    std::uint64_t pending = 0;             // lanes in which something waits
    std::int64_t wake_at = packet::never;  // the earliest wake that is pending
    std::int64_t latency = 0;
    std::uint32_t turn = 0;   // the lane that is looked at first
    bool needs_room = false;  // something waits for credits
    LinkFacts facts;
    Turn flows;
    Turn edges;
    std::int64_t tree_payload = 0;  // of facts.payload: segments of aggregations
    std::int64_t bandwidth_built = 0;
    std::int64_t latency_built = 0;
    std::int64_t expected_buffer = 0;  // by what it will be during the run
    std::uint32_t source = 0;
    std::uint32_t target = 0;
  };

  struct Message {
    std::int64_t packets_left = 0;  // that have not begun to cross their last link
    std::int64_t due = 0;           // when the last of its packets has arrived
    std::int64_t extra = 0;
    std::uint32_t next = none;  // of its connection, or of the free ones
    bool arrived = false;
  };

  enum class SourceState : std::uint8_t { idle, paced, waiting };
  struct Flow {
    std::uint32_t first_hop = none;  // the first of the siblings
    std::uint32_t next_hop = none;   // round robin: whose turn it is; waiting: the hop that it waits for
    std::uint32_t waits_for = none;
    std::uint32_t next = none;  // in the turn of its first link
    std::uint32_t message = none;
    std::int64_t packets_left = 0;  // of it, that have not been taken
    std::int64_t bytes_left = 0;
    std::int64_t sent_at = 0;
    packet::ExactRate pace;
    packet::ExactTime pace_end;
    std::int64_t taken_at = 0;
    std::int64_t rate_max = 0;  // 0: none
    std::uint32_t first_message = none;
    std::uint32_t last_message = none;
    std::int64_t notified_at = -1;    // the last congestion notification
    std::int64_t injected = 0;        // bytes that have left the source
    std::int64_t consumed = 0;        // of them, at the target
    std::int64_t withdrawn = 0;       // of them, to be sent again
    std::uint32_t again_head = none;  // withdrawn packets, by `next`
    std::uint32_t again_tail = none;
    std::uint32_t tree = none;  // it is an aggregation
    std::uint32_t source = 0;   // vertices
    std::uint32_t target = 0;
    packet::RateControl control;
    PathChoice choice = PathChoice::first;
    SourceState state = SourceState::idle;
    bool paces = false;
    bool background = false;
  };

  // A tree of switches is a graph of stages: buffers at vertices. A segment moves along the edges; a stage
  // has it when it has come over all edges into it, and gives its room back when it has left over all edges
  // out.
  struct Stage {
    std::uint32_t tree = none;
    std::int32_t member = -1;
    bool is_source = false;    // the member's own data enter here
    bool is_receiver = false;  // results end here
    std::vector<std::uint32_t> in;
    std::vector<std::uint32_t> out;
    std::int64_t window = 0;              // segments that fit; 0: no limit
    std::int64_t complete = 0;            // segments that have come over all edges in
    std::int64_t released = 0;            // and have left over all edges out
    std::int64_t results = 0;             // operations that have ended here
    std::vector<std::uint32_t> arrivals;  // [segment mod window]
    std::vector<std::uint32_t> leavings;
    std::vector<std::int64_t> released_at;
  };
  struct Edge {
    std::uint32_t link = none;
    std::uint32_t from = none;
    std::uint32_t to = none;
    std::uint32_t next = none;  // in the turn of its link
    std::int64_t sent = 0;
    std::int64_t arrived = 0;
    std::int64_t operation = 0;  // that segment `sent` belongs to
    packet::ExactTime pace_end;
    std::int64_t taken_at = 0;
    bool queued = false;
    bool waits = false;    // for room in `to`
    bool offered = false;  // an offer is pending
  };
  struct Operation {
    std::int64_t begin = 0;  // segments
    std::int64_t end = 0;
    std::int32_t last_payload = 0;
    std::uint32_t sources_left = 0;
    std::uint32_t receivers_left = 0;
    std::int64_t posted_at = 0;
    std::int64_t extra = 0;
  };
  struct Tree {
    std::uint32_t flow = none;
    std::uint32_t first_stage = 0;
    std::uint32_t stage_end = 0;
    std::uint32_t sources = 0;
    std::uint32_t receivers = 0;
    std::int64_t segments = 0;    // that have been posted
    std::int64_t first_open = 0;  // operation at the front of `open`
    packet::Ring<Operation> open;
    packet::ExactRate pace;
    Operation& operation(std::int64_t number) { return open[static_cast<std::size_t>(number - first_open)]; }
  };

  struct Routes {  // until freeze()
    std::uint32_t flow;
    std::vector<Route> routes;
  };

  Impl(const PacketSpec& the_spec, std::uint64_t the_seed);

  // packet.cpp
  void freeze(std::span<const Route> later);
  void catch_up(Instant now);
  void handle(Event event);
  void notice(NoticeKind kind, std::uint32_t flow, std::int32_t member = -1) {
    notices->push_back({kind, flow, member});
  }
  void push(EventKind kind, std::uint32_t subject, std::int64_t at) {
    queue.push(Instant::picoseconds(now), Duration::picoseconds(at - now),
               {subject, static_cast<std::uint8_t>(kind)});
  }

  // packet_links.cpp
  Channel& channel(std::uint32_t link, std::uint32_t number) {
    return channels[link * channel_count + number];
  }
  std::int64_t wire(std::int64_t payload) const { return payload + header; }
  std::int64_t default_buffer(const Link& link) const;
  void wake(std::uint32_t id, std::int64_t at);
  void serve(std::uint32_t id);
  bool has_room(std::uint32_t id, std::uint32_t number, std::int64_t bytes, std::int64_t& next_room);
  bool lane_can_go(std::uint32_t id, std::uint32_t lane, std::int64_t& next_room);
  void send_lane(std::uint32_t id, std::uint32_t lane);
  void send_queued(std::uint32_t id, std::uint32_t number);
  void transmit(std::uint32_t id, std::uint32_t packet_id);
  std::int64_t begin_transmission(Link& link, std::int64_t payload);
  std::int64_t ready_time(const Link& link, std::int64_t end, std::int64_t bytes, Link* next) const;
  Link* fastest(std::uint32_t hop);
  void give_back(std::uint32_t id, std::uint32_t number, std::int64_t bytes, std::int64_t at);
  void packet_ready(std::uint32_t packet_id);
  std::uint32_t choose(std::uint32_t sibling);
  std::int64_t backlog(const Link& link) const;
  void enqueue(std::uint32_t packet_id);
  void mark(Packet& which, const Link& link);
  void set_link(std::uint32_t id, std::int64_t bandwidth, std::int64_t latency);
  std::uint32_t new_packet();
  void free_packet(std::uint32_t packet_id);
  template <class Item>
  static void append(Link& link, Turn& turn, std::vector<Item>& items, std::uint32_t item) {
    items[item].next = none;
    (turn.head == none ? turn.head : items[turn.tail].next) = item;
    turn.tail = item;
    ++link.senders;
  }
  template <class Item>
  static std::uint32_t take(Link& link, Turn& turn, std::vector<Item>& items) {
    const std::uint32_t item = turn.head;
    turn.head = items[item].next;
    --link.senders;
    return item;
  }

  // packet_flows.cpp
  std::uint32_t add_hops(std::span<const Route> routes, PathChoice choice);
  void start_flow(std::uint32_t id, std::int64_t size);
  void set_pace(Flow& flow);
  std::int64_t line_rate(const Flow& flow) const;
  void prepare_next(std::uint32_t id, bool first);
  void wait_for_link(std::uint32_t id);
  std::uint32_t send_flow(std::uint32_t link);
  std::int64_t next_payload(const Flow& flow) const;
  std::uint32_t make_packet(std::uint32_t id);
  void packet_taken(std::uint32_t id, std::uint32_t packet_id, std::int64_t end);
  void packet_arrives(const Packet& which, std::int64_t at);
  void deliver(std::uint32_t id);
  void congestion(std::uint32_t id);
  std::int64_t route_latency(const Flow& flow) const;
  void withdraw(std::uint32_t packet_id);
  void withdraw_queued(std::uint32_t id);
  bool crosses_down_link(const Packet& which) const;
  void leave_turn(std::uint32_t id);
  void set_routes(std::uint32_t id, std::span<const Route> routes);

  // packet_trees.cpp
  std::uint32_t add_tree(std::span<const TreeVertex> vertices, std::optional<Bandwidth> rate_max);
  void size_stage(Stage& stage);
  void start_tree(std::uint32_t id, std::int64_t size);
  std::int64_t available(const Stage& stage) const;
  bool has_stage_room(Edge& edge, std::uint32_t id);
  void offer(std::uint32_t id);
  void send_edge(std::uint32_t link);
  void segment_left(std::uint32_t id, std::int64_t segment, std::int64_t end);
  void release(Stage& stage, std::size_t place);
  void segment_arrives(std::uint32_t id);
  void result(std::uint32_t stage);
  std::int32_t segment_payload(const Tree& tree, const Edge& edge) const;

  // packet_checks.cpp
  Duration alone(std::uint32_t id, std::int64_t size) const;
  Duration alone_tree(const Tree& tree, std::int64_t size) const;
  struct Waits {                                 // of the channels: [link * channel_count + channel]
    std::vector<bool> moves;                     // what waits for it can leave, now or later
    std::vector<bool> stopped;                   // something waits for it and never leaves
    std::vector<std::vector<std::uint32_t>> on;  // channels in which what fills its far end waits
  };
  std::int64_t waiting_bytes(std::uint32_t place) const;
  Waits waits() const;
  bool has_news_coming() const;
  bool is_stuck() const;
  std::vector<std::pair<LinkIndex, LinkIndex>> blocked() const;
  void add_blocked_trees(std::vector<std::pair<LinkIndex, LinkIndex>>& pairs) const;
  void check_flows() const;
  void check_links(std::int64_t at) const;
  void check_vertices() const;
  void check_trees() const;
  void note_progress(bool foreground);

  PacketSpec spec;
  std::uint64_t seed = 0;
  std::int64_t mtu = 0;
  std::int64_t header = 0;
  bool cut_through = true;
  bool frozen = false;

  std::vector<Link> links;
  std::vector<Channel> channels;  // [link * channel_count + channel]
  std::uint32_t channel_count = 1;
  packet::ChannelOrder order;
  std::vector<packet::Hop> hops;
  std::vector<Flow> flows;
  std::vector<Routes> unbuilt;
  std::vector<Message> messages;
  std::uint32_t free_message = none;
  std::vector<Packet> packets;
  std::uint32_t free_packets = none;
  std::vector<Stage> stages;
  std::vector<Edge> edges;
  std::vector<Tree> trees;

  EventQueue queue;
  std::int64_t now = 0;
  std::vector<Notice>* notices = nullptr;
  std::vector<Notice> none_expected;  // of the time when nothing of ours is on its way
  std::int64_t outstanding = 0;       // messages and aggregations that are not over
  bool has_background = false;
  bool stuck = false;             // only background traffic can move
  std::int64_t quiet_events = 0;  // since anything of ours has moved

  std::map<std::uint32_t, std::int64_t> withdrawn_at;  // [vertex]: bytes
  std::int64_t packet_count = 0;
  std::int64_t hop_count = 0;
  std::int64_t mark_count = 0;
};

}  // namespace collsim
