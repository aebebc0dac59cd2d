// Pipelined k-ary tree (Open MPI, ompi/mca/coll/base: segmented broadcast and reduce over a tree of given
// fanout): a complete tree with k children a rank, slice by slice; broadcast, reduce, and an all-reduce as
// both at once.
//
// Numbers relative to the root, v = (rank - root) mod N: the children of v are k * v + 1 .. k * v + k below
// N. With all of its own links, height H and c slices that each take tau, a broadcast or reduce takes H
// (latency + tau) + (c - 1) tau, an all-reduce 2 H (latency + tau) + (c - 1) tau. Over one port a rank the k
// children share the bandwidth.
//
// Streams: pipelined_tree.hpp.
#include <algorithm>
#include <utility>

#include "algorithms/pipelined_tree.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t radix_default = 2;

struct KaryTree {
  std::int32_t ranks;
  std::int32_t radix;
  Rank root;
  TreeStreams streams;

  std::int32_t number_of(Rank rank) const { return (rank - root + ranks) % ranks; }
  Rank rank_of(std::int64_t number) const { return static_cast<Rank>((number + root) % ranks); }
  std::int32_t child_count(std::int32_t number) const {
    const std::int64_t others = std::int64_t{ranks} - 1 - std::int64_t{radix} * number;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(others, 0, radix));
  }
  TreePlace place(Rank rank) const {
    const std::int32_t number = number_of(rank);
    TreePlace place;
    if (number > 0) place.parent = rank_of((number - 1) / radix);
    const std::int32_t children = child_count(number);
    for (std::int32_t i = 1; i <= children; ++i)
      place.children.push_back(rank_of(std::int64_t{radix} * number + i));
    return place;
  }
};

// All inner ranks have the full number but the last.
std::vector<std::int32_t> child_counts(std::int32_t ranks, std::int32_t radix) {
  const std::int32_t last = (ranks - 2) / radix;
  return {std::min(radix, ranks - 1), ranks - 1 - last * radix};
}

}  // namespace

ScheduleOrReason kary_tree(const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options) {
  const std::int32_t radix = options.radix.value_or(radix_default);
  if (radix < 1) return Impossible{"radix is " + std::to_string(radix) + "; it must be at least 1"};
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("kary_tree", collective, 1);
  const std::int32_t slices = options.slices.value_or(tree_slices_automatic(collective, 1));
  const Rank root = has_root(collective.kind) ? collective.root : options.root.value_or(0);
  KaryTree tree{ranks, radix, root,
                TreeStreams(tree_flow_of(collective.kind), slices, child_counts(ranks, radix))};
  Schedule schedule = schedule_frame("kary_tree", collective, placement, options, {slices}, 1);
  schedule.slices = slices;
  // The collective names its root.
  if (has_root(collective.kind) && options.root) schedule.unused_options.emplace_back("root");
  schedule.programs = tree.streams.programs();
  const auto shared = std::make_shared<const KaryTree>(std::move(tree));
  schedule.stream_count = [shared](Rank rank) {
    const std::int32_t number = shared->number_of(rank);
    return shared->streams.count(shared->child_count(number), number > 0);
  };
  schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
    shared->streams.bind(shared->place(rank), 0, 0, stream, binding);
  };
  return schedule;
}

}  // namespace collsim::algorithms
