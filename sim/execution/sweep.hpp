// sweep(): runs an instance whose rates never change, without events.
//
// Where no resource can be over-subscribed (FluidNetwork::static_rates) every message takes its solo time,
// and all times follow from a recurrence of maxima and sums: a send starts when its stream, its dependencies
// and a slot of its connection are ready and takes bytes / rate; a receive is done when its stream and its
// dependencies are ready and its message has arrived, plus the reduction. Streams that run the same program
// and have, slot by slot, peers in common lanes form a lane; one operation of a whole lane is one pass over
// arrays (a row). The last rows of each lane are kept, as many as slots and dependencies look back.
//
// The same times, bytes, counts and fingerprint as the event-driven run. Nothing, if the instance is of
// another kind: several jobs, aggregations, copies, shared units, capacities that change, too many kinds of
// streams, or a dependency that looks further back than the rows that are kept; the caller then runs the
// events.
//
// Complexity  O(messages), some 10^9 a second; memory O(streams * slots).
#pragma once

#include <optional>

#include "sim/execution/instance.hpp"
#include "sim/execution/outcome.hpp"

namespace collsim {

// Whether sweep() would start on the instance.
bool sweeps(const Instance& instance, const RunOptions& options);

std::optional<Outcome> sweep(const Instance& instance, const RunOptions& options);

}  // namespace collsim
