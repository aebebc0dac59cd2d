// Parts of the packet network: exact clocks, a ring buffer, hops of routes. Internal to sim/network.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim::packet {

constexpr std::uint32_t none = 0xffffffffU;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// A time with a fraction of a picosecond: ps + fraction / rate, where the rate is that of the ExactRate that
// it belongs to.
struct ExactTime {
  std::int64_t ps = 0;
  std::int64_t fraction = 0;
  std::int64_t ceil() const { return ps + (fraction > 0 ? 1 : 0); }
};

// What bytes take at one rate. Full packets, and the last other size that was asked for, cost no division.
class ExactRate {
 public:
  // A rate of 0: nothing passes.
  void set(std::int64_t bytes_per_second, std::int64_t full_bytes) {
    rate_ = bytes_per_second;
    if (rate_ == 0) return;
    full_ = share_of(full_bytes);
    other_ = full_;
  }
  std::int64_t rate() const { return rate_; }
  // Whole picoseconds, rounded down. REQUIRES: rate() > 0
  std::int64_t floor(std::int64_t bytes) { return share(bytes).quotient; }
  void add(std::int64_t bytes, ExactTime& time) {
    const Share& part = share(bytes);
    time.ps += part.quotient;
    time.fraction += part.remainder;
    if (time.fraction < rate_) return;
    time.fraction -= rate_;
    ++time.ps;
  }

 private:
  struct Share {
    std::int64_t bytes = -1;
    std::int64_t quotient = 0;
    std::int64_t remainder = 0;
  };
  const Share& share(std::int64_t bytes) {
    if (bytes == full_.bytes) return full_;
    if (bytes != other_.bytes) other_ = share_of(bytes);
    return other_;
  }
  Share share_of(std::int64_t bytes) const {
    const Int128 work = static_cast<Int128>(bytes) * picoseconds_per_second;
    return {bytes, static_cast<std::int64_t>(work / rate_), static_cast<std::int64_t>(work % rate_)};
  }

  std::int64_t rate_ = 0;
  Share full_;
  Share other_;
};

// A first-in-first-out queue in a ring whose size is a power of two. It keeps its memory.
template <class Value>
class Ring {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  Value& front() { return values_[first_]; }
  Value& operator[](std::size_t index) { return values_[(first_ + index) & (values_.size() - 1)]; }
  const Value& operator[](std::size_t index) const {
    return values_[(first_ + index) & (values_.size() - 1)];
  }
  void push(const Value& value) {
    if (count_ == values_.size()) grow();
    (*this)[count_++] = value;
  }
  void pop() {
    first_ = (first_ + 1) & (values_.size() - 1);
    --count_;
  }

 private:
  void grow() {
    std::vector<Value> larger(values_.empty() ? 4 : 2 * values_.size());
    for (std::size_t index = 0; index < count_; ++index) larger[index] = (*this)[index];
    values_ = std::move(larger);
    first_ = 0;
  }
  std::vector<Value> values_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// A link of a route. The routes of a connection are a forest: the first links are siblings, and so are the
// links that may follow one. A route that shares nothing is a chain.
struct Hop {
  std::uint32_t link = none;
  std::uint32_t child = none;    // first of those that may follow; none: the route ends
  std::uint32_t sibling = none;  // next of those that may be taken instead
  std::uint32_t turn = none;     // of the first of siblings: which comes first among equals
  std::uint8_t channel = 0;      // virtual channel
};

}  // namespace collsim::packet
