// Choice: the seeded decisions of routing. Pure: the same flow always decides alike.
#pragma once

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

class Choice {
 public:
  Choice(std::uint64_t seed, RoutingKind kind) : seed_(seed), kind_(kind) {}
  bool hashed() const { return kind_ == RoutingKind::ecmp; }

  // One of `count` equal ways at decision `step` of the route, by hash. REQUIRES: count > 0
  std::int64_t by_hash(const Flow& flow, std::int64_t step, std::int64_t count) const {
    if (count == 1) return 0;
    std::uint64_t word = mix64(seed_ ^ static_cast<std::uint64_t>(flow.source));
    word = mix64(word ^ static_cast<std::uint64_t>(flow.target));
    word = mix64(word ^ static_cast<std::uint64_t>(flow.channel));
    word = mix64(word ^ static_cast<std::uint64_t>(step));
    return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(count));
  }
  // One of `count` parallel ways: by channel, so that channels spread evenly; by hash where that is asked
  // for.
  std::int64_t by_channel(const Flow& flow, std::int64_t step, std::int64_t count) const {
    return hashed() ? by_hash(flow, step, count) : flow.channel % count;
  }

 private:
  std::uint64_t seed_;
  RoutingKind kind_;
};

}  // namespace collsim::topologies
