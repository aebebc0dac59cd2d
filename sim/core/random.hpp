// Random: seeded random numbers that are the same on every machine and compiler (SplitMix64; Steele, Lea,
// Flood, OOPSLA 2014). The standard distributions are not: their results differ between libraries.
#pragma once

#include <cstdint>

namespace collsim {

// A 64-bit mix of one word; also used as a hash.
constexpr std::uint64_t mix64(std::uint64_t word) {
  word += 0x9e3779b97f4a7c15ULL;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    const std::uint64_t result = mix64(state_);
    state_ += 0x9e3779b97f4a7c15ULL;
    return result;
  }
  // Uniform in [0, bound). REQUIRES: bound > 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace collsim
