// Rings and recursive exchanges: proven at many rank counts, bytes and times by formula, symmetries, folding.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/registry.hpp"
#include "sim/execution/simulation.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/symmetry.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"

using namespace collsim;
using testing::pair_network;
using testing::port_network;
using testing::ps;
using testing::rate_of;

namespace {

using enum CollectiveKind;

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t mib = 1 << 20;

const std::vector<std::string_view> names = {
    "ring",  "bidirectional_ring", "segmented_ring", "recursive_doubling", "rabenseifner", "halving_doubling",
    "bcube", "swing",              "bruck",          "pat",                "pairwise"};

std::vector<testing::Variant> exchanges() {
  std::vector<testing::Variant> chosen;
  for (const testing::Variant& variant : testing::variants())
    if (std::find(names.begin(), names.end(), variant.info->name) != names.end()) chosen.push_back(variant);
  return chosen;
}

Placement flat(std::int32_t ranks) {
  Placement placement;
  placement.gpus_per_node = ranks;
  placement.interconnect = InterconnectKind::nvswitch;
  return placement;
}

// The two form words that ask for less than any rank count and every collective.
bool applies(const testing::Variant& variant, std::int32_t ranks) {
  if (variant.form == "xor") return (ranks & (ranks - 1)) == 0;
  return variant.form != "latency" || variant.kind == all_reduce;
}

Schedule make(const testing::Variant& variant, std::int64_t elements, const Placement& placement,
              const AlgorithmOptions& options = {}, Rank root = 0) {
  auto made = algorithms::make_schedule(
      variant.request(options), testing::collective_of(variant.kind, elements, placement.ranks(), root),
      placement);
  if (const auto* reason = std::get_if<Impossible>(&made)) FAIL(reason->reason);
  return std::get<Schedule>(std::move(made));
}

void check_proven(const Schedule& schedule) {
  const Proof proof = prove_all_cells(schedule);
  CHECK(proof.proven);
  for (const ProofFailure& failure : proof.failures) FAIL_CHECK(failure.text);
}

[[maybe_unused]] testing::Variant variant_of(std::string_view name, CollectiveKind kind, std::string form = "") {
  for (const testing::Variant& variant : exchanges())
    if (variant.info->name == name && variant.kind == kind && (form.empty() || variant.form == form))
      return variant;
  FAIL("no such variant");
  return {};
}

}  // namespace

TEST_CASE("Exchanges are proven at 1 to 40 ranks, with parts of few elements and of none") {
  for (std::int32_t ranks = 1; ranks <= 40; ++ranks)
    for (const testing::Variant& variant : exchanges()) {
      if (!applies(variant, ranks)) continue;
      CAPTURE(ranks);
      CAPTURE(variant.text());
      check_proven(make(variant, ranks % 3 == 0 ? 0 : ranks / 2 + 1, flat(ranks)));
    }
}
