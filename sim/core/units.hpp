// Quantities: simulated time, bytes, bandwidth.
//
// Units       Duration and Instant are int64 picoseconds (range 106 days), Bytes is int64, Bandwidth is int64
//             bytes per second, one direction. No floating point decides a time.
// Errors      Nothing here checks for overflow: sim/config bounds every input so that sums stay in range.
#pragma once

#include <compare>
#include <cstdint>

namespace collsim {

__extension__ using Int128 = __int128;

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t count) { return Duration(count); }
  static constexpr Duration nanoseconds(std::int64_t count) { return Duration(count * 1'000); }
  static constexpr Duration microseconds(std::int64_t count) { return Duration(count * 1'000'000); }
  constexpr std::int64_t picoseconds() const { return ps_; }

  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.ps_ + b.ps_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.ps_ - b.ps_); }
  friend constexpr Duration operator*(Duration a, std::int64_t factor) { return Duration(a.ps_ * factor); }
  constexpr Duration& operator+=(Duration b) { return ps_ += b.ps_, *this; }
  friend constexpr bool operator==(Duration, Duration) = default;
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant picoseconds(std::int64_t count) { return Instant(count); }
  constexpr std::int64_t picoseconds() const { return ps_; }

  friend constexpr Instant operator+(Instant a, Duration b) { return Instant(a.ps_ + b.picoseconds()); }
  friend constexpr Duration operator-(Instant a, Instant b) { return Duration::picoseconds(a.ps_ - b.ps_); }
  friend constexpr bool operator==(Instant, Instant) = default;
  friend constexpr auto operator<=>(Instant, Instant) = default;

 private:
  constexpr explicit Instant(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t factor) { return Bytes(a.count_ * factor); }
  constexpr Bytes& operator+=(Bytes b) { return count_ += b.count_, *this; }
  friend constexpr bool operator==(Bytes, Bytes) = default;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  std::int64_t count_ = 0;
};

class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bytes_per_second(std::int64_t count) { return Bandwidth(count); }
  static constexpr Bandwidth gigabytes_per_second(std::int64_t count) {
    return Bandwidth(count * 1'000'000'000);
  }
  constexpr std::int64_t bytes_per_second() const { return rate_; }

  friend constexpr bool operator==(Bandwidth, Bandwidth) = default;
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;

 private:
  constexpr explicit Bandwidth(std::int64_t rate) : rate_(rate) {}
  std::int64_t rate_ = 0;
};

constexpr std::int64_t picoseconds_per_second = 1'000'000'000'000;

// The first picosecond at which `size` bytes have passed at `rate`: bytes * 10^12 / rate, rounded up.
// REQUIRES: rate > 0, size >= 0, result < 2^63 ps
constexpr Duration transfer_time(Bytes size, Bandwidth rate) {
  const Int128 work = static_cast<Int128>(size.count()) * picoseconds_per_second;
  const Int128 divisor = rate.bytes_per_second();
  return Duration::picoseconds(static_cast<std::int64_t>((work + divisor - 1) / divisor));
}

}  // namespace collsim
