// Solves of the fluid network per second against the number of flows: random routes over two-level
// fat-tree-like resources, messages that start one after the other whenever one drains. items_per_second
// counts starts and drains.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/core/random.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/network/fluid.hpp"

namespace {

using namespace collsim;

void random_traffic(benchmark::State& state) {
  const auto ports = static_cast<std::uint32_t>(state.range(0));
  std::int64_t changes = 0;
  std::int64_t solved = 0;
  for (auto _ : state) {
    Random random(7);
    FluidNetwork network;
    for (std::uint32_t port = 0; port < 2 * ports; ++port)
      network.add_resource(Bandwidth::gigabytes_per_second(50));
    const std::uint32_t flows = 2 * ports;
    for (std::uint32_t flow = 0; flow < flows; ++flow) {
      const FluidNetwork::Use route[] = {{static_cast<ResourceId>(random.below(ports)), 1},
                                         {static_cast<ResourceId>(ports + random.below(ports)), 1}};
      network.add_flow(route, std::nullopt, flow);
    }
    network.freeze();
    EventQueue queue;
    std::vector<FluidNetwork::Scheduled> scheduled;
    for (FlowId flow = 0; flow < flows; ++flow)
      network.start(flow, Bytes(1'000'000 + static_cast<std::int64_t>(random.below(1'000'000))));
    Instant now;
    for (std::int64_t drains = 0; drains < 20'000;) {
      scheduled.clear();
      network.settle(now, scheduled);
      for (const auto& plan : scheduled) queue.push(now, plan.delay, {plan.flow, 0});
      const auto again = [&](FlowId flow) {
        network.finish(flow);
        network.start(flow, Bytes(1'000'000 + static_cast<std::int64_t>(random.below(1'000'000))));
        ++drains;
        changes += 2;
      };
      const bool kept = network.has_drain() && (queue.empty() || network.next_drain() < queue.next_time());
      now = kept ? network.next_drain() : queue.next_time();
      while (!queue.empty() && queue.next_time() == now) {
        const FlowId flow = queue.pop().subject;
        if (network.drained(flow, now)) again(flow);
      }
      while (network.has_drain() && network.next_drain() == now) again(network.next_drained());
    }
    solved += network.flows_solved();
  }
  state.SetItemsProcessed(changes);
  state.counters["flows_a_change"] = static_cast<double>(solved) / static_cast<double>(changes);
}

BENCHMARK(random_traffic)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMillisecond);

}  // namespace
