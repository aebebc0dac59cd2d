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
  std::vector<std::vector<std::uint32_t>> shares;  // [flow][place in its route]; empty: all 1
  std::vector<std::uint32_t> weight;               // [flow]; empty: all 1

  std::uint32_t shares_of(std::size_t flow, std::size_t place) const {
    return shares.empty() ? 1 : shares[flow][place];
  }
  std::uint32_t weight_of(std::size_t flow) const { return weight.empty() ? 1 : weight[flow]; }
};

// All three: every share is computed anew in each round; inactive flows get 0.

// The integer rule of the contract in microbytes per second: a flow's own limit is a resource that nobody
// else uses, all resources with the smallest floor(free / unfrozen shares) freeze together. Weights are
// ignored.
std::vector<Int128> integer_rates(const SharedResources& network, const std::vector<char>& active);

// The same with weights, as sim/network/fluid.hpp states it.
std::vector<Int128> weighted_integer_rates(const SharedResources& network, const std::vector<char>& active);

// The real-valued solution in bytes per second, weights included: all flows grow in proportion to their
// weights until a resource or a limit stops them.
std::vector<long double> real_rates(const SharedResources& network, const std::vector<char>& active);

}  // namespace collsim::testing
