// Fingerprint: one number for a whole event stream, to show that two runs did the same.
//
// The sum of a hash of (time, what) over all events, modulo 2^64: equal streams give equal numbers, and the
// order of events of one instant, which has no meaning, does not matter.
#pragma once

#include <cstdint>

#include "sim/core/random.hpp"
#include "sim/core/units.hpp"

namespace collsim {

class Fingerprint {
 public:
  void add(Instant at, std::uint64_t what) {
    sum_ += mix64(what ^ (static_cast<std::uint64_t>(at.picoseconds()) * 0xd6e8feb86659fd93ULL));
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

}  // namespace collsim
