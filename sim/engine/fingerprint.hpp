// Fingerprint: one number for a whole event stream, to show that two runs did the same.
//
// Two sums over all events, modulo 2^64: of the times, and of a product of two parts of each time. Equal
// streams give equal numbers; the order of events, which has no meaning within an instant, does not matter;
// an event that stands for a class of alike ones counts with its weight. So every way of running one
// experiment gives the same fingerprint.
#pragma once

#include <cstdint>

#include "sim/core/random.hpp"
#include "sim/core/units.hpp"

namespace collsim {

class Fingerprint {
 public:
  void add(Instant at, std::int64_t weight) { add(terms_of(at.picoseconds()), weight); }

  // The sums over one class of events, for callers that sum many at once.
  struct Terms {
    std::uint64_t times = 0;
    std::uint64_t products = 0;
  };
  static constexpr Terms terms_of(std::int64_t picoseconds) {
    const auto time = static_cast<std::uint64_t>(picoseconds);
    return {time, (time & 0xffffffffU) * ((time >> 22) & 0xffffffffU)};
  }
  void add(Terms terms, std::int64_t weight) {
    sums_.times += terms.times * static_cast<std::uint64_t>(weight);
    sums_.products += terms.products * static_cast<std::uint64_t>(weight);
  }
  std::uint64_t value() const { return mix64(sums_.times) ^ mix64(sums_.products + 0x9e3779b97f4a7c15ULL); }

 private:
  Terms sums_;
};

}  // namespace collsim
