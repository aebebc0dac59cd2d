#include "kernels/diagnosis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/proof.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"
#include "tests/support/mutations.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/serial_backend.hpp"

using namespace collsim;
using namespace collsim::kernels;
using collsim::testing::all_faults;
using collsim::testing::Fault;
using collsim::testing::Mutant;
using collsim::testing::SerialBackend;

namespace {

// What of a proof's failures is said of cells; the others are accesses that nothing orders.
std::vector<std::string> wrong_cells_of(const Proof& proof) {
  std::vector<std::string> texts;
  for (const ProofFailure& failure : proof.failures)
    if (failure.text.find(", stream ") == std::string::npos) texts.push_back(failure.text);
  return texts;
}

std::vector<std::string> texts_of(const Diagnosis& diagnosis) {
  std::vector<std::string> texts;
  for (const CellFinding& finding : diagnosis.findings) texts.push_back(finding.failure.text);
  return texts;
}

struct Tally {
  int proven = 0;
  int values = 0;  // wrong in any order
  int races = 0;   // accesses that nothing orders
  int malformed = 0;
  int deadlocks = 0;
};

// Compares what a proof says of a mutant with what running it shows.
void compare(const Mutant& mutant, Backend& backend, Tally& tally) {
  INFO(mutant.text);
  const Proof proof = prove_all_cells(mutant.schedule);
  const auto made = plan_of(mutant.schedule, {});
  if (const auto* none = std::get_if<NoPlan>(&made)) {
    ++(none->deadlock ? tally.deadlocks : tally.malformed);
    CHECK_FALSE(proof.proven);
    CHECK(none->deadlock == proof.deadlock);
    CHECK_FALSE(none->too_large);
    REQUIRE(none->failures.size() == proof.failures.size());
    for (std::size_t i = 0; i < none->failures.size(); ++i)
      CHECK(none->failures[i].text == proof.failures[i].text);
    return;
  }
  CHECK_FALSE(proof.deadlock);
  const Diagnosis diagnosis = diagnose(mutant.schedule, backend);
  CHECK(diagnosis.findings.size() ==
        static_cast<std::size_t>(std::min<std::int64_t>(diagnosis.wrong_cells, 20)));
  const std::vector<std::string> cells = wrong_cells_of(proof);
  const bool unordered = cells.size() < proof.failures.size();
  if (proof.proven) {
    ++tally.proven;
    CHECK(diagnosis.right());
  } else if (!unordered) {
    ++tally.values;
    CHECK(texts_of(diagnosis) == cells);
    CHECK_FALSE(diagnosis.only_in_some_orders);
  } else {
    ++tally.races;
    INFO(proof.failures.back().text);
    CHECK_FALSE(diagnosis.right());
    // The plan's order is that of the proof, so what is wrong there is the same. But an aggregation reads
    // when all have posted, and the proof when each posts: what writes in between is seen by one only.
    if (cells.empty())
      CHECK(diagnosis.only_in_some_orders);
    else if (mutant.schedule.group_count == 0)
      CHECK(texts_of(diagnosis) == cells);
  }
}

struct Case {
  const char* algorithm;
  CollectiveKind kind;
  AlgorithmOptions options;
};

std::vector<Case> cases() {
  using enum CollectiveKind;
  AlgorithmOptions plain;
  AlgorithmOptions two;
  two.channels = 2;
  AlgorithmOptions sliced;
  sliced.slices = 3;
  return {{"ring", all_reduce, plain},
          {"ring", all_reduce, two},
          {"ring", reduce_scatter, plain},
          {"ring", all_gather, plain},
          {"ring", broadcast, sliced},
          {"double_binary_tree", all_reduce, sliced},
          {"binomial_tree", reduce, plain},
          {"binomial_tree", broadcast, plain},
          {"cascade", all_reduce, plain},
          {"segmented_ring", all_reduce, sliced},
          {"recursive_doubling", all_reduce, plain},
          {"halving_doubling", all_reduce, plain},
          {"two_shot", all_reduce, plain},
          {"one_shot", all_reduce, plain},
          {"bruck", all_gather, plain},
          {"bruck", all_to_all, plain},
          {"pairwise", all_to_all, plain},
          {"direct", all_to_all, plain},
          {"direct", scatter, plain},
          {"direct", gather, plain},
          {"nvls", all_reduce, plain},
          {"nvls", reduce_scatter, plain},
          {"collnet_chain", all_reduce, plain},
          {"swing", all_reduce, plain},
          {"bcube", all_reduce, plain}};
}

std::optional<Schedule> schedule_of(const Case& item, std::int32_t ranks, std::int64_t elements) {
  const auto* info = algorithms::find(item.algorithm);
  REQUIRE_MESSAGE(info != nullptr, item.algorithm);
  const Collective collective = testing::collective_of(item.kind, elements, ranks, ranks - 1);
  auto made = algorithms::make_schedule({item.algorithm, item.options}, collective,
                                        testing::ideal_placement(1, ranks));
  if (std::holds_alternative<Impossible>(made)) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

Schedule schedule_of(const char* algorithm, CollectiveKind kind, std::int32_t ranks,
                     const AlgorithmOptions& options = {}) {
  auto schedule = schedule_of(Case{algorithm, kind, options}, ranks, 720);
  REQUIRE(schedule.has_value());
  return *std::move(schedule);
}

void check_faults(std::int32_t ranks, std::size_t most) {
  SerialBackend backend;
  std::map<std::string, Tally> tallies;
  Random random(static_cast<std::uint64_t>(ranks));
  for (const Case& item : cases()) {
    const auto schedule = schedule_of(item, ranks, 720);
    if (!schedule) continue;
    INFO(item.algorithm << ", " << ranks << " ranks");
    for (const Fault fault : all_faults())
      for (const Mutant& mutant : testing::mutants_of(*schedule, fault, most, random))
        compare(mutant, backend, tallies[testing::name_of(fault)]);
  }
  // That there was something to be found of each kind.
  CHECK(tallies["not added"].values > 0);
  CHECK(tallies["added"].values > 0);
  CHECK(tallies["other block"].values > 0);
  CHECK(tallies["other source"].values > 0);
  CHECK(tallies["swapped operations"].proven > 0);
  CHECK(tallies["swapped operations"].races > 0);
  CHECK(tallies["forgotten wait"].races > 0);
  CHECK(tallies["forgotten operation"].malformed > 0);
  CHECK(tallies["forgotten operation"].deadlocks > 0);
  CHECK(tallies["few slots"].deadlocks > 0);
}

}  // namespace

TEST_CASE("Faults in schedules are found by running them: up to 5 ranks") {
  for (std::int32_t ranks = 2; ranks <= 5; ++ranks) check_faults(ranks, 4);
}

TEST_CASE("Faults in schedules are found by running them: 6 to 9 ranks") {
  for (std::int32_t ranks = 6; ranks <= 9; ++ranks) check_faults(ranks, 2);
}

TEST_CASE("Faults in schedules are found by the threads of this machine") {
  const auto backend = cpu_backend(2);
  Random random(5);
  Tally tally;
  const Schedule ring = schedule_of("ring", CollectiveKind::all_reduce, 4);
  const Schedule exchange = schedule_of("two_shot", CollectiveKind::all_reduce, 3);
  for (const Schedule* schedule : {&ring, &exchange})
    for (const Fault fault : {Fault::not_added, Fault::added, Fault::other_block, Fault::forgotten_wait})
      for (const Mutant& mutant : testing::mutants_of(*schedule, fault, 3, random))
        compare(mutant, *backend, tally);
  CHECK(tally.values > 0);
}

TEST_CASE("Nothing is found in what the algorithms make") {
  SerialBackend backend;
  for (const std::int32_t ranks : {1, 3, 4})
    for (const testing::Variant& variant : testing::variants()) {
      const Collective collective = testing::collective_of(variant.kind, 7, ranks);
      auto made =
          algorithms::make_schedule(variant.request(), collective, testing::ideal_placement(1, ranks));
      if (std::holds_alternative<Impossible>(made)) continue;
      INFO(variant.text() << ", " << ranks << " ranks");
      const Diagnosis diagnosis = diagnose(std::get<Schedule>(made), backend);
      CHECK(diagnosis.right());
      CHECK(diagnosis.findings.empty());
      CHECK_FALSE(diagnosis.only_in_some_orders);
      CHECK(diagnosis.orders_run >= 7);
    }
}

TEST_CASE("More contributors than one run can count are counted in several") {
  AlgorithmOptions options;
  options.channels = 4;
  options.slices = 6;
  const Schedule schedule = schedule_of("ring", CollectiveKind::all_reduce, 8, options);
  REQUIRE(schedule.layout.cells() * schedule.ranks > 1008);
  SerialBackend backend;
  Random random(3);
  Tally tally;
  for (const Fault fault : {Fault::not_added, Fault::other_block, Fault::forgotten_wait})
    for (const Mutant& mutant : testing::mutants_of(schedule, fault, 6, random))
      compare(mutant, backend, tally);
  CHECK(tally.values > 6);
}

TEST_CASE("What is found is said in words") {
  Schedule frame = empty_schedule("handmade", testing::collective_of(CollectiveKind::reduce, 3, 2, 0), 2);
  const Chunk whole{};
  const auto operation_of = [&](OperationKind kind, Rank peer) {
    Operation item;
    item.kind = kind;
    item.peer = Peer{peer, 0};
    item.chunk = item.source = whole;
    return item;
  };
  SerialBackend backend;
  const auto text_of_run = [&](const std::vector<Operation>& of_zero) {
    testing::Streams streams(2);
    streams[0].push_back(of_zero);
    streams[1].push_back({operation_of(OperationKind::send, 0)});
    const Diagnosis diagnosis = diagnose(testing::roll(frame, streams), backend);
    CHECK(diagnosis.wrong_cells == 1);
    REQUIRE(diagnosis.findings.size() == 1);
    CHECK(diagnosis.findings[0].rank == 0);
    CHECK(diagnosis.findings[0].cell == 0);
    CHECK(diagnosis.findings[0].failure.rank == 0);
    return diagnosis.findings[0].failure.text;
  };
  const Operation adds = operation_of(OperationKind::receive_reduce, 1);
  const Operation doubles = operation_of(OperationKind::reduce, -1);
  CHECK(text_of_run({operation_of(OperationKind::receive, 1)}) == "rank 0: block 0 of region 0 lacks rank 0");
  CHECK(text_of_run({doubles, adds}) == "rank 0: block 0 of region 0 holds rank 0 twice");
  CHECK(text_of_run({doubles, doubles, adds}) == "rank 0: block 0 of region 0 holds rank 0 4 times");
  CHECK(text_of_run({doubles, adds, doubles}) ==
        "rank 0: block 0 of region 0 holds rank 0 4 times, rank 1 twice");
  // A count of 16 and more cannot be read.
  CHECK(text_of_run({doubles, doubles, doubles, doubles, adds}) ==
        "rank 0: block 0 of region 0 holds a wrong sum");
  // Into scratch only: what the rank gave is all it has.
  frame.layout.set_scratch_blocks(1);
  Operation aside = operation_of(OperationKind::receive, 1);
  aside.chunk.buffer = Buffer::scratch;
  CHECK(text_of_run({aside}) == "rank 0: block 0 of region 0 lacks rank 1");
  Operation early = operation_of(OperationKind::reduce, -1);
  early.source.buffer = Buffer::scratch;
  CHECK(text_of_run({early, adds}) ==
        "rank 0: block 0 of region 0 holds what was in block 0 of region 0 of scratch of rank 0 before");
}
