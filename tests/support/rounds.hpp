// A schedule in rounds: a message belongs to the round after the last message that it waits for. With a
// barrier after each round a schedule takes the sum over rounds of the slowest message of each; run without
// barriers it may not take longer, where messages do not share links.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/model/schedule.hpp"
#include "sim/model/topology.hpp"

namespace collsim::testing {

struct RoundMessage {
  Rank source = 0;
  Rank target = 0;
  std::int32_t channel = 0;
  Bytes size;
  std::size_t round = 0;
};

// Nothing where it is not defined: with aggregations, or where two streams of a rank send to one other.
std::optional<std::vector<RoundMessage>> rounds_of(const Schedule& schedule);

// Latency of the route + bytes / the narrowest link, of the slowest message of each round, summed.
Duration barrier_time(const Topology& topology, const Schedule& schedule,
                      const std::vector<RoundMessage>& messages);

}  // namespace collsim::testing
