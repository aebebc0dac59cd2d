// Lower bounds on the time of a collective on a cluster, whatever the algorithm.
//
// The maximum of the longest shortest-path latency that some data must go (between any two ranks; from or to
// the root where there is one; of send_recv between neighbours in number) and, for every cut of the topology,
// the time in which what must cross it can. Launches, overheads and local work are not counted.
//
// What must cross a cut into m groups, of N ranks and S bytes (Collective::bytes):
//   all_reduce       where no switch outside the groups reduces, all together send 2 (m - 1) S (Patarasuk and
//                    Yuan, JPDC 69(2), 2009, applied to the groups as super-ranks); else each sends S
//   broadcast, reduce           S into (out of) every group but the root's, S out of (into) the root's
//   all_gather, reduce_scatter  into (out of) a group the parts of all other ranks: together (m - 1) S
//   scatter, gather             out of (into) the root the parts of all others
//   all_to_all       S / N for every ordered pair of ranks in different groups
//   send_recv        S out of every group: the order of the ranks is one ring
//   barrier          nothing
// Where ranks share a memory (InterconnectKind::shared_memory), all messages of a node count against what it
// lets through: the cut "memory", of single ranks. What local work takes of it is not counted.
// Groups need not have equally many ranks. Of the worst-connected group it is not known which it is, only how
// small and how large a group can be: its demand is the least over these.
// Where switches copy or reduce, a link still carries each byte that its far side needs: only the first line
// depends on what reduces. Cables are taken to carry as much one way as the other, as all that topologies
// lay do.
//
// These are the cuts of the builder, in closed form. topologies/flow_bounds.hpp finds the tightest cut of a
// small graph.
#pragma once

#include <string>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim {

struct LowerBound {
  Duration time;       // rounded down: no exact schedule can be faster
  std::string reason;  // "latency", "root" or the name of the cut
};

// O(cuts); for scatter and gather O(links). REQUIRES: the root is a rank where the collective has one
LowerBound lower_bound(const Collective& collective, const Topology& topology);

// Of a collective of some of the ranks: rank i is the topology's ranks[i]. Only what each of them must send
// or receive through the links of its GPU, and the smallest latency of these: others may lend all their
// links. O(links + ranks). REQUIRES: ranks are distinct ranks of the topology, the root is an index of them
LowerBound lower_bound(const Collective& collective, const Topology& topology,
                       const std::vector<Rank>& ranks);

// The links that messages can take: all, but where all ranks share one node with an interconnect, not those
// of its NICs.
bool is_usable(const Topology& topology, const Link& link);

// In how long `capacity` bytes/s carry work bytes; rounded down, at most 2^63 - 1 ps. For capacities up to
// 2^87 bytes/s exactly, above that a little less. REQUIRES: work >= 0, capacity > 0
Duration time_at(Int128 work, Int128 capacity);

}  // namespace collsim
