// Which translations of the ranks are symmetries of a cluster (Topology::Parts::translations).
//
// rotation      One node of GPUs on one plane of NVSwitches, or nodes of one GPU on one switch: routes go
//               over the link of the source and the link of the target, whichever they are.
// exclusive_or  Node, NIC and GPU numbers, leaves, pods and ports are all groups of bits of the rank number,
//               where every count is a power of two and every switch that is used is full: r XOR g then moves
//               each of them by the same bits of g, and every part of a route (leaf of the source, port by
//               the target's slot, leaf of the target; topologies/fat_tree.hpp) is one of these numbers. The
//               bits of a port up (of the slot modulo u, and of slot / u modulo u) are those of the port
//               below a leaf and of the leaf in its pod, which needs u <= d, so any link of a level is moved
//               onto any other of its level. Rail-local: which NIC numbers are equal stays as it is, and the
//               GPU in between has the target's number.
// Neither where nodes are unlike or on several sites, nor where routes are drawn or spread (on one switch
// there is one route, so nothing to draw or spread).
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/translation.hpp"
#include "topologies/fat_tree.hpp"

namespace collsim::topologies {

// `tree`: the fabric as built, null where it is none of switches. REQUIRES: the cluster has been checked
std::vector<TranslationKind> translations_of(const ClusterSpec& cluster, const FatTree* tree);

}  // namespace collsim::topologies
