// A translated schedule (sim/model/translation.hpp) on a topology with the same symmetry: an Instance of the
// streams of rank 0 alone, and what its run says of all ranks and links.
//
// Why it is exact. The translations move any rank to any other, and map streams, connections, routes and
// links onto each other. So the orbits are an equitable partition (fold.hpp, sim/execution/README.md):
// streams of one number, connections of one difference of ranks and channel, links of one kind. A connection
// class has one member a rank; of its routes, that of rank 0 has h links of a class of L links, so by
// symmetry each of these carries N * h / L members. Nothing is found by comparing: it holds by construction,
// of the schedule and of the topology.
//
// Complexity  O(streams of rank 0 + routes from rank 0 + links).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/execution/instance.hpp"
#include "sim/execution/outcome.hpp"

namespace collsim {

struct TranslatedInstance {
  Instance instance;
  std::vector<std::uint32_t> resource_of_link;  // [LinkId]; Instance::none: no message crosses it
  std::int64_t streams = 0;                     // of the whole
};

// Nothing where the job is not one translated schedule on all ranks of a topology that has its translation,
// or where its blocks are not of one size.
std::optional<TranslatedInstance> translated_instance(const Topology& topology, const std::vector<Job>& jobs,
                                                      const Conditions& conditions);

// Without the critical path.
RunResult result_of(const Topology& topology, const TranslatedInstance& translated, const Outcome& outcome);

}  // namespace collsim
