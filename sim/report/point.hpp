// Point: one row of a report. One collective of one size by one algorithm on one cluster, and what came out.
//
// Invariants
//   I1  `time` is set if and only if status is ok
//   I2  `reason` is empty if and only if status is ok
// Units       Times are picoseconds, bandwidths bytes per second; they become text only in the writers.
// Definitions algbw = bytes / time and busbw = algbw * bus_factor, as nccl-tests defines them
//             (doc/PERFORMANCE.md). GB = 10^9 bytes. Utilization of a link = bytes / (bandwidth * time).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/bounds.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/numerics.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/topology.hpp"
#include "sim/report/ratio.hpp"

namespace collsim {

// impossible  this cluster cannot run the algorithm
// deadlock    the schedule got stuck; `blocked` says who waits for what
// unproven    the schedule does not compute its collective; `proof_failures` says why
// limit       a limit on the run was reached before its end
// failed      a link or switch went down, and nothing re-routes; `reason` says which
enum class PointStatus : std::uint8_t { ok, impossible, deadlock, unproven, limit, failed };
const char* name_of(PointStatus status);

struct LinkUse {
  std::string name;
  Bytes bytes;
  Bandwidth bandwidth;  // mean over the run
};

// Several runs that differ in their seed. Quantiles are those of the sorted times by nearest rank.
struct Repeats {
  std::int32_t count = 1;
  Duration minimum;
  Duration percentile_5;
  Duration median;  // = Point::time
  Duration percentile_95;
  Duration maximum;
  std::uint64_t median_seed = 1;  // of a run that took the median: the point's other figures are its own
};

// What one fault does by itself, all else as in the healthy run.
struct FaultCost {
  std::string fault;  // "leaf0 -> spine1 down at 1 ms, re-routed after 10 ms"
  PointStatus status = PointStatus::ok;
  std::string reason;
  std::optional<Duration> time;
};

// A job of several that ran together. The point's time is finish - start; its links are the bytes of the job
// itself.
struct JobFacts {
  std::string name;
  Instant start;
  Instant finish;
  std::optional<Duration> alone;  // the same job by itself on the same, healthy cluster
};

struct Point {
  std::string cluster;  // the topology's name
  Collective collective;
  std::string algorithm;
  std::string options;  // as the user asked for: "channels 8, form themis"; empty = none
  std::string chosen;   // what a selection took: "ring", "ring, ll128"; empty where there was no choice
  std::optional<Duration> predicted;  // by the model of that selection
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  std::string network;
  std::string routing;    // "ecmp"; empty: minimal
  std::string placement;  // "round_robin"; empty: packed
  std::uint64_t seed = 1;
  std::int32_t channels = 0;  // as the schedule chose them; 0 where there is no schedule
  std::int32_t slices = 0;

  PointStatus status = PointStatus::ok;
  std::string reason;
  std::optional<Duration> time;
  LowerBound bound;                          // an empty reason: none is known
  std::optional<LinkUse> bottleneck;         // the link of highest utilization, lowest id at ties
  std::int64_t messages = 0;                 // represented
  std::int64_t events = 0;                   // simulated
  std::optional<RunMethod> method;           // how the result was obtained; absent where nothing ran
  std::optional<std::uint64_t> fingerprint;  // of the event stream; absent where nothing ran
  bool proven = false;
  Numerics numerics;  // of the proof, where the collective adds numbers that round; else not known
  std::vector<std::string> warnings;
  std::optional<Repeats> repeats;        // where the experiment is repeated
  std::optional<Duration> healthy_time;  // where there are conditions: the run without any
  std::vector<FaultCost> fault_costs;    // of each condition by itself
  std::optional<JobFacts> job;
  std::optional<PacketFacts> packets;  // packet model
  std::string packet_queue_link;       // name of the link with the longest queue

  std::optional<std::vector<LinkUse>> links;  // every link by id, if asked for
  std::optional<CriticalPath> critical_path;
  std::vector<ProofFailure> proof_failures;
  std::vector<BlockedStream> blocked;
};

// The algorithm of each point as text for people: a file without its folders; with the options where others
// of `points` have the same algorithm with other options.
std::vector<std::string> labels_of(const std::vector<Point>& points);

// "sweeps" or "events"
const char* executor_name(const RunMethod& method);

// Takes over what a run found: status, time, bottleneck, counts, method, fingerprint, critical path and
// blocked streams. `with_links` keeps the use of every link. REQUIRES: point has status ok so far.
// Where bandwidths change, that of a link is its mean over the run.
void take_result(Point& point, const Topology& topology, const RunResult& result, bool with_links,
                 const Conditions& conditions = {});

// Throws InternalError where the point took less than its bound; `launch` is part of its time and of no
// bound.
void check_bound(const Point& point, Duration launch);

// Whether a lower bound of this collective on these ranks is known.
bool has_bound(const Point& point);
// "12.3 %" more than `healthy`, as an exact fraction and its sign.
struct Excess {
  bool is_less = false;
  Ratio ratio;  // |time - healthy| / healthy
};
// Absent where `healthy` is 0.
std::optional<Excess> excess(Duration time, Duration healthy);
// How many times as long as alone; absent where there is nothing to compare.
std::optional<Ratio> slow_down(const Point& point);
// Absent where there is no time, or where the time is 0.
std::optional<Ratio> algorithm_bandwidth_gb(const Point& point);
std::optional<Ratio> bus_bandwidth_gb(const Point& point);
// bound / time in 0..1; 1 if both are 0. Absent where there is no time or no bound.
std::optional<Ratio> optimality(const Point& point);
// Absent where there is no time, or where the time is 0.
std::optional<Ratio> utilization(const Point& point, const LinkUse& link);

}  // namespace collsim
