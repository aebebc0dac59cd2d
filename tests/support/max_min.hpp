// Max-min fair rates from their definition, slowly: the reference for the fluid network.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim::testing {

// A network of resources (bytes/s) and routes; rate_max 0 = none.
struct SharedResources {
  std::vector<std::int64_t> capacity;
  std::vector<std::vector<std::uint32_t>> routes;
  std::vector<std::int64_t> rate_max;
};

// The integer rule of the contract in microbytes per second: every share is computed anew in each round, a
// flow's own limit is a resource that nobody else uses, all resources with the smallest share freeze
// together. Inactive flows get 0.
std::vector<Int128> integer_rates(const SharedResources& network, const std::vector<char>& active);

}  // namespace collsim::testing
