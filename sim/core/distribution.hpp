// Distribution: named distributions of times, sampled with integers, so that a sample is the same on every
// machine, library and compiler.
//
// Errors      sample() never throws. Mean, deviation and samples are clamped to [0, 2^56 ps].
// Accuracy    A sample is within 1 ps and 1e-9 of the distribution's quantile, relative to the largest of
// mean,
//             deviation and quantile (tests compare); the quantile 0 of normal and lognormal is 0.
// Complexity  O(1), about 0.1 us; lognormal and pareto 0.3 to 0.4 us.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"

namespace collsim {

// constant     always `mean`
// uniform      between 0 and 2 * mean
// exponential  of that mean
// normal       of that mean and standard deviation `deviation`, negative values become 0
// lognormal    of that mean and standard deviation
// pareto       of that mean and shape 2.5 (Lomax: it begins at 0), heavy-tailed
enum class DistributionKind : std::uint8_t { constant, uniform, exponential, normal, lognormal, pareto };
const char* name_of(DistributionKind kind);
std::optional<DistributionKind> distribution_from_name(std::string_view name);

struct Distribution {
  DistributionKind kind = DistributionKind::constant;
  Duration mean;
  Duration deviation;  // normal, lognormal

  bool is_zero() const { return mean == Duration() && deviation == Duration(); }
};

// The value of the distribution at the quantile word / 2^64. Feed it mix64() of what identifies the sample.
Duration sample(const Distribution& distribution, std::uint64_t word);

}  // namespace collsim
