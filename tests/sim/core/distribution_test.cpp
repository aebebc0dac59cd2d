#include "sim/core/distribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/core/random.hpp"

using namespace collsim;

namespace {

constexpr DistributionKind kinds[] = {DistributionKind::constant,    DistributionKind::uniform,
                                      DistributionKind::exponential, DistributionKind::normal,
                                      DistributionKind::lognormal,   DistributionKind::pareto};

Distribution of(DistributionKind kind, std::int64_t mean, std::int64_t deviation = 0) {
  return {kind, Duration::picoseconds(mean), Duration::picoseconds(deviation)};
}

// z with erfc(z / sqrt 2) / 2 = part, by bisection. REQUIRES: 0 < part <= 1/2
long double above_median(long double part) {
  long double low = 0;
  long double high = 20;
  for (int step = 0; step < 120; ++step) {
    const long double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0L)) / 2 > part ? low : high) = middle;
  }
  return low;
}

// `part` below, `rest` above it: both are given, since one of them may be too near to 1.
long double normal_quantile(long double part, long double rest) {
  return part < rest ? -above_median(part) : above_median(rest);
}

long double quantile(const Distribution& distribution, std::uint64_t word) {
  const long double part = std::ldexp(static_cast<long double>(word), -64);
  const long double rest = word == 0 ? 1 : std::ldexp(static_cast<long double>(std::uint64_t{0} - word), -64);
  const auto mean = static_cast<long double>(distribution.mean.picoseconds());
  const auto deviation = static_cast<long double>(distribution.deviation.picoseconds());
  switch (distribution.kind) {
    case DistributionKind::constant:
      return mean;
    case DistributionKind::uniform:
      return 2 * mean * part;
    case DistributionKind::exponential:
      return -mean * std::log(rest);
    case DistributionKind::normal:
      return std::max(0.0L, mean + deviation * normal_quantile(part, rest));
    case DistributionKind::lognormal: {
      const long double square = std::log1p(deviation / mean * (deviation / mean));
      return mean * std::exp(std::sqrt(square) * normal_quantile(part, rest) - square / 2);
    }
    case DistributionKind::pareto:
      return 1.5L * mean * (std::pow(rest, -0.4L) - 1);
  }
  return -1;
}

std::vector<std::uint64_t> words() {
  std::vector<std::uint64_t> result;
  for (int bit = 0; bit < 64; ++bit) {
    result.push_back(std::uint64_t{1} << bit);           // down to the lower tail
    result.push_back(~((std::uint64_t{1} << bit) - 1));  // up to the upper tail
  }
  result.push_back(~std::uint64_t{0});
  Random random(11);
  for (int index = 0; index < 400; ++index) result.push_back(random.next());
  return result;
}

}  // namespace

TEST_CASE("Samples of every distribution are its quantiles") {
  constexpr std::int64_t sample_max = std::int64_t{1} << 56;
  const std::vector<std::uint64_t> at = words();
  for (const DistributionKind kind : kinds)
    for (const std::int64_t mean :
         {std::int64_t{1}, std::int64_t{1'001}, std::int64_t{5'000'000}, std::int64_t{3'000'000'000'000}})
      for (const std::int64_t part : {0, 1, 100'000, 300'000, 1'000'000, 3'000'000, 50'000'000}) {
        const Distribution distribution = of(kind, mean, mean / 1'000'000 * part);
        CAPTURE(name_of(kind));
        CAPTURE(mean);
        CAPTURE(part);
        for (const std::uint64_t word : at) {
          CAPTURE(word);
          const long double expected =
              std::min(quantile(distribution, word), static_cast<long double>(sample_max));
          const auto deviation = static_cast<long double>(distribution.deviation.picoseconds());
          const long double scale = std::max({static_cast<long double>(mean), deviation, expected});
          const std::int64_t sampled = sample(distribution, word).picoseconds();
          REQUIRE(std::abs(static_cast<long double>(sampled) - expected) <= 1 + scale * 1e-9L);
        }
        if (kind != DistributionKind::normal && kind != DistributionKind::lognormal) break;
      }
}

TEST_CASE("Samples never fall while the word grows") {
  std::vector<std::uint64_t> at = words();
  at.push_back(0);
  std::sort(at.begin(), at.end());
  for (const DistributionKind kind : kinds) {
    CAPTURE(name_of(kind));
    const Distribution distribution = of(kind, 7'000'003, 2'500'000);
    Duration before;
    for (const std::uint64_t word : at) {
      CAPTURE(word);
      const Duration sampled = sample(distribution, word);
      REQUIRE(sampled >= before);
      before = sampled;
    }
  }
}

TEST_CASE("The mean and the deviation of many samples are those of the distribution") {
  constexpr int draws = 100'000;
  constexpr std::int64_t mean = 1'000'000;
  const auto check = [&](DistributionKind kind, std::int64_t given, double deviation, double slack) {
    CAPTURE(name_of(kind));
    double sum = 0;
    double squares = 0;
    for (std::uint64_t index = 0; index < draws; ++index) {
      const auto value = static_cast<double>(sample(of(kind, mean, given), mix64(index)).picoseconds());
      sum += value;
      squares += value * value;
    }
    const double average = sum / draws;
    // Five standard errors of the mean.
    CHECK(std::abs(average - mean) <= 5 * deviation / std::sqrt(double{draws}) + 1);
    CHECK(std::abs(std::sqrt(std::max(0.0, squares / draws - average * average)) - deviation) <=
          slack * deviation);
  };
  check(DistributionKind::constant, 0, 0, 0);
  check(DistributionKind::uniform, 0, mean / std::sqrt(3.0), 0.01);
  check(DistributionKind::exponential, 0, mean, 0.03);
  check(DistributionKind::normal, 200'000, 200'000, 0.02);
  check(DistributionKind::lognormal, 500'000, 500'000, 0.05);
  check(DistributionKind::pareto, 0, mean * std::sqrt(5.0), 0.5);  // its fourth moment is infinite
}

TEST_CASE("Samples are the same on every machine") {
  const std::uint64_t at[] = {1, mix64(1), mix64(2), mix64(3), ~std::uint64_t{0}};
  const auto samples = [&](DistributionKind kind) {
    std::string text;
    for (const std::uint64_t word : at)
      text += std::to_string(sample(of(kind, 5'000'000'000, 2'000'000'000), word).picoseconds()) + " ";
    return text;
  };
  CHECK(samples(DistributionKind::constant) == "5000000000 5000000000 5000000000 5000000000 5000000000 ");
  CHECK(samples(DistributionKind::uniform) == "0 5665615751 5911897341 1134503420 9999999999 ");
  CHECK(samples(DistributionKind::exponential) == "0 4180027673 4472520641 602090696 221807097779 ");
  CHECK(samples(DistributionKind::normal) == "0 5335253692 5461212963 2583237684 23160310249 ");
  CHECK(samples(DistributionKind::lognormal) == "140446220 4952075015 5073697227 2914491138 153451791725 ");
  CHECK(samples(DistributionKind::pareto) == "0 2978287242 3226364382 370096123 72057594037927936 ");
}

TEST_CASE("Samples of extreme parameters stay within their range") {
  constexpr std::int64_t sample_max = std::int64_t{1} << 56;
  constexpr std::int64_t largest = std::int64_t{1} << 62;
  for (const DistributionKind kind : kinds)
    for (const std::int64_t mean : {std::int64_t{0}, std::int64_t{1}, largest})
      for (const std::int64_t deviation : {std::int64_t{0}, std::int64_t{1}, largest})
        for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, mix64(5)}) {
          CAPTURE(name_of(kind));
          CAPTURE(mean);
          CAPTURE(deviation);
          CAPTURE(word);
          const std::int64_t sampled = sample(of(kind, mean, deviation), word).picoseconds();
          CHECK(sampled >= 0);
          CHECK(sampled <= sample_max);
          if (mean == 0 && kind != DistributionKind::normal) CHECK(sampled == 0);
        }
}

TEST_CASE("Distributions have names") {
  for (const DistributionKind kind : kinds) CHECK(distribution_from_name(name_of(kind)) == kind);
  CHECK_FALSE(distribution_from_name("gauss").has_value());
}
