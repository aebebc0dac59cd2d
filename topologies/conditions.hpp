// resolve(): what faults, skew, jitter and background mean on a topology: names become links, faults become
// changes at times, a re-routing becomes a route rule, distributions become draws. Pure.
//
// Faults add up: a factor is of what the link has by then; what is down stays down. A fault of a switch or a
// NIC is one of all its links, both ways. With `reroute` the routes change that long after the fault and from
// then on avoid everything that has been re-routed around so far (detours.hpp); from the start on (at and
// reroute 0) they are routes of the resolved topology, and the run sees no change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/model/conditions.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

// What is wrong, for a diagnostic at the key's place.
struct ConditionError {
  std::string list;       // "faults", "skew", "background"
  std::size_t index = 0;  // in the list
  std::string field;      // "link", "switch", "nic", "rank", "from", "to", "load", "rate"
  std::string message;
  std::string expected;  // or empty
  std::string hint;      // the nearest right spelling, or empty

  std::string key() const { return list + "[" + std::to_string(index) + "]." + field; }
};

struct Resolved {
  // That of the healthy cluster, but for what is down from the start: routes that avoid it where that is
  // asked for, and aggregations over it that are Impossible. Bandwidths, cuts and names are those of the
  // healthy one.
  Topology topology;
  Conditions conditions;
};

// Errors in the order of the lists, never empty. Faults of target `aggregation` are left to the caller.
// Complexity  O(vertices + links) a fault; a re-routing also searches for split ranks (detours.hpp).
std::variant<Resolved, std::vector<ConditionError>> resolve(const Topology& topology,
                                                            const ConditionsSpec& spec, std::uint64_t seed);

}  // namespace collsim::topologies
