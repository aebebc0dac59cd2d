#include "algorithms/nomial.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/common.hpp"

namespace collsim::algorithms {
namespace {

struct Nomial {
  std::int32_t ranks = 1;
  std::int32_t radix = 2;
  std::int32_t root = 0;
  bool parts = false;                       // moves parts of subtrees, not whole vectors
  std::vector<std::int32_t> full_program;   // [level z]: of extent radix^z
  std::vector<std::int32_t> short_program;  // [level z]: of the node that N cuts off, or -1
  std::int32_t root_program = 0;

  Peer peer(std::int64_t number) const { return Peer{static_cast<Rank>((number + root) % ranks), 0}; }
  void bind(Rank rank, Binding& binding) const;
};

void Nomial::bind(Rank rank, Binding& binding) const {
  const std::int32_t number = (rank - root + ranks) % ranks;
  std::int64_t unit = 1;
  std::size_t level = 0;
  while (number != 0 && number % (unit * radix) == 0) {
    unit *= radix;
    ++level;
  }
  const std::int64_t whole = number == 0 ? ranks : unit;
  const std::int64_t extent = std::min<std::int64_t>(whole, ranks - number);
  for_each_child(extent, radix, [&](std::int32_t distance, std::int32_t) {
    binding.peers.push_back(peer(std::int64_t{number} + distance));
  });
  if (parts) binding.bases.push_back(number);
  if (number == 0) {
    binding.program = root_program;
    return;
  }
  binding.program = extent < whole ? short_program[level] : full_program[level];
  binding.peers.push_back(peer(number - number / unit % radix * unit));
}

// Which way a collective goes, and what a message of it does.
struct Flow {
  bool up = false;
  bool down = false;
  bool parts = false;
  OperationKind from_child = OperationKind::receive_reduce;
};

Flow flow_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::reduce:
      return {true, false, false, OperationKind::receive_reduce};
    case CollectiveKind::gather:
      return {true, false, true, OperationKind::receive};
    case CollectiveKind::broadcast:
      return {false, true, false, OperationKind::receive_reduce};
    case CollectiveKind::scatter:
      return {false, true, true, OperationKind::receive_reduce};
    default:
      return {true, true, false, OperationKind::receive_reduce};
  }
}

// Peers: the children, nearest first, then the parent. Binding::bases[0] is the own number, for parts.
Program node_program(const Flow& flow, std::int32_t extent, const Nomial& tree, bool has_parent) {
  const auto range = [&](std::int32_t distance, std::int32_t span) {
    ChunkExpression chunk;
    if (!flow.parts) return chunk;
    chunk.origin_base = 0;
    chunk.block_offset = distance;
    chunk.block_modulus = tree.ranks;
    chunk.span = span;
    return chunk;
  };
  Loop loop;
  std::vector<OperationTemplate> down;
  std::int32_t children = 0;
  for_each_child(extent, tree.radix, [&](std::int32_t distance, std::int32_t span) {
    const ChunkExpression of_child = range(distance, span);
    if (flow.up) loop.body.push_back(make_operation(flow.from_child, children, of_child));
    if (flow.down) down.push_back(make_operation(OperationKind::send, children, of_child));
    ++children;
  });
  const ChunkExpression own = range(0, extent);
  if (has_parent && flow.up) loop.body.push_back(make_operation(OperationKind::send, children, own));
  if (has_parent && flow.down) loop.body.push_back(make_operation(OperationKind::receive, children, own));
  loop.body.insert(loop.body.end(), down.rbegin(), down.rend());
  return Program{{loop}};
}

// One program for each extent that occurs.
void add_programs(const Flow& flow, Nomial& tree, std::vector<Program>& programs) {
  const auto add = [&](std::int64_t extent, bool has_parent) {
    programs.push_back(node_program(flow, static_cast<std::int32_t>(extent), tree, has_parent));
    return static_cast<std::int32_t>(programs.size()) - 1;
  };
  for (std::int64_t unit = 1; unit < tree.ranks; unit *= tree.radix) {
    // The last number of this level is the only one whose subtree N can cut off.
    const std::int64_t last = (tree.ranks - 1) / unit * unit;
    const bool cut = last + unit > tree.ranks && last / unit % tree.radix != 0;
    tree.full_program.push_back(add(unit, true));
    tree.short_program.push_back(cut ? add(tree.ranks - last, true) : -1);
  }
  tree.root_program = add(tree.ranks, false);
}

}  // namespace

Schedule nomial_tree(const char* name, std::int32_t radix, const Collective& collective,
                     const Placement& placement, const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule(name, collective, 1);
  const Flow flow = flow_of(collective.kind);
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, flow.parts ? ranks : 1);
  Nomial tree;
  tree.ranks = ranks;
  tree.radix = radix;
  tree.root = has_root(collective.kind) ? collective.root : options.root.value_or(0);
  tree.parts = flow.parts;
  add_programs(flow, tree, schedule.programs);
  if (flow.parts)
    schedule.owner = [ranks, root = tree.root](std::int32_t, std::int32_t block) {
      return static_cast<Rank>((std::int64_t{block} + root) % ranks);
    };
  schedule.stream_count = [](Rank) { return 1; };
  // The collective names its root.
  if (has_root(collective.kind) && options.root) schedule.unused_options.emplace_back("root");
  const auto shared = std::make_shared<const Nomial>(std::move(tree));
  schedule.bind = [shared](Rank rank, std::int32_t, Binding& binding) { shared->bind(rank, binding); };
  return schedule;
}

}  // namespace collsim::algorithms
