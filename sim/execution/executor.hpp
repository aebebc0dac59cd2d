// Executor: one run of jobs on a topology. Internal to sim/execution; simulate() is the door.
//
// setup (executor_setup.cpp) binds every stream, finds connections and gives each a flow of the network; the
// run (executor.cpp) is one loop: take all events of an instant, let every stream that they wake go on as far
// as it can, then let the network settle once.
//
// A stream waits for exactly one thing at a time and is woken exactly once: by the dependency, message, slot,
// drain or timer that it waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/fingerprint.hpp"
#include "sim/execution/chain.hpp"
#include "sim/execution/compiled.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/network/fluid.hpp"

namespace collsim {

class Executor {
 public:
  Executor(const Topology& topology, const std::vector<Job>& jobs, const RunOptions& options,
           const std::vector<CapacityChange>& changes);
  RunResult run();

 private:
  using StreamId = std::uint32_t;
  using ConnectionId = std::uint32_t;
  using GroupId = std::uint32_t;
  static constexpr std::uint32_t none = 0xffffffffU;

  enum class EventKind : std::uint8_t {
    job_start,
    drained,
    arrived,
    timer,
    credit,
    collected,
    aggregation_over,
    capacity
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

  struct Stream {
    std::int64_t trip = 0;
    std::int64_t completed = 0;    // operations
    std::int64_t wait_target = 0;  // phase dependency: completed operations of the other stream
    Instant finish;
    std::uint32_t operation = 0;  // into programs_.operations
    std::uint32_t loop = 0;       // into programs_.loops
    std::uint32_t loop_end = 0;
    std::uint32_t bases = 0;       // into bases_
    std::uint32_t peers = 0;       // into send_to_ and receive_from_
    std::uint32_t streams = 0;     // into stream_slots_
    std::uint32_t groups = 0;      // into group_slots_
    StreamId first_waiter = none;  // streams that wait for this one
    StreamId next_waiter = none;   // in the list of the stream that this one waits for
    std::uint32_t job = 0;
    Rank rank = 0;            // of the topology
    std::int32_t number = 0;  // of the rank's streams in the job
    Phase phase = Phase::asleep;
  };
  struct Connection {
    std::int64_t bytes = 0;  // sent so far
    std::int64_t messages = 0;
    std::uint64_t identity = 0;  // hashed (job, source, target, channel)
    Duration latency;
    StreamId sender = none;
    StreamId receiver = none;
    std::int32_t in_use = 0;  // slots
    std::int32_t slots = 0;
    std::int32_t arrived = 0;  // messages that wait for the receiver
    Rank source = 0;           // ranks of the topology
    Rank target = 0;
    std::int32_t channel = 0;
  };
  struct Group {
    std::int64_t payload = 0;     // bytes of the aggregation being posted
    std::int64_t bytes = 0;       // that have drained so far, on each link
    std::int64_t operations = 0;  // started
    std::uint64_t identity = 0;
    AggregationPath path;
    std::vector<StreamId> posted;
    std::uint32_t members = 0;
    std::uint32_t first_member = 0;  // into results_
    std::uint32_t job = 0;
    std::int32_t number = 0;  // in its schedule
    std::int32_t root = 0;
    AggregationMode mode = AggregationMode::all_reduce;
    Duration up_latency_max;
    Duration down_latency_max;
    std::int32_t in_flight = 0;
  };
  // What a member of a group has received.
  struct Result {
    std::int32_t ready = 0;
    StreamId waiting = none;
    GroupId group = none;
  };
  struct GroupSlot {
    GroupId group = none;
    std::uint32_t member = 0;  // index into results_
  };
  struct JobState {
    const Schedule* schedule = nullptr;
    Instant start;
    Instant finish;
    std::uint32_t first_stream = 0;
    std::uint32_t stream_end = 0;
    std::uint32_t running = 0;  // streams that have not ended
    bool ended = false;
  };

  // setup
  void add_job(const Job& job, std::uint32_t number);
  void add_streams(const Job& job, JobState& state, std::uint32_t number);
  void add_connections(const JobState& state, std::uint32_t number);
  void add_groups(const Job& job, std::uint32_t number);
  void add_resources(const std::vector<CapacityChange>& changes);
  void add_connection_flows();
  void add_group_flows();
  void add_local_flows();
  ResourceId resource_of(LinkId link);

  // the loop
  Instant next_instant() const;
  void handle(Event event);
  void run_ready();
  bool step(StreamId id);
  bool step_send(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_receive(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_local(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_aggregate(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool step_collect(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool dependencies_met(StreamId id, Stream& stream, const CompiledOperation& operation);
  bool overhead_paid(StreamId id, Stream& stream, Duration overhead);
  bool start_local(StreamId id, Stream& stream, FlowId flow, Bytes size);
  void complete(StreamId id);
  void next_operation(Stream& stream);
  void end_stream(StreamId id);
  void end_job(std::uint32_t number);
  void start_job(std::uint32_t number);
  void wake(StreamId id, Phase phase);
  void message_drained(ConnectionId id);
  void message_arrived(ConnectionId id);
  void release_slot(ConnectionId id, StreamId receiver);
  void slot_freed(ConnectionId id);
  void start_aggregation(GroupId id);
  void aggregation_drained(GroupId id);
  void aggregation_over(GroupId id);
  void local_work_drained(std::uint32_t index);
  void result_ready(std::uint32_t member);
  void flow_drained(FlowId flow);
  Bytes message_size(const Stream& stream, const CompiledOperation& operation) const;
  bool receives(const Group& group, std::uint32_t member) const;

  // accounts of the critical path; nothing happens unless options_.explain
  void account_drain(StreamId id, FlowId flow, Bytes size, Duration Chain::*alone_part);
  void adopt(StreamId id, const Chain& cause);

  // the end
  RunResult result();
  void add_link_bytes(RunResult& result) const;
  void report_blocked(RunResult& result) const;
  std::string waits_for(const Stream& stream) const;

  const Topology& topology_;
  RunOptions options_;
  std::vector<CapacityChange> changes_;
  std::vector<JobState> jobs_;
  std::vector<std::int32_t> after_;  // [job]
  CompiledPrograms programs_;
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> stream_program_;  // [stream]
  std::vector<Connection> connections_;
  std::vector<Group> groups_;
  std::vector<Result> results_;
  std::vector<std::int64_t> bases_;
  std::vector<Peer> peers_;
  std::vector<ConnectionId> send_to_;       // parallel to peers_
  std::vector<ConnectionId> receive_from_;  // parallel to peers_
  std::vector<StreamId> stream_slots_;
  std::vector<GroupSlot> group_slots_;
  std::vector<FlowId> reduce_flow_;  // [stream], or empty if nothing limits reductions
  std::vector<FlowId> copy_flow_;
  std::vector<StreamId> local_owner_;  // [flow - first_local_flow_]
  FlowId first_group_flow_ = 0;
  FlowId first_local_flow_ = 0;
  std::vector<ResourceId> link_resource_;  // [LinkId], none where no flow uses the link
  FluidNetwork network_;
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
  std::vector<Instant> drain_start_;               // [flow]
  std::vector<std::deque<Chain>> in_flight_;       // [connection]: drained, not arrived
  std::vector<std::deque<Chain>> credits_;         // [connection]: on the way back
  std::vector<std::deque<Chain>> results_coming_;  // [results_ index]
  std::vector<std::deque<Chain>> aggregations_;    // [group]: in flight
};

}  // namespace collsim
