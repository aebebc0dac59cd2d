#include "tests/support/max_min.hpp"

namespace collsim::testing {

std::vector<Int128> integer_rates(const SharedResources& network, const std::vector<char>& active) {
  std::vector<Int128> capacity;
  for (const std::int64_t value : network.capacity) capacity.push_back(Int128{value} * 1'000'000);
  std::vector<std::vector<std::size_t>> routes;
  for (std::size_t flow = 0; flow < network.routes.size(); ++flow) {
    routes.emplace_back(network.routes[flow].begin(), network.routes[flow].end());
    if (network.rate_max[flow] > 0) {
      routes.back().push_back(capacity.size());
      capacity.push_back(Int128{network.rate_max[flow]} * 1'000'000);
    }
  }
  std::vector<Int128> rates(network.routes.size(), -1);
  for (std::size_t flow = 0; flow < rates.size(); ++flow)
    if (active[flow] == 0) rates[flow] = 0;
  for (;;) {
    std::vector<Int128> free = capacity;
    std::vector<Int128> unfrozen(capacity.size(), 0);
    for (std::size_t flow = 0; flow < rates.size(); ++flow)
      for (const std::size_t resource : routes[flow]) {
        if (rates[flow] < 0)
          ++unfrozen[resource];
        else
          free[resource] -= rates[flow];
      }
    Int128 smallest = -1;
    for (std::size_t resource = 0; resource < capacity.size(); ++resource)
      if (unfrozen[resource] > 0 && (smallest < 0 || free[resource] / unfrozen[resource] < smallest))
        smallest = free[resource] / unfrozen[resource];
    if (smallest < 0) return rates;
    const std::vector<Int128> before = rates;
    for (std::size_t flow = 0; flow < rates.size(); ++flow)
      for (const std::size_t resource : routes[flow])
        if (before[flow] < 0 && free[resource] / unfrozen[resource] == smallest) rates[flow] = smallest;
  }
}

}  // namespace collsim::testing
