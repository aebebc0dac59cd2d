#include <string>

#include "sim/config/bind.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

constexpr std::int64_t million = 1'000'000;

EcnSpec ecn_from(const Value& value, Findings& findings) {
  EcnSpec spec;
  spec.k_min = bytes_of(value["k_min"]);
  spec.k_max = bytes_of(value["k_max"]);
  if (spec.k_min > spec.k_max)
    findings.error("network.ecn.k_min", quoted(value["k_min"].node->text) + " is more than k_max",
                   "at most " + text_from(spec.k_max));
  const Value& mark_max = value["mark_max"];
  if (million % mark_max.denominator != 0)
    findings.error("network.ecn.mark_max",
                   quoted(mark_max.node->text) + " is no whole number of parts per million",
                   "at most six decimals");
  spec.mark_max_ppm = static_cast<std::int32_t>(mark_max.number * (million / mark_max.denominator));
  return spec;
}

RateControlSpec rate_control_from(const Value& value) {
  RateControlSpec spec;
  spec.notification_interval = duration_of(value["notification_interval"]);
  spec.alpha_interval = duration_of(value["alpha_interval"]);
  spec.increase_interval = duration_of(value["increase_interval"]);
  spec.gain_shift = int_of(value["gain_shift"]);
  spec.recovery_steps = int_of(value["recovery_steps"]);
  spec.additive = bandwidth_of(value["additive"]);
  spec.hyper = bandwidth_of(value["hyper"]);
  spec.rate_min = bandwidth_of(value["rate_min"]);
  return spec;
}

}  // namespace

NetworkOptions network_from(const Value& root, Findings& findings) {
  const Value& value = root["network"];
  NetworkOptions options;
  if (value["kind"].text == "fluid") return options;
  options.kind = NetworkKind::packet;
  PacketSpec& spec = options.packet;
  spec.mtu = bytes_of(value["mtu"]);
  spec.header = bytes_of(value["header"]);
  if (value["switching"].text == "store_and_forward") spec.switching = Switching::store_and_forward;
  spec.buffer = optional_bytes(value["buffer"]);
  spec.reduction_buffer = optional_bytes(value["reduction_buffer"]);
  spec.virtual_channels = optional_int(value["virtual_channels"]);
  if (value["ecn"].given) spec.ecn = ecn_from(value["ecn"], findings);
  if (value["rate_control"].given) spec.rate_control = rate_control_from(value["rate_control"]);
  const Bytes packet = spec.mtu + spec.header;
  for (const char* name : {"buffer", "reduction_buffer"})
    if (const auto size = optional_bytes(value[name]); size && *size < packet)
      findings.error(std::string("network.") + name,
                     quoted(value[name].node->text) + " has no room for a packet",
                     "at least mtu and header, " + text_from(packet));
  if (spec.rate_control && !spec.ecn)
    findings.error("network.rate_control", "nothing marks packets, so that no sender would slow down",
                   "network.ecn beside it");
  return options;
}

}  // namespace collsim::config
