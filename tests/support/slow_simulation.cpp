#include "tests/support/slow_simulation.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "sim/core/check.hpp"
#include "tests/support/max_min.hpp"

namespace collsim::testing {
namespace {

const Int128 work_per_byte = Int128{1'000'000'000'000} * 1'000'000;

struct Flow {
  std::vector<std::uint32_t> route;
  std::int64_t rate_max = 0;
  Int128 left = 0;
  std::function<void()> drained;
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
  SlowRun(const Topology& topology, const Schedule& schedule, const RunOptions& options)
      : topology_(topology), schedule_(schedule), options_(options) {
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
    for (std::size_t link = 0; link < topology.link_count(); ++link)
      network_.capacity.push_back(topology.link(LinkId(link)).bandwidth.bytes_per_second());
    for (Rank rank = 0; rank < topology.ranks(); ++rank)
      network_.capacity.push_back(
          topology.gpu(rank).reduce_bandwidth.value_or(Bandwidth::bytes_per_second(1)).bytes_per_second());
  }

  SlowResult run() {
    now_ = options_.launch_overhead.picoseconds();
    for (;;) {
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
    for (const Flow& flow : flows_) {
      network_.routes.push_back(flow.route);
      network_.rate_max.push_back(flow.rate_max);
    }
    const std::vector<Int128> rates = integer_rates(network_, std::vector<char>(flows_.size(), 1));
    Int128 next = -1;
    if (!timers_.empty()) next = timers_.begin()->first;
    for (std::size_t index = 0; index < flows_.size(); ++index) {
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
  void flow(std::vector<std::uint32_t> route, std::int64_t rate_max, Bytes size,
            std::function<void()> drained) {
    flows_.push_back({std::move(route), rate_max, size.count() * work_per_byte, std::move(drained)});
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
      default:
        finish(stream);
        return true;
    }
  }

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
    if (!pay_overhead(stream, topology_.gpu(stream.rank).send_overhead)) return true;
    ++channel.used;
    const Bytes size = size_of(schedule_.layout, op.chunk);
    std::vector<LinkId> links;
    topology_.route(stream.rank, op.peer.rank, op.peer.channel, links);
    Duration latency;
    std::vector<std::uint32_t> route;
    for (const LinkId link : links) {
      latency += topology_.link(link).latency;
      route.push_back(link.value);
    }
    const auto drained = [this, &stream, &channel, latency] {
      ++messages_;
      after(latency, [&channel] { ++channel.arrived; });
      finish(stream);
    };
    if (size == Bytes(0)) {
      drained();
      return true;
    }
    stream.busy = true;
    flow(route, schedule_.channel_bandwidth ? schedule_.channel_bandwidth->bytes_per_second() : 0, size,
         drained);
    return true;
  }

  bool receive(Stream& stream, const Operation& op) {
    Channel& channel = channels_[{op.peer.rank, stream.rank, op.peer.channel}];
    if (!stream.taken && channel.arrived == 0) return false;
    if (!stream.taken) --channel.arrived;
    stream.taken = true;
    const GpuSpec& gpu = topology_.gpu(stream.rank);
    if (!pay_overhead(stream, gpu.receive_overhead)) return true;
    const Bytes size = size_of(schedule_.layout, op.chunk);
    const auto done = [this, &stream, &channel] {
      if (options_.credit_latency == Duration())
        --channel.used;
      else
        after(options_.credit_latency, [&channel] { --channel.used; });
      finish(stream);
    };
    if (op.kind == OperationKind::receive_reduce && gpu.reduce_bandwidth && size > Bytes(0)) {
      stream.busy = true;
      flow({static_cast<std::uint32_t>(topology_.link_count()) + static_cast<std::uint32_t>(stream.rank)}, 0,
           size, done);
      return true;
    }
    done();
    return true;
  }

  bool aggregate(Stream& stream, const Operation& op) {
    if (!pay_overhead(stream, topology_.gpu(stream.rank).send_overhead)) return true;
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
      for (std::size_t member = 0; member < posted.size(); ++member)
        if (mode != AggregationMode::multicast || member == root) up = std::max(up, path.up_latency[member]);
      for (std::size_t member = 0; member < posted.size(); ++member) {
        if (mode == AggregationMode::reduce && member != root) continue;
        if (mode == AggregationMode::multicast && member == root) continue;
        down = std::max(down, path.down_latency[member]);
        auto& results = state.results[state.group.members[member]];
        after(up + path.down_latency[member], [&results] { ++results; });
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

SlowResult slow_simulation(const Topology& topology, const Schedule& schedule, const RunOptions& options) {
  return SlowRun(topology, schedule, options).run();
}

}  // namespace collsim::testing
