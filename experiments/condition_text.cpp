#include "experiments/condition_text.hpp"

#include <fmt/format.h>

#include "sim/core/quantity_text.hpp"
#include "sim/report/ratio.hpp"

namespace collsim::program {

namespace {

// "1 ms", "2.5 us": without zeros that say nothing.
std::string short_text(Duration time) {
  const std::string text = text_from(time);
  const std::size_t unit = text.find(' ');
  std::string number = text.substr(0, unit);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number + text.substr(unit);
}

std::string percent_of(const Factor& factor) {
  std::string number = decimal_text({Int128{factor.numerator} * 100, factor.denominator}, 1);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return number + " %";
}

std::string when(Instant at) {
  return at == Instant() ? "from the start" : "from " + short_text(at - Instant()) + " on";
}

std::string distribution_text(const Distribution& distribution) {
  std::string text = fmt::format("{} of mean {}", name_of(distribution.kind), short_text(distribution.mean));
  if (distribution.deviation != Duration()) text += ", deviation " + short_text(distribution.deviation);
  return text;
}

std::string down_text(const FaultSpec& fault) {
  const bool from_start = fault.at == Instant();
  std::string text = from_start ? "down from the start" : "down at " + short_text(fault.at - Instant());
  if (!fault.reroute) return text + ", not re-routed";
  if (from_start && *fault.reroute == Duration()) return text + ", routed around";
  return text + ", re-routed after " + short_text(*fault.reroute);
}

std::string aggregation_text(const FaultSpec& fault) {
  const std::string text = fault.at == Instant() ? "aggregation down from the start"
                                                 : "aggregation down at " + short_text(fault.at - Instant());
  if (fault.fallback.empty()) return text + ", no fallback";
  const Duration wait = fault.reroute.value_or(Duration());
  return text + ", " + fault.fallback + (wait == Duration() ? " instead" : " after " + short_text(wait));
}

// "at 25 GB/s and latency 5 us"
std::string degraded_text(const FaultSpec& fault) {
  std::string text;
  if (fault.bandwidth) text = "at " + text_from(*fault.bandwidth);
  if (fault.bandwidth_factor) text = "at " + percent_of(*fault.bandwidth_factor) + " of its bandwidth";
  if (fault.latency)
    text += (text.empty() ? "with a latency of " : " and a latency of ") + short_text(*fault.latency);
  return text;
}

}  // namespace

std::string text_of(const FaultSpec& fault) {
  if (fault.target == FaultTarget::aggregation) return aggregation_text(fault);
  if (fault.target == FaultTarget::rank) {
    const std::string speed = fault.speed ? percent_of(*fault.speed) : "100 %";
    return fmt::format("rank {} at {} of its speed {}", fault.rank, speed, when(fault.at));
  }
  if (fault.down) return fault.name + " " + down_text(fault);
  return fault.name + " " + degraded_text(fault) + " " + when(fault.at);
}

std::string text_of(const SkewSpec& skew) {
  if (skew.ranks.empty()) return "ranks late: " + distribution_text(skew.distribution);
  const auto& first = skew.ranks.front();
  std::string text = fmt::format("rank {} late by {}", first.first, short_text(first.second));
  const std::size_t others = skew.ranks.size() - 1;
  if (others > 0) text += fmt::format(", and {} other{}", others, others == 1 ? "" : "s");
  return text;
}

std::string jitter_text(const Distribution& jitter) { return "jitter: " + distribution_text(jitter); }

std::string text_of(const BackgroundSpec& background) {
  if (background.load) return "background: " + percent_of(*background.load) + " of " + background.link;
  const std::string rate = background.rate ? text_from(*background.rate) : "";
  if (!background.link.empty()) return "background: " + rate + " on " + background.link;
  return fmt::format("background: {} from rank {} to rank {}", rate, background.from, background.to);
}

}  // namespace collsim::program
