// Conditions: what is not as the cluster's owner drew it: links and GPUs that change, routes that change with
// them, ranks that start late, latencies that vary, other traffic.
//
// Two forms. *Specs are what a user writes, by name; topologies/conditions.hpp finds what the names mean on a
// topology. Conditions is what a run is given: ids, times, routes.
//
// Invariants of Conditions
//   I1  link_changes, route_changes and rank_changes are each sorted by time; several changes of one instant
//       all hold before rates are solved
//   I2  every route of a route change runs over the same links and vertices as the topology
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/distribution.hpp"
#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/cluster.hpp"

namespace collsim {

class RouteRule;

// ---------------------------------------------------------------- as written

// nic and link names are those of Topology::vertex_name and link_name ("node2/nic1", "leaf0 -> spine1"; also
// "leaf0 <-> spine1" for both directions). A switch down takes all its links with it.
enum class FaultTarget : std::uint8_t { link, switch_, nic, rank, aggregation };

struct Factor {  // exact, > 0
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};

struct FaultSpec {
  FaultTarget target = FaultTarget::link;
  std::string name;  // of the link, switch or NIC
  Rank rank = -1;    // target rank
  Instant at;        // 0: from the start
  // One of these, or both of the first two:
  std::optional<Bandwidth> bandwidth;      // of the link from then on
  std::optional<Factor> bandwidth_factor;  // or this part of what it has
  std::optional<Duration> latency;         // of the link from then on
  bool down = false;                       // link, switch, nic, aggregation
  std::optional<Factor> speed;  // rank: its reductions, copies and overheads at this part of the speed
  // down: routes avoid it so long after `at`. Absent: nothing re-routes, and a run that needs it fails. From
  // the start (at = 0) with a delay of 0, routes never use it.
  std::optional<Duration> reroute;
  // aggregation: so long after `at` the collective starts again with this algorithm (a name of the registry)
  std::string fallback;
};

// How late ranks begin. Either a distribution, drawn for each rank, or a list of ranks with their delays.
struct SkewSpec {
  Distribution distribution;
  std::vector<std::pair<Rank, Duration>> ranks;
  bool is_zero() const { return distribution.is_zero() && ranks.empty(); }
};

// Traffic of others: on a link (`link` may name several with '*'), or from rank to rank along its route.
// It takes its share like any other flow, up to its rate.
struct BackgroundSpec {
  std::string link;
  std::optional<Factor> load;  // of the link's bandwidth
  Rank from = -1;
  Rank to = -1;
  std::optional<Bandwidth> rate;
};

struct ConditionsSpec {
  std::vector<FaultSpec> faults;
  SkewSpec skew;
  Distribution jitter;  // added to the latency of every message
  std::vector<BackgroundSpec> background;
  bool is_empty() const { return faults.empty() && skew.is_zero() && jitter.is_zero() && background.empty(); }
};

// ---------------------------------------------------------------- as run

// From `at` on. A bandwidth of 0: the link carries nothing. Latency: of messages that finish draining
// (packet: of packets that leave) from then on.
struct LinkChange {
  Instant at;
  LinkId link;
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
};
// From `at` on messages follow these routes; those that are draining go on with what they have left.
struct RouteChange {
  Instant at;
  std::shared_ptr<const RouteRule> routes;
};
// From `at` on the rank's GPU is this one. Work that has begun goes on at the new rate.
struct RankChange {
  Instant at;
  Rank rank = 0;
  GpuSpec gpu;
};
struct BackgroundFlow {
  std::vector<LinkId> links;
  Bandwidth rate;  // what it would take alone
};

struct Conditions {
  std::vector<LinkChange> link_changes;
  std::vector<RouteChange> route_changes;
  std::vector<RankChange> rank_changes;
  std::vector<Duration> skew;  // [rank of the topology]: from a job's start to the rank's; empty: none
  Distribution jitter;         // of every message, added to its latency; a connection still delivers in order
  std::uint64_t seed = 1;      // of the jitter
  std::vector<BackgroundFlow> background;

  bool is_empty() const {
    return link_changes.empty() && route_changes.empty() && rank_changes.empty() && skew.empty() &&
           jitter.is_zero() && background.empty();
  }
};

}  // namespace collsim
