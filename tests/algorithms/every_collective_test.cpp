// Every algorithm computes every collective that it lists, in every form, at every rank count, shape and
// option.
#include <doctest/doctest.h>

#include <algorithm>

#include "algorithms/registry.hpp"
#include "sim/model/proof.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/support/requests.hpp"

using namespace collsim;
using collsim::testing::all_shapes;
using collsim::testing::collective_of;
using collsim::testing::ideal_placement;
using collsim::testing::text_of;
using collsim::testing::torus_placement;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

std::string text_of_shape(const Placement& placement) {
  return std::to_string(placement.nodes) + " x " + std::to_string(placement.gpus_per_node) +
         (placement.dimensions.empty() ? "" : " torus");
}

// Whether the cluster can run it; if it can, it is proven.
bool check_proven(const AlgorithmRequest& request, const Collective& collective, const Placement& placement) {
  const auto made = algorithms::make_schedule(request, collective, placement);
  if (const auto* impossible = std::get_if<Impossible>(&made)) {
    CHECK_FALSE(impossible->reason.empty());
    return false;
  }
  const Proof proof = prove(std::get<Schedule>(made));
  const std::string first = proof.failures.empty() ? "" : proof.failures.front().text;
  const std::string text = request.name + " " + std::string(name_of(collective.kind)) + " of " +
                           std::to_string(collective.bytes.count()) + " bytes, root " +
                           std::to_string(collective.root) + ", on " + text_of_shape(placement) + ", " +
                           text_of(request.options) + ": " + first;
  CHECK_MESSAGE(proof.proven, text);
  return true;
}

std::int32_t drawn(Random& random, std::int32_t bound) {
  return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(bound)));
}

// Values of options below `most`, where the algorithm takes them.
AlgorithmOptions drawn_options(const Variant& variant, Random& random, std::int32_t ranks) {
  AlgorithmOptions options = testing::random_options(random, *variant.info, ranks);
  options.levels.clear();  // not every algorithm takes every product; see the tests of levels
  if (variant.takes("slots")) options.slots = random.below(2) == 0 ? 1 : 8;
  return options;
}

// Sizes from nothing over less than an element a rank to uneven ones.
Collective drawn_collective(const Variant& variant, Random& random, std::int32_t ranks) {
  const std::int64_t sizes[] = {0, 1, 5, ranks + 1, 3 * ranks + 2};
  return collective_of(variant.kind, sizes[random.below(5)], ranks, drawn(random, ranks));
}

void check_draws(std::int32_t ranks, int draws) {
  Random random(static_cast<std::uint64_t>(ranks));
  for (const Placement& placement : all_shapes(ranks))
    for (const Variant& variant : variants())
      for (int i = 0; i < draws; ++i)
        check_proven(variant.request(drawn_options(variant, random, ranks)),
                     drawn_collective(variant, random, ranks), placement);
}

}  // namespace

namespace {

// Forms that do not do a collective which their algorithm lists, and one that asks for a power of two.
bool is_possible(const Variant& variant, std::int32_t ranks) {
  const auto is = [&](std::string_view name, std::string_view form) {
    return variant.info->name == name && variant.form == form;
  };
  using enum CollectiveKind;
  const CollectiveKind kind = variant.kind;
  if (is("hierarchical", "leader"))
    return kind == all_reduce || kind == broadcast || kind == reduce || kind == barrier;
  if (is("hierarchical", "rails")) return kind != broadcast && kind != reduce;
  if (is("swing", "latency")) return kind != reduce_scatter && kind != all_gather;
  if (is("pairwise", "xor")) return (ranks & (ranks - 1)) == 0;
  return true;
}

}  // namespace

TEST_CASE("Every variant is possible and proven with its defaults at 1 to 33 ranks, in some shape") {
  for (std::int32_t ranks = 1; ranks <= 33; ++ranks)
    for (const Variant& variant : variants()) {
      bool possible = false;
      const Collective collective = collective_of(variant.kind, 3 * ranks + 2, ranks, ranks / 2);
      for (const Placement& placement : all_shapes(ranks))
        possible = check_proven(variant.request(), collective, placement) || possible;
      const std::string text = variant.text() + " at " + std::to_string(ranks) + " ranks";
      CHECK_MESSAGE(possible == is_possible(variant, ranks), text);
    }
}

TEST_CASE("Every variant is proven with channels, slices and slots at 1 to 9 ranks, in every shape") {
  for (std::int32_t ranks = 1; ranks <= 9; ++ranks)
    for (const Placement& placement : all_shapes(ranks))
      for (const Variant& variant : variants())
        for (const std::int32_t channels : {1, 2, 3})
          for (const std::int32_t slices : {1, 3})
            for (const std::int32_t slots : {1, 8}) {
              const bool repeated = (channels > 1 && !variant.takes("channels")) ||
                                    (slices > 1 && !variant.takes("slices")) ||
                                    (slots > 1 && !variant.takes("slots"));
              if (repeated) continue;
              AlgorithmOptions options;
              if (variant.takes("channels")) options.channels = channels;
              if (variant.takes("slices")) options.slices = slices;
              if (variant.takes("slots")) options.slots = slots;
              check_proven(variant.request(options), collective_of(variant.kind, 5, ranks), placement);
            }
}

TEST_CASE("Every variant is proven with every root at 1 to 11 ranks") {
  for (std::int32_t ranks = 1; ranks <= 11; ++ranks)
    for (const Variant& variant : variants())
      for (Rank root = 0; root < ranks; ++root)
        for (const Placement& placement : all_shapes(ranks)) {
          AlgorithmOptions options;
          if (variant.takes("root")) options.root = root;
          if (!has_root(variant.kind) && !options.root) continue;
          check_proven(variant.request(options), collective_of(variant.kind, 2 * ranks, ranks, root),
                       placement);
        }
}

TEST_CASE("Every variant is proven with random options, sizes and roots at 1 to 33 ranks, in every shape") {
  for (std::int32_t ranks = 1; ranks <= 33; ++ranks) check_draws(ranks, ranks <= 12 ? 3 : 1);
}

TEST_CASE("Every variant is proven at 48, 64, 96 and 128 ranks, in one shape each") {
  for (const std::int32_t ranks : {48, 64, 96, 128}) {
    Random random(static_cast<std::uint64_t>(ranks));
    const std::vector<Placement> shapes = all_shapes(ranks);
    for (const Variant& variant : variants()) {
      const Placement& placement = shapes[random.below(shapes.size())];
      check_proven(variant.request(drawn_options(variant, random, ranks)),
                   drawn_collective(variant, random, ranks), placement);
    }
  }
}

TEST_CASE("Every variant with parts that are empty is proven: zero bytes and fewer elements than ranks") {
  for (const Variant& variant : variants())
    for (const std::int64_t elements : {0, 1, 7})
      for (const Placement& placement : {ideal_placement(1, 9), ideal_placement(3, 3), torus_placement({9})})
        check_proven(variant.request(), collective_of(variant.kind, elements, 9, 4), placement);
}

TEST_CASE("Every variant on nodes of unequal numbers of GPUs is proven, or says that it needs equal ones") {
  const std::string_view text = "the nodes have unequal numbers of GPUs: ";
  for (const std::vector<std::int32_t>& gpus :
       std::vector<std::vector<std::int32_t>>{{8, 8, 4}, {1, 3}, {2, 2, 1, 5}, {1, 1, 1, 2}, {16, 1, 16}}) {
    const Placement placement = testing::uneven_placement(gpus, 2);
    const std::int32_t ranks = placement.ranks();
    Random random(static_cast<std::uint64_t>(ranks));
    for (const Variant& variant : variants())
      for (int i = 0; i < 3; ++i) {
        const AlgorithmRequest request =
            variant.request(i == 0 ? AlgorithmOptions{} : drawn_options(variant, random, ranks));
        const Collective collective = drawn_collective(variant, random, ranks);
        if (check_proven(request, collective, placement) || variant.info->name == "nvls") continue;
        const Placement one_node = ideal_placement(1, ranks);
        const bool anywhere =
            std::holds_alternative<Schedule>(algorithms::make_schedule(request, collective, one_node));
        const bool needs_nodes = variant.info->name == "sharp";
        if (!anywhere && !needs_nodes) continue;
        const auto made = algorithms::make_schedule(request, collective, placement);
        const std::string name = variant.text();
        CHECK_MESSAGE(std::get<Impossible>(made).reason.substr(0, text.size()) == text, name);
        CHECK_MESSAGE(!variant.info->by_number, name);
      }
  }
}

TEST_CASE("Radixes of every kind are proven") {
  for (const Variant& variant : variants()) {
    if (!variant.takes("radix")) continue;
    for (std::int32_t ranks = 1; ranks <= 28; ++ranks)
      for (const std::int32_t radix : {2, 3, 4, 5, 8, 64}) {
        AlgorithmOptions options;
        options.radix = radix;
        for (const Placement& placement : {ideal_placement(1, ranks), ideal_placement(ranks, 1)})
          check_proven(variant.request(options), collective_of(variant.kind, 40, ranks, ranks - 1),
                       placement);
      }
  }
}

TEST_CASE("Every number of servers is proven") {
  for (const Variant& variant : variants()) {
    if (!variant.takes("servers")) continue;
    for (std::int32_t ranks = 1; ranks <= 9; ++ranks)
      for (std::int32_t servers = 1; servers <= ranks; ++servers) {
        AlgorithmOptions options;
        options.servers = servers;
        check_proven(variant.request(options), collective_of(variant.kind, 40, ranks),
                     ideal_placement(1, ranks));
      }
  }
}

TEST_CASE("Levels, rings and tori of every kind are proven") {
  for (const Variant& variant : variants()) {
    if (variant.takes("levels"))
      for (const std::vector<std::int32_t>& levels : std::vector<std::vector<std::int32_t>>{
               {24}, {2, 12}, {12, 2}, {2, 2, 2, 3}, {1, 4, 1, 6}, {3, 8}, {8, 3}}) {
        AlgorithmOptions options;
        options.levels = levels;
        check_proven(variant.request(options), collective_of(variant.kind, 50, 24), ideal_placement(3, 8));
      }
    for (const std::vector<std::int32_t>& sides : std::vector<std::vector<std::int32_t>>{
             {12}, {3, 4}, {4, 3}, {2, 3, 2}, {1, 12}, {6, 1, 2}, {5, 5}, {4, 4}, {2, 2, 2, 2}}) {
      Placement placement = torus_placement(sides);
      const Collective collective = collective_of(variant.kind, 50, placement.ranks(), 3);
      check_proven(variant.request(), collective, placement);
      placement.fabric = FabricKind::mesh;
      check_proven(variant.request(), collective, placement);
    }
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
          CHECK(
              check_proven(request, collective_of(CollectiveKind::all_reduce, 100, nodes * gpus), placement));
        }
}

TEST_CASE("Every variant is proven at 256 ranks with one channel") {
  for (const Variant& variant : variants()) {
    bool possible = false;
    for (const Placement& placement :
         {ideal_placement(32, 8, 8), torus_placement({4, 8, 8}), ideal_placement(1, 256)}) {
      if (possible) break;
      AlgorithmOptions options;
      if (variant.takes("channels")) options.channels = 1;
      possible =
          check_proven(variant.request(options), collective_of(variant.kind, 999, 256, 128), placement);
    }
    const std::string text = variant.text();
    CHECK_MESSAGE(possible == is_possible(variant, 256), text);
  }
}

TEST_CASE("Ring, cascade, double tree and SHARP are proven at 131,072 ranks") {
  for (const char* name : {"ring", "cascade", "double_binary_tree", "sharp"}) {
    CAPTURE(name);
    AlgorithmRequest request{name, {}};
    if (request.name != "sharp") request.options.channels = 1;
    request.options.slices = 1;
    const auto made = algorithms::make_schedule(
        request, collective_of(CollectiveKind::all_reduce, 1 << 18, 131072), ideal_placement(16384, 8, 8));
    REQUIRE(std::holds_alternative<Schedule>(made));
    const auto& schedule = std::get<Schedule>(made);
    const Proof proof = prove(schedule);
    CHECK(proof.proven);
    const bool folded = request.name == "ring" || request.name == "cascade";
    CHECK(proof.method == (folded ? ProofMethod::one_cell_an_orbit : ProofMethod::all_cells));
    CHECK(proof.deadlock_freedom == (folded ? DeadlockFreedom::quotient : DeadlockFreedom::run));
    CHECK(proof.cells_traced == (folded ? 1 : schedule.layout.cells()));
    if (request.name == "ring") CHECK(proof.messages == 2LL * 131072 * 131071);
    if (request.name == "cascade") CHECK(proof.messages == 2LL * 131072 * (7 + 16383));
  }
}

TEST_CASE("The double binary tree cuts halves into pieces of 512 KiB, at most 256") {
  const auto slices = [](std::int64_t bytes) {
    const auto made = algorithms::make_schedule({"double_binary_tree", {}},
                                                collective_of(CollectiveKind::all_reduce, bytes / 4, 4),
                                                ideal_placement(1, 4));
    return std::get<Schedule>(made).slices;
  };
  CHECK(slices(0) == 1);
  CHECK(slices(1 << 20) == 1);
  CHECK(slices((1 << 20) + 8) == 2);
  CHECK(slices(64 << 20) == 64);
  CHECK(slices(std::int64_t{4} << 30) == 256);
}
