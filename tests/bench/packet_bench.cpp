// Packet hops per second. items_per_second counts hops: packets over links.
//
//   ring        64 ranks on one switch, each sends to the next: two hops, nothing waits
//   all_to_all  every rank to every other at once, two hops: all ports are contended
//   leaf_spine  random pairs over two levels, four hops, paths by the shortest queue
//   in_flight   one connection over four links with ever longer latencies: packets on the wire
//   whole_run   a ring all-reduce of 64 MiB over 64 ranks on one switch, as `collsim run` does it
#include <benchmark/benchmark.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/network/packet.hpp"
#include "topologies/build.hpp"

namespace {

using namespace collsim;
using Route = PacketNetwork::Route;

const Bandwidth bandwidth = Bandwidth::gigabytes_per_second(50);

// Starts `messages` messages of each flow, each when the one before has been sent. Returns the hops.
std::int64_t run(PacketNetwork& network, const std::vector<PacketNetwork::FlowId>& flows, Bytes size,
                 std::int32_t messages) {
  std::vector<std::int32_t> left(flows.size(), messages - 1);
  for (const auto flow : flows) network.start(flow, size, Instant());
  std::vector<PacketNetwork::Notice> notices;
  while (network.has_event()) {
    const Instant now = network.next_event();
    notices.clear();
    network.advance(now, notices);
    for (const auto& notice : notices)
      if (notice.kind == PacketNetwork::NoticeKind::sent && left[notice.flow]-- > 0)
        network.start(notice.flow, size, now);
  }
  return network.hops();
}

struct Ports {
  std::vector<PacketNetwork::LinkIndex> up;
  std::vector<PacketNetwork::LinkIndex> down;
};

Ports add_ports(PacketNetwork& network, std::uint32_t count) {
  Ports ports;
  for (std::uint32_t port = 0; port < count; ++port) {
    ports.up.push_back(network.add_link(bandwidth, Duration::nanoseconds(500), port, count));
    ports.down.push_back(network.add_link(bandwidth, Duration::nanoseconds(500), count, port));
  }
  return ports;
}

PacketNetwork::FlowId add(PacketNetwork& network, const Route& route) {
  const Route routes[] = {route};
  return network.add_flow(routes, PathChoice::first, std::nullopt);
}

void ring(benchmark::State& state) {
  std::int64_t hops = 0;
  for (auto _ : state) {
    PacketNetwork network({}, 1);
    const Ports ports = add_ports(network, 64);
    std::vector<PacketNetwork::FlowId> flows;
    for (std::uint32_t rank = 0; rank < 64; ++rank)
      flows.push_back(add(network, {ports.up[rank], ports.down[(rank + 1) % 64]}));
    network.freeze();
    hops += run(network, flows, Bytes(1 << 20), 8);
  }
  state.SetItemsProcessed(hops);
}

void all_to_all(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  std::int64_t hops = 0;
  for (auto _ : state) {
    PacketNetwork network({}, 1);
    const Ports ports = add_ports(network, ranks);
    std::vector<PacketNetwork::FlowId> flows;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::uint32_t shift = 1; shift < ranks; ++shift)
        flows.push_back(add(network, {ports.up[rank], ports.down[(rank + shift) % ranks]}));
    network.freeze();
    hops += run(network, flows, Bytes(std::max(1 << 16, (1 << 26) / static_cast<int>(ranks * ranks))), 1);
  }
  state.SetItemsProcessed(hops);
}

void leaf_spine(benchmark::State& state) {
  const auto leaves = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t a_leaf = 8;
  const std::uint32_t ranks = leaves * a_leaf;
  std::int64_t hops = 0;
  for (auto _ : state) {
    Random random(7);
    PacketNetwork network({}, 1);
    const auto link = [&](std::uint32_t source, std::uint32_t target) {
      return network.add_link(bandwidth, Duration::nanoseconds(500), source, target);
    };
    std::vector<PacketNetwork::LinkIndex> up, down, rise, fall;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      up.push_back(link(rank, ranks + rank / a_leaf));
      down.push_back(link(ranks + rank / a_leaf, rank));
    }
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      for (std::uint32_t spine = 0; spine < a_leaf; ++spine) {
        rise.push_back(link(ranks + leaf, ranks + leaves + spine));
        fall.push_back(link(ranks + leaves + spine, ranks + leaf));
      }
    std::vector<PacketNetwork::FlowId> flows;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const auto other =
          static_cast<std::uint32_t>((rank + a_leaf + random.below(ranks - 2 * a_leaf)) % ranks);
      std::vector<Route> routes;
      for (std::uint32_t spine = 0; spine < a_leaf; ++spine)
        routes.push_back({up[rank], rise[rank / a_leaf * a_leaf + spine],
                          fall[other / a_leaf * a_leaf + spine], down[other]});
      flows.push_back(network.add_flow(routes, PathChoice::least_queue, std::nullopt));
    }
    network.freeze();
    hops += run(network, flows, Bytes((1 << 27) / ranks), 1);
  }
  state.SetItemsProcessed(hops);
}

void in_flight(benchmark::State& state) {
  const std::int64_t packets = state.range(0);
  std::int64_t hops = 0;
  for (auto _ : state) {
    PacketNetwork network({}, 1);
    Route route;
    // 81.92 ns a packet.
    for (std::uint32_t hop = 0; hop < 4; ++hop)
      route.push_back(network.add_link(bandwidth, Duration::picoseconds(packets * 81'920 / 4), hop, hop + 1));
    const std::vector<PacketNetwork::FlowId> flows{add(network, route)};
    network.freeze();
    hops += run(network, flows, Bytes(4096) * (4 * packets + 200'000), 1);
  }
  state.SetItemsProcessed(hops);
}

void whole_run(benchmark::State& state) {
  ClusterSpec cluster;
  cluster.nodes = 64;
  cluster.fabric.kind = FabricKind::single_switch;
  cluster.fabric.bandwidth = bandwidth;
  cluster.fabric.latency = Duration::nanoseconds(500);
  const Topology topology = std::get<Topology>(topologies::build(cluster));
  Collective collective;
  collective.bytes = Bytes(1 << 26);
  const auto made = algorithms::make_schedule({"ring", {}}, collective, topology.placement());
  const std::vector<Job> jobs = {Job{&std::get<Schedule>(made), {}, {}, -1}};
  RunOptions options;
  options.network.kind = NetworkKind::packet;
  std::int64_t hops = 0;
  for (auto _ : state) hops += simulate(topology, jobs, options).packets->hops;
  state.SetItemsProcessed(hops);
}

BENCHMARK(ring)->Unit(benchmark::kMillisecond);
BENCHMARK(all_to_all)->RangeMultiplier(4)->Range(4, 256)->Unit(benchmark::kMillisecond);
BENCHMARK(leaf_spine)->RangeMultiplier(4)->Range(4, 64)->Unit(benchmark::kMillisecond);
BENCHMARK(whole_run)->Unit(benchmark::kMillisecond);
BENCHMARK(in_flight)->RangeMultiplier(10)->Range(10, 100'000)->Unit(benchmark::kMillisecond);

}  // namespace
