// A packet network with what tests want to know of it: when each message was sent and arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/network/packet.hpp"

namespace collsim::testing {

class PacketRun {
 public:
  using Route = PacketNetwork::Route;
  using FlowId = PacketNetwork::FlowId;

  explicit PacketRun(const PacketSpec& spec = {}, std::uint64_t seed = 1) : network(spec, seed) {}

  FlowId flow(const Route& route) {
    const Route routes[] = {route};
    return network.add_flow(routes, PathChoice::first, std::nullopt);
  }
  // Messages of a flow start one after the other, each when the last one has been sent.
  void send(FlowId flow, std::int64_t bytes, std::int64_t at = 0) { waiting[flow].push_back({at, bytes}); }

  // Until nothing more happens, or `until`. Returns whether all has arrived.
  bool run(std::int64_t until = INT64_MAX) {
    for (auto& [flow, messages] : waiting)
      if (!messages.empty() && busy.insert(flow).second) due.emplace(messages.front().first, flow);
    while (true) {
      const std::int64_t start = due.empty() ? INT64_MAX : due.begin()->first;
      const std::int64_t event = network.has_event() ? network.next_event().picoseconds() : INT64_MAX;
      if (std::min(start, event) > until || (due.empty() && !network.has_event())) break;
      now = std::min(start, event);
      if (start <= event)
        begin();
      else
        take_notices();
    }
    network.check_conservation(Instant::picoseconds(now));
    return outstanding == 0 && due.empty();
  }

  PacketNetwork network;
  std::int64_t now = 0;
  std::map<FlowId, std::vector<std::int64_t>> sent;       // also: posted
  std::map<FlowId, std::vector<std::int64_t>> delivered;  // also: over
  std::map<std::pair<FlowId, std::int32_t>, std::vector<std::int64_t>> results;
  std::map<FlowId, std::vector<std::pair<std::int64_t, std::int64_t>>> waiting;  // start, bytes
  std::int64_t outstanding = 0;

 private:
  void begin() {
    const FlowId flow = due.begin()->second;
    due.erase(due.begin());
    auto& messages = waiting[flow];
    network.start(flow, Bytes(messages.front().second), Instant::picoseconds(now));
    messages.erase(messages.begin());
    ++outstanding;
  }
  void take_notices() {
    notices.clear();
    network.advance(Instant::picoseconds(now), notices);
    for (const PacketNetwork::Notice& notice : notices) switch (notice.kind) {
        case PacketNetwork::NoticeKind::sent:
        case PacketNetwork::NoticeKind::posted:
          sent[notice.flow].push_back(now);
          if (waiting[notice.flow].empty())
            busy.erase(notice.flow);
          else
            due.emplace(std::max(now, waiting[notice.flow].front().first), notice.flow);
          break;
        case PacketNetwork::NoticeKind::delivered:
        case PacketNetwork::NoticeKind::over:
          delivered[notice.flow].push_back(now);
          --outstanding;
          break;
        case PacketNetwork::NoticeKind::result:
          results[{notice.flow, notice.member}].push_back(now);
          break;
      }
  }

  std::multimap<std::int64_t, FlowId> due;
  std::set<FlowId> busy;  // a message is due or being sent
  std::vector<PacketNetwork::Notice> notices;
};

}  // namespace collsim::testing
