// The cluster of the benchmarks: DGX-H100-like nodes on a non-blocking fat tree whose switches reduce.
#pragma once

#include <cstdint>
#include <variant>

#include "topologies/build.hpp"

namespace collsim::bench {

inline Topology dgx_cluster(std::int32_t nodes, int levels, int radix) {
  ClusterSpec cluster;
  cluster.nodes = nodes;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(450);
  cluster.node.interconnect.latency = Duration::nanoseconds(500);
  cluster.node.interconnect.reduction.enabled = true;
  cluster.node.nics.count = 8;
  cluster.node.nics.bandwidth = Bandwidth::gigabytes_per_second(50);
  cluster.node.nics.latency = Duration::nanoseconds(1000);
  cluster.fabric.kind = FabricKind::fat_tree;
  cluster.fabric.levels = levels;
  cluster.fabric.radix = radix;
  cluster.fabric.bandwidth = Bandwidth::gigabytes_per_second(50);
  cluster.fabric.latency = Duration::nanoseconds(500);
  cluster.fabric.reduction.enabled = true;
  return std::get<Topology>(topologies::build(cluster));
}

}  // namespace collsim::bench
