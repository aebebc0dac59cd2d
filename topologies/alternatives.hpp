// Alternatives: numbers for the routes that several independent decisions give, of which a few are wanted.
//
// Decision i has ways[i] ways. The routes are numbered 0 .. count() - 1 so that any first few of them are
// spread evenly: number n stands for the n-th multiple of a stride near the golden section of the count and
// without a common factor with it (Weyl's sequence). The ways of the first decision come up in equal numbers.
//
// Limit       Decisions that would bring the count above 2^40 are left at their first way.
// Complexity  O(decisions + log count).
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace collsim::topologies {

constexpr std::int64_t alternatives_max = std::int64_t{1} << 40;

// A permutation of 0 .. count - 1 that spreads its first values evenly; 0 stays 0. REQUIRES: 0 <= number
// < min(count, 2^22), count <= alternatives_max
inline std::int64_t spread_number(std::int64_t number, std::int64_t count) {
  if (number == 0) return 0;
  std::int64_t stride = count / 1000 * 618 + count % 1000 * 618 / 1000;
  if (stride == 0) stride = 1;
  while (std::gcd(stride, count) != 1) ++stride;
  return number * stride % count;
}

class Alternatives {
 public:
  // REQUIRES: every entry is at least 1
  explicit Alternatives(std::vector<std::int64_t> ways) : ways_(std::move(ways)) {
    for (std::int64_t& way : ways_) {
      if (way > alternatives_max / count_) way = 1;
      count_ *= way;
    }
  }

  std::int64_t count() const { return count_; }
  // Which way each decision goes; number 0: the first everywhere. REQUIRES: as spread_number
  std::vector<std::int64_t> decisions(std::int64_t number) const {
    std::int64_t left = spread_number(number, count_);
    std::vector<std::int64_t> result;
    for (const std::int64_t way : ways_) {
      result.push_back(left % way);
      left /= way;
    }
    return result;
  }

 private:
  std::vector<std::int64_t> ways_;
  std::int64_t count_ = 1;
};

}  // namespace collsim::topologies
