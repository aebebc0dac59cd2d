// Choice: the seeded decisions of routing. Pure: the same flow always decides alike.
//
// ECMP hashes the flow together with the switch that decides, so that every switch decides for itself.
// Polarised: without the switch, as where all have the same hash: what a flow draws at one tier it draws
// again at the next, and the ways that the first draw did not lead to stay empty. All other kinds hash only
// where their rule leaves several ways open, by the number of the decision along the route.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/id.hpp"
#include "sim/core/random.hpp"
#include "sim/model/cluster.hpp"

namespace collsim::topologies {

// What a route is asked for; the key of every hash.
struct Flow {
  Rank source = 0;
  Rank target = 0;
  std::int32_t channel = 0;
};

// Where a route decides.
struct Decision {
  std::int64_t step = 0;   // its number along the route
  std::int64_t place = 0;  // the switch or point, different for all of a cluster
};

class Choice {
 public:
  Choice(std::uint64_t seed, const RoutingSpec& routing) : seed_(seed), routing_(routing) {}
  Choice(std::uint64_t seed, RoutingKind kind) : seed_(seed) { routing_.kind = kind; }

  bool is_ecmp() const { return routing_.kind == RoutingKind::ecmp; }
  bool is_valiant() const { return routing_.kind == RoutingKind::valiant; }
  bool is_spread() const {
    return routing_.kind == RoutingKind::spray || routing_.kind == RoutingKind::adaptive;
  }
  // The same among the GPUs of a node, where valiant is minimal.
  Choice inside_node() const {
    Choice result = *this;
    if (is_valiant()) result.routing_.kind = RoutingKind::minimal;
    return result;
  }

  // How many of the `existing` routes of a connection are used.
  std::int32_t paths(std::int64_t existing) const {
    return is_spread() ? static_cast<std::int32_t>(std::min<std::int64_t>(routing_.paths, existing)) : 1;
  }

  // One of `count` equal ways, by hash. REQUIRES: count > 0
  std::int64_t by_hash(const Flow& flow, const Decision& decision, std::int64_t count) const {
    if (count == 1) return 0;
    std::uint64_t word = mix64(seed_ ^ static_cast<std::uint64_t>(flow.source));
    word = mix64(word ^ static_cast<std::uint64_t>(flow.target));
    word = mix64(word ^ static_cast<std::uint64_t>(flow.channel));
    if (!is_ecmp())
      word = mix64(word ^ static_cast<std::uint64_t>(decision.step));
    else if (!routing_.polarised)
      word = mix64(word ^ mix64(static_cast<std::uint64_t>(decision.place)));
    return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(count));
  }
  // One of `count` parallel ways: by channel, so that channels spread evenly; ECMP: by hash.
  std::int64_t by_channel(const Flow& flow, const Decision& decision, std::int64_t count) const {
    return is_ecmp() ? by_hash(flow, decision, count) : flow.channel % count;
  }

 private:
  std::uint64_t seed_;
  RoutingSpec routing_;
};

}  // namespace collsim::topologies
