// The hybrid cube mesh of a DGX-1 with 8 V100: two quads of GPUs, 24 NVLinks, six at each GPU, some pairs
// with two (NVIDIA DGX-1 With Tesla V100 System Architecture, WP-08437; pair counts as printed by nvidia-smi
// topo).
#pragma once

#include <memory>

#include "topologies/interior.hpp"

namespace collsim::topologies {

constexpr int cube_mesh_gpus = 8;

std::unique_ptr<Interior> make_cube_mesh(const InterconnectSpec& interconnect, const Choice& choice);

}  // namespace collsim::topologies
