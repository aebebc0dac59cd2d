// The fluid network alone: messages that start one after the other whenever one has drained.
//   random_routes/ports/flows  up a random port and down another: with two flows a port an event touches few
//                              of them, however many there are
//   weighted/ports/flows       the same with weights, and messages spread over four parts
//   one_port/flows             all flows through one port: every event touches all of them
// items_per_second counts starts and drains; solves/s are the solves of contended parts, flows/s the flows in
// them, flows_a_solve their number.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/core/random.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/network/fluid.hpp"

namespace {

using namespace collsim;

Bytes random_size(Random& random) {
  return Bytes(1'000'000 + static_cast<std::int64_t>(random.below(1'000'000)));
}

// Runs until `drains` messages have drained.
void churn(FluidNetwork& network, FlowId flows, std::int64_t drains, Random& random) {
  EventQueue queue;
  std::vector<FluidNetwork::Scheduled> scheduled;
  for (FlowId flow = 0; flow < flows; ++flow) network.start(flow, random_size(random));
  Instant now;
  const auto again = [&](FlowId flow) {
    network.finish(flow);
    network.start(flow, random_size(random));
    --drains;
  };
  while (drains > 0) {
    scheduled.clear();
    network.settle(now, scheduled);
    for (const auto& plan : scheduled) queue.push(now, plan.delay, {plan.flow, 0});
    const bool kept = network.has_drain() && (queue.empty() || network.next_drain() < queue.next_time());
    now = kept ? network.next_drain() : queue.next_time();
    while (!queue.empty() && queue.next_time() == now) {
      const FlowId flow = queue.pop().subject;
      if (network.drained(flow, now)) again(flow);
    }
    while (network.has_drain() && network.next_drain() == now) again(network.next_drained());
  }
}

struct Totals {
  std::int64_t changes = 0;
  std::int64_t solves = 0;
  std::int64_t flows = 0;

  void add(const FluidNetwork& network, std::int64_t drains) {
    changes += 2 * drains;
    solves += network.solves();
    flows += network.flows_solved();
  }
  void report(benchmark::State& state) const {
    state.SetItemsProcessed(changes);
    state.counters["solves/s"] = benchmark::Counter(static_cast<double>(solves), benchmark::Counter::kIsRate);
    state.counters["flows/s"] = benchmark::Counter(static_cast<double>(flows), benchmark::Counter::kIsRate);
    state.counters["flows_a_solve"] = static_cast<double>(flows) / static_cast<double>(solves);
  }
};

void run_random_routes(benchmark::State& state, bool weighted) {
  constexpr std::int64_t drains = 20'000;
  const auto ports = static_cast<std::uint32_t>(state.range(0));
  const auto flows = static_cast<FlowId>(state.range(1));
  Totals totals;
  for (auto _ : state) {
    Random random(7);
    FluidNetwork network;
    for (std::uint32_t port = 0; port < 2 * ports; ++port)
      network.add_resource(Bandwidth::gigabytes_per_second(50));
    for (FlowId flow = 0; flow < flows; ++flow) {
      const auto up = static_cast<ResourceId>(random.below(ports));
      const auto down = static_cast<ResourceId>(ports + random.below(ports));
      const std::uint32_t parts = weighted && flow % 2 == 1 ? 4 : 1;
      const FluidNetwork::Use route[] = {{up, parts}, {down, parts}};
      network.add_flow(route, std::nullopt, flow, weighted ? 4 / parts : 1);
    }
    network.freeze();
    churn(network, flows, drains, random);
    totals.add(network, drains);
  }
  totals.report(state);
}

void random_routes(benchmark::State& state) { run_random_routes(state, false); }
void weighted(benchmark::State& state) { run_random_routes(state, true); }

void one_port(benchmark::State& state) {
  const auto flows = static_cast<FlowId>(state.range(0));
  const std::int64_t drains = 2'000'000 / state.range(0);
  Totals totals;
  for (auto _ : state) {
    Random random(7);
    FluidNetwork network;
    const ResourceId port = network.add_resource(Bandwidth::gigabytes_per_second(50));
    const FluidNetwork::Use route[] = {{port, 1}};
    for (FlowId flow = 0; flow < flows; ++flow) network.add_flow(route, std::nullopt, flow);
    network.freeze();
    churn(network, flows, drains, random);
    totals.add(network, drains);
  }
  totals.report(state);
}

// Flows grow with the links; flows grow, links do not; links grow, flows do not.
void shapes(benchmark::internal::Benchmark* bench) {
  for (const std::int64_t ports : {16, 64, 256, 1024, 4096}) bench->Args({ports, 2 * ports});
  for (const std::int64_t flows : {64, 1024, 2048}) bench->Args({256, flows});
  for (const std::int64_t ports : {64, 1024}) bench->Args({ports, 512});
}

BENCHMARK(random_routes)->Apply(shapes)->Unit(benchmark::kMillisecond);
BENCHMARK(weighted)->Args({256, 512})->Args({4096, 8192})->Unit(benchmark::kMillisecond);
BENCHMARK(one_port)->RangeMultiplier(4)->Range(16, 4096)->Unit(benchmark::kMillisecond);

}  // namespace
