// Experiments that between them write every key of the table, for tests that need them all.
#pragma once

#include <string>
#include <vector>

namespace collsim {

// Nodes of two kinds, with every key of a node.
inline std::string experiment_of_groups() {
  return "cluster:\n"
         "  nodes:\n"
         "    - {count: 2, preset: dgx-h100}\n"
         "    - count: 2\n"
         "      node:\n"
         "        interconnect: {kind: nvswitch, bandwidth: 300 GB/s, latency: 500 ns, planes: 2,\n"
         "          reduction: {enabled: true, bandwidth: 400 GB/s, operations: 3, radix: 8,\n"
         "            message_size: 1 GiB}}\n"
         "        nics: {count: 2, bandwidth: 50 GB/s, latency: 2 us}\n"
         "        gpu: {reduce_bandwidth: 1 TB/s, copy_bandwidth: 2 TB/s, send_overhead: 1 ns,\n"
         "          receive_overhead: 2 ns}\n"
         "    - {count: 1, node: {gpus: 2, interconnect: {kind: pcie, bandwidth: 9 GB/s, gpus_per_switch: "
         "1}}}\n"
         "    - count: 1\n"
         "      node: {gpus: 2, interconnect: {kind: shared_memory, bandwidth: 9 GB/s, total: 15 GB/s,\n"
         "        reduce_total: 12 GB/s}}\n"
         "  node: {gpus: 4, nics: {count: 1, bandwidth: 25 GB/s}}\n"
         "  fabric: {kind: switch, bandwidth: 50 GB/s}\n"
         "routing: {kind: table, file: routes.txt}\n"
         "placement: [0-7, '8', 12]\n"
         "algorithm: ring\n"
         "size: 4 B\n"
         "skew: [{rank: 1, delay: 5 us}, {rank: 0, delay: 1 us}]\n"
         "jitter: {distribution: lognormal, mean: 5 us, deviation: 1 us}\n";
}

// Nodes, NICs and what most keys of an experiment hold.
inline std::string experiment_of_nodes() {
  return "cluster:\n"
         "  nodes: 4\n"
         "  node:\n"
         "    gpus: 8\n"
         "    interconnect:\n"
         "      kind: nvswitch\n"
         "      bandwidth: 450 GB/s\n"
         "      latency: 500 ns\n"
         "      planes: 2\n"
         "      reduction: {enabled: true, bandwidth: 400 GB/s, operations: 3, radix: 8, message_size: 1 "
         "GiB}\n"
         "    nics: {count: 4, bandwidth: 400 Gbit/s, latency: 1.25 us}\n"
         "    gpu: {reduce_bandwidth: 1.2 TB/s, copy_bandwidth: 2 TB/s, send_overhead: 1 ns, "
         "receive_overhead: "
         "2 ns}\n"
         "  fabric:\n"
         "    kind: fat_tree\n"
         "    levels: 3\n"
         "    radix: 40\n"
         "    oversubscription: 1.5\n"
         "    bandwidth: 200 Gbit/s\n"
         "    latency: 250 ns\n"
         "    reduction: true\n"
         "collective: all_reduce\n"
         "algorithm:\n"
         "  - ring\n"
         "  - tree\n"
         "  - {name: ring, channels: 2, slices: auto, slots: 4, channel_bandwidth: 20 GB/s, order: rank}\n"
         "  - {name: cascade, levels: [8, 4]}\n"
         "  - {name: k_nomial_tree, root: 3, radix: 4}\n"
         "  - {name: cascade, form: themis, level_bandwidths: [450 GB/s, 50 GB/s]}\n"
         "  - {name: parameter_server, servers: 2}\n"
         "  - {name: mine/ring.xml, slots: 1}\n"
         "size: [8 MiB, {from: 1 KiB, to: 8 KiB, factor: 4}, 0 B]\n"
         "datatype: bfloat16\n"
         "reduction: max\n"
         "network: fluid\n"
         "routing: ecmp\n"
         "launch_overhead: 5 us\n"
         "credit_latency: 3 ns\n"
         "seed: 7\n";
}

// What is not as the cluster's owner drew it, on the packet network.
inline std::string experiment_of_conditions() {
  return "cluster:\n"
         "  nodes: 8\n"
         "  fabric: {kind: switch, bandwidth: 50 GB/s, latency: 500 ns}\n"
         "  sites: {count: 2, nodes: [5, 3], bandwidth: 100 Gbit/s, latency: 5 ms, links: 2}\n"
         "collective: all_reduce\n"
         "algorithm: ring\n"
         "size: 1 MiB\n"
         "network:\n"
         "  kind: packet\n"
         "  mtu: 2 KiB\n"
         "  header: 66 B\n"
         "  switching: store_and_forward\n"
         "  buffer: 1 MiB\n"
         "  reduction_buffer: 64 KiB\n"
         "  virtual_channels: 2\n"
         "  ecn: {k_min: 100 KiB, k_max: 400 KiB, mark_max: 20 %}\n"
         "  rate_control: {kind: dcqcn, notification_interval: 40 us, alpha_interval: 45 us,\n"
         "    increase_interval: 50 us, gain_shift: 4, recovery_steps: 3, additive: 80 Mbit/s,\n"
         "    hyper: 400 Mbit/s, rate_min: 10 Mbit/s}\n"
         "routing: {kind: adaptive, paths: 16, rail_local: true}\n"
         "credit_latency: route\n"
         "placement: round_robin\n"
         "faults:\n"
         "  - {link: leaf0 -> spine1, at: 1 ms, bandwidth: 10 GB/s, latency: 2 us}\n"
         "  - {link: leaf0 <-> spine1, bandwidth_factor: 0.25}\n"
         "  - {switch: spine0, down: true, reroute: 10 ms}\n"
         "  - {nic: node2/nic0, down: true}\n"
         "  - {rank: 3, speed: 2/3}\n"
         "  - {aggregation: true, at: 3 us, reroute: 1 us, fallback: tree}\n"
         "skew: {distribution: normal, mean: 10 us, deviation: 2 us}\n"
         "jitter: {distribution: exponential, mean: 100 ns}\n"
         "background:\n"
         "  - {link: 'leaf* -> spine*', load: 30 %}\n"
         "  - {from: 0, to: 4, rate: 10 GB/s}\n"
         "repeat: 5\n";
}

// Several collectives at once and one after the other.
inline std::string experiment_of_jobs() {
  return "cluster:\n"
         "  nodes: 8\n"
         "  fabric: {kind: fat_tree, radix: 8, bandwidth: 50 GB/s}\n"
         "routing: {kind: ecmp, polarised: true}\n"
         "size: 1 MiB\n"
         "algorithm: ring\n"
         "jobs:\n"
         "  - {name: forward, ranks: 0-6:2, root: 2, collective: broadcast, algorithm: tree}\n"
         "  - {ranks: [1, 3-7:2], size: 64 KiB, datatype: float16, reduction: max, start: 1 us}\n"
         "  - {name: all, after: forward, algorithm: {name: ring, channels: 2}}\n"
         "  - {collective: barrier, after: 1}\n"
         "  - {algorithm: {name: ring, slices: 2, slots: 4, channel_bandwidth: 20 GB/s, order: rank}}\n"
         "  - {algorithm: {name: cascade, levels: [2, 4], form: themis,\n"
         "      level_bandwidths: [450 GB/s, 50 GB/s]}}\n"
         "  - {algorithm: {name: k_nomial_tree, root: 3, radix: 4}}\n"
         "  - {algorithm: {name: parameter_server, servers: 2}}\n";
}

inline const std::vector<std::string>& full_experiments() {
  static const std::vector<std::string> texts = {
      experiment_of_nodes(),
      "cluster:\n"
      "  node: {gpus: 4, interconnect: {kind: pcie, bandwidth: 25 GB/s, gpus_per_switch: 4}}\n"
      "  fabric: {kind: torus, dimensions: [2, 3, 4], bandwidth: 50 GB/s}\n"
      "algorithm: ring\n"
      "size: 1 GiB\n",
      "cluster:\n"
      "  nodes: 12\n"
      "  fabric:\n"
      "    kind: dragonfly\n"
      "    routers: 3\n"
      "    nodes_per_router: 2\n"
      "    global_links: 1\n"
      "    bandwidth: 50 GB/s\n"
      "collective: broadcast\n"
      "root: 11\n"
      "algorithm: {name: nvls}\n"
      "size: {from: 4 B, to: 16 B}\n",
      "cluster:\n"
      "  nodes: 3\n"
      "  fabric:\n"
      "    kind: custom\n"
      "    bandwidth: 50 GB/s\n"
      "    latency: 100 ns\n"
      "    links: [{from: 0, to: 1}, {from: 1, to: 2, bandwidth: 10 GB/s, latency: 5 ns}]\n"
      "algorithm: [tree]\n"
      "size: [4 B]\n",
      "cluster: {preset: dgx-h100}\nalgorithm: ring\nsize: 4 B\n",
      "cluster:\n"
      "  nodes: 3\n"
      "  fabric: {kind: switch, bandwidth: 50 GB/s,\n"
      "    reduction: {enabled: true, bandwidth: 40 GB/s, operations: 1, radix: 4, message_size: 1 MiB}}\n"
      "algorithm: ring\nsize: 4 B\n",
      "cluster:\n"
      "  node:\n"
      "    gpus: 2\n"
      "    interconnect: {kind: shared_memory, bandwidth: 9 GB/s, total: 15 GB/s, reduce_total: 12 GB/s}\n"
      "algorithm: ring\nsize: 4 B\n",
      experiment_of_conditions(),
      experiment_of_jobs(),
      experiment_of_groups()};
  return texts;
}

}  // namespace collsim
