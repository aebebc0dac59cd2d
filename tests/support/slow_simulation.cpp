#include "tests/support/slow_simulation.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/core/check.hpp"
#include "sim/execution/jitter.hpp"
#include "tests/support/max_min.hpp"

namespace collsim::testing {
namespace {

const Int128 work_per_byte = Int128{1'000'000'000'000} * 1'000'000;

struct Flow {
  std::vector<std::uint32_t> route;
  std::vector<std::uint32_t> shares;
  std::uint32_t weight = 1;
  std::int64_t rate_max = 0;
  Int128 left = 0;
  std::function<void()> drained;  // empty: it never ends
  bool message = false;
  Rank source = 0;
  Peer peer;
  std::int32_t parts = 1;
};

struct Stream {
  Rank rank = 0;
  std::int32_t number = 0;
  std::vector<Operation> operations;
  std::size_t done = 0;
  bool busy = false;      // overhead, draining or posted
  bool overhead = false;  // of the present operation has been paid
  bool taken = false;     // the message of the present receive has been taken
  std::int64_t finish = 0;
};

struct Channel {
  std::int32_t used = 0;
  std::int32_t arrived = 0;
  std::int64_t sent = 0;
  std::int64_t last_arrival = 0;
  std::int64_t last_credit = 0;
};

struct GroupState {
  AggregationGroup group;
  AggregationPath path;
  std::vector<Stream*> posted;
  std::int64_t payload = 0;
  std::int32_t in_flight = 0;
  std::map<Rank, std::int32_t> results;
};

class SlowRun {
 public:
  SlowRun(const Topology& topology, const Schedule& schedule, const RunOptions& options,
          const Conditions& conditions)
      : topology_(topology), schedule_(schedule), options_(options), conditions_(conditions) {
    if (topology.ranks() > 1) routes_ = &topology.routes();
    for (Rank rank = 0; rank < schedule.ranks; ++rank)
      for (std::int32_t number = 0; number < schedule.stream_count(rank); ++number) {
        Stream stream;
        stream.rank = rank;
        stream.number = number;
        for (std::int64_t index = 0; index < operation_count(schedule, rank, number); ++index)
          stream.operations.push_back(operation(schedule, rank, number, index));
        streams_.push_back(stream);
      }
    for (std::int32_t number = 0; number < schedule.group_count; ++number) {
      GroupState state;
      state.group = schedule.group(number);
      state.path = std::get<AggregationPath>(topology.aggregation(state.group));
      groups_.push_back(state);
    }
    for (const Link& link : topology.links()) {
      network_.capacity.push_back(link.bandwidth.bytes_per_second());
      latency_.push_back(link.latency);
    }
    for (Rank rank = 0; rank < topology.ranks(); ++rank) {
      gpus_.push_back(topology.gpu(rank));
      network_.capacity.push_back(unit_rate(rank, false));
      network_.capacity.push_back(unit_rate(rank, true));
    }
    find_unit();
    expect_changes();
    for (Stream& stream : streams_) {
      const auto rank = static_cast<std::size_t>(stream.rank);
      stream.busy = true;
      after(options_.launch_overhead + (conditions.skew.empty() ? Duration() : conditions.skew[rank]),
            [&stream] { stream.busy = false; });
    }
    for (const BackgroundFlow& other : conditions.background) {
      std::vector<std::uint32_t> route;
      for (const LinkId link : other.links) route.push_back(link.value);
      flow(std::move(route), other.rate.bytes_per_second(), Bytes(1), {});
    }
  }

  SlowResult run() {
    while (!all_done()) {
      bool changed = true;
      while (changed) {
        changed = fire();
        for (Stream& stream : streams_)
          while (progress(stream)) changed = true;
      }
      if (!advance()) break;
    }
    SlowResult result;
    result.time_ps = options_.launch_overhead.picoseconds();
    result.rank_finish_ps.resize(static_cast<std::size_t>(schedule_.ranks));
    result.finished = true;
    result.messages = messages_;
    for (const Stream& stream : streams_) {
      result.finished = result.finished && stream.done == stream.operations.size();
      auto& finish = result.rank_finish_ps[static_cast<std::size_t>(stream.rank)];
      finish = std::max({finish, stream.finish, options_.launch_overhead.picoseconds()});
      result.time_ps = std::max(result.time_ps, finish);
    }
    return result;
  }

 private:
  // Fires what is due at this instant.
  bool fire() {
    bool any = false;
    for (auto timer = timers_.begin(); timer != timers_.end() && timer->first <= now_;
         timer = timers_.begin()) {
      const auto action = timer->second;
      timers_.erase(timer);
      action();
      any = true;
    }
    for (std::size_t index = 0; index < flows_.size();) {
      if (flows_[index].left > 0) {
        ++index;
        continue;
      }
      if (!flows_[index].drained) {
        ++index;
        continue;
      }
      const auto action = flows_[index].drained;
      flows_.erase(flows_.begin() + static_cast<std::ptrdiff_t>(index));
      action();
      any = true;
    }
    return any;
  }

  // Goes to the next instant at which anything happens; false if there is none.
  bool advance() {
    network_.routes.clear();
    network_.rate_max.clear();
    network_.shares.clear();
    network_.weight.clear();
    for (const Flow& flow : flows_) {
      network_.routes.push_back(flow.route);
      network_.shares.push_back(flow.shares);
      network_.weight.push_back(flow.weight);
      network_.rate_max.push_back(flow.rate_max);
    }
    const std::vector<Int128> rates = weighted_integer_rates(network_, std::vector<char>(flows_.size(), 1));
    Int128 next = -1;
    if (!timers_.empty()) next = timers_.begin()->first;
    for (std::size_t index = 0; index < flows_.size(); ++index) {
      if (!flows_[index].drained || rates[index] == 0) continue;
      const Int128 at = now_ + (flows_[index].left + rates[index] - 1) / rates[index];
      if (next < 0 || at < next) next = at;
    }
    if (next < 0) return false;
    for (std::size_t index = 0; index < flows_.size(); ++index)
      flows_[index].left -= rates[index] * (next - now_);
    now_ = static_cast<std::int64_t>(next);
    return true;
  }

  void after(Duration delay, std::function<void()> action) {
    timers_.emplace(now_ + delay.picoseconds(), std::move(action));
  }
  Flow& flow(std::vector<std::uint32_t> route, std::int64_t rate_max, Bytes size,
             std::function<void()> drained) {
    Flow added;
    added.shares.assign(route.size(), 1);
    added.route = std::move(route);
    added.weight = unit_;
    added.rate_max = rate_max;
    added.left = size.count() * work_per_byte;
    added.drained = std::move(drained);
    flows_.push_back(std::move(added));
    return flows_.back();
  }

  bool all_done() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const Stream& stream) {
      return !stream.busy && stream.done == stream.operations.size();
    });
  }

  // ---- conditions

  // Of the unit of a rank that reduces or copies, in bytes that its memory copies.
  std::int64_t unit_rate(Rank rank, bool copies) const {
    const GpuSpec& gpu = gpus_[static_cast<std::size_t>(rank)];
    const auto own = copies ? gpu.copy_bandwidth : gpu.reduce_bandwidth;
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    if (!own) return largest;
    const SharedMemory* memory = topology_.memory_of(rank);
    Int128 rate = own->bytes_per_second();
    if (memory != nullptr && !copies)
      rate = rate * memory->total.bytes_per_second() / memory->reduce_total.bytes_per_second();
    return static_cast<std::int64_t>(std::min<Int128>(std::max<Int128>(rate, 1), largest));
  }
  std::uint32_t unit(Rank rank, bool copies) const {
    return static_cast<std::uint32_t>(topology_.link_count()) + 2 * static_cast<std::uint32_t>(rank) +
           (copies ? 1 : 0);
  }

  // Starts a copy or a reduction; false if it takes no time.
  bool work(Stream& stream, bool copies, Bytes size, std::function<void()> done) {
    const SharedMemory* memory = topology_.memory_of(stream.rank);
    const bool limited =
        copies ? gpu_of(stream).copy_bandwidth.has_value() : gpu_of(stream).reduce_bandwidth.has_value();
    if ((!limited && memory == nullptr) || size == Bytes(0)) return false;
    std::vector<std::uint32_t> route = {unit(stream.rank, copies)};
    Int128 bytes = size.count();
    if (memory != nullptr) {
      route.push_back(memory->link.value);
      const Int128 reduced = memory->reduce_total.bytes_per_second();
      if (!copies) bytes = (bytes * memory->total.bytes_per_second() + reduced - 1) / reduced;
    }
    stream.busy = true;
    flow(std::move(route), 0, Bytes(static_cast<std::int64_t>(bytes)), std::move(done));
    return true;
  }

  void expect_changes() {
    for (const LinkChange& change : conditions_.link_changes)
      timers_.emplace(change.at.picoseconds(), [this, &change] {
        if (change.bandwidth) network_.capacity[change.link.value] = change.bandwidth->bytes_per_second();
        if (change.latency) latency_[change.link.value] = *change.latency;
      });
    for (const RankChange& change : conditions_.rank_changes)
      timers_.emplace(change.at.picoseconds(), [this, &change] {
        const auto rank = static_cast<std::size_t>(change.rank);
        gpus_[rank] = change.gpu;
        for (const bool copies : {false, true})
          network_.capacity[unit(change.rank, copies)] = unit_rate(change.rank, copies);
      });
    for (const RouteChange& change : conditions_.route_changes)
      timers_.emplace(change.at.picoseconds(), [this, &change] {
        routes_ = change.routes.get();
        for (Flow& flow : flows_)
          if (flow.message && flow.left > 0) {
            const Int128 work = flow.left * flow.parts;
            take_way(flow);
            flow.left = (work + flow.parts - 1) / flow.parts;
          }
      });
  }

  // Weights are the least common multiple of all numbers of parts, divided by the own one.
  void find_unit() {
    const auto include = [this](const RouteRule& routes) {
      for (const Stream& stream : streams_)
        for (const Operation& op : stream.operations)
          if (op.kind == OperationKind::send)
            unit_ = static_cast<std::uint32_t>(
                std::lcm(unit_, static_cast<std::uint32_t>(parts_of(routes, stream.rank, op.peer))));
    };
    if (routes_ != nullptr) include(*routes_);
    for (const RouteChange& change : conditions_.route_changes) include(*change.routes);
  }

  static std::int32_t parts_of(const RouteRule& routes, Rank source, Peer peer) {
    if (routes.spreading() == Spreading::none) return 1;
    return routes.route_count(source, peer.rank, peer.channel);
  }

  // The links of all routes of a message as they are now, one list a route.
  std::vector<std::vector<LinkId>> routes_of(Rank source, Peer peer) const {
    std::vector<std::vector<LinkId>> result;
    const std::int32_t parts = parts_of(*routes_, source, peer);
    for (std::int32_t number = 0; number < parts; ++number) {
      result.emplace_back();
      if (parts == 1)
        routes_->route(source, peer.rank, peer.channel, result.back());
      else
        routes_->numbered_route(source, peer.rank, peer.channel, number, result.back());
    }
    return result;
  }

  void take_way(Flow& flow) const {
    std::map<std::uint32_t, std::uint32_t> crossing;
    const auto routes = routes_of(flow.source, flow.peer);
    for (const auto& route : routes)
      for (const LinkId link : route) ++crossing[link.value];
    flow.route.clear();
    flow.shares.clear();
    for (const auto& entry : crossing) {
      flow.route.push_back(entry.first);
      flow.shares.push_back(entry.second);
    }
    flow.parts = static_cast<std::int32_t>(routes.size());
    flow.weight = unit_ / static_cast<std::uint32_t>(flow.parts);
    flow.rate_max = 0;
    if (schedule_.channel_bandwidth)
      flow.rate_max = std::max<std::int64_t>(1, schedule_.channel_bandwidth->bytes_per_second() / flow.parts);
  }

  // The present latency over the links of a tree, without going back; nothing if they do not lead there.
  std::optional<Duration> along(const AggregationPath& path, VertexId from, VertexId to,
                                VertexId before = {}) const {
    if (from == to) return Duration();
    for (const LinkId link : path.links) {
      const VertexId next = topology_.link(link).target;
      if (topology_.link(link).source != from || next == before) continue;
      if (const auto rest = along(path, next, to, from)) return latency_[link.value] + *rest;
    }
    return std::nullopt;
  }

  Duration latency_of(Rank source, Peer peer) const {
    Duration largest;
    for (const auto& route : routes_of(source, peer)) {
      Duration latency;
      for (const LinkId link : route) latency += latency_[link.value];
      largest = std::max(largest, latency);
    }
    return largest;
  }

  void finish(Stream& stream) {
    stream.busy = stream.overhead = stream.taken = false;
    ++stream.done;
    stream.finish = now_;
  }

  bool waits(const Stream& stream, const Operation& op) const {
    for (const Operation::Wait& wait : op.waits)
      for (const Stream& other : streams_)
        if (other.rank == stream.rank && other.number == wait.stream &&
            other.done <= static_cast<std::size_t>(wait.operation))
          return true;
    return false;
  }

  // True if the stream has done something.
  bool progress(Stream& stream) {
    if (stream.busy || stream.done == stream.operations.size()) return false;
    const Operation& op = stream.operations[stream.done];
    if (waits(stream, op)) return false;
    switch (op.kind) {
      case OperationKind::send:
        return send(stream, op);
      case OperationKind::receive:
      case OperationKind::receive_reduce:
        return receive(stream, op);
      case OperationKind::aggregate:
        return aggregate(stream, op);
      case OperationKind::collect: {
        auto& results = groups_[static_cast<std::size_t>(op.group)].results[stream.rank];
        if (results == 0) return false;
        --results;
        finish(stream);
        return true;
      }
      case OperationKind::copy:
      case OperationKind::reduce:
        if (!work(stream, op.kind == OperationKind::copy, size_of(schedule_.layout, op.chunk),
                  [this, &stream] { finish(stream); }))
          finish(stream);
        return true;
      case OperationKind::wait:
        finish(stream);
        return true;
    }
    return false;
  }

  const GpuSpec& gpu_of(const Stream& stream) const { return gpus_[static_cast<std::size_t>(stream.rank)]; }

  bool pay_overhead(Stream& stream, Duration overhead) {
    if (stream.overhead || overhead == Duration()) return true;
    stream.busy = true;
    after(overhead, [&stream] {
      stream.busy = false;
      stream.overhead = true;
    });
    return false;
  }

  bool send(Stream& stream, const Operation& op) {
    Channel& channel = channels_[{stream.rank, op.peer.rank, op.peer.channel}];
    if (channel.used >= schedule_.slots) return false;
    if (!pay_overhead(stream, gpu_of(stream).send_overhead)) return true;
    ++channel.used;
    const Bytes size = size_of(schedule_.layout, op.chunk);
    const Peer peer = op.peer;
    const auto drained = [this, &stream, &channel, peer] {
      ++messages_;
      const MessageIdentity message{0, stream.rank, peer.rank, peer.channel, channel.sent++};
      const Duration latency = latency_of(stream.rank, peer) + jitter_of(conditions_, message);
      channel.last_arrival = std::max(channel.last_arrival, now_ + latency.picoseconds());
      timers_.emplace(channel.last_arrival, [&channel] { ++channel.arrived; });
      finish(stream);
    };
    if (size == Bytes(0)) {
      drained();
      return true;
    }
    stream.busy = true;
    Flow& message = flow({}, 0, Bytes(0), drained);
    message.message = true;
    message.source = stream.rank;
    message.peer = peer;
    take_way(message);
    message.left = (size.count() + message.parts - 1) / message.parts * work_per_byte;
    return true;
  }

  bool receive(Stream& stream, const Operation& op) {
    Channel& channel = channels_[{op.peer.rank, stream.rank, op.peer.channel}];
    if (!stream.taken && channel.arrived == 0) return false;
    if (!stream.taken) --channel.arrived;
    stream.taken = true;
    const GpuSpec& gpu = gpu_of(stream);
    if (!pay_overhead(stream, gpu.receive_overhead)) return true;
    const Bytes size = size_of(schedule_.layout, op.chunk);
    const Peer back{stream.rank, op.peer.channel};
    const Rank source = op.peer.rank;
    const auto done = [this, &stream, &channel, back, source] {
      Duration delay = options_.credit_latency;
      if (options_.credit_by_route) delay += latency_of(source, back);
      channel.last_credit = std::max(channel.last_credit, now_ + delay.picoseconds());
      if (channel.last_credit == now_)
        --channel.used;
      else
        timers_.emplace(channel.last_credit, [&channel] { --channel.used; });
      finish(stream);
    };
    if (op.kind == OperationKind::receive_reduce && work(stream, false, size, done)) return true;
    done();
    return true;
  }

  bool aggregate(Stream& stream, const Operation& op) {
    if (!pay_overhead(stream, gpu_of(stream).send_overhead)) return true;
    GroupState& state = groups_[static_cast<std::size_t>(op.group)];
    state.payload = size_of(schedule_.layout, op.chunk).count();
    state.posted.push_back(&stream);
    stream.busy = true;
    try_aggregation(op.group);
    return true;
  }

  void try_aggregation(std::int32_t number) {
    GroupState& state = groups_[static_cast<std::size_t>(number)];
    if (state.posted.size() < state.group.members.size()) return;
    if (state.path.operations_max && state.in_flight >= *state.path.operations_max) return;
    ++state.in_flight;
    const std::vector<Stream*> posted = std::move(state.posted);
    state.posted.clear();
    std::vector<std::uint32_t> route;
    for (const LinkId link : state.path.links) route.push_back(link.value);
    const auto drained = [this, &state, posted, number] {
      ++messages_;
      const auto& path = state.path;
      Duration up;
      Duration down;
      const auto root = static_cast<std::size_t>(state.group.root);
      const AggregationMode mode = state.group.mode;
      const auto vertex = [&state](std::size_t member) { return VertexId(state.group.members[member]); };
      for (std::size_t member = 0; member < posted.size(); ++member)
        if (mode != AggregationMode::multicast || member == root)
          up = std::max(up, *along(path, vertex(member), path.root));
      for (std::size_t member = 0; member < posted.size(); ++member) {
        if (mode == AggregationMode::reduce && member != root) continue;
        if (mode == AggregationMode::multicast && member == root) continue;
        const Duration own = *along(path, path.root, vertex(member));
        down = std::max(down, own);
        auto& results = state.results[state.group.members[member]];
        after(up + own, [&results] { ++results; });
      }
      after(up + down, [this, &state, number] {
        --state.in_flight;
        try_aggregation(number);
      });
      for (Stream* stream : posted) finish(*stream);
    };
    const Bytes bytes = schedule_.aggregated_bytes(number, Bytes(state.payload));
    if (bytes == Bytes(0)) return drained();
    flow(route, state.path.rate_max ? state.path.rate_max->bytes_per_second() : 0, bytes, drained);
  }

  const Topology& topology_;
  const Schedule& schedule_;
  RunOptions options_;
  const Conditions& conditions_;
  const RouteRule* routes_ = nullptr;
  std::vector<Duration> latency_;  // [LinkId]
  std::vector<GpuSpec> gpus_;      // [rank]
  std::uint32_t unit_ = 1;
  SharedResources network_;
  std::vector<Stream> streams_;
  std::vector<GroupState> groups_;
  std::map<std::tuple<Rank, Rank, std::int32_t>, Channel> channels_;
  std::vector<Flow> flows_;
  std::multimap<std::int64_t, std::function<void()>> timers_;
  std::int64_t now_ = 0;
  std::int64_t messages_ = 0;
};

}  // namespace

SlowResult slow_simulation(const Topology& topology, const Schedule& schedule, const RunOptions& options,
                           const Conditions& conditions) {
  return SlowRun(topology, schedule, options, conditions).run();
}

}  // namespace collsim::testing
