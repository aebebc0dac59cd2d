// Link-disjoint directed Hamiltonian rings among the GPUs of one node, as Placement publishes them.
//
//   full_mesh         n - 1 for odd n (Walecki: Alspach, Bull. ICA 52, 2008), n - 2 for even n, 7 for 8 GPUs
//   ring              both directions
//   hybrid_cube_mesh  6; rings that share a pair of parallel NVLinks differ in parity, so that taking the
//                     parallel link by channel keeps them apart
//   pcie              1, in order
// Empty on a switch and in a shared memory, where every order is as good, and where GPUs have no
// interconnect.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/cluster.hpp"

namespace collsim::topologies {

std::vector<std::vector<std::int32_t>> node_rings(InterconnectKind kind, std::int32_t gpus);

}  // namespace collsim::topologies
