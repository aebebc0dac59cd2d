// PacketNetwork: messages cross the network as packets.
//
// What is modelled. A message is cut into packets of the MTU (a message of 0 bytes is one packet of 0 bytes).
// Every link is an output port of its source: packets wait there in first-in-first-out order, one queue for
// each virtual channel, and leave one after the other at the link's bandwidth. The source of a connection is
// not a queue: the first link takes the packets of the connections that have some in turn, one each (as NICs
// serve their queue pairs), at no more than the connection's own rate. The queues of a port, the connections
// that begin there and the aggregations that pass it take turns.
//   Cut-through        a packet may leave the next vertex once its head has arrived, latency after it began
//                      to leave, and never so early that it would have left before its tail arrives.
//   Store-and-forward  once its tail has arrived.
//   Credits            a packet begins to leave only if the input buffer of the link (of its virtual channel)
//                      has room for it. It gives the room back when it begins to leave (cut-through) or has
//                      left (store-and-forward) the next vertex, which the sender sees the link's latency
//                      later. At its target it gives room back when it has arrived. Nothing is ever dropped.
//                      So a full queue stops those behind it (head-of-line blocking), and spreads from port
//                      to port. A buffer has room for one packet at least.
//   Virtual channels   the order of links along routes is made free of circles: a route that crosses a
//                      "dateline" goes on in the next virtual channel (packet_channels.hpp). With fewer
//                      channels than that takes, packets can wait for each other for ever; blocked() then
//                      says where.
//   Paths              a connection with several routes takes one for each packet: in turn, or at each vertex
//                      the shortest queue (equals in turn; a link that is down is the longest). Messages of a
//                      connection are delivered in order nevertheless.
//   Aggregations       go up their tree segment by segment (MTU): a switch sends a segment up when it has it
//                      from all children, and holds it in its reduction buffer until it has left; the root
//                      sends it down to all. Buffers are finite: a child waits while its parent has no room.
//                      A buffer is of a group, a switch and a direction, so trees never wait in a circle.
//   ECN, rate control  see network_options.hpp; the mark of a packet comes back to the sender as a
//                      notification the sum of the route's latencies after it arrived.
//
// Exactness  Integers only. A link that does not idle keeps the fraction of a picosecond from packet to
//            packet: m bytes alone on a route take m / min(bandwidth) + sum(latency), as in the fluid model,
//            to within 1 ps a link and what one packet takes for each change of bandwidth.
// Order      Events of one picosecond are handled in the order in which they were foreseen, which depends on
//            the input alone.
// Complexity O(log(links)) a packet and link at worst, O(1) where packets are alike (sim/engine's lanes).
//            Nothing is allocated per packet once pools have grown. Memory O(links + routes + packets in the
//            network).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/model/network_options.hpp"

namespace collsim {

// How a connection with several routes uses them.
enum class PathChoice : std::uint8_t { first, round_robin, least_queue };

class PacketNetwork {
 public:
  using LinkIndex = std::uint32_t;
  using FlowId = std::uint32_t;
  using Route = std::vector<LinkIndex>;

  // A vertex of an aggregation tree other than the root, or the root (parent = none).
  struct TreeVertex {
    static constexpr std::uint32_t none = 0xffffffffU;
    std::uint32_t parent = none;  // an earlier entry
    LinkIndex up = none;          // to the parent; none: nothing goes up from here
    LinkIndex down = none;        // from the parent; none: nothing comes down here
    std::int32_t member = -1;     // of the group, or -1 for a switch
  };

  // What has happened at the present instant.
  enum class NoticeKind : std::uint8_t {
    sent,       // the last packet of a message has left its source: the next one may start
    delivered,  // the last packet of a message has arrived, and of all before it
    posted,     // aggregation: the last segment has left all members
    result,     // aggregation: the last segment has arrived at member `member`
    over        // aggregation: at all members that it goes to
  };
  struct Notice {
    NoticeKind kind;
    FlowId flow;
    std::int32_t member = -1;
  };

  // For the conservation of bytes; kept always, checked when the run ends.
  struct LinkFacts {
    std::int64_t payload = 0;  // bytes that have left, without headers
    std::int64_t arrived = 0;  // of them, at the other end
    std::int64_t packets = 0;
    Duration busy;               // sum of transmission times
    std::int64_t queue_max = 0;  // largest number of bytes that waited for this port
  };

  PacketNetwork(const PacketSpec& spec, std::uint64_t seed);
  ~PacketNetwork();
  PacketNetwork(const PacketNetwork&) = delete;
  PacketNetwork& operator=(const PacketNetwork&) = delete;

  // ---- before freeze(). `source` and `target` number the vertices that the link joins.
  LinkIndex add_link(Bandwidth bandwidth, Duration latency, std::uint32_t source, std::uint32_t target);
  // The link will be so during the run: reduction buffers of the default size, which do not grow, are made
  // for that too. REQUIRES: before the trees that use it are added
  void expect_link(LinkIndex link, Bandwidth bandwidth, Duration latency);
  // REQUIRES: routes are not empty, all begin at one vertex and end at another. rate_max: of the connection.
  FlowId add_flow(std::span<const Route> routes, PathChoice choice, std::optional<Bandwidth> rate_max);
  FlowId add_aggregation(std::span<const TreeVertex> tree, std::optional<Bandwidth> rate_max);
  // Traffic of others: packets at this rate from 0 on, as room allows.
  void add_background(const Route& route, Bandwidth rate);
  // `later`: routes that flows may be given during the run, for the virtual channels.
  void freeze(std::span<const Route> later = {});

  // ---- during the run; `now` never goes back
  // REQUIRES of a flow: its last message has been sent. Of an aggregation: its last one has been posted.
  void start(FlowId flow, Bytes size, Instant now);
  // Extra latency of the message that was started last (jitter). Call it right after start().
  void delay_message(FlowId flow, Duration extra);
  // From now on; a packet that is crossing gets to the end. A bandwidth of 0: nothing leaves. A buffer of the
  // default size grows with the link, and never shrinks.
  void set_link(LinkIndex link, Bandwidth bandwidth, Duration latency, Instant now);
  // Packets that have not left their source take the new routes; those on their way are sent again from the
  // source if what is before them of their old route has a link that is down (bandwidth 0), and go on if not.
  // REQUIRES: a connection, not an aggregation; the same vertices at both ends
  void set_routes(FlowId flow, std::span<const Route> routes, Instant now);

  // The next instant at which anything happens; nothing if only background traffic is left, or if packets
  // wait for ever.
  bool has_event() const;
  Instant next_event() const;
  // Handles all that happens at `now` = next_event(), and appends what that means.
  void advance(Instant now, std::vector<Notice>& notices);

  // ---- afterwards
  std::int64_t packets() const;  // that have left their source, segments included
  std::int64_t hops() const;     // packets over links
  std::int64_t marks() const;    // packets that were marked
  std::uint32_t virtual_channels() const;
  const LinkFacts& facts(LinkIndex link) const;
  // From the start of a message of that size to its arrival, alone on the flow's first route; of an
  // aggregation until it is posted. For accounts of contention.
  Duration alone(FlowId flow, Bytes size) const;
  // What will never move: (waiting link, link that it waits for room at). A circle, if there is one, in its
  // order; else all, where a link that is down waits for itself. O(links * channels + packets) and more.
  std::vector<std::pair<LinkIndex, LinkIndex>> blocked() const;
  // Throws InternalError unless every byte that left a source has arrived or is still in the network, once,
  // and no link was busy for longer than the run took.
  void check_conservation(Instant now) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace collsim
