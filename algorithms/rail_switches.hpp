// Collectives that go through the reducing switches of the fabric, one aggregation tree a rail: the engine of
// collnet_direct, and of sharp for all but its all-reduce.
//
// Some GPUs of a node are heads, in every node the same; the others of the node are each served by one head.
// The vector is cut into one range a head. In every node the ranges are brought to the heads (in), the heads
// of one number exchange theirs through the fabric, and the ranges are brought from the heads to who wants
// them (out):
//
//   collective      in: to head h                fabric, heads h                 out: from head h
//   all_reduce      sum of range h of the node   all-reduce                      range h to all GPUs
//   reduce_scatter  sum of range h of the node   a reduce to each node           its part to each GPU it
//   serves all_gather      part of each GPU it serves   a multicast from each node      range h to all GPUs
//   broadcast       range h, from the root       multicast from the root's node  range h to all GPUs
//   reduce          sum of range h of the node   reduce to the root's node       range h to the root
//
// In and out are direct messages, in channels 0 and 1, or where the node's switches reduce and every GPU is a
// head, aggregations of the node. A head takes the reduces to (multicasts from) the nodes one after the
// other, node 0 first, as a tree of switches does. One node has no fabric phase. Every phase has streams that
// loop over the slices, so that slices overlap.
//
// Blocks      Where the collective has parts, range h holds the parts of the GPUs that head h serves, node by
//             node; block -> rank is Schedule::owner. Else a range is one block.
// Groups      Of the fabric: h, or h * nodes + node; then node * heads + h: reduces of the node; multicasts
//             of the node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

struct RailSwitches {
  std::vector<std::int32_t> heads;  // GPU numbers, increasing, the first is 0; head h serves the GPUs up to
                                    // the next
  bool node_switches = false;       // in and out by the switches of the node; every GPU is a head
  std::int32_t slices = 1;
};

// One head for each NIC of a node: the first GPU that uses it. Every GPU where there is no NIC.
std::vector<std::int32_t> heads_of_nics(const Placement& placement);

// Impossible: an aggregation is larger than the switches take. REQUIRES: all_reduce, reduce_scatter,
// all_gather, broadcast, reduce or barrier; at least two ranks
ScheduleOrReason rail_switches(const char* algorithm, const Collective& collective,
                               const Placement& placement, const AlgorithmOptions& options,
                               const RailSwitches& shape);

}  // namespace collsim::algorithms
