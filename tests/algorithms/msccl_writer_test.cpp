// A schedule written as an MSCCL file reads back to the same schedule.
#include <doctest/doctest.h>

#include <string>

#include "algorithms/msccl_channels.hpp"
#include "algorithms/msccl_check.hpp"
#include "algorithms/msccl_reader.hpp"
#include "algorithms/msccl_schedule.hpp"
#include "algorithms/msccl_writer.hpp"
#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using collsim::algorithms::MscclCheck;
using collsim::algorithms::MscclFile;
using collsim::algorithms::MscclReading;
using collsim::testing::collective_of;
using collsim::testing::ideal_placement;
using collsim::testing::ps;
using collsim::testing::rate_of;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

// One switch, on which reductions and copies take time and messages have overheads.
Topology one_switch(std::int32_t ranks) {
  ClusterSpec cluster;
  cluster.node.gpus = ranks;
  cluster.node.interconnect.kind = ranks > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = rate_of(400'000'000'000);
  cluster.node.interconnect.latency = ps(500'000);
  cluster.node.gpu.reduce_bandwidth = rate_of(900'000'000'000);
  cluster.node.gpu.copy_bandwidth = rate_of(1'100'000'000'000);
  cluster.node.gpu.send_overhead = ps(70'000);
  cluster.node.gpu.receive_overhead = ps(30'000);
  auto built = topologies::build(cluster);
  REQUIRE(std::holds_alternative<Topology>(built));
  return std::get<Topology>(std::move(built));
}

MscclFile read(const std::string& text) {
  auto result = algorithms::read_msccl(text);
  if (const auto* findings = std::get_if<std::vector<algorithms::MscclFinding>>(&result))
    FAIL(findings->front().place.line << ": " << findings->front().text << "\n" << text.substr(0, 2000));
  return std::get<MscclFile>(std::move(result));
}

struct Loop {
  Schedule written;
  Schedule read_back;
  MscclFile file;
};

// Nothing where the cluster or the format cannot do it.
std::optional<Loop> there_and_back(const Schedule& schedule) {
  const auto text = algorithms::write_msccl(schedule);
  if (!std::holds_alternative<std::string>(text)) return std::nullopt;
  Loop loop{schedule, {}, read(std::get<std::string>(text))};
  MscclReading reading;
  reading.slots = schedule.slots;
  auto made = algorithms::schedule_from(loop.file, schedule.collective, schedule.ranks, reading);
  if (const auto* impossible = std::get_if<Impossible>(&made)) FAIL(impossible->reason);
  loop.read_back = std::get<Schedule>(std::move(made));
  return loop;
}

Duration time_of(const Topology& topology, const Schedule& schedule) {
  return simulate(topology, {Job{&schedule, {}, {}, -1}}, {}, {}).time;
}

std::string reason_of(const Schedule& schedule) {
  const auto text = algorithms::write_msccl(schedule);
  const auto* impossible = std::get_if<Impossible>(&text);
  return impossible == nullptr ? "" : impossible->reason;
}

Schedule schedule_of(const AlgorithmRequest& request, const Collective& collective,
                     const Placement& placement) {
  auto made = algorithms::make_schedule(request, collective, placement);
  if (const auto* impossible = std::get_if<Impossible>(&made)) FAIL(impossible->reason);
  return std::get<Schedule>(std::move(made));
}

}  // namespace

TEST_CASE("Every algorithm reads back with the same proof, messages and time") {
  std::int64_t compared = 0;
  for (const std::int32_t ranks : {2, 3, 4, 8}) {
    const Topology topology = one_switch(ranks);
    for (const Variant& variant : variants()) {
      const std::string text = variant.text() + " on " + std::to_string(ranks);
      CAPTURE(text);
      // Divides into equal cells whatever the algorithm's channels, slices and parts.
      const Collective collective = collective_of(variant.kind, 5040 * 64, ranks, ranks / 2);
      const auto made = algorithms::make_schedule(variant.request(), collective, topology.placement());
      if (std::holds_alternative<Impossible>(made)) continue;
      const Schedule& schedule = std::get<Schedule>(made);
      const auto loop = there_and_back(schedule);
      if (!loop) {
        const bool format = schedule.group_count > 0 || variant.kind == CollectiveKind::send_recv ||
                            variant.kind == CollectiveKind::barrier;
        const std::string reason = reason_of(schedule);
        CAPTURE(reason);
        CHECK(format);
        continue;
      }
      ++compared;
      const Proof proof = prove(loop->read_back);
      const std::string failure = proof.failures.empty() ? "" : proof.failures.front().text;
      CAPTURE(failure);
      CHECK(proof.proven);
      CHECK(proof.messages == prove(schedule).messages);
      CHECK(time_of(topology, loop->read_back) == time_of(topology, schedule));
      for (const MscclCheck& check : algorithms::check_msccl(loop->file)) {
        const std::string finding = check.findings.empty() ? "" : check.findings.front().text;
        CAPTURE(finding);
        CHECK(check.verdict == MscclCheck::Verdict::proven);
      }
    }
  }
  CHECK(compared > 50);
}
