// build(): a ClusterSpec becomes a Topology. Pure; the node interconnect is composed with the fabric.
//
// Complexity  O(vertices + links); 131,072 ranks in under two seconds.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "sim/model/cluster.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

// What is wrong with the specification, for a diagnostic at the key's place.
struct BuildError {
  std::string key;       // "cluster.fabric.radix"
  std::string message;   // "16 nodes of 8 NICs need 128 ports, a 2-level fat tree of radix 8 has 32"
  std::string expected;  // "a radix of at least 16", or empty
};

// `seed` decides hashed routes and nothing else.
std::variant<Topology, BuildError> build(const ClusterSpec& cluster, std::uint64_t seed = 1);

}  // namespace collsim::topologies
