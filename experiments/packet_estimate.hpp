// What a run of the packet network would take, before it starts.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/simulation.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

// Packets times links of the messages and aggregations of some jobs, roughly: a loop counts as often as it
// has trips, with the sizes of its first. At most about `most`: counting ends there. O(streams * hops)
std::int64_t packet_hops(const Topology& topology, const std::vector<Job>& jobs, Bytes mtu,
                         std::int64_t most);

// Hops that one core does in a second, by tests/bench.
constexpr std::int64_t packet_hops_a_second = 3'000'000;

}  // namespace collsim::program
