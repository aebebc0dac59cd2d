#include "algorithms/level_order.hpp"

#include <algorithm>
#include <numeric>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

// Bandwidths above this are rounded to it, by halving all: so that the products below fit 127 bits.
constexpr std::int64_t bandwidth_most = std::int64_t{1} << 40;

std::vector<std::int64_t> reduced(std::vector<std::int64_t> bandwidths) {
  std::int64_t common = 0;
  for (const std::int64_t bandwidth : bandwidths) common = std::gcd(common, bandwidth);
  for (std::int64_t& bandwidth : bandwidths) bandwidth /= common;
  while (*std::max_element(bandwidths.begin(), bandwidths.end()) > bandwidth_most)
    for (std::int64_t& bandwidth : bandwidths) bandwidth = std::max<std::int64_t>(bandwidth / 2, 1);
  return bandwidths;
}

}  // namespace

BalancedOrders balanced_orders(const std::vector<std::int32_t>& levels,
                               const std::vector<std::int64_t>& bandwidths, std::int32_t chunks) {
  COLLSIM_CHECK(levels.size() == bandwidths.size() && !levels.empty());
  const std::vector<std::int64_t> rate = reduced(bandwidths);
  std::int64_t chunk = 1;  // as much as there are ranks, so that every part of it is whole
  for (const std::int32_t members : levels) chunk *= members;
  std::vector<std::int32_t> by_number(levels.size());
  std::iota(by_number.begin(), by_number.end(), 0);
  BalancedOrders result;
  result.carried.assign(levels.size(), 0);
  const auto carried = [&](std::int32_t level) {
    return static_cast<Int128>(result.carried[static_cast<std::size_t>(level)]);
  };
  const auto rate_of = [&](std::int32_t level) { return rate[static_cast<std::size_t>(level)]; };
  for (std::int32_t number = 0; number < chunks; ++number) {
    std::vector<std::int32_t> order = by_number;
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return carried(a) * rate_of(b) < carried(b) * rate_of(a);
    });
    const std::int32_t least = order.front();
    const std::int32_t most = order.back();
    // load(most) - load(least) < (chunk / 16) * (p - 1) / p / rate(least)
    const std::int64_t members = levels[static_cast<std::size_t>(least)];
    const Int128 gap = carried(most) * rate_of(least) - carried(least) * rate_of(most);
    if (gap * 16 * members < static_cast<Int128>(chunk) * (members - 1) * rate_of(most)) order = by_number;
    std::int64_t left = chunk;
    for (const std::int32_t level : order) {
      const std::int32_t parts = levels[static_cast<std::size_t>(level)];
      left /= parts;
      result.carried[static_cast<std::size_t>(level)] += left * (parts - 1);
    }
    result.orders.push_back(std::move(order));
  }
  return result;
}

}  // namespace collsim::algorithms
