// RateControl: the sending rate of one connection, in the manner of DCQCN (Zhu et al., SIGCOMM 2015).
// Internal to sim/network.
//
// What differs from the paper: rates rise by the timer alone (there is no counter of bytes), in fast recovery
// for `recovery_steps` steps, additively for as many, and then by the hyper step. Timers are not events: the
// steps that have come due are made when the next packet is prepared or a notification arrives. Integers
// only; alpha is a fraction of 2^30.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/model/network_options.hpp"

namespace collsim::packet {

class RateControl {
 public:
  // Whether the connection sends below its line rate.
  bool limited() const { return limited_; }
  std::int64_t rate() const { return rate_; }

  // A notification of congestion has come back to the sender.
  void cut(const RateControlSpec& spec, std::int64_t line, std::int64_t now) {
    if (limited_) advance(spec, line, now);
    if (!limited_) rate_ = line;
    limited_ = true;
    target_ = rate_;
    rate_ -= static_cast<std::int64_t>(static_cast<Int128>(rate_) * alpha_ / (2 * one));
    rate_ = std::min(std::max(rate_, spec.rate_min.bytes_per_second()), line);
    alpha_ += (one - alpha_) >> spec.gain_shift;
    steps_ = 0;
    increase_due_ = now + spec.increase_interval.picoseconds();
    alpha_due_ = now + spec.alpha_interval.picoseconds();
  }

  // Makes the steps that are due. Returns whether the rate has changed.
  bool advance(const RateControlSpec& spec, std::int64_t line, std::int64_t now) {
    decay(spec, now);
    const std::int64_t before = rate_;
    for (; limited_ && increase_due_ <= now; increase_due_ += spec.increase_interval.picoseconds()) {
      ++steps_;
      if (steps_ > spec.recovery_steps)
        target_ += (steps_ > 2 * spec.recovery_steps ? spec.hyper : spec.additive).bytes_per_second();
      target_ = std::min(target_, line);
      rate_ = (rate_ + target_ + 1) / 2;
      limited_ = rate_ < line;
    }
    return rate_ != before;
  }

 private:
  static constexpr std::int64_t one = std::int64_t{1} << 30;

  void decay(const RateControlSpec& spec, std::int64_t now) {
    for (; alpha_due_ <= now; alpha_due_ += spec.alpha_interval.picoseconds()) {
      const std::int64_t less = alpha_ >> spec.gain_shift;
      if (less == 0) return;
      alpha_ -= less;
    }
  }

  std::int64_t rate_ = 0;
  std::int64_t target_ = 0;
  std::int64_t alpha_ = one;
  std::int64_t alpha_due_ = 0;
  std::int64_t increase_due_ = 0;
  std::int32_t steps_ = 0;
  bool limited_ = false;
};

}  // namespace collsim::packet
