#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/bind.hpp"
#include "sim/core/quantity_text.hpp"

namespace collsim::config {
namespace {

constexpr std::int64_t sum_max = std::int64_t{1} << 61;
constexpr Int128 copied_max = Int128{1} << 62;

std::vector<const NodeSpec*> nodes_of(const ClusterSpec& cluster) {
  std::vector<const NodeSpec*> nodes = {&cluster.node};
  for (const NodeGroup& group : cluster.groups) nodes.push_back(&group.node);
  return nodes;
}

std::vector<const AlgorithmRequest*> requests_of(const Experiment& experiment) {
  std::vector<const AlgorithmRequest*> requests;
  for (const AlgorithmRequest& request : experiment.algorithms) requests.push_back(&request);
  for (const JobSpec& job : experiment.jobs) requests.push_back(&job.algorithm);
  return requests;
}

// "a -> b#2" and "b <-> a" concern one cable, as far as can be told without the topology.
std::string cable_of(const std::string& name) {
  const std::size_t arrow = name.find("->");
  if (arrow == std::string::npos) return name;
  const auto trimmed = [](std::string end) {
    while (!end.empty() && (end.back() == ' ' || end.back() == '<')) end.pop_back();
    end.erase(0, end.find_first_not_of(' '));
    return end.substr(0, end.find('#'));
  };
  const std::string from = trimmed(name.substr(0, arrow));
  const std::string to = trimmed(name.substr(arrow + 2));
  return std::min(from, to) + " " + std::max(from, to);
}

// The smallest part of a bandwidth that faults leave. Those of one cable add up, and so do those of one rank;
// those of switches and NICs may all have a cable in common.
std::int64_t slowed(std::int64_t rate, const ConditionsSpec& conditions) {
  const auto take = [](std::int64_t& left, const Factor& factor) {
    left = static_cast<std::int64_t>(Int128{left} * factor.numerator / factor.denominator);
  };
  std::int64_t behind_vertices = rate;
  for (const FaultSpec& fault : conditions.faults)
    if (fault.bandwidth_factor && fault.target != FaultTarget::link)
      take(behind_vertices, *fault.bandwidth_factor);
  std::map<std::string, std::int64_t> of_target;
  std::int64_t smallest = behind_vertices;
  for (const FaultSpec& fault : conditions.faults) {
    if (fault.speed) {
      std::int64_t& left = of_target.emplace("rank " + std::to_string(fault.rank), rate).first->second;
      take(left, *fault.speed);
      smallest = std::min(smallest, left);
    } else if (fault.bandwidth_factor && fault.target == FaultTarget::link) {
      std::int64_t& left = of_target.emplace(cable_of(fault.name), behind_vertices).first->second;
      take(left, *fault.bandwidth_factor);
      smallest = std::min(smallest, left);
    }
  }
  return smallest;
}

// What one message gets at least, bytes per second.
std::int64_t smallest_bandwidth(const Experiment& experiment) {
  std::int64_t smallest = bandwidth_max;
  const auto take = [&](std::optional<Bandwidth> rate) {
    if (rate && rate->bytes_per_second() > 0) smallest = std::min(smallest, rate->bytes_per_second());
  };
  const ClusterSpec& cluster = experiment.cluster;
  int planes = 1;
  for (const NodeSpec* node : nodes_of(cluster)) {
    take(node->interconnect.bandwidth);
    take(node->interconnect.total);
    take(node->interconnect.reduce_total);
    take(node->nics.bandwidth);
    for (const auto& rate :
         {node->interconnect.reduction.bandwidth, node->gpu.reduce_bandwidth, node->gpu.copy_bandwidth})
      take(rate);
    planes = std::max(planes, node->interconnect.planes);
  }
  take(cluster.fabric.bandwidth);
  take(cluster.fabric.reduction.bandwidth);
  take(cluster.sites.bandwidth);
  for (const CustomLink& link : cluster.fabric.links) take(link.bandwidth);
  for (const AlgorithmRequest* request : requests_of(experiment)) take(request->options.channel_bandwidth);
  for (const FaultSpec& fault : experiment.conditions.faults) take(fault.bandwidth);
  if (experiment.network.packet.rate_control) take(experiment.network.packet.rate_control->rate_min);
  const auto sharing = static_cast<std::int64_t>(experiment.conditions.background.size()) + 1;
  return std::max<std::int64_t>(slowed(smallest / planes, experiment.conditions) / sharing, 1);
}

// So much of a distribution can come up again and again: a thousand times its mean and deviation, at most
// what a sample can be.
Int128 usual_maximum(const Distribution& distribution) {
  constexpr std::int64_t sample_max = std::int64_t{1} << 56;
  const Int128 scale = Int128{distribution.mean.picoseconds()} + distribution.deviation.picoseconds();
  return std::min<Int128>(1'000 * scale, sample_max);
}

// Links of the fabric on the way of one message, at most.
Int128 fabric_hops(const ClusterSpec& cluster) {
  const FabricKind kind = cluster.fabric.kind;
  Int128 hops = 2 * cluster.fabric.levels + 6;
  if (kind == FabricKind::hypercube) hops = 24;
  const bool by_file = cluster.routing.kind == RoutingKind::table;
  if (by_file || kind == FabricKind::ring || kind == FabricKind::custom) hops += cluster.nodes;
  for (const int side : cluster.fabric.dimensions) hops += side;
  if (cluster.routing.kind == RoutingKind::valiant) hops *= 2;
  if (cluster.sites.count > 1) hops = 2 * hops + 4;
  return hops;
}

// Of one message inside the nodes at both ends, at most.
Int128 node_latency(const Experiment& experiment) {
  constexpr Int128 times_max = Int128{1} << 62;
  Int128 slowest = 1;  // a slow rank takes so many times as long over its overheads
  std::map<Rank, Int128> of_rank;
  for (const FaultSpec& fault : experiment.conditions.faults) {
    if (!fault.speed) continue;
    Int128& times = of_rank.emplace(fault.rank, 1).first->second;
    times = std::min(times_max, times * ((fault.speed->denominator - 1) / fault.speed->numerator + 1));
    slowest = std::max(slowest, times);
  }
  Int128 largest = 0;
  for (const NodeSpec* node : nodes_of(experiment.cluster)) {
    const Int128 hops = node->interconnect.kind == InterconnectKind::ring ? node->gpus : 4;
    const Duration overheads = node->gpu.send_overhead + node->gpu.receive_overhead;
    largest = std::max(largest, hops * node->interconnect.latency.picoseconds() +
                                    Int128{2} * node->nics.latency.picoseconds() +
                                    slowest * overheads.picoseconds());
  }
  return largest;
}

// Latencies and overheads on the way of one message, at most.
Int128 message_latency(const Experiment& experiment) {
  const ClusterSpec& cluster = experiment.cluster;
  Duration hop = cluster.fabric.latency;
  for (const CustomLink& link : cluster.fabric.links) hop = std::max(hop, link.latency.value_or(hop));
  for (const FaultSpec& fault : experiment.conditions.faults)
    hop = std::max(hop, fault.latency.value_or(hop));
  const Int128 hops = fabric_hops(cluster);
  Int128 latency = hops * hop.picoseconds() + node_latency(experiment) + cluster.sites.latency.picoseconds();
  if (experiment.credit_by_route) latency *= 2;
  if (experiment.network.kind == NetworkKind::packet) {
    const Int128 packet = experiment.network.packet.mtu.count() + experiment.network.packet.header.count();
    latency += hops * (packet * picoseconds_per_second / smallest_bandwidth(experiment));
  }
  return latency + experiment.credit_latency.picoseconds();
}

// A reduction of a rank's vector beside a shared memory is a copy of that many bytes: below 2^62.
void check_reductions(const NodeSpec& node, std::size_t group, const Extent& extent, Findings& findings) {
  const InterconnectSpec& memory = node.interconnect;
  if (!memory.total || !memory.reduce_total || memory.reduce_total->bytes_per_second() <= 0) return;
  const Int128 total = memory.total->bytes_per_second();
  const Int128 reduced = memory.reduce_total->bytes_per_second();
  if (extent.vector < copied_max && extent.vector * total / reduced < copied_max) return;
  const std::string own = indexed_path("cluster.nodes", group) + ".node.interconnect.reduce_total";
  const std::string common = "cluster.node.interconnect.reduce_total";
  findings.error(findings.is_written(own) ? own : common,
                 "reductions of " + text_from(Bytes(static_cast<std::int64_t>(extent.vector))) +
                     " would be more bytes of the memory than can be counted",
                 "size * total / reduce_total below 2^62 bytes");
}

}  // namespace

// At worst one link carries every rank's vector, and every message waits for the last.
void check_limits(const Experiment& experiment, const Extent& extent, Findings& findings) {
  const PacketSpec& packet = experiment.network.packet;
  const Int128 seconds_max = sum_max / picoseconds_per_second;
  Int128 volume = extent.bytes;
  if (experiment.network.kind == NetworkKind::packet)
    volume += volume / packet.mtu.count() * packet.header.count();
  if (volume > sum_max || volume / smallest_bandwidth(experiment) > seconds_max)
    findings.error(
        extent.place, extent.text + " could take longer than simulated time reaches",
        "size * ranks / the smallest bandwidth below " + text_from(Duration::picoseconds(sum_max)));
  const std::vector<NodeGroup>& groups = experiment.cluster.groups;
  if (groups.empty()) check_reductions(experiment.cluster.node, 0, extent, findings);
  for (std::size_t i = 0; i < groups.size(); ++i) check_reductions(groups[i].node, i, extent, findings);
  constexpr Int128 slices_default = 256;
  Int128 slices = slices_default;
  for (const AlgorithmRequest* request : requests_of(experiment))
    slices = std::max<Int128>(slices, request->options.slices.value_or(1));
  const auto jobs = static_cast<std::int64_t>(std::max<std::size_t>(experiment.jobs.size(), 1));
  const Int128 skew = jobs * usual_maximum(experiment.conditions.skew.distribution);
  const std::string reach = "than simulated time reaches";
  const std::string end = text_from(Duration::picoseconds(sum_max));
  if (skew > sum_max / 2)
    return findings.error("skew", "ranks could begin later " + reach, "1000 * mean * jobs below " + end);
  const Int128 latency_max = (sum_max - skew) / (2 * extent.ranks * slices);
  const Int128 jitter = usual_maximum(experiment.conditions.jitter);
  if (jitter > latency_max)
    findings.error("jitter", "the delays of all messages could add up to more " + reach,
                   "1000 * mean * ranks * slices below " + end);
  else if (message_latency(experiment) + jitter > latency_max)
    findings.error("cluster", "the latencies of all messages could add up to more " + reach,
                   "latency * ranks * slices below " + end);
}

}  // namespace collsim::config
