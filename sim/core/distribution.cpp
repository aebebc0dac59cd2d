#include "sim/core/distribution.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace collsim {
namespace {

__extension__ using Wide = unsigned __int128;

// Fixed point: a value times 2^56 (logarithms, exponents) or 2^40 (the normal quantile).
constexpr int log_bits = 56;
constexpr int normal_bits = 40;
constexpr std::int64_t ln_2 = 49946518145322874;  // * 2^56
constexpr std::int64_t sample_max = std::int64_t{1} << 56;

struct Named {
  DistributionKind kind;
  std::string_view name;
};
constexpr Named names[] = {
    {DistributionKind::constant, "constant"},       {DistributionKind::uniform, "uniform"},
    {DistributionKind::exponential, "exponential"}, {DistributionKind::normal, "normal"},
    {DistributionKind::lognormal, "lognormal"},     {DistributionKind::pareto, "pareto"}};

int bits_of(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
}

// 2^62 / (2k + 1)
constexpr auto odd_reciprocals = [] {
  std::array<std::int64_t, 20> result{};
  for (std::size_t k = 0; k < result.size(); ++k)
    result[k] = (std::int64_t{1} << 62) / static_cast<std::int64_t>(2 * k + 1);
  return result;
}();

// ln(value) * 2^56, within 2^-50. For m = value / 2^e in [1, 2) and z = (m - 1) / (m + 1) < 1/3, ln m is
// 2 (z + z^3/3 + z^5/5 + ...). REQUIRES: value > 0
Int128 logarithm(Wide value) {
  constexpr std::int64_t one = std::int64_t{1} << 62;
  const int exponent = bits_of(value) - 1;
  const Wide scaled = exponent > 62 ? value >> (exponent - 62) : value << (62 - exponent);
  const auto mantissa = static_cast<std::int64_t>(scaled);
  const auto z = static_cast<std::int64_t>((Int128{mantissa - one} << 62) / (Int128{mantissa} + one));
  const auto square = static_cast<std::int64_t>(Int128{z} * z >> 62);
  Int128 sum = 0;
  for (std::size_t k = odd_reciprocals.size(); k-- > 0;) sum = (sum * square >> 62) + odd_reciprocals[k];
  const Int128 of_mantissa = 2 * (sum * z >> 62);
  return Int128{exponent} * ln_2 + (of_mantissa >> (62 - log_bits));
}

// -ln(value / 2^64) * 2^56. REQUIRES: 0 < value <= 2^64
Int128 minus_log_of_part(Wide value) { return Int128{64} * ln_2 - logarithm(value); }

// floor(factor * e^(exponent / 2^56)), at most 2^60. REQUIRES: 0 <= factor < 2^63, |exponent| < 2^63
std::int64_t times_exponential(std::int64_t factor, Int128 exponent) {
  constexpr int bits = 60;
  constexpr Int128 one = Int128{1} << bits;
  const auto wanted = static_cast<std::int64_t>(exponent);
  std::int64_t twos = wanted / ln_2;
  if (twos * ln_2 > wanted) --twos;
  const Int128 rest = Int128{wanted - twos * ln_2} << (bits - log_bits);  // in [0, ln 2)
  Int128 power = one;
  for (std::int64_t n = 20; n > 0; --n) power = one + static_cast<std::int64_t>(rest * power >> bits) / n;
  if (factor == 0 || bits - twos > 126) return 0;
  if (twos >= bits) return std::int64_t{1} << bits;
  return static_cast<std::int64_t>(std::min(Int128{factor} * power >> (bits - twos), one));
}

// floor(sqrt(value)), by Newton's method from above.
Int128 square_root(Wide value) {
  if (value == 0) return 0;
  Wide root = Wide{1} << (bits_of(value) + 1) / 2;
  for (;;) {
    const Wide next = (root + value / root) / 2;
    if (next >= root) return static_cast<Int128>(root);
    root = next;
  }
}

// ---------------------------------------------------------------- normal

// Rational approximations of the standard normal quantile (Wichura, Algorithm AS 241, Applied Statistics 37,
// 1988, PPND16): coefficients times 2^40, lowest power first.
using Polynomial = std::array<std::int64_t, 8>;
constexpr Polynomial central_above = {3724191978462,     146390811988507,   2167787175079987,
                                      15098156964236858, 50491722317932882, 73959497285562873,
                                      36757306577399584, 2758763656169775};
constexpr Polynomial central_below = {1099511627776,     46523999116341,    755570105194111,
                                      5930981248059551,  23324813503842711, 43219488495609330,
                                      31587963821799896, 5746592331615081};
constexpr Polynomial tail_above = {1565085654677, 5091110302380, 6343629281417, 4010851649440,
                                   1396883621175, 265840718705,  24985131793,   851621249};
constexpr Polynomial tail_below = {1099511627776, 2257508067541, 1843204613414, 758407205276,
                                   162842044202,  16711110613,   602085760,     1155};
constexpr Polynomial far_above = {7320443572153, 6007495041492, 1962437534202, 326071797065,
                                  29172450895,   1366320161,    29813869,      221039};
constexpr Polynomial far_below = {1099511627776, 659522485823, 150555996265, 16355632707,
                                  865171759,     20300485,     156297,       0};

// In and out times 2^40.
Int128 value_at(const Polynomial& polynomial, Int128 x) {
  Int128 value = 0;
  for (std::size_t power = polynomial.size(); power-- > 0;)
    value = (value * x >> normal_bits) + polynomial[power];
  return value;
}

// How far below the median, in standard deviations times 2^40, the normal distribution has the part
// word / 2^64 below it. REQUIRES: 0 < word <= 2^63
Int128 below_median(std::uint64_t word) {
  constexpr Int128 one = Int128{1} << normal_bits;
  const Int128 offset = ((Int128{1} << 63) - word) >> (64 - normal_bits);  // 1/2 - p
  if (offset <= one * 425 / 1000) {
    const Int128 r = one * 180'625 / 1'000'000 - (offset * offset >> normal_bits);
    return value_at(central_above, r) * offset / value_at(central_below, r);
  }
  const Int128 r = square_root(static_cast<Wide>(minus_log_of_part(word)) << (2 * normal_bits - log_bits));
  const bool is_far = r > 5 * one;
  const Int128 x = is_far ? r - 5 * one : r - one * 16 / 10;
  return value_at(is_far ? far_above : tail_above, x) * one / value_at(is_far ? far_below : tail_below, x);
}

// The standard normal quantile at word / 2^64, times 2^40. REQUIRES: word > 0
Int128 normal_quantile(std::uint64_t word) {
  constexpr std::uint64_t median = std::uint64_t{1} << 63;
  return word <= median ? -below_median(word) : below_median(std::uint64_t{0} - word);
}

std::int64_t normal(std::int64_t mean, std::int64_t deviation, std::uint64_t word) {
  if (word == 0) return 0;
  return mean + static_cast<std::int64_t>(deviation * normal_quantile(word) >> normal_bits);
}

// ---------------------------------------------------------------- lognormal

// sqrt(ln(1 + (deviation / mean)^2)) * 2^56: the deviation of the logarithm.
// REQUIRES: 0 < mean, 0 <= deviation, both at most 2^56
Int128 log_deviation(std::int64_t mean, std::int64_t deviation) {
  constexpr Int128 one = Int128{1} << log_bits;
  const auto root_of = [](Int128 square) { return square_root(static_cast<Wide>(square) << log_bits); };
  if (deviation >= mean) {
    const Wide sum = static_cast<Wide>(mean) * static_cast<Wide>(mean) +
                     static_cast<Wide>(deviation) * static_cast<Wide>(deviation);
    return root_of(logarithm(sum) - 2 * logarithm(static_cast<Wide>(mean)));
  }
  const Int128 ratio = (Int128{deviation} << log_bits) / mean;
  const Int128 square = ratio * ratio >> log_bits;
  if (square >= one / 64)
    return root_of(logarithm(static_cast<Wide>(one + square)) - Int128{log_bits} * ln_2);
  // ln(1 + q) / q = 1 - q/2 + q^2/3 - ...: keeps the digits of a small ratio.
  Int128 series = 0;
  for (int n = 10; n > 0; --n) series = one / n - (square * series >> log_bits);
  return ratio * root_of(series) >> log_bits;
}

std::int64_t lognormal(std::int64_t mean, std::int64_t deviation, std::uint64_t word) {
  if (word == 0 || mean == 0) return 0;
  const Int128 sigma = log_deviation(mean, deviation);
  const Int128 exponent = (sigma * normal_quantile(word) >> normal_bits) - (sigma * sigma >> (log_bits + 1));
  return times_exponential(mean, exponent);
}

// ---------------------------------------------------------------- from one logarithm

std::int64_t exponential(std::int64_t mean, std::uint64_t word) {
  const Int128 minus_log = minus_log_of_part((Wide{1} << 64) - word);
  return static_cast<std::int64_t>(std::min<Int128>(Int128{mean} * minus_log >> log_bits, sample_max));
}

// Lomax of shape 5/2 and scale 3/2 mean: scale * ((1 - u)^(-2/5) - 1).
std::int64_t pareto(std::int64_t mean, std::uint64_t word) {
  const Int128 exponent = minus_log_of_part((Wide{1} << 64) - word) * 2 / 5;
  return (times_exponential(3 * mean, exponent) - 3 * mean) / 2;
}

}  // namespace

const char* name_of(DistributionKind kind) {
  for (const Named& named : names)
    if (named.kind == kind) return named.name.data();
  return "?";
}

std::optional<DistributionKind> distribution_from_name(std::string_view name) {
  for (const Named& named : names)
    if (named.name == name) return named.kind;
  return std::nullopt;
}

Duration sample(const Distribution& distribution, std::uint64_t word) {
  const std::int64_t mean = std::clamp<std::int64_t>(distribution.mean.picoseconds(), 0, sample_max);
  const std::int64_t deviation =
      std::clamp<std::int64_t>(distribution.deviation.picoseconds(), 0, sample_max);
  std::int64_t value = mean;
  switch (distribution.kind) {
    case DistributionKind::constant:
      break;
    case DistributionKind::uniform:
      value = static_cast<std::int64_t>(static_cast<Wide>(2 * mean) * word >> 64);
      break;
    case DistributionKind::exponential:
      value = exponential(mean, word);
      break;
    case DistributionKind::normal:
      value = normal(mean, deviation, word);
      break;
    case DistributionKind::lognormal:
      value = lognormal(mean, deviation, word);
      break;
    case DistributionKind::pareto:
      value = pareto(mean, word);
      break;
  }
  return Duration::picoseconds(std::clamp<std::int64_t>(value, 0, sample_max));
}

}  // namespace collsim
