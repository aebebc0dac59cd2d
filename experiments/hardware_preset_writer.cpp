#include "experiments/hardware_preset_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/core/quantity_text.hpp"

namespace collsim::program {

namespace {

using kernels::MachineCosts;
using kernels::PrimitiveSample;
using Json = nlohmann::ordered_json;

constexpr double giga = 1e9;

double gigabytes(Bandwidth rate) { return static_cast<double>(rate.bytes_per_second()) / giga; }

// With four digits or more, and never 0.
std::string yaml_of(Bandwidth rate) {
  if (rate.bytes_per_second() >= 10'000'000'000) return fmt::format("{:.2f} GB/s", gigabytes(rate));
  return fmt::format("{} kB/s", std::max<std::int64_t>(rate.bytes_per_second() / 1000, 1));
}

std::string yaml_of(Duration time) { return fmt::format("{} ns", (time.picoseconds() + 500) / 1000); }

// What it takes to go on after another rank's operation.
Duration waiting(const MachineCosts& costs) { return std::max(costs.handover - costs.operation, Duration()); }

// A message inside a node crosses two links that have a latency.
Duration half(Duration time) { return Duration::picoseconds(time.picoseconds() / 2); }

std::string sample_line(const PrimitiveSample& sample) {
  const double rate = gigabytes(sample.total);
  return fmt::format("{:<24} {:>8} {:>6} {:>12} {:>10.2f} {:>10.2f}\n", name_of(sample.kind),
                     text_from(Bytes(sample.bytes)), sample.concurrent, text_from(sample.time), rate,
                     rate * static_cast<double>(sample.traffic_per_byte));
}

std::string commented(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    result += line.empty() ? "#\n" : "# " + std::string(line) + "\n";
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return result;
}

std::string interconnect_text(const MachineCosts& costs) {
  if (costs.devices > 1) {
    return fmt::format(
        "  # A copy to another GPU.\n  interconnect: {{kind: full_mesh, bandwidth: {}, latency: {}}}\n",
        yaml_of(costs.peer.value_or(costs.copy_one)), yaml_of(costs.peer_latency.value_or(waiting(costs))));
  }
  return fmt::format(
      "  # Copies: by one rank, and by all together (total). Reductions by all together: reduce_total.\n"
      "  interconnect: {{kind: shared_memory, bandwidth: {}, latency: {}, total: {}, reduce_total: {}}}\n",
      yaml_of(costs.copy_one), yaml_of(half(waiting(costs))), yaml_of(costs.copy_all),
      yaml_of(costs.reduce_all));
}

std::string device_count(const MachineCosts& costs) {
  return costs.devices > 1 ? fmt::format("{} devices", costs.devices) : "one device";
}

Json sample_json(const PrimitiveSample& sample) {
  return {{"primitive", name_of(sample.kind)},
          {"bytes", sample.bytes},
          {"concurrent", sample.concurrent},
          {"time_ps", sample.time.picoseconds()},
          {"total_bytes_per_s", sample.total.bytes_per_second()},
          {"traffic_per_byte", sample.traffic_per_byte}};
}

}  // namespace

bool shares_devices(const MachineCosts& costs) { return costs.devices > 1 && costs.ranks > costs.devices; }

std::string preset_text(const Calibration& calibration) {
  const MachineCosts& costs = calibration.costs;
  std::string text = fmt::format("# Measured: {} ({}), {} {} on {}.\n", costs.device, costs.description,
                                 costs.ranks, costs.ranks == 1 ? "rank" : "ranks", device_count(costs));
  text += fmt::format("# {}, collsim {}: {}\n", calibration.date, calibration.version, calibration.command);
  if (shares_devices(costs))
    text += "# Several ranks share each GPU here. What they share is not modelled: every rank is alone.\n";
  text += "#\n" + commented(costs_text(calibration));
  text += fmt::format("node:\n  gpus: {}\n", costs.ranks);
  if (costs.ranks > 1) text += interconnect_text(costs);
  text += "  # One rank by itself; send_overhead: an operation of hardly any bytes.\n";
  text += fmt::format("  gpu: {{reduce_bandwidth: {}, copy_bandwidth: {}, send_overhead: {}}}\n",
                      yaml_of(costs.reduce_one), yaml_of(costs.copy_one), yaml_of(costs.operation));
  return text + "# An empty run.\nlaunch_overhead: " + yaml_of(costs.launch) + "\n";
}

std::string costs_text(const Calibration& calibration) {
  const MachineCosts& costs = calibration.costs;
  std::string text = fmt::format("{:<24} {:>8} {:>6} {:>12} {:>10} {:>10}\n", "primitive", "bytes", "ranks",
                                 "time of one", "GB/s", "traffic");
  for (const PrimitiveSample& sample : costs.samples) text += sample_line(sample);
  text +=
      "GB/s: bytes of messages by all ranks together; traffic: what is read and written for them, in GB/s\n";
  const auto add = [&text](const char* name, const std::string& value) {
    text += fmt::format("{:<40} {}\n", name, value);
  };
  text += "rates below: those in a round (copy, reduce, copy back), some of whose sources are in a cache\n";
  add("an empty run", text_from(costs.launch));
  add("an operation of hardly any bytes", text_from(costs.operation));
  add("the same in step with all ranks", text_from(costs.handover));
  add("copies by one rank", text_from(costs.copy_one));
  add("copies by all ranks", text_from(costs.copy_all));
  add("reductions by one rank", text_from(costs.reduce_one));
  add("reductions by all ranks", text_from(costs.reduce_all));
  if (costs.peer) add("copies between devices, by one rank", text_from(*costs.peer));
  if (costs.peer_latency) add("latency between devices", text_from(*costs.peer_latency));
  for (const NcclTime& each : calibration.nccl)
    add(fmt::format("ncclAllReduce of {}", text_from(Bytes(each.bytes))).c_str(), text_from(each.time));
  return text;
}

std::string costs_json(const Calibration& calibration) {
  const MachineCosts& costs = calibration.costs;
  Json samples = Json::array();
  for (const PrimitiveSample& sample : costs.samples) samples.push_back(sample_json(sample));
  Json nccl = Json::array();
  for (const NcclTime& each : calibration.nccl)
    nccl.push_back({{"bytes", each.bytes}, {"time_ps", each.time.picoseconds()}});
  Json json = {{"collsim", calibration.version},
               {"date", calibration.date},
               {"device", costs.device},
               {"description", costs.description},
               {"ranks", costs.ranks},
               {"devices", costs.devices},
               {"launch_ps", costs.launch.picoseconds()},
               {"operation_ps", costs.operation.picoseconds()},
               {"handover_ps", costs.handover.picoseconds()},
               {"copy_one_bytes_per_s", costs.copy_one.bytes_per_second()},
               {"copy_all_bytes_per_s", costs.copy_all.bytes_per_second()},
               {"reduce_one_bytes_per_s", costs.reduce_one.bytes_per_second()},
               {"reduce_all_bytes_per_s", costs.reduce_all.bytes_per_second()}};
  if (costs.peer) json["peer_bytes_per_s"] = costs.peer->bytes_per_second();
  if (costs.peer_latency) json["peer_latency_ps"] = costs.peer_latency->picoseconds();
  json["samples"] = samples;
  json["nccl_all_reduce"] = nccl;
  return json.dump(2) + "\n";
}

}  // namespace collsim::program
