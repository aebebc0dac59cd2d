// Binomial tree: reduce to the root and broadcast back, the whole vector at a time.
//
// With the relative number v = (rank - root) mod N and z trailing zeros of v (the root: ceil(log2 N)), the
// children of v are v + 1, v + 2, v + 4, ... below v + 2^z and below N; its parent is v - 2^z. Each rank has
// one stream: reduce from the children, nearest first, exchange with the parent, send to the children,
// farthest first (so that the deepest subtree starts first).
#include "algorithms/common.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

std::int32_t child_count(std::int32_t number, std::int32_t ranks) {
  std::int32_t count = 0;
  for (std::int64_t distance = 1; number + distance < ranks && (number & distance) == 0; distance *= 2)
    ++count;
  return count;
}

// Peers: the children, nearest first, then the parent.
Program tree_program(std::int32_t children, bool has_parent) {
  Loop loop;
  const ChunkExpression whole;
  for (std::int32_t child = 0; child < children; ++child)
    loop.body.push_back(make_operation(OperationKind::receive_reduce, child, whole));
  if (has_parent) {
    loop.body.push_back(make_operation(OperationKind::send, children, whole));
    loop.body.push_back(make_operation(OperationKind::receive, children, whole));
  }
  for (std::int32_t child = children; child-- > 0;)
    loop.body.push_back(make_operation(OperationKind::send, child, whole));
  return Program{{loop}};
}

}  // namespace

ScheduleOrReason binomial_tree(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("binomial_tree", collective, 1);
  const std::int32_t root = options.root.value_or(0);
  Schedule schedule = schedule_frame("binomial_tree", collective, placement, options, {}, 1);
  // Program c is that of a rank with c children and a parent; the last one is the root's.
  const std::int32_t rounds = child_count(0, ranks);
  for (std::int32_t children = 0; children <= rounds; ++children)
    schedule.programs.push_back(tree_program(children, true));
  schedule.programs.push_back(tree_program(rounds, false));
  schedule.stream_count = [](Rank) { return 1; };
  schedule.bind = [ranks, root, rounds](Rank rank, std::int32_t, Binding& binding) {
    const std::int32_t number = (rank - root + ranks) % ranks;
    const auto peer = [ranks, root](std::int32_t relative) { return Peer{(relative + root) % ranks, 0}; };
    const std::int32_t children = child_count(number, ranks);
    binding.program = number == 0 ? rounds + 1 : children;
    for (std::int32_t child = 0; child < children; ++child)
      binding.peers.push_back(peer(number + (1 << child)));
    if (number != 0) binding.peers.push_back(peer(number & (number - 1)));
  };
  return schedule;
}

}  // namespace collsim::algorithms
