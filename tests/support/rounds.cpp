#include "tests/support/rounds.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace collsim::testing {
namespace {

struct Stream {
  Rank rank = 0;
  std::int32_t number = 0;
  std::int64_t count = 0;
  std::int64_t done = 0;
  std::vector<std::size_t> after;  // [operation]: rounds that have ended when it is done
};

using Connection = std::tuple<Rank, Rank, std::int32_t>;

struct Pipe {
  std::deque<std::size_t> waiting;    // rounds of the messages that were sent and not received
  std::vector<std::size_t> received;  // [message]: rounds that have ended when it had been received
};

class Rounds {
 public:
  explicit Rounds(const Schedule& schedule) : schedule_(schedule) {
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      first_.push_back(streams_.size());
      for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
        streams_.push_back({rank, stream, operation_count(schedule, rank, stream), 0, {}});
    }
  }

  // False where rounds are not defined, or the schedule gets stuck.
  bool run() {
    bool moved = true;
    while (moved && defined_) {
      moved = false;
      for (Stream& stream : streams_)
        while (stream.done < stream.count && defined_ && step(stream)) moved = true;
    }
    for (const Stream& stream : streams_) defined_ = defined_ && stream.done == stream.count;
    return defined_ && one_connection_a_pair();
  }

  std::vector<RoundMessage> take() { return std::move(messages_); }

 private:
  bool step(Stream& stream) {
    const Operation item = operation(schedule_, stream.rank, stream.number, stream.done);
    std::size_t round = stream.after.empty() ? 0 : stream.after.back();
    for (const Operation::Wait& wait : item.waits) {
      const Stream& other =
          streams_[first_[static_cast<std::size_t>(stream.rank)] + static_cast<std::size_t>(wait.stream)];
      if (other.done <= wait.operation) return false;
      round = std::max(round, other.after[static_cast<std::size_t>(wait.operation)]);
    }
    if (item.kind == OperationKind::send) {
      Pipe& pipe = pipes_[{stream.rank, item.peer.rank, item.peer.channel}];
      const std::size_t sent = pipe.received.size() + pipe.waiting.size();
      const auto slots = static_cast<std::size_t>(schedule_.slots);
      if (sent >= slots) {
        if (pipe.received.size() <= sent - slots) return false;
        round = std::max(round, pipe.received[sent - slots]);
      }
      messages_.push_back(
          {stream.rank, item.peer.rank, item.peer.channel, size_of(schedule_.layout, item.chunk), round});
      pipe.waiting.push_back(round++);
    } else if (item.kind == OperationKind::receive || item.kind == OperationKind::receive_reduce) {
      Pipe& pipe = pipes_[{item.peer.rank, stream.rank, item.peer.channel}];
      if (pipe.waiting.empty()) return false;
      round = std::max(round, pipe.waiting.front() + 1);
      pipe.waiting.pop_front();
      pipe.received.push_back(round);
    } else if (item.kind == OperationKind::aggregate || item.kind == OperationKind::collect) {
      defined_ = false;
    }
    stream.after.push_back(round);
    ++stream.done;
    return true;
  }

  bool one_connection_a_pair() const {
    std::set<std::pair<Rank, Rank>> pairs;
    for (const auto& [connection, pipe] : pipes_)
      if (!pairs.insert({std::get<0>(connection), std::get<1>(connection)}).second) return false;
    return true;
  }

  const Schedule& schedule_;
  std::vector<std::size_t> first_;
  std::vector<Stream> streams_;
  std::map<Connection, Pipe> pipes_;
  std::vector<RoundMessage> messages_;
  bool defined_ = true;
};

Duration time_alone(const Topology& topology, const Schedule& schedule, const RoundMessage& message) {
  std::vector<LinkId> route;
  topology.route(message.source, message.target, message.channel, route);
  Duration latency;
  std::optional<Bandwidth> narrowest = schedule.channel_bandwidth;
  for (const LinkId id : route) {
    const Link& link = topology.link(id);
    latency += link.latency;
    if (!narrowest || link.bandwidth < *narrowest) narrowest = link.bandwidth;
  }
  const Int128 wanted = Int128{message.size.count()} * 1'000'000'000'000;
  const Int128 rate = narrowest->bytes_per_second();
  return latency + Duration::picoseconds(static_cast<std::int64_t>((wanted + rate - 1) / rate));
}

}  // namespace

std::optional<std::vector<RoundMessage>> rounds_of(const Schedule& schedule) {
  Rounds rounds(schedule);
  if (!rounds.run()) return std::nullopt;
  return rounds.take();
}

Duration barrier_time(const Topology& topology, const Schedule& schedule,
                      const std::vector<RoundMessage>& messages) {
  std::vector<Duration> slowest;
  for (const RoundMessage& message : messages) {
    if (slowest.size() <= message.round) slowest.resize(message.round + 1);
    slowest[message.round] = std::max(slowest[message.round], time_alone(topology, schedule, message));
  }
  Duration total;
  for (const Duration time : slowest) total += time;
  return total;
}

}  // namespace collsim::testing
