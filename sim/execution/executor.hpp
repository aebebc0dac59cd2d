// Executor: one event-driven run of an Instance. Internal to sim/execution; simulate() is the door.
//
// One loop: take all events of an instant, let every stream that they wake go on as far as it can, then let
// the network settle once. A folded instance runs through the same code: its elements carry weights, which
// reach only the network's shares and the counts in the result.
//
// A stream waits for exactly one thing at a time and is woken exactly once: by the dependency, message, slot,
// drain or timer that it waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/fingerprint.hpp"
#include "sim/execution/chain.hpp"
#include "sim/execution/flows.hpp"
#include "sim/execution/instance.hpp"
#include "sim/execution/outcome.hpp"
#include "sim/execution/transport.hpp"
#include "sim/network/fluid.hpp"

namespace collsim {

class Executor {
 public:
  // The instance and the conditions must outlive the executor. Without a transport messages are flows of the
  // fluid network. REQUIRES of a run with a transport: the instance is not folded
  Executor(const Instance& instance, const RunOptions& options, const Conditions& conditions,
           std::unique_ptr<Transport> transport = nullptr);
  Outcome run();

 private:
  using StreamId = std::uint32_t;
  using ConnectionId = std::uint32_t;
  using GroupId = std::uint32_t;
  using MemberId = std::uint32_t;
  static constexpr std::uint32_t none = Instance::none;

  enum class EventKind : std::uint8_t {
    job_start,
    drained,
    arrived,
    timer,
    credit,
    collected,
    aggregation_over,
    stream_start,
    link_change,
    gpu_change,
    reroute
  };
  // begin: nothing of the current operation has happened; blocked phases say what the stream waits for.
  enum class Phase : std::uint8_t {
    asleep,  // its job has not started
    begin,
    dependency,  // waits for an operation of another stream
    slot,        // waits for a free slot of a connection
    overhead,    // timer runs
    after_overhead,
    draining,  // its message, aggregation or local work drains
    message,   // waits for a message
    members,   // waits for the other members of an aggregation
    result,    // waits for the result of an aggregation
    ended
  };

  // The changing state of a stream, and copies of what the inner loop reads of Instance::Stream.
  struct Stream {
    std::int64_t trip = 0;
    std::int64_t completed = 0;     // operations
    std::int64_t wait_target = 0;   // phase dependency: completed operations of the other stream
    std::int64_t least_target = 0;  // the least wait_target of the streams that wait for this one
    Instant finish;
    std::uint32_t operation = 0;  // into programs.operations
    std::uint32_t loop = 0;       // into programs.loops
    std::uint32_t loop_end = 0;
    std::uint32_t peers = 0;
    StreamId first_waiter = none;  // streams that wait for this one
    StreamId next_waiter = none;   // in the list of the stream that this one waits for
    std::uint32_t job = 0;
    Phase phase = Phase::asleep;
  };
  struct Connection {
    std::int64_t bytes = 0;  // sent so far
    std::int64_t messages = 0;
    std::int64_t weight = 1;
    Duration latency;
    StreamId sender = none;
    StreamId receiver = none;
    FlowId flow = 0;
    std::int32_t in_use = 0;  // slots
    std::int32_t slots = 0;
    std::int32_t arrived = 0;  // messages that wait for the receiver
    std::int32_t parts = 1;
  };
  struct Group {
    std::int64_t payload = 0;        // bytes of the aggregation being posted
    std::int64_t drained_bytes = 0;  // of it, on each link
    std::int64_t bytes = 0;          // that have drained so far, on each link
    std::vector<StreamId> posted;
    std::int32_t in_flight = 0;
  };
  // What a member of a group has received.
  struct Result {
    std::int32_t ready = 0;
    StreamId waiting = none;
  };
  struct JobState {
    Instant start;
    Instant finish;
    std::uint32_t running = 0;  // streams that have not ended
    bool ended = false;
  };

  // A change of a GPU.
  struct GpuChange {
    std::uint32_t gpu = 0;     // into Instance::gpus
    std::uint32_t number = 0;  // into its changes
  };

  void add_streams();
  void add_connections();
  void add_changes();
  void add_accounts();

  FlowId group_flow(GroupId id) const { return first_group_flow_ + id; }

  // the loop
  Instant next_instant() const;
  bool something_at(Instant instant) const;
  void handle_instant();
  void handle(Event event);
  void handle(TransportNotice notice);
  void run_ready();
  bool step(StreamId id);
  bool step_send(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_receive(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_local(StreamId id, const CompiledOperation& operation);
  bool step_aggregate(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_collect(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool dependencies_met(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool overhead_paid(StreamId id, Stream& stream, Duration overhead);
  bool start_local(StreamId id, bool copies, Bytes size);
  void complete(StreamId id);
  void wake_waiters(StreamId id, Stream& stream);
  void next_operation(Stream& stream);
  void end_stream(StreamId id);
  void end_job(std::uint32_t number);
  void start_job(std::uint32_t number);
  void wake(StreamId id, Phase phase);

  // conditions
  void schedule_changes();
  void change_trees(std::uint32_t number);
  Duration up_latency(GroupId id) const {
    return tree_up_.empty() ? instance_.groups[id].up_latency_max : tree_up_[id];
  }
  Duration down_latency(GroupId id) const {
    return tree_down_.empty() ? instance_.groups[id].down_latency_max : tree_down_[id];
  }
  Duration member_latency(MemberId member) const {
    return member_down_.empty() ? instance_.members[member].down_latency : member_down_[member];
  }
  void start_background(FlowId flow);
  void change_link(std::uint32_t number);
  void change_gpu(const GpuChange& change);
  void change_routes(std::uint32_t number);
  void move_message(const Instance::Reroute& reroute);
  void take_way(const Instance::Reroute& reroute);
  const Instance::Way& way_of(ConnectionId id) const;
  bool is_draining(ConnectionId id) const;
  Duration latency_in_order(ConnectionId id);
  Duration credit_delay(ConnectionId id);
  Duration jitter(ConnectionId id, std::int64_t number) const;
  const GpuSpec& gpu_of(StreamId id) const { return gpus_[one_gpu_ ? 0 : instance_.streams[id].gpu]; }
  FlowId reduction_of(StreamId id) const;
  FlowId copy_of(StreamId id) const;
  bool draws(StreamId id) const { return instance_.streams[id].memory != none; }
  bool is_memory(ResourceId resource) const;
  bool works_locally(StreamId id) const;
  ConnectionId connection_of(FlowId flow) const { return flow_owner_.empty() ? flow : flow_owner_[flow]; }
  void message_drained(ConnectionId id);
  void start_by_transport(ConnectionId id, Bytes size);
  void message_sent(ConnectionId id);
  void message_arrived(ConnectionId id);
  void release_slot(ConnectionId id, StreamId receiver);
  void slot_freed(ConnectionId id);
  void start_aggregation(GroupId id);
  void aggregation_drained(GroupId id);
  void send_results(GroupId id, StreamId cause);
  void aggregation_over(GroupId id);
  void local_work_drained(std::uint32_t index);
  void result_ready(MemberId member);
  void flow_drained(FlowId flow);
  static Bytes part_of(const Connection& connection, Bytes size) {
    if (connection.parts == 1) return size;
    return Bytes((size.count() + connection.parts - 1) / connection.parts);
  }
  Bytes message_size(StreamId id, const CompiledOperation& operation) const {
    if (operation.bytes >= 0) return Bytes(operation.bytes);
    return instance_.size(instance_.streams[id], operation, streams_[id].trip);
  }

  // accounts of the critical path, if options_.explain
  void account_drain(StreamId id, FlowId flow, Bytes size, Duration Chain::*alone_part);
  void account_time(StreamId id, Duration alone, Duration elapsed, Duration Chain::*alone_part);
  Chain account_start(ConnectionId id, Bytes size, Duration extra);
  Chain up_to_now(Chain chain) const;
  void adopt(StreamId id, const Chain& cause) { chain_[id] = cause; }

  Outcome outcome();
  void add_bytes(Outcome& outcome) const;
  void find_down_link(Outcome& outcome) const;
  // Whether a link of the way (or tree) carries nothing now. An empty message waits there as one of a byte.
  template <class User>
  bool crosses_down(const User& user) const {
    if (down_since_.empty()) return false;
    for (std::uint32_t hop = user.first_hop; hop < user.hop_end; ++hop)
      if (down_since_[instance_.hops[hop].resource]) return true;
    return false;
  }
  bool drains_too_late() const;
  std::vector<BlockedStream> blocked() const;
  std::string waits_for(StreamId id) const;
  std::string dependency_text(StreamId id, const CompiledOperation& operation) const;

  const Instance& instance_;
  RunOptions options_;
  const Conditions& conditions_;
  std::vector<ResourceId> change_resource_;  // [link change]
  std::vector<GpuChange> gpu_changes_;
  // Where latencies of trees change; else empty, and those of the instance hold.
  std::vector<Duration> tree_up_;      // [group], the largest
  std::vector<Duration> tree_down_;    // [group], the largest
  std::vector<Duration> member_down_;  // [member]
  std::vector<GpuSpec> gpus_;          // [Instance::gpus], as they are now
  bool one_gpu_ = true;
  std::vector<ConnectionId> flow_owner_;            // [flow of a message], if there are detours
  std::vector<std::uint32_t> detour_;               // [connection], if there are any: the present one or none
  std::vector<std::int64_t> first_bytes_;           // [connection], if there are detours
  std::vector<std::int64_t> detour_bytes_;          // [detour]
  std::vector<Duration> way_latency_;               // [connection], then [detour], if latencies change
  bool in_order_ = false;                           // latencies differ from message to message
  std::vector<Instant> last_arrival_;               // [connection], if in_order_
  std::vector<Instant> last_credit_;                // [connection], if in_order_
  std::vector<std::optional<Instant>> down_since_;  // [resource], if links change
  std::vector<JobState> jobs_;
  std::vector<Stream> streams_;
  std::vector<Connection> connections_;
  std::vector<Group> groups_;
  std::vector<Result> results_;  // [member]
  LocalFlows local_;
  FluidNetwork network_;
  std::unique_ptr<Transport> transport_;
  std::vector<TransportNotice> notices_;
  FlowId first_group_flow_ = 0;
  EventQueue queue_;
  Fingerprint fingerprint_;
  Instant now_;
  std::vector<StreamId> ready_;
  std::vector<FluidNetwork::Scheduled> scheduled_;
  std::int64_t messages_ = 0;
  std::int64_t events_ = 0;
  std::uint32_t unfinished_jobs_ = 0;
  bool limit_reached_ = false;

  std::vector<Chain> chain_;                       // [stream]
  std::vector<Bandwidth> alone_rate_;              // [flow]
  std::vector<Instant> drain_start_;               // [flow]
  std::vector<Instant> message_start_;             // with a transport: [connection], then [group]
  std::vector<std::deque<Chain>> in_flight_;       // [connection]: drained (transport: started), not arrived
  std::vector<std::deque<Chain>> credits_;         // [connection]: on the way back
  std::vector<std::deque<Chain>> results_coming_;  // [member]
  std::vector<std::deque<Chain>> aggregations_;    // [group]: in flight
};

}  // namespace collsim
