#include "algorithms/rail_switches.hpp"

#include <algorithm>
#include <numeric>

#include "algorithms/common.hpp"
#include "algorithms/rank_streams.hpp"

namespace collsim::algorithms {
namespace {

enum Role : std::int64_t {
  post_range,     // to a group
  collect_range,  // from a group
  post_nodes,     // the blocks of every node, each to its group
  collect_nodes,  // those of the other nodes
  collect_own,    // that of the own node
  send_range,     // to a peer
  receive_range,  // from a peer
  add_ranges,     // from all other GPUs of the node
  send_part,      // of one GPU
  receive_part,   // of one GPU
  gather_parts    // of the other GPUs that the head serves
};

// A stream whose trip k must be over: the last of `operations` a trip. No stream: operations 0.
struct Ready {
  std::int32_t stream = -1;
  std::int64_t operations = 0;
};

// Keys of programs: role, blocks a node of the range, operations of the one or two streams waited for.
class RailPlan {
 public:
  RailPlan(const Collective& collective, const Placement& placement, const RailSwitches& shape)
      : kind_(collective.kind == CollectiveKind::barrier ? CollectiveKind::all_reduce : collective.kind),
        parts_(in_parts(kind_)),
        nodes_(placement.nodes),
        gpus_(placement.gpus_per_node),
        slices_(shape.slices),
        switched_(shape.node_switches && gpus_ > 1),
        root_node_(collective.root / gpus_),
        root_gpu_(collective.root % gpus_),
        heads_(shape.heads) {
    for (std::int32_t gpu = 0, head = -1; gpu < gpus_; ++gpu) {
      if (head + 1 < head_count() && heads_[static_cast<std::size_t>(head + 1)] == gpu) ++head;
      head_of_.push_back(head);
    }
  }

  std::int32_t blocks() const { return parts_ ? nodes_ * gpus_ : head_count(); }
  Rank owner(std::int32_t block) const {
    const std::int32_t head = head_of_[static_cast<std::size_t>(block / nodes_)];
    const std::int32_t place = block - first_block(head);
    return place / width(head) * gpus_ + gpu_of(head) + place % width(head);
  }
  std::int32_t fabric_groups() const { return nodes_ == 1 ? 0 : (by_node() ? nodes_ : 1) * head_count(); }
  std::int32_t group_count() const {
    const std::int32_t once = switched_ ? nodes_ * head_count() : 0;
    return fabric_groups() + (sums() ? once : 0) + (spreads() ? once : 0);
  }
  AggregationGroup group(std::int32_t number, const Placement& placement) const;
  // The largest aggregations: of the fabric and of a node.
  Bytes largest(const Layout& layout, bool of_node) const {
    Bytes most;
    for (std::int32_t head = 0; head < head_count(); ++head)
      most = std::max(most,
                      layout.size(0, first_block(head), of_node || !by_node() ? range(head) : width(head)));
    return most;
  }

  void visit(Rank rank, RankStreams& streams) const;
  Program program(const ProgramKey& key) const;

 private:
  struct Place {
    Rank rank = 0;
    std::int32_t node = 0;
    std::int32_t gpu = 0;
    std::int32_t head = 0;  // its own, or the one that serves it
    bool is_head = false;
    bool is_root = false;  // of a broadcast or reduce
    bool at_root = false;  // in the root's node
  };

  std::int32_t head_count() const { return static_cast<std::int32_t>(heads_.size()); }
  std::int32_t gpu_of(std::int32_t head) const { return heads_[static_cast<std::size_t>(head)]; }
  std::int32_t served(std::int32_t head) const {
    return (head + 1 < head_count() ? gpu_of(head + 1) : gpus_) - gpu_of(head);
  }
  bool sums() const { return reduces(kind_); }
  bool spreads() const { return kind_ != CollectiveKind::reduce_scatter && kind_ != CollectiveKind::reduce; }
  // The fabric has a group for each node.
  bool by_node() const { return parts_; }
  // Blocks of head h's range: for one node, in all, and the first.
  std::int32_t width(std::int32_t head) const { return parts_ ? served(head) : 1; }
  std::int32_t range(std::int32_t head) const { return parts_ ? nodes_ * served(head) : 1; }
  std::int32_t first_block(std::int32_t head) const { return parts_ ? nodes_ * gpu_of(head) : head; }
  std::int32_t part_of(std::int32_t node, std::int32_t head, std::int32_t gpu) const {
    return first_block(head) + node * width(head) + gpu - gpu_of(head);
  }
  std::int32_t reduce_group(std::int32_t node, std::int32_t head) const {
    return fabric_groups() + node * head_count() + head;
  }
  std::int32_t multicast_group(std::int32_t node, std::int32_t head) const {
    return reduce_group(sums() ? nodes_ + node : node, head);
  }

  ProgramKey key_of(Role role, std::int32_t head, Ready first = {}, Ready second = {}) const {
    return {role, width(head), first.operations, second.operations, 0, 0};
  }
  // A stream that exchanges range or part with a peer.
  std::int32_t add_message(RankStreams& streams, const ProgramKey& key, Peer peer, std::int64_t block,
                           Ready first = {}, Ready second = {}) const;
  std::int32_t add_group(RankStreams& streams, const ProgramKey& key, std::int32_t head, std::int32_t group,
                         Ready first = {}) const;
  Ready visit_in(const Place& at, RankStreams& streams, Ready& offered) const;
  Ready visit_fabric(const Place& at, RankStreams& streams, Ready ready) const;
  void visit_out(const Place& at, RankStreams& streams, Ready ready, Ready inside, Ready offered) const;
  void visit_out_switched(const Place& at, RankStreams& streams, Ready ready) const;
  bool spares(const Place& at, std::int32_t gpu) const {  // it has the result anyway
    return kind_ == CollectiveKind::broadcast && at.at_root && gpu == root_gpu_;
  }

  CollectiveKind kind_;
  bool parts_;
  std::int32_t nodes_;
  std::int32_t gpus_;
  std::int32_t slices_;
  bool switched_;
  std::int32_t root_node_;
  std::int32_t root_gpu_;
  std::vector<std::int32_t> heads_;
  std::vector<std::int32_t> head_of_;  // [gpu]
};

void wait_for(Binding& binding, Ready first, Ready second) {
  for (const Ready& ready : {first, second})
    if (ready.operations > 0) binding.streams.push_back(ready.stream);
}

std::int32_t RailPlan::add_message(RankStreams& streams, const ProgramKey& key, Peer peer, std::int64_t block,
                                   Ready first, Ready second) const {
  return streams.add(key, [=](Binding& binding) {
    binding.bases.push_back(block);
    binding.peers.push_back(peer);
    wait_for(binding, first, second);
  });
}

std::int32_t RailPlan::add_group(RankStreams& streams, const ProgramKey& key, std::int32_t head,
                                 std::int32_t group, Ready first) const {
  return streams.add(key, [=, this](Binding& binding) {
    binding.bases.push_back(first_block(head));
    binding.groups.push_back(group);
    wait_for(binding, first, {});
  });
}

// Brings range h to head h. Returns what a head waits for; `offered`: the send of the own part, if any.
Ready RailPlan::visit_in(const Place& at, RankStreams& streams, Ready& offered) const {
  Ready ready;
  const Rank first = at.rank - at.gpu;
  const auto head_peer = [&](std::int32_t head) { return Peer{first + gpu_of(head), 0}; };
  if (gpus_ == 1) return ready;
  if (sums() && switched_) {
    ready = {add_group(streams, key_of(collect_range, at.head), at.head, reduce_group(at.node, at.head)), 1};
    for (std::int32_t head = 0; head < head_count(); ++head)
      add_group(streams, key_of(post_range, head), head, reduce_group(at.node, head));
  } else if (sums()) {
    if (at.is_head) {
      ready.operations = gpus_ - 1;
      ready.stream = streams.add(key_of(add_ranges, at.head), [&](Binding& binding) {
        binding.bases.push_back(first_block(at.head));
        for (std::int32_t i = 1; i < gpus_; ++i)
          binding.peers.push_back(Peer{first + (at.gpu - i + gpus_) % gpus_, 0});
      });
    }
    for (std::int32_t i = 1; i <= head_count(); ++i) {
      const std::int32_t head = (at.head + i) % head_count();
      if (gpu_of(head) != at.gpu)
        add_message(streams, key_of(send_range, head), head_peer(head), first_block(head));
    }
  } else if (kind_ == CollectiveKind::all_gather && served(at.head) > 1) {
    if (!at.is_head) {
      offered = {add_message(streams, key_of(send_part, at.head), head_peer(at.head),
                             part_of(at.node, at.head, at.gpu)),
                 1};
      return ready;
    }
    ready.operations = served(at.head) - 1;
    ready.stream = streams.add(key_of(gather_parts, at.head), [&](Binding& binding) {
      binding.bases.push_back(part_of(at.node, at.head, at.gpu));
      for (std::int32_t i = 1; i < served(at.head); ++i) binding.peers.push_back(Peer{at.rank + i, 0});
    });
  } else if (kind_ == CollectiveKind::broadcast && at.is_root) {
    for (std::int32_t head = 0; head < head_count(); ++head)
      if (gpu_of(head) != at.gpu)
        add_message(streams, key_of(send_range, head), head_peer(head), first_block(head));
  } else if (kind_ == CollectiveKind::broadcast && at.is_head && at.at_root) {
    ready = {add_message(streams, key_of(receive_range, at.head), Peer{first + root_gpu_, 0},
                         first_block(at.head)),
             1};
  }
  return ready;
}

// Through the fabric, for a head. Returns what its range is complete with.
Ready RailPlan::visit_fabric(const Place& at, RankStreams& streams, Ready ready) const {
  if (nodes_ == 1) return ready;
  const std::int32_t head = at.head;
  if (!by_node()) {
    add_group(streams, key_of(post_range, head, ready), head, head, ready);
    const bool collects =
        kind_ == CollectiveKind::all_reduce || at.at_root == (kind_ == CollectiveKind::reduce);
    if (!collects) return ready;
    return {add_group(streams, key_of(collect_range, head), head, head), 1};
  }
  const auto fill = [&](Binding& binding, Ready waited) {
    binding.bases.push_back(first_block(head));
    binding.bases.push_back(at.node);
    wait_for(binding, waited, {});
  };
  streams.add(key_of(post_nodes, head, ready), [&](Binding& binding) {
    fill(binding, ready);
    for (std::int32_t node = 0; node < nodes_; ++node) binding.groups.push_back(head * nodes_ + node);
  });
  const bool gathers = kind_ == CollectiveKind::all_gather;
  const std::int32_t stream =
      streams.add(key_of(gathers ? collect_nodes : collect_own, head), [&](Binding& binding) {
        fill(binding, {});
        if (!gathers) binding.groups.push_back(head * nodes_ + at.node);
        for (std::int32_t i = 1; gathers && i < nodes_; ++i)
          binding.groups.push_back(head * nodes_ + (at.node + i) % nodes_);
      });
  return {stream, gathers ? nodes_ - 1 : 1};
}

void RailPlan::visit_out_switched(const Place& at, RankStreams& streams, Ready ready) const {
  for (std::int32_t head = 0; head < head_count(); ++head) {
    const Ready wait = head == at.head ? ready : Ready{};
    add_group(streams, key_of(post_range, head, wait), head, multicast_group(at.node, head), wait);
  }
  for (std::int32_t i = 1; i < head_count() && !spares(at, at.gpu); ++i) {
    const std::int32_t head = (at.head + i) % head_count();
    add_group(streams, key_of(collect_range, head), head, multicast_group(at.node, head));
  }
}

// From the heads to who wants it. `inside`: what the head waited for before the fabric; `offered`: visit_in.
void RailPlan::visit_out(const Place& at, RankStreams& streams, Ready ready, Ready inside,
                         Ready offered) const {
  if (gpus_ == 1) return;
  const Rank first = at.rank - at.gpu;
  if (kind_ == CollectiveKind::reduce_scatter) {
    for (std::int32_t i = 1; at.is_head && i < served(at.head); ++i)
      add_message(streams, key_of(send_part, at.head, ready), Peer{at.rank + i, 1},
                  part_of(at.node, at.head, at.gpu + i), ready);
    if (!at.is_head)
      add_message(streams, key_of(receive_part, at.head), Peer{first + gpu_of(at.head), 1},
                  part_of(at.node, at.head, at.gpu));
    return;
  }
  if (kind_ == CollectiveKind::reduce) {
    if (!at.at_root) return;
    if (at.is_head && !at.is_root)
      add_message(streams, key_of(send_range, at.head, ready), Peer{first + root_gpu_, 1},
                  first_block(at.head), ready);
    for (std::int32_t head = 0; at.is_root && head < head_count(); ++head)
      if (gpu_of(head) != at.gpu)
        add_message(streams, key_of(receive_range, head), Peer{first + gpu_of(head), 1}, first_block(head));
    return;
  }
  if (switched_) return visit_out_switched(at, streams, ready);
  // Of an all-gather the fabric brings the other nodes' parts only.
  const bool partial = kind_ == CollectiveKind::all_gather && ready.stream != inside.stream;
  const Ready before = partial ? inside : Ready{};
  for (std::int32_t i = 1; at.is_head && i < gpus_; ++i) {
    const std::int32_t gpu = (at.gpu + i) % gpus_;
    if (!spares(at, gpu))
      add_message(streams, key_of(send_range, at.head, ready, before), Peer{first + gpu, 1},
                  first_block(at.head), ready, before);
  }
  for (std::int32_t i = 0; i < head_count() && !spares(at, at.gpu); ++i) {
    const std::int32_t head = (at.head + head_count() - i) % head_count();
    if (gpu_of(head) == at.gpu) continue;
    // The own part comes back with the range of the own head; it must have left before.
    const Ready sent = head == at.head ? offered : Ready{};
    add_message(streams, key_of(receive_range, head, sent), Peer{first + gpu_of(head), 1}, first_block(head),
                sent);
  }
}

void RailPlan::visit(Rank rank, RankStreams& streams) const {
  Place at;
  at.rank = rank;
  at.node = rank / gpus_;
  at.gpu = rank % gpus_;
  at.head = head_of_[static_cast<std::size_t>(at.gpu)];
  at.is_head = gpu_of(at.head) == at.gpu;
  at.at_root = at.node == root_node_;
  at.is_root = at.at_root && at.gpu == root_gpu_;
  Ready offered;
  const Ready inside = visit_in(at, streams, offered);
  const Ready ready = at.is_head ? visit_fabric(at, streams, inside) : Ready{};
  visit_out(at, streams, ready, inside, offered);
}

// Of the roles that do one operation a slice.
OperationKind kind_of(Role role) {
  if (role == post_range) return OperationKind::aggregate;
  if (role == collect_range) return OperationKind::collect;
  return role == send_range || role == send_part ? OperationKind::send : OperationKind::receive;
}

// Bases: 0 = the first block of the range, or the block; 1 = the own node. Trip k is slice k.
Program RailPlan::program(const ProgramKey& key) const {
  const auto role = static_cast<Role>(key[0]);
  const auto width = static_cast<std::int32_t>(key[1]);
  const auto chunk = [&](std::int32_t span) {
    ChunkExpression expression;
    expression.region_stride = 1;
    expression.origin_base = 0;
    expression.span = span;
    return expression;
  };
  // Block of node (own, or 0) + ahead.
  const auto of_node = [&](bool own, std::int32_t ahead) {
    ChunkExpression expression = chunk(width);
    expression.block_base = own ? 1 : -1;
    expression.block_offset = ahead;
    expression.block_modulus = nodes_;
    expression.block_unit = width;
    return expression;
  };
  const ChunkExpression range = chunk(parts_ ? nodes_ * width : 1);
  Loop loop{slices_, {}};
  const auto add = [&loop](OperationKind kind, std::int32_t peer, const ChunkExpression& expression) {
    loop.body.push_back(make_operation(kind, peer, expression));
  };
  switch (role) {
    case post_nodes:
      for (std::int32_t node = 0; node < nodes_; ++node)
        add(OperationKind::aggregate, node, of_node(false, node));
      break;
    case collect_nodes:
      for (std::int32_t i = 1; i < nodes_; ++i) add(OperationKind::collect, i - 1, of_node(true, i));
      break;
    case add_ranges:
      for (std::int32_t i = 0; i + 1 < gpus_; ++i) add(OperationKind::receive_reduce, i, range);
      break;
    case gather_parts:
      for (std::int32_t i = 1; i < width; ++i) {
        ChunkExpression part = chunk(1);
        part.block_offset = i;
        part.block_modulus = width;
        add(OperationKind::receive, i - 1, part);
      }
      break;
    case collect_own:
      add(OperationKind::collect, 0, of_node(true, 0));
      break;
    case post_range:
    case collect_range:
    case send_range:
    case receive_range:
      add(kind_of(role), 0, range);
      break;
    case send_part:
    case receive_part:
      add(kind_of(role), 0, chunk(1));
      break;
  }
  std::int32_t slot = 0;
  for (const std::int64_t operations : {key[2], key[3]})
    if (operations > 0)
      loop.body.front().dependencies.push_back(Dependency{slot++, operations - 1, operations});
  return Program{{loop}};
}

AggregationGroup RailPlan::group(std::int32_t number, const Placement& placement) const {
  AggregationGroup group;
  if (number < fabric_groups()) {
    const std::int32_t head = by_node() ? number / nodes_ : number;
    group.scope = AggregationScope::fabric;
    group.rail = nic_of_gpu(placement, gpu_of(head));
    group.root = by_node() ? number % nodes_ : root_node_;
    for (std::int32_t node = 0; node < nodes_; ++node) group.members.push_back(node * gpus_ + gpu_of(head));
    if (kind_ == CollectiveKind::all_reduce) {
      group.root = 0;
      return group;
    }
    group.mode = sums() ? AggregationMode::reduce : AggregationMode::multicast;
    return group;
  }
  const std::int32_t index = (number - fabric_groups()) / head_count();
  group.mode = sums() && index < nodes_ ? AggregationMode::reduce : AggregationMode::multicast;
  group.root = gpu_of(number % head_count());
  for (std::int32_t gpu = 0; gpu < gpus_; ++gpu) group.members.push_back(index % nodes_ * gpus_ + gpu);
  return group;
}

}  // namespace

std::vector<std::int32_t> heads_of_nics(const Placement& placement) {
  std::vector<std::int32_t> heads;
  for (std::int32_t gpu = 0; gpu < placement.gpus_per_node; ++gpu)
    if (gpu == 0 || placement.nics_per_node < 1 ||
        nic_of_gpu(placement, gpu) != nic_of_gpu(placement, gpu - 1))
      heads.push_back(gpu);
  return heads;
}

ScheduleOrReason rail_switches(const char* algorithm, const Collective& collective,
                               const Placement& placement, const AlgorithmOptions& options,
                               const RailSwitches& shape) {
  const RailPlan plan(collective, placement, shape);
  Schedule schedule =
      schedule_frame(algorithm, collective, placement, options, {shape.slices}, plan.blocks());
  if (placement.nodes > 1)
    if (auto wrong = check_message_size(plan.largest(schedule.layout, false), placement.fabric_reduction))
      return *wrong;
  if (shape.node_switches)
    if (auto wrong = check_message_size(plan.largest(schedule.layout, true), placement.node_reduction))
      return *wrong;
  schedule.slices = shape.slices;
  schedule.group_count = plan.group_count();
  schedule.group = [plan, placement](std::int32_t number) { return plan.group(number, placement); };
  if (in_parts(collective.kind))
    schedule.owner = [plan](std::int32_t, std::int32_t block) { return plan.owner(block); };
  // All nodes but the root's have the same streams.
  std::vector<Rank> samples(static_cast<std::size_t>(placement.gpus_per_node));
  const std::int32_t root_node = collective.root / placement.gpus_per_node;
  std::iota(samples.begin(), samples.end(), root_node * placement.gpus_per_node);
  const std::int32_t other = (root_node + 1) % placement.nodes;
  for (std::int32_t gpu = 0; gpu < placement.gpus_per_node; ++gpu)
    samples.push_back(other * placement.gpus_per_node + gpu);
  set_streams(schedule, plan, samples);
  return schedule;
}

}  // namespace collsim::algorithms
