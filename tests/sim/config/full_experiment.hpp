// Experiments that between them write every key of the table, for tests that need them all.
#pragma once

#include <string>
#include <vector>

namespace collsim {

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
         "    routing: hash\n"
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
         "launch_overhead: 5 us\n"
         "credit_latency: 3 ns\n"
         "seed: 7\n";
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
      "algorithm: ring\nsize: 4 B\n"};
  return texts;
}

}  // namespace collsim
