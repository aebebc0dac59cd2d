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

// The steps that the sends become: blocks that do not lie side by side in memory are sent apart. Parts lie in
// the order of their owners, and the pieces of a part side by side.
std::int64_t pieces_of(const Schedule& schedule) {
  const std::int32_t regions = schedule.layout.regions();
  const std::int32_t each = schedule.layout.blocks() / schedule.ranks;
  std::int64_t pieces = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation each_operation = operation(schedule, rank, stream, i);
        if (each_operation.kind != OperationKind::send) continue;
        const Chunk& chunk = each_operation.chunk;
        ++pieces;
        if (!in_parts(schedule.collective.kind) || chunk.buffer == Buffer::scratch || !schedule.owner)
          continue;
        for (std::int32_t block = chunk.block + 1; block < chunk.block + chunk.span; ++block)
          if (regions > 1 || each > 1 ||
              owner_of(schedule, chunk.region, block) != owner_of(schedule, chunk.region, block - 1) + 1)
            ++pieces;
      }
  return pieces;
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
  std::int64_t alike = 0;
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
      CHECK(proof.messages == pieces_of(schedule));
      if (proof.messages != prove(schedule).messages) continue;
      ++alike;
      CHECK(time_of(topology, loop->read_back) == time_of(topology, schedule));
      for (const MscclCheck& check : algorithms::check_msccl(loop->file)) {
        const std::string finding = check.findings.empty() ? "" : check.findings.front().text;
        CAPTURE(finding);
        CHECK(check.verdict == MscclCheck::Verdict::proven);
      }
    }
  }
  CHECK(compared > 200);
  CHECK(alike > compared - 20);
}

TEST_CASE("A ring of eight is written as 112 messages, operation by operation as it was") {
  const Collective collective = collective_of(CollectiveKind::all_reduce, 8 * 16, 8);
  const Schedule schedule = schedule_of({"ring", {}}, collective, ideal_placement(1, 8));
  const auto loop = there_and_back(schedule);
  REQUIRE(loop);
  const std::vector<MscclCheck> checks = algorithms::check_msccl(loop->file);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].verdict == MscclCheck::Verdict::proven);
  CHECK(checks[0].findings.empty());
  CHECK(checks[0].messages == 112);
  CHECK(checks[0].slots_min == 1);
  for (Rank rank = 0; rank < 8; ++rank) {
    REQUIRE(loop->read_back.stream_count(rank) == schedule.stream_count(rank));
    for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream) {
      REQUIRE(operation_count(loop->read_back, rank, stream) == operation_count(schedule, rank, stream));
      for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
        const Operation before = operation(schedule, rank, stream, i);
        const Operation after = operation(loop->read_back, rank, stream, i);
        CHECK(after.kind == before.kind);
        CHECK(after.chunk == before.chunk);
        CHECK(after.peer == before.peer);
        REQUIRE(after.waits.size() == before.waits.size());
        for (std::size_t wait = 0; wait < before.waits.size(); ++wait) {
          CHECK(after.waits[wait].stream == before.waits[wait].stream);
          CHECK(after.waits[wait].operation == before.waits[wait].operation);
        }
      }
    }
  }
}

TEST_CASE("A stream with several peers is dealt to thread blocks that keep its order") {
  // Recursive doubling on 8 ranks: one stream with three peers.
  const Collective collective = collective_of(CollectiveKind::all_reduce, 8, 8);
  const Schedule schedule = schedule_of({"recursive_doubling", {}}, collective, ideal_placement(1, 8));
  const auto loop = there_and_back(schedule);
  REQUIRE(loop);
  for (const algorithms::MscclGpu& gpu : loop->file.gpus)
    for (const algorithms::MscclThreadBlock& tb : gpu.tbs) {
      std::int32_t sends = 0;
      for (const algorithms::MscclStep& step : tb.steps) sends += algorithms::sends(step.type) ? 1 : 0;
      CHECK(sends <= 1);
    }
  CHECK(prove(loop->read_back).proven);
}

TEST_CASE("Connections are spread over channels where more than 32 thread blocks of a gpu meet on one") {
  const Collective collective = collective_of(CollectiveKind::all_to_all, 40 * 4, 40);
  const auto loop = there_and_back(schedule_of({"direct", {}}, collective, ideal_placement(1, 40)));
  REQUIRE(loop);
  CHECK(loop->file.channels == 2);
  const std::vector<MscclCheck> checks = algorithms::check_msccl(loop->file);
  CHECK(checks[0].verdict == MscclCheck::Verdict::proven);
  CHECK(checks[0].warnings == 0);
}

TEST_CASE("Channels that fit stay, others move to the first with room, and 32 are the limit") {
  using algorithms::fit_channels;
  using algorithms::MscclEnds;
  std::vector<MscclEnds> tbs = {{0, 1, 1, 7}, {1, 0, 0, 7}, {2, -1, -1, 3}};
  REQUIRE(fit_channels(tbs));
  CHECK(tbs[0].channel == 7);
  CHECK(tbs[2].channel == 3);
  tbs = {{0, 1, 1, 40}, {1, 0, 0, 40}, {0, 1, -1, 2}, {1, -1, 0, 2}};
  REQUIRE(fit_channels(tbs));
  CHECK(tbs[0].channel == 0);
  CHECK(tbs[1].channel == 0);
  CHECK(tbs[2].channel == 2);
  CHECK(tbs[3].channel == 2);
  tbs.clear();
  for (std::int32_t channel = 0; channel < 33; ++channel) {
    tbs.push_back({0, 1, -1, channel});
    tbs.push_back({1, -1, 0, channel});
  }
  CHECK_FALSE(fit_channels(tbs));
  tbs.resize(64);
  CHECK(fit_channels(tbs));
}

TEST_CASE("What MSCCL cannot say is named") {
  const Placement eight = ideal_placement(1, 8);
  const auto of = [&](const char* name, CollectiveKind kind, std::int64_t elements) {
    return reason_of(schedule_of({name, {}}, collective_of(kind, elements, 8), eight));
  };
  CHECK(of("nvls", CollectiveKind::all_reduce, 64) == "MSCCL has no reduction in switches");
  CHECK(of("ring", CollectiveKind::all_reduce, 63) ==
        "63 elements are no equal parts for 8 chunks, and the chunks of a file are equal");
  CHECK(of("direct", CollectiveKind::send_recv, 64) == "MSCCL has no send_recv");
  CHECK(of("recursive_doubling", CollectiveKind::barrier, 0) == "MSCCL has no barrier");
  AlgorithmOptions options;
  options.channels = 33;
  CHECK(reason_of(
            schedule_of({"ring", options}, collective_of(CollectiveKind::all_reduce, 8 * 33, 8), eight)) ==
        "its connections need more than the 32 channels of NCCL, with 32 thread blocks of a gpu on each");
}

TEST_CASE("A file gives a schedule for its own collective, ranks and whole chunks alone") {
  const Schedule schedule =
      schedule_of({"ring", {}}, collective_of(CollectiveKind::all_reduce, 8 * 3, 8), ideal_placement(1, 8));
  const MscclFile file = read(std::get<std::string>(algorithms::write_msccl(schedule)));
  const auto reason = [&file](CollectiveKind kind, std::int64_t elements, std::int32_t ranks) {
    const auto made = algorithms::schedule_from(file, collective_of(kind, elements, ranks), ranks);
    const auto* impossible = std::get_if<Impossible>(&made);
    return impossible == nullptr ? std::string() : impossible->reason;
  };
  CHECK(reason(CollectiveKind::all_reduce, 800, 8).empty());
  CHECK(reason(CollectiveKind::all_gather, 800, 8) == "the file does all_reduce, not all_gather");
  CHECK(reason(CollectiveKind::all_reduce, 800, 4) == "the file is for 8 gpus, not 4");
  CHECK(reason(CollectiveKind::all_reduce, 801, 8) ==
        "801 elements are no equal parts for 8 chunks (nchunksperloop); NCCL does not take the file then");
}
