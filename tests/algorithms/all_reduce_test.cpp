// Every algorithm computes the all-reduce, at every rank count, shape and option.
#include <doctest/doctest.h>

#include "algorithms/registry.hpp"
#include "sim/model/proof.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using collsim::testing::all_shapes;
using collsim::testing::ideal_placement;

namespace {

Collective all_reduce_of(std::int64_t elements) {
  Collective collective;
  collective.bytes = Bytes(elements * 4);
  return collective;
}

// Empty where the algorithm does not run on such a cluster.
std::optional<Schedule> make(const AlgorithmRequest& request, const Placement& placement,
                             std::int64_t elements) {
  auto made = algorithms::make_schedule(request, all_reduce_of(elements), placement);
  if (auto* schedule = std::get_if<Schedule>(&made)) return *schedule;
  return std::nullopt;
}

void check_proven(const AlgorithmRequest& request, const Placement& placement, std::int64_t elements) {
  const auto schedule = make(request, placement, elements);
  if (!schedule) return;
  const Proof proof = prove(*schedule);
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
}

void check_ranks(std::int32_t ranks, bool options) {
  CAPTURE(ranks);
  for (const Placement& placement : all_shapes(ranks))
    for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
      CAPTURE(info.name);
      CAPTURE(placement.nodes);
      AlgorithmRequest request{std::string(info.name), {}};
      check_proven(request, placement, 3 * ranks + 2);
      for (std::int32_t channels = 1; options && channels <= 3; ++channels)
        for (const std::int32_t slices : {1, 2, 3})
          for (const std::int32_t slots : {1, 8}) {
            if (ranks > 12 && (channels + slices + slots) % 2 != 0) continue;
            CAPTURE(channels);
            CAPTURE(slices);
            CAPTURE(slots);
            request.options.channels = channels;
            request.options.slices = slices;
            request.options.slots = slots;
            check_proven(request, placement, 5);
          }
    }
}

bool runs(std::string_view name, const Placement& placement) {
  return make({std::string(name), {}}, placement, 1).has_value();
}

}  // namespace

TEST_CASE("Every algorithm is proven at 1 to 16 ranks, in every shape, with channels, slices and slots") {
  for (std::int32_t ranks = 1; ranks <= 16; ++ranks) check_ranks(ranks, true);
}

TEST_CASE("Every algorithm is proven at 17 to 33 ranks, in every shape, with channels, slices and slots") {
  for (std::int32_t ranks = 17; ranks <= 33; ++ranks) check_ranks(ranks, true);
}

TEST_CASE("Every algorithm is proven at 64, 96 and 128 ranks in every shape") {
  for (const std::int32_t ranks : {64, 96, 128}) check_ranks(ranks, false);
}

TEST_CASE("Every algorithm is proven at 1000 ranks") {
  for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
    CAPTURE(info.name);
    const Placement placement = info.name == "nvls" ? ideal_placement(1, 1000) : ideal_placement(125, 8, 8);
    REQUIRE(runs(info.name, placement));
    AlgorithmRequest request{std::string(info.name), {}};
    if (info.name == "ring") request.options.channels = 1;
    check_proven(request, placement, 999);
  }
}

TEST_CASE("Ring, cascade, double tree and SHARP are proven at 131,072 ranks") {
  for (const char* name : {"ring", "cascade", "double_binary_tree", "sharp"}) {
    CAPTURE(name);
    AlgorithmRequest request{name, {}};
    if (request.name != "sharp") request.options.channels = 1;
    request.options.slices = 1;
    const auto schedule = make(request, ideal_placement(16384, 8, 8), 1 << 20);
    REQUIRE(schedule.has_value());
    const Proof proof = prove(*schedule);
    CHECK(proof.proven);
    const bool folded = request.name == "ring" || request.name == "cascade";
    CHECK(proof.method == (folded ? ProofMethod::one_cell_an_orbit : ProofMethod::all_cells));
    CHECK(proof.deadlock_freedom == (folded ? DeadlockFreedom::quotient : DeadlockFreedom::run));
    CHECK(proof.cells_traced == (folded ? 1 : schedule->layout.cells()));
    if (request.name == "ring") CHECK(proof.messages == 2LL * 131072 * 131071);
    if (request.name == "cascade") CHECK(proof.messages == 2LL * 131072 * (7 + 16383));
  }
}

TEST_CASE("Every algorithm runs on its ideal cluster at every rank count") {
  for (std::int32_t ranks = 2; ranks <= 33; ++ranks)
    for (const algorithms::AlgorithmInfo& info : algorithms::all()) {
      CAPTURE(ranks);
      CAPTURE(info.name);
      CHECK(runs(info.name, info.name == "sharp" ? ideal_placement(ranks, 1) : ideal_placement(1, ranks)));
    }
}

TEST_CASE("Algorithms are proven where the parts are empty: zero bytes and fewer elements than ranks") {
  for (const algorithms::AlgorithmInfo& info : algorithms::all())
    for (const std::int64_t elements : {0, 1, 7})
      for (const Placement& placement : {ideal_placement(1, 9), ideal_placement(3, 3)}) {
        CAPTURE(info.name);
        check_proven({std::string(info.name), {}}, placement, elements);
      }
}

TEST_CASE("SHARP without reducing switches in the node exchanges directly") {
  for (std::int32_t nodes = 2; nodes <= 5; ++nodes)
    for (std::int32_t gpus = 1; gpus <= 8; ++gpus)
      for (const std::int32_t slices : {1, 3})
        for (const std::int32_t slots : {1, 8}) {
          Placement placement = ideal_placement(nodes, gpus, gpus);
          placement.node_reduction.enabled = false;
          AlgorithmRequest request{"sharp", {}};
          request.options.slices = slices;
          request.options.slots = slots;
          CAPTURE(nodes);
          CAPTURE(gpus);
          REQUIRE(runs("sharp", placement));
          check_proven(request, placement, 100);
        }
}

TEST_CASE("Rings, roots and levels of every kind are proven") {
  Placement placement = ideal_placement(12, 1, 0);
  for (const FabricKind fabric : {FabricKind::torus, FabricKind::mesh}) {
    placement.fabric = fabric;
    for (const std::vector<std::int32_t>& sides :
         std::vector<std::vector<std::int32_t>>{{12}, {3, 4}, {4, 3}, {2, 3, 2}, {1, 12}, {6, 1, 2}}) {
      placement.dimensions = sides;
      check_proven({"ring", {}}, placement, 50);
      check_proven({"cascade", {}}, placement, 50);
    }
  }
  AlgorithmRequest cascade{"cascade", {}};
  for (const std::vector<std::int32_t>& levels :
       std::vector<std::vector<std::int32_t>>{{24}, {2, 12}, {12, 2}, {2, 2, 2, 3}, {1, 4, 1, 6}, {3, 8}}) {
    cascade.options.levels = levels;
    CHECK(make(cascade, ideal_placement(3, 8), 1).has_value());
    check_proven(cascade, ideal_placement(3, 8), 50);
  }
  AlgorithmRequest binomial{"binomial_tree", {}};
  for (std::int32_t root = 0; root < 11; ++root) {
    binomial.options.root = root;
    check_proven(binomial, ideal_placement(1, 11), 50);
  }
}

namespace {

// Bytes that leave `rank` as messages.
std::int64_t bytes_out(const Schedule& schedule, Rank rank) {
  std::int64_t total = 0;
  for (std::int32_t stream = 0; stream < schedule.stream_count(rank); ++stream)
    for (std::int64_t i = 0; i < operation_count(schedule, rank, stream); ++i) {
      const Operation item = operation(schedule, rank, stream, i);
      if (item.kind == OperationKind::send) total += size_of(schedule.layout, item.chunk).count();
    }
  return total;
}

}  // namespace

TEST_CASE("Ring, cascade and two-shot send 2(N-1)/N of the vector from every rank") {
  for (const char* name : {"ring", "cascade", "two_shot"})
    for (std::int32_t ranks = 2; ranks <= 24; ++ranks)
      for (const Placement& placement : all_shapes(ranks)) {
        CAPTURE(name);
        CAPTURE(ranks);
        const std::int64_t elements = std::int64_t{ranks} * 12;
        const auto schedule = make({name, {}}, placement, elements);
        REQUIRE(schedule.has_value());
        for (Rank rank = 0; rank < ranks; ++rank)
          CHECK(bytes_out(*schedule, rank) == 2 * (ranks - 1) * 12 * 4);
      }
}

TEST_CASE("The double binary tree sends at most twice the vector from every rank") {
  for (std::int32_t ranks = 2; ranks <= 33; ++ranks) {
    AlgorithmRequest request{"double_binary_tree", {}};
    request.options.order = RankOrder::rank;
    const auto schedule = make(request, ideal_placement(1, ranks), 1000);
    REQUIRE(schedule.has_value());
    for (Rank rank = 0; rank < ranks; ++rank) CHECK(bytes_out(*schedule, rank) <= 2 * 4000);
  }
}

TEST_CASE("The double binary tree cuts halves into pieces of 512 KiB, at most 256") {
  const auto slices = [](std::int64_t bytes) {
    return make({"double_binary_tree", {}}, ideal_placement(1, 4), bytes / 4)->slices;
  };
  CHECK(slices(0) == 1);
  CHECK(slices(1 << 20) == 1);
  CHECK(slices((1 << 20) + 8) == 2);
  CHECK(slices(64 << 20) == 64);
  CHECK(slices(std::int64_t{4} << 30) == 256);
}
