// Hierarchical, form leader: one GPU of every node talks to the other nodes (UCC cl/hier "rab"; algorithms of
// MPI libraries for nodes of several processes).
//
// The leader of a node is its GPU 0, or the one of the same number as the root (the last where it has fewer).
// Nodes may have unequal numbers of GPUs. All-reduce: a binomial reduce
// to the leader inside every node, the ring of ring.cpp over the leaders (n blocks), a binomial broadcast
// back. Barriers are all-reduces of nothing. Reduce and broadcast: a binomial tree inside every node and one
// over the leaders, each whole.
//
// With v the number of a GPU from the leader's on (modulo G), its children are v + 1, v + 2, v + 4, ... below
// v + 2^z, z the trailing zeros of v, and its parent is v - 2^z; nodes likewise from the root's on. Reduces
// take the nearest child first, broadcasts the farthest. Each rank has one stream a slice; every operation of
// a slice waits for the same one of the slice before, so that slices are pipelined.
#include <algorithm>
#include <memory>

#include "algorithms/common.hpp"
#include "algorithms/hierarchical.hpp"

namespace collsim::algorithms {
namespace {

// Children of `number` of `count` in a binomial tree; they are number + 1, number + 2, number + 4, ...
std::int32_t child_count(std::int32_t number, std::int32_t count) {
  std::int32_t children = 0;
  for (std::int64_t distance = 1; number + distance < count && (number & distance) == 0; distance *= 2)
    ++children;
  return children;
}

// What distinguishes the programs of two ranks. Binding::peers: the children in the node, the parent in the
// node or (leaders) the children among the leaders and the parent there, or the next and previous leader.
struct Role {
  std::int32_t children = 0;
  bool leader = false;
  std::int32_t leader_children = 0;  // reduce and broadcast
  bool root = false;                 // reduce and broadcast
};

class Leaders {
 public:
  Leaders(const Collective& collective, const Placement& placement)
      : kind_(collective.kind == CollectiveKind::barrier ? CollectiveKind::all_reduce : collective.kind),
        placement_(placement),
        nodes_(placement.nodes),
        root_node_(has_root(kind_) ? placement.node_of(collective.root) : 0),
        leader_(has_root(kind_) ? collective.root - placement.first_rank_of(root_node_) : 0),
        most_between_(kind_ == CollectiveKind::all_reduce ? 0 : child_count(0, nodes_)) {
    for (std::int32_t node = 0; node < nodes_; ++node) inside_.push_back(leader_children(node));
    std::sort(inside_.begin(), inside_.end());
    inside_.erase(std::unique(inside_.begin(), inside_.end()), inside_.end());
  }

  std::int32_t blocks() const { return kind_ == CollectiveKind::all_reduce ? nodes_ : 1; }

  // Programs: a GPU that is no leader, by its children; then for each number of children that a leader has in
  // its node the leaders, by their children among the leaders, and the root.
  std::vector<Program> programs(bool waits) const {
    std::vector<Program> programs;
    for (std::int32_t children = 0; children <= inside_.back(); ++children)
      programs.push_back(program({children, false, 0, false}, waits));
    for (const std::int32_t inside : inside_) {
      for (std::int32_t children = 0; children <= most_between_; ++children)
        programs.push_back(program({inside, true, children, false}, waits));
      programs.push_back(program({inside, true, most_between_, true}, waits));
    }
    return programs;
  }

  void bind(Rank rank, std::int32_t slice, Binding& binding) const {
    const std::int32_t node = placement_.node_of(rank);
    const Rank first = placement_.first_rank_of(node);
    const std::int32_t gpus = placement_.gpus_of(node);
    const std::int32_t leader = leader_of(node) - first;
    const std::int32_t number = (rank - first - leader + gpus) % gpus;
    const auto inside = [&](std::int32_t other) { return Peer{first + (other + leader) % gpus, slice}; };
    const auto between = [&](std::int32_t other) {
      return Peer{leader_of((other + root_node_) % nodes_), slice};
    };
    const std::int32_t children = child_count(number, gpus);
    for (std::int32_t child = 0; child < children; ++child)
      binding.peers.push_back(inside(number + (1 << child)));
    binding.bases.push_back(slice);
    binding.bases.push_back(node);
    if (number > 0) {
      binding.program = children;
      binding.peers.push_back(inside(number & (number - 1)));
    } else if (kind_ == CollectiveKind::all_reduce) {
      binding.program = first_program(children);
      binding.peers.push_back(between((node + 1) % nodes_));
      binding.peers.push_back(between((node + nodes_ - 1) % nodes_));
    } else {
      const std::int32_t place = (node - root_node_ + nodes_) % nodes_;
      const std::int32_t leaders = child_count(place, nodes_);
      binding.program = first_program(children) + (place == 0 ? most_between_ + 1 : leaders);
      for (std::int32_t child = 0; child < leaders; ++child)
        binding.peers.push_back(between(place + (1 << child)));
      if (place > 0) binding.peers.push_back(between(place & (place - 1)));
    }
  }

 private:
  Rank leader_of(std::int32_t node) const {
    return placement_.first_rank_of(node) + std::min(leader_, placement_.gpus_of(node) - 1);
  }
  std::int32_t leader_children(std::int32_t node) const { return child_count(0, placement_.gpus_of(node)); }
  // Of the leaders with so many children in their node.
  std::int32_t first_program(std::int32_t children) const {
    const auto place = std::lower_bound(inside_.begin(), inside_.end(), children) - inside_.begin();
    return inside_.back() + 1 + static_cast<std::int32_t>(place) * (most_between_ + 2);
  }
  ChunkExpression whole() const {
    ChunkExpression chunk;
    chunk.region_base = 0;
    chunk.span = blocks();
    return chunk;
  }
  // Block (node + ahead - trip) mod nodes.
  ChunkExpression block(std::int32_t ahead) const {
    ChunkExpression chunk;
    chunk.region_base = 0;
    chunk.block_base = 1;
    chunk.block_offset = ahead;
    chunk.block_stride = -1;
    chunk.block_modulus = nodes_;
    return chunk;
  }

  // Receives from `count` children whose peers begin at `first`; then what goes to the parent.
  void add_up(Loop& loop, std::int32_t first, std::int32_t count, bool has_parent) const {
    for (std::int32_t child = 0; child < count; ++child)
      loop.body.push_back(make_operation(OperationKind::receive_reduce, first + child, whole()));
    if (has_parent) loop.body.push_back(make_operation(OperationKind::send, first + count, whole()));
  }
  void add_down(Loop& loop, std::int32_t first, std::int32_t count, bool has_parent) const {
    if (has_parent) loop.body.push_back(make_operation(OperationKind::receive, first + count, whole()));
    for (std::int32_t child = count; child-- > 0;)
      loop.body.push_back(make_operation(OperationKind::send, first + child, whole()));
  }
  void add_ring(Program& program, std::int32_t next) const {
    for (const bool reduces : {true, false}) {
      Loop loop{std::int64_t{nodes_} - 1, {}};
      const std::int32_t first = reduces ? -1 : 0;
      loop.body.push_back(make_operation(OperationKind::send, next, block(first)));
      loop.body.push_back(make_operation(reduces ? OperationKind::receive_reduce : OperationKind::receive,
                                         next + 1, block(first - 1)));
      program.loops.push_back(loop);
    }
  }

  Program program(const Role& role, bool waits) const {
    const bool all_reduce = kind_ == CollectiveKind::all_reduce;
    Program result;
    Loop up;
    Loop down;
    if (kind_ != CollectiveKind::broadcast) add_up(up, 0, role.children, !role.leader);
    if (role.leader && kind_ == CollectiveKind::reduce)
      add_up(up, role.children, role.leader_children, !role.root);
    if (role.leader && kind_ == CollectiveKind::broadcast)
      add_down(down, role.children, role.leader_children, !role.root);
    if (kind_ != CollectiveKind::reduce) add_down(down, 0, role.children, !role.leader);
    result.loops.push_back(up);
    if (role.leader && all_reduce && nodes_ > 1) add_ring(result, role.children);
    result.loops.push_back(down);
    if (waits) add_waits(result);
    return result;
  }

  static void add_waits(Program& program) {
    std::int64_t before = 0;
    for (Loop& loop : program.loops) {
      const auto length = static_cast<std::int64_t>(loop.body.size());
      for (std::int64_t i = 0; i < length; ++i)
        loop.body[static_cast<std::size_t>(i)].dependencies.push_back(Dependency{0, before + i, length});
      before += loop.trips * length;
    }
  }

  CollectiveKind kind_;
  Placement placement_;
  std::int32_t nodes_;
  std::int32_t root_node_;
  std::int32_t leader_;               // its number in a node that has as many GPUs
  std::int32_t most_between_;         // children of the root among the leaders
  std::vector<std::int32_t> inside_;  // numbers of children that leaders have in their nodes, increasing
};

// The next node, all its GPUs with it.
Symmetry next_node(const Placement& placement, std::int32_t slices) {
  Symmetry next;
  next.name = "next node";
  next.stream_count = next.region_count = slices;
  const std::int32_t gpus = placement.gpus_per_node;
  const std::int32_t ranks = placement.ranks();
  next.rank = [gpus, ranks](Rank rank) { return (rank + gpus) % ranks; };
  next.block = Rotation{0, placement.nodes, 1, placement.nodes, 1};
  return next;
}

}  // namespace

Schedule hierarchical_by_leaders(const Collective& collective, const Placement& placement,
                                 const AlgorithmOptions& options) {
  const auto leaders = std::make_shared<const Leaders>(collective, placement);
  const std::int32_t slices = options.slices.value_or(1);
  Schedule schedule =
      schedule_frame("hierarchical", collective, placement, options, {slices}, leaders->blocks());
  schedule.slices = slices;
  schedule.programs = leaders->programs(false);
  const auto count = static_cast<std::int32_t>(schedule.programs.size());
  for (Program& program : leaders->programs(true)) schedule.programs.push_back(std::move(program));
  schedule.stream_count = [slices](Rank) { return slices; };
  schedule.bind = [leaders, count](Rank rank, std::int32_t slice, Binding& binding) {
    leaders->bind(rank, slice, binding);
    if (slice == 0) return;
    binding.program += count;
    binding.streams.push_back(slice - 1);
  };
  if (!has_root(collective.kind) && placement.nodes > 1 && placement.is_even())
    schedule.symmetries.push_back(next_node(placement, slices));
  return schedule;
}

}  // namespace collsim::algorithms
