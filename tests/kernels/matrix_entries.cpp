#include <optional>
#include <utility>

#include "algorithms/msccl_schedule.hpp"
#include "algorithms/synthesized.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/algorithms/msccl_samples.hpp"
#include "tests/kernels/matrix.hpp"
#include "tests/support/requests.hpp"
#include "topologies/build.hpp"
#include "topologies/forest.hpp"

namespace collsim::kernels::testing {
namespace {

using algorithms::ScheduleOrReason;
using collsim::testing::Variant;

Entry entry_of(const Variant& variant, AlgorithmOptions options, const Placement& placement) {
  Entry entry;
  entry.kind = variant.kind;
  entry.ranks = placement.ranks();
  entry.any_root = true;
  entry.text = variant.text() + ", " + std::to_string(placement.nodes) + " x " +
               std::to_string(placement.gpus_per_node) + " ranks";
  const std::string asked = collsim::testing::text_of(options);
  if (!asked.empty()) entry.text += ", " + asked;
  entry.make = [request = variant.request(std::move(options)), placement](const Collective& collective) {
    return algorithms::make_schedule(request, collective, placement);
  };
  return entry;
}

bool can(const Entry& entry) {
  const Collective collective = collsim::testing::collective_of(entry.kind, 64, entry.ranks);
  return std::holds_alternative<Schedule>(entry.make(collective));
}

Topology topology_of(const ClusterSpec& cluster) { return std::get<Topology>(topologies::build(cluster)); }

// One node with a switch; and nodes of a GPU, cabled in a ring.
std::vector<Topology> topologies_of(std::int32_t ranks) {
  ClusterSpec node;
  node.node.gpus = ranks;
  node.node.interconnect.kind = InterconnectKind::nvswitch;
  node.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(100);
  std::vector<Topology> result;
  result.push_back(topology_of(node));
  if (ranks < 3) return result;
  ClusterSpec ring;
  ring.nodes = ranks;
  ring.fabric.kind = FabricKind::ring;
  ring.fabric.bandwidth = Bandwidth::gigabytes_per_second(50);
  result.push_back(topology_of(ring));
  return result;
}

Entry entry_of_file(const std::string& name, const std::string& text) {
  const algorithms::MscclFile file = collsim::testing::file_of(text);
  Entry entry;
  entry.kind = file.kind;
  entry.ranks = file.ranks;
  entry.text = "file of " + name + ", " + std::to_string(file.ranks) + " ranks";
  entry.make = [file](const Collective& collective) {
    return algorithms::schedule_from(file, collective, file.ranks);
  };
  return entry;
}

}  // namespace

std::vector<Entry> registry_entries(std::int32_t ranks) {
  std::vector<Entry> entries;
  for (const Variant& variant : collsim::testing::variants()) {
    std::optional<Entry> chosen;
    for (const Placement& placement : collsim::testing::all_shapes(ranks)) {
      const bool nested = placement.nodes > 1 && placement.gpus_per_node > 1;
      if (chosen && !nested) continue;
      Entry entry = entry_of(variant, {}, placement);
      if (!can(entry)) continue;
      chosen = std::move(entry);
      if (nested) break;
    }
    if (chosen) entries.push_back(std::move(*chosen));
  }
  return entries;
}

std::vector<Entry> registry_entries_everywhere(std::int32_t ranks, std::uint64_t seed) {
  Random random(seed);
  std::vector<Entry> entries;
  for (const Variant& variant : collsim::testing::variants())
    for (const Placement& placement : collsim::testing::all_shapes(ranks)) {
      AlgorithmOptions options = collsim::testing::random_options(random, *variant.info, ranks);
      Entry entry = entry_of(variant, std::move(options), placement);
      if (!can(entry)) entry = entry_of(variant, {}, placement);
      if (can(entry)) entries.push_back(std::move(entry));
    }
  return entries;
}

std::vector<Entry> synthesized_entries(std::int32_t ranks) {
  std::vector<Entry> entries;
  for (const Topology& topology : topologies_of(ranks))
    for (const CollectiveKind kind : algorithms::synthesized_info().collectives) {
      Entry entry;
      entry.kind = kind;
      entry.ranks = ranks;
      entry.text = "synthesized " + std::string(name_of(kind)) + ", " + std::to_string(ranks) + " ranks";
      const Forest forest = std::get<Forest>(topologies::pack_forest(topology, kind));
      entry.make = [forest, placement = topology.placement()](const Collective& collective) {
        return algorithms::synthesized(collective, placement, {}, forest);
      };
      entries.push_back(std::move(entry));
    }
  return entries;
}

std::vector<Entry> file_entries(std::int32_t ranks) {
  if (ranks < 3) return {};
  std::vector<Entry> entries;
  entries.push_back(entry_of_file("a fused ring", collsim::testing::fused_ring(ranks)));
  entries.push_back(entry_of_file("a fused ring out of place", collsim::testing::fused_ring(ranks, false)));
  entries.push_back(entry_of_file("a ring of two channels", collsim::testing::plain_ring(ranks, 2)));
  entries.push_back(entry_of_file("all pairs", collsim::testing::all_pairs(ranks)));
  entries.push_back(entry_of_file("an all_gather", collsim::testing::gather_ring(ranks, true)));
  entries.push_back(entry_of_file("an all_gather out of place", collsim::testing::gather_ring(ranks, false)));
  entries.push_back(entry_of_file("an all_to_all", collsim::testing::all_to_all(ranks)));
  return entries;
}

}  // namespace collsim::kernels::testing
