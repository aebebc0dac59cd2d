// The library without the program: a node of 8 GPUs on a switch, a ring all-reduce of 8 MiB, its proof and
// its time. Ends with 0 if the time is the closed form 2 (N-1) (S/N / bandwidth + 2 latency) = 160.80064 us.
#include <cstdio>
#include <variant>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "topologies/build.hpp"

int main() {
  collsim::ClusterSpec cluster;
  cluster.node.gpus = 8;
  cluster.node.interconnect.kind = collsim::InterconnectKind::nvswitch;
  cluster.node.interconnect.bandwidth = collsim::Bandwidth::gigabytes_per_second(100);
  cluster.node.interconnect.latency = collsim::Duration::nanoseconds(500);
  const auto built = collsim::topologies::build(cluster);
  if (const auto* error = std::get_if<collsim::topologies::BuildError>(&built)) {
    std::fprintf(stderr, "%s: %s\n", error->key.c_str(), error->message.c_str());
    return 1;
  }
  const auto& topology = std::get<collsim::Topology>(built);

  collsim::Collective collective;
  collective.bytes = collsim::Bytes(8 << 20);
  collsim::AlgorithmRequest request;
  request.name = "ring";
  const auto made = collsim::algorithms::make_schedule(request, collective, topology.placement());
  if (const auto* impossible = std::get_if<collsim::Impossible>(&made)) {
    std::fprintf(stderr, "impossible: %s\n", impossible->reason.c_str());
    return 1;
  }
  const auto& schedule = std::get<collsim::Schedule>(made);
  if (!collsim::prove(schedule).proven) {
    std::fprintf(stderr, "the schedule is not proven\n");
    return 1;
  }

  collsim::Job job;
  job.schedule = &schedule;
  const collsim::RunResult result = collsim::simulate(topology, {job}, collsim::RunOptions());
  std::printf("ring of 8 MiB over 8 GPUs: %lld ps\n", static_cast<long long>(result.time.picoseconds()));
  return result.status == collsim::RunStatus::ok && result.time.picoseconds() == 160'800'640 ? 0 : 1;
}
