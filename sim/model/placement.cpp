#include "sim/model/placement.hpp"

#include <algorithm>
#include <set>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

// Ranks of a part that follow each other and lie in one node.
struct Run {
  std::int32_t node = 0;
  std::vector<std::int32_t> gpus;  // numbers in their node
};

std::vector<Run> runs_of(const Placement& whole, const std::vector<Rank>& ranks) {
  std::vector<Run> runs;
  for (const Rank rank : ranks) {
    const std::int32_t node = whole.node_of(rank);
    if (runs.empty() || runs.back().node != node) runs.push_back({node, {}});
    runs.back().gpus.push_back(rank - whole.first_rank_of(node));
  }
  return runs;
}

bool is_node_by_node(const std::vector<Run>& runs) {
  std::set<std::int32_t> nodes;
  return std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return nodes.insert(run.node).second; });
}

std::vector<Run> single_gpus(const std::vector<Run>& runs) {
  std::vector<Run> singles;
  for (const Run& run : runs)
    for (const std::int32_t gpu : run.gpus) singles.push_back({run.node, {gpu}});
  return singles;
}

// All GPUs of its node, by number.
bool is_whole_node(const Placement& whole, const Run& run) {
  return static_cast<std::int32_t>(run.gpus.size()) == whole.gpus_of(run.node) &&
         std::is_sorted(run.gpus.begin(), run.gpus.end());
}

std::int32_t nics_used(const Placement& whole, const Run& run) {
  std::set<std::int64_t> nics;
  for (const std::int32_t gpu : run.gpus)
    nics.insert(std::int64_t{gpu} * whole.nics_per_node / whole.gpus_of(run.node));
  return static_cast<std::int32_t>(nics.size());
}

void set_groups(const std::vector<Run>& runs, Placement& part) {
  part.nodes = static_cast<std::int32_t>(runs.size());
  part.first_rank = {0};
  part.gpus_per_node = 0;
  bool even = true;
  for (const Run& run : runs) {
    const auto count = static_cast<std::int32_t>(run.gpus.size());
    even = even && run.gpus.size() == runs.front().gpus.size();
    part.gpus_per_node = std::max(part.gpus_per_node, count);
    part.first_rank.push_back(part.first_rank.back() + count);
  }
  if (even) part.first_rank.clear();
}

// Whether the nodes of the whole are all there, in their order.
bool has_all_nodes(const std::vector<Run>& runs, const Placement& whole) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].node != static_cast<std::int32_t>(i)) return false;
  return static_cast<std::int32_t>(runs.size()) == whole.nodes;
}

void check_ranks(const Placement& whole, const std::vector<Rank>& ranks) {
  std::vector<Rank> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  COLLSIM_CHECK(!sorted.empty() && sorted.front() >= 0 && sorted.back() < whole.ranks());
  COLLSIM_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
}

}  // namespace

std::int32_t Placement::node_of(Rank rank) const {
  if (is_even()) return rank / gpus_per_node;
  return static_cast<std::int32_t>(std::upper_bound(first_rank.begin(), first_rank.end(), rank) -
                                   first_rank.begin()) -
         1;
}

PartPlacement part_of(const Placement& whole, const std::vector<Rank>& ranks, bool by_number) {
  check_ranks(whole, ranks);
  PartPlacement part{whole, ranks};
  if (!by_number) std::sort(part.rank_map.begin(), part.rank_map.end());
  std::vector<Run> runs = runs_of(whole, part.rank_map);
  if (!is_node_by_node(runs)) runs = single_gpus(runs);
  set_groups(runs, part.placement);
  const bool whole_nodes =
      std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return is_whole_node(whole, run); });
  const auto& rings = whole.node_rings;
  if (!whole_nodes || (!rings.empty() && !part.placement.is_even())) part.placement.node_rings.clear();
  if (!whole_nodes) {
    part.placement.nics_per_node = 0;
    for (const Run& run : runs)
      part.placement.nics_per_node = std::max(part.placement.nics_per_node, nics_used(whole, run));
  }
  if (!has_all_nodes(runs, whole)) {
    part.placement.dimensions.clear();
    const FabricKind fabric = whole.fabric;
    if (fabric == FabricKind::torus || fabric == FabricKind::mesh || fabric == FabricKind::hypercube)
      part.placement.fabric = FabricKind::custom;
  }
  return part;
}

}  // namespace collsim
