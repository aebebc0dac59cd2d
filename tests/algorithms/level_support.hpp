// What the tests of level and switch algorithms share.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/symmetry.hpp"
#include "tests/support/networks.hpp"
#include "topologies/build.hpp"

namespace collsim::testing {

inline Collective bytes_of(CollectiveKind kind, std::int64_t bytes, Rank root = 0) {
  Collective collective;
  collective.kind = kind;
  collective.bytes = Bytes(bytes);
  collective.root = root;
  return collective;
}

inline Schedule make(const std::string& name, const AlgorithmOptions& options, const Collective& collective,
                     const Placement& placement) {
  auto made = algorithms::make_schedule({name, options}, collective, placement);
  REQUIRE_MESSAGE(std::holds_alternative<Schedule>(made), std::get<Impossible>(made).reason);
  return std::get<Schedule>(std::move(made));
}

inline std::string reason(const std::string& name, const AlgorithmOptions& options,
                          const Collective& collective, const Placement& placement) {
  const auto made = algorithms::make_schedule({name, options}, collective, placement);
  const auto* impossible = std::get_if<Impossible>(&made);
  return impossible != nullptr ? impossible->reason : "possible";
}

inline void check_proof(const Proof& proof) {
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
  for (const std::string& rejected : proof.rejected_symmetries) FAIL_CHECK(rejected);
}

// By all cells and by whatever prove() takes; every published symmetry holds.
inline void check_proven(const Schedule& schedule) {
  check_proof(prove_all_cells(schedule));
  check_proof(prove(schedule));
  for (const Symmetry& symmetry : schedule.symmetries)
    CHECK(verify_symmetry(schedule, symmetry).value_or("holds") == "holds");
}

inline Topology built(const ClusterSpec& cluster) {
  auto result = topologies::build(cluster);
  REQUIRE_MESSAGE(std::holds_alternative<Topology>(result), std::get<topologies::BuildError>(result).message);
  return std::get<Topology>(std::move(result));
}

inline RunResult run(const Topology& topology, const Schedule& schedule,
                     Shortcuts shortcuts = Shortcuts::automatic) {
  REQUIRE(impossible_reason(topology, schedule).value_or("possible") == "possible");
  RunOptions options;
  options.shortcuts = shortcuts;
  return simulate(topology, {Job{&schedule, {}, {}, -1}}, options, {});
}

// The time of a run, which must be the same with everything folded and with nothing.
inline Duration time_of(const Topology& topology, const Schedule& schedule) {
  const RunResult plain = run(topology, schedule, Shortcuts::plain);
  const RunResult folded = run(topology, schedule, Shortcuts::fold);
  CHECK(plain.status == RunStatus::ok);
  CHECK(folded.time == plain.time);
  CHECK(folded.rank_finish == plain.rank_finish);
  CHECK(folded.link_bytes == plain.link_bytes);
  CHECK(folded.messages == plain.messages);
  return plain.time;
}

// Bytes that leave `rank` as messages.
inline std::int64_t bytes_out(const Schedule& schedule, Rank rank) {
  std::int64_t total = 0;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
    for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
      const Operation item = operation(schedule, rank, stream, i);
      if (item.kind == OperationKind::send) total += size_of(schedule.layout, item.chunk).count();
    }
  return total;
}

}  // namespace collsim::testing
