#include "tests/support/max_min.hpp"

#include <algorithm>

namespace collsim::testing {
namespace {

constexpr Int128 micro_per_byte = 1'000'000;

// Of each resource: what frozen flows leave, and what the others count.
struct Sums {
  std::vector<Int128> free;
  std::vector<Int128> unfrozen;
};

// Rates below 0 are those of flows that are not frozen.
Sums sums_of(const SharedResources& network, const std::vector<Int128>& rates) {
  Sums sums;
  for (const std::int64_t value : network.capacity) sums.free.push_back(value * micro_per_byte);
  sums.unfrozen.assign(sums.free.size(), 0);
  for (std::size_t flow = 0; flow < rates.size(); ++flow)
    for (std::size_t place = 0; place < network.routes[flow].size(); ++place) {
      const std::uint32_t resource = network.routes[flow][place];
      const Int128 shares = network.shares_of(flow, place);
      if (rates[flow] < 0)
        sums.unfrozen[resource] += shares * network.weight_of(flow);
      else
        sums.free[resource] -= shares * rates[flow];
    }
  return sums;
}

std::vector<Int128> unfrozen_if_active(const std::vector<char>& active) {
  std::vector<Int128> rates;
  for (const char is_active : active) rates.push_back(is_active != 0 ? -1 : 0);
  return rates;
}

Int128 solo_rate(const SharedResources& network, std::size_t flow) {
  Int128 solo = network.rate_max[flow] > 0 ? network.rate_max[flow] * micro_per_byte : -1;
  for (std::size_t place = 0; place < network.routes[flow].size(); ++place) {
    const Int128 alone = network.capacity[network.routes[flow][place]] * micro_per_byte /
                         Int128{network.shares_of(flow, place)};
    if (solo < 0 || alone < solo) solo = alone;
  }
  return solo;
}

// Resources that cannot carry the solo rates of all their active flows.
std::vector<char> contended(const SharedResources& network, const std::vector<char>& active,
                            const std::vector<Int128>& solo) {
  std::vector<Int128> load(network.capacity.size());
  for (std::size_t flow = 0; flow < solo.size(); ++flow)
    for (std::size_t place = 0; place < network.routes[flow].size(); ++place)
      if (active[flow] != 0) load[network.routes[flow][place]] += solo[flow] * network.shares_of(flow, place);
  std::vector<char> result;
  for (std::size_t resource = 0; resource < load.size(); ++resource)
    result.push_back(load[resource] > network.capacity[resource] * micro_per_byte);
  return result;
}

}  // namespace

std::vector<Int128> integer_rates(const SharedResources& network, const std::vector<char>& active) {
  SharedResources limited = network;
  limited.weight.clear();
  for (std::size_t flow = 0; flow < network.routes.size(); ++flow) {
    if (network.rate_max[flow] == 0) continue;
    limited.routes[flow].push_back(static_cast<std::uint32_t>(limited.capacity.size()));
    if (!network.shares.empty()) limited.shares[flow].push_back(1);
    limited.capacity.push_back(network.rate_max[flow]);
  }
  std::vector<Int128> rates = unfrozen_if_active(active);
  for (;;) {
    const Sums sums = sums_of(limited, rates);
    Int128 smallest = -1;
    for (std::size_t resource = 0; resource < limited.capacity.size(); ++resource)
      if (sums.unfrozen[resource] > 0 &&
          (smallest < 0 || sums.free[resource] / sums.unfrozen[resource] < smallest))
        smallest = sums.free[resource] / sums.unfrozen[resource];
    if (smallest < 0) return rates;
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      if (rates[flow] >= 0) continue;
      for (const std::uint32_t resource : limited.routes[flow])
        if (sums.free[resource] / sums.unfrozen[resource] == smallest) rates[flow] = smallest;
    }
  }
}

std::vector<Int128> weighted_integer_rates(const SharedResources& network, const std::vector<char>& active) {
  std::vector<Int128> solo;
  for (std::size_t flow = 0; flow < network.routes.size(); ++flow) solo.push_back(solo_rate(network, flow));
  const std::vector<char> binds = contended(network, active, solo);
  std::vector<Int128> rates = unfrozen_if_active(active);
  for (;;) {
    const Sums sums = sums_of(network, rates);
    // The level of a flow: its own, or that of one of its resources.
    const auto level_of = [&](std::size_t flow) {
      const Int128 weight = network.weight_of(flow);
      Int128 level = (solo[flow] + weight - 1) / weight;
      for (const std::uint32_t resource : network.routes[flow])
        if (binds[resource] != 0) level = std::min(level, sums.free[resource] / sums.unfrozen[resource]);
      return level;
    };
    Int128 smallest = -1;
    for (std::size_t flow = 0; flow < rates.size(); ++flow)
      if (rates[flow] < 0 && (smallest < 0 || level_of(flow) < smallest)) smallest = level_of(flow);
    if (smallest < 0) return rates;
    for (std::size_t flow = 0; flow < rates.size(); ++flow)
      if (rates[flow] < 0 && level_of(flow) == smallest)
        rates[flow] = std::min(solo[flow], smallest * network.weight_of(flow));
  }
}

std::vector<long double> real_rates(const SharedResources& network, const std::vector<char>& active) {
  constexpr long double nearly = 1 - 1e-15L;
  std::vector<long double> rates(network.routes.size(), 0);
  std::vector<char> growing(active);
  for (;;) {
    std::vector<long double> used(network.capacity.size());
    std::vector<long double> growth(network.capacity.size());
    long double step = -1;
    const auto bound = [&](long double value) { step = step < 0 ? value : std::min(step, value); };
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      const long double weight = network.weight_of(flow);
      for (std::size_t place = 0; place < network.routes[flow].size(); ++place) {
        used[network.routes[flow][place]] += rates[flow] * network.shares_of(flow, place);
        if (growing[flow] != 0)
          growth[network.routes[flow][place]] += weight * network.shares_of(flow, place);
      }
      if (growing[flow] != 0 && network.rate_max[flow] > 0)
        bound((static_cast<long double>(network.rate_max[flow]) - rates[flow]) / weight);
    }
    for (std::size_t resource = 0; resource < used.size(); ++resource)
      if (growth[resource] > 0)
        bound(std::max(0.0L, static_cast<long double>(network.capacity[resource]) - used[resource]) /
              growth[resource]);
    if (step < 0) return rates;
    for (std::size_t flow = 0; flow < rates.size(); ++flow) {
      if (growing[flow] == 0) continue;
      rates[flow] += step * network.weight_of(flow);
      if (network.rate_max[flow] > 0 &&
          rates[flow] >= static_cast<long double>(network.rate_max[flow]) * nearly)
        growing[flow] = 0;
      for (const std::uint32_t resource : network.routes[flow])
        if (used[resource] + step * growth[resource] >=
            static_cast<long double>(network.capacity[resource]) * nearly)
          growing[flow] = 0;
    }
  }
}

}  // namespace collsim::testing
