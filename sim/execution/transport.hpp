// Transport: how messages and aggregations cross the links, where that is not the fluid model.
//
// The executor runs streams, slots, overheads and local work; whatever the model, local work is flows of its
// own FluidNetwork. In the fluid model messages are flows of that same network, which the executor handles
// without a call through this interface (they are its inner loop); it adds latencies itself. Any other model
// is a Transport: it is told what starts, and tells by notices what has happened, arrivals included.
//
// The numbers are those of the Instance: connections, groups, members. An executor with a Transport always
// runs the whole instance, never a folded one.
//
// Order      The executor handles its own events of an instant first, then calls advance(), and goes on in
//            turn until neither has anything left at that instant. Notices must come in an order that depends
//            on the input alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"

namespace collsim {

struct TransportNotice {
  enum class Kind : std::uint8_t {
    sent,     // connection: the message has left its source; its stream goes on
    arrived,  // connection: the next message, in the order of their starts, is at its target
    posted,   // group: the aggregation has left all members that send; their streams go on
    result,   // member: the next result is there. Only to members that receive
    over      // group: the result is at all members that receive; another operation may begin
  };
  Kind kind;
  std::uint32_t subject;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // ---- what starts. Notices of it come from advance(), at this instant or later: `sent` before `arrived`,
  // `posted` before `over`.
  // `extra`: jitter, to be added to the latency. Sizes may be 0.
  // REQUIRES: the connection's last message has been sent
  virtual void start_message(std::uint32_t connection, Bytes size, Duration extra, Instant now) = 0;
  // REQUIRES: the group's last aggregation has been posted
  virtual void start_aggregation(std::uint32_t group, Bytes size, Instant now) = 0;

  // ---- conditions, at their time
  virtual void change_link(const LinkChange& change, Instant now) = 0;
  virtual void change_routes(const RouteRule& routes, Instant now) = 0;

  // ---- time
  // Whether anything will happen but background traffic and messages that wait for ever.
  virtual bool has_event() const = 0;
  virtual Instant next_event() const = 0;
  // Handles all that happens at `now` = next_event(), and appends what that means.
  virtual void advance(Instant now, std::vector<TransportNotice>& notices) = 0;

  // ---- for accounts, reports and results
  // From the start of a message to its arrival, and of an aggregation until it is posted, with nobody else
  // there.
  virtual Duration alone_message(std::uint32_t connection, Bytes size) const = 0;
  virtual Duration alone_aggregation(std::uint32_t group, Bytes size) const = 0;
  // A link of bandwidth 0 that keeps something from going on, the lowest id; nothing if there is none.
  virtual std::optional<LinkId> down_link() const = 0;
  // Where packets wait for each other in a circle ("packets on leaf0 -> spine1 wait for room on ..."); empty
  // if nowhere.
  virtual std::string standstill() const = 0;
  // After the last instant: checks its books (InternalError), and says what has left each link ([LinkId]) and
  // what packets did.
  virtual std::vector<Bytes> link_bytes(Instant now) const = 0;
  virtual PacketFacts facts() const = 0;
};

}  // namespace collsim
