// packet_transport(): messages and aggregations of an instance as packets (sim/network/packet.hpp).
//
// A connection takes the routes that the topology's rule gives it: its route, or all of its numbered ones,
// packet by packet, in turn (Spreading::even) or by the shortest queue. A group's links are a tree: those
// that lead to its root go up, those that lead away from it down. Local work is the executor's own.
#pragma once

#include <memory>

#include "sim/execution/instance.hpp"
#include "sim/execution/transport.hpp"

namespace collsim {

// REQUIRES: the instance is a whole one, of this topology. All must outlive the transport.
// Time and memory O(links + hops of all routes), those of the route changes included.
std::unique_ptr<Transport> packet_transport(const Topology& topology, const Instance& instance,
                                            const RunOptions& options, const Conditions& conditions);

}  // namespace collsim
