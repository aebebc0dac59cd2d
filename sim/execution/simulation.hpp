// simulate(): runs jobs on a topology through a network model. The semantics of time are those of
// sim/execution/README.md.
//
// Determinism  Same topology, jobs and options: same result, to the picosecond and the fingerprint.
// Threads      A call owns all its state; calls may run concurrently.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/conditions.hpp"
#include "sim/model/network_options.hpp"
#include "sim/model/schedule.hpp"
#include "sim/model/topology.hpp"

namespace collsim {

// One collective of a run. The schedule's rank i runs on the topology's rank rank_map[i] (empty: i).
struct Job {
  const Schedule* schedule = nullptr;
  std::vector<Rank> rank_map;
  Instant start;            // earliest start
  std::int32_t after = -1;  // index of an earlier job of the list that must have finished, or -1
};

// How a run may be shortened. The result is the same, but for `events` and RunMethod.
enum class Shortcuts {
  automatic,  // what pays
  plain,      // none: every element and every event
  fold,       // classes of alike elements wherever there are any, and events
  sweep,      // recurrences over arrays wherever rates are constant, nothing folded
};

struct RunOptions {
  Duration launch_overhead;  // paid once per job, before its first operation
  Duration credit_latency;   // from a receive's completion to the sender seeing the free slot
  bool credit_by_route =
      false;  // plus the latency of the connection's links: the credit comes back over them
  NetworkOptions network;
  std::uint64_t seed = 1;  // packet: of marks
  bool explain = false;    // follow the critical path
  Shortcuts shortcuts = Shortcuts::automatic;
  // About how many runs of this shape one Simulator will do: folding, done once, pays sooner. Part of the
  // question, not of the Simulator's past, so that a result never depends on what ran before.
  std::int64_t alike_runs = 1;
  std::int64_t events_max = std::numeric_limits<std::int64_t>::max();
};

// failed: a link or switch is down and nothing re-routes, so that messages never arrive
enum class RunStatus { ok, deadlock, limit, failed };

// Packet model: what the packets did.
struct PacketFacts {
  std::int64_t packets = 0;    // segments of aggregations included
  std::int64_t hops = 0;       // packets over links
  std::int64_t marks = 0;      // ECN
  std::int64_t queue_max = 0;  // bytes: the longest queue of any port
  LinkId queue_link;           // whose it was
  std::int32_t virtual_channels = 1;
};

// Where the time of the last-finishing rank went, along the chain of causes. The parts sum to the job's time.
struct CriticalPath {
  Duration launch;
  Duration overhead;          // send and receive overheads
  Duration bandwidth;         // messages draining at the rate that they would have alone
  Duration contention;        // what sharing links added to that
  Duration latency;           // links' latencies
  Duration reduction;         // local reductions and copies
  Duration waiting;           // for a free slot, a start time or another member of an aggregation
  std::int64_t messages = 0;  // messages and aggregations on the chain
  Rank last_rank = -1;
};

struct BlockedStream {
  std::int32_t job = 0;
  Rank rank = -1;
  std::int32_t stream = -1;
  std::int64_t operation = 0;
  std::string
      waits_for;  // "chunk from rank 3 on channel 0", "a free slot to rank 1", "operation 5 of stream 1"
};

// How a result was obtained.
struct RunMethod {
  bool sweeps = false;       // recurrence over arrays (sweep.hpp), else events
  std::int64_t streams = 0;  // of the jobs
  std::int64_t classes = 0;  // of streams, that were run; = streams if nothing was folded
};

struct RunResult {
  RunMethod method;
  RunStatus status = RunStatus::ok;
  Duration time;                   // end of the last job
  std::vector<Instant> job_start;  // when its ranks began to launch it
  std::vector<Instant> job_finish;
  std::vector<Duration> rank_finish;  // per topology rank: when its last stream ended; 0 if it did nothing
  std::int64_t messages = 0;          // point-to-point messages and aggregations that were sent
  std::int64_t events = 0;            // events of the engine
  std::uint64_t fingerprint = 0;      // of the event stream
  std::vector<Bytes> link_bytes;      // [LinkId]
  std::optional<CriticalPath> critical_path;
  std::vector<BlockedStream> blocked;  // status deadlock or failed: every stream that did not end
  // status failed: which link is down since when; status deadlock, packets: which wait for each other
  std::string failure;
  std::optional<PacketFacts> packets;  // packet model
};

// What a run would take, before it starts. Times are rough, by the rates that tests/bench measures on one
// core.
struct Estimate {
  RunMethod method;
  std::int64_t messages = 0;   // represented; aggregations are not counted
  std::int64_t simulated = 0;  // messages of the classes that would be run
  std::int64_t seconds = 0;    // rounded down
};

// Runs jobs on one topology. A Simulator keeps what it found of the routes and classes of the last schedule,
// so that the next one of the same shape with another size starts at once: use one for a list of sizes. The
// topology must outlive it. REQUIRES of run(): every aggregation group of every job has a path on the
// topology (see impossible_reason); schedules are proven, or at least pair their sends and receives.
class Simulator {
 public:
  explicit Simulator(const Topology& topology);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  RunResult run(const std::vector<Job>& jobs, const RunOptions& options, const Conditions& conditions = {});
  // Finds routes and classes, and runs nothing. If the next call is run() with these jobs (the same schedule
  // objects, unchanged), that does not look for them again.
  Estimate estimate(const std::vector<Job>& jobs, const RunOptions& options,
                    const Conditions& conditions = {});

 private:
  struct Prepared;
  void prepare(const std::vector<Job>& jobs, const RunOptions& options, const Conditions& conditions);

  const Topology* topology_;
  std::unique_ptr<Prepared> prepared_;
};

// One run of a fresh Simulator.
RunResult simulate(const Topology& topology, const std::vector<Job>& jobs, const RunOptions& options,
                   const Conditions& conditions = {});

// Why `schedule` cannot run on `topology` ("no switch of the fabric reduces"), or nothing if it can; on ranks
// as in Job::rank_map.
std::optional<std::string> impossible_reason(const Topology& topology, const Schedule& schedule,
                                             const std::vector<Rank>& rank_map = {});

}  // namespace collsim
