// Seats: on which GPU each rank of a collective sits, and schedules made for them.
//
// Ranks are what the user counts, GPUs what the topology counts. An algorithm that goes by rank number gets
// rank i on GPU gpus[i]; one that sees to nodes itself numbers the same GPUs node by node, so that only the
// root is where the user has put it. A send_recv always goes by rank number: that is what it means.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "experiments/schedules.hpp"
#include "sim/config/experiment.hpp"
#include "sim/model/bounds.hpp"
#include "sim/model/placement.hpp"
#include "sim/model/topology.hpp"
#include "topologies/flow_bounds.hpp"

namespace collsim::program {

struct Seats {
  std::vector<Rank> gpus;  // of rank 0, 1, ...; empty: rank i on GPU i, and every GPU has a rank

  bool is_plain() const { return gpus.empty(); }
  std::int32_t ranks(const Topology& topology) const {
    return is_plain() ? topology.ranks() : static_cast<std::int32_t>(gpus.size());
  }
  Rank gpu_of(Rank rank) const { return is_plain() ? rank : gpus[static_cast<std::size_t>(rank)]; }
};

// Round robin: rank 0 on the first GPU of node 0, rank 1 on that of node 1, ...; nodes without a free GPU are
// passed over.
Seats seats_of(const PlacementSpec& spec, const Placement& cluster);
// Of some of the ranks, as a group of their own; none named: all.
Seats seats_of_group(const Seats& seats, const std::vector<Rank>& ranks, const Topology& topology);
// Nodes on which somebody sits.
std::int32_t nodes_of(const Seats& seats, const Placement& cluster);

struct SeatedSchedule {
  Schedule schedule;
  std::vector<Rank> rank_map;  // as Job::rank_map
};
using SeatedOrReason = std::variant<SeatedSchedule, Impossible>;

// schedule_of() for ranks that sit so. REQUIRES: as schedule_of()
SeatedOrReason seated_schedule_of(const AlgorithmRequest& request, const Collective& collective,
                                  const Topology& topology, const Seats& seats, ScheduleCache& cache);

// The bound of all ranks by every cut; of ranks that sit otherwise by what joins each of them to the rest.
LowerBound bound_of(const Collective& collective, const Topology& topology, const Seats& seats,
                    const topologies::FlowBounds& bounds);

}  // namespace collsim::program
