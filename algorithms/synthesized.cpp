// Synthesized: data runs along the trees of a forest, cut into slices (ForestColl, arXiv 2402.06787:
// pipelined spanning trees packed to the tightest cut).
//
// A transfer is one arc of one tree, in one direction: up it carries the sum of the child's subtree, down the
// result. Its slot says how many transfers must precede it: up, the height of the child; down, the depth of
// the parent, after the height of the root where the same tree went up before. Slice s of a transfer belongs
// to the step (slot + s), and every connection has one sending and one receiving stream, which handle their
// transfers step by step, in every step by tree, then up before down, then as listed. So in a step every link
// carries a slice of every transfer that crosses it, which is what the forest has balanced, and a message
// waits only for messages that precede it in one order common to all streams: there is no deadlock, with one
// slot a connection either.
//
// All steps in which all transfers of a stream are under way are one loop; those before and after, where
// the trees fill and empty, are written out.
#include "algorithms/synthesized.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "algorithms/common.hpp"
#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int64_t slice_bytes_min = 32 * 1024;
constexpr std::int64_t messages_wanted_max = 250'000;  // that automatic slices make

struct Transfer {
  std::int32_t tree = 0;
  std::int32_t slot = 0;
  bool up = false;
  Rank from = 0;
  Rank to = 0;
  std::int32_t channel = 0;
};

// One end of a connection: the transfers that pass it, in order.
struct End {
  bool sends = false;
  Rank peer = 0;
  std::int32_t channel = 0;
  std::vector<std::int32_t> transfers;  // indices, in the common order
  std::int32_t slot_min = 0;
  std::int32_t slot_max = 0;
  std::vector<std::int64_t> before;  // [step - slot_min]: operations of earlier steps
};

// Where a transfer is: its place among the transfers of an end of its connection.
struct Place {
  std::int32_t stream = -1;
  std::int32_t position = -1;
};

// What an operation waits for: the same slice of another transfer to have been received.
constexpr std::int32_t nothing = -1;

// Everything about the forest that does not depend on slices.
struct Plan {
  std::int32_t ranks = 1;
  std::vector<Transfer> transfers;          // in the common order
  std::vector<std::int32_t> send_after;     // [transfer]: a transfer that its sender receives, or nothing
  std::vector<std::int32_t> receive_after;  // [transfer]: a transfer that its receiver receives, or nothing
  std::vector<std::vector<End>> ends;       // [rank][stream]
  std::vector<Place> receiver;              // [transfer]: at its receiving rank
  std::int32_t steps = 0;                   // that the first slice takes
};

// The transfers of one tree, and who waits for whom.
class TreeTransfers {
 public:
  TreeTransfers(const SpanningTree& tree, std::int32_t number, bool up, bool down)
      : tree_(tree), number_(number), ranks_(static_cast<Rank>(tree.parent.size())) {
    order_.push_back(tree.root);
    children_.resize(tree.parent.size());
    for (Rank rank = 0; rank < ranks_; ++rank)
      if (rank != tree.root) children_[at(tree.parent[at(rank)])].push_back(rank);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const Rank child : children_[at(order_[i])]) order_.push_back(child);
    COLLSIM_CHECK(order_.size() == tree.parent.size());
    if (up) add_up();
    if (down) add_down(up);
  }

  // Of this tree, in order; what they wait for are indices into these.
  std::vector<Transfer> transfers;
  std::vector<std::int32_t> send_after;
  std::vector<std::int32_t> receive_after;

 private:
  static std::size_t at(Rank rank) { return static_cast<std::size_t>(rank); }

  void add(Transfer transfer, std::int32_t send_waits, std::int32_t receive_waits) {
    transfer.tree = number_;
    transfers.push_back(transfer);
    send_after.push_back(send_waits);
    receive_after.push_back(receive_waits);
  }

  // Children add to the same chunk one after another, the ones with the least to wait for first.
  void add_up() {
    height_.assign(tree_.parent.size(), 0);
    last_.assign(tree_.parent.size(), nothing);
    for (std::size_t i = order_.size(); i-- > 1;) {
      const Rank child = order_[i];
      std::int32_t& parent_height = height_[at(tree_.parent[at(child)])];
      parent_height = std::max(parent_height, height_[at(child)] + 1);
    }
    std::vector<Rank> by_height(order_.rbegin(), order_.rend() - 1);
    std::stable_sort(by_height.begin(), by_height.end(),
                     [&](Rank a, Rank b) { return height_[at(a)] < height_[at(b)]; });
    for (const Rank child : by_height) {
      const Rank parent = tree_.parent[at(child)];
      const auto index = static_cast<std::int32_t>(transfers.size());
      add({0, height_[at(child)], true, child, parent, tree_.channel[at(child)]}, last_[at(child)],
          last_[at(parent)]);
      last_[at(parent)] = index;
    }
  }

  void add_down(bool after_up) {
    const std::int32_t first_slot = after_up ? height_[at(tree_.root)] : 0;
    const std::int32_t sum = after_up ? last_[at(tree_.root)] : nothing;
    depth_.assign(tree_.parent.size(), 0);
    last_.assign(tree_.parent.size(), nothing);
    last_[at(tree_.root)] = sum;
    for (std::size_t i = 1; i < order_.size(); ++i) {
      const Rank child = order_[i];
      const Rank parent = tree_.parent[at(child)];
      depth_[at(child)] = depth_[at(parent)] + 1;
      last_[at(child)] = static_cast<std::int32_t>(transfers.size());
      add({0, first_slot + depth_[at(parent)], false, parent, child, tree_.channel[at(child)]},
          last_[at(parent)], nothing);
    }
  }

  const SpanningTree& tree_;
  std::int32_t number_;
  Rank ranks_;
  std::vector<Rank> order_;  // parents before their children
  std::vector<std::vector<Rank>> children_;
  std::vector<std::int32_t> height_;  // [rank]
  std::vector<std::int32_t> depth_;   // [rank]
  std::vector<std::int32_t> last_;    // [rank]: the last transfer that it receives, up and then down
};

void add_ends(Plan& plan) {
  using Key = std::tuple<bool, Rank, std::int32_t>;  // receives, peer, channel
  std::vector<std::map<Key, std::vector<std::int32_t>>> of_rank(static_cast<std::size_t>(plan.ranks));
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    const auto index = static_cast<std::int32_t>(i);
    of_rank[static_cast<std::size_t>(transfer.from)][{false, transfer.to, transfer.channel}].push_back(index);
    of_rank[static_cast<std::size_t>(transfer.to)][{true, transfer.from, transfer.channel}].push_back(index);
  }
  plan.receiver.resize(plan.transfers.size());
  for (const auto& ends_of_rank : of_rank) {
    std::vector<End>& ends = plan.ends.emplace_back();
    for (const auto& [key, indices] : ends_of_rank) {
      End end{!std::get<0>(key), std::get<1>(key), std::get<2>(key), indices, 0, 0, {}};
      const auto slot = [&](std::int32_t index) {
        return plan.transfers[static_cast<std::size_t>(index)].slot;
      };
      end.slot_min = end.slot_max = slot(indices.front());
      for (std::size_t position = 0; position < indices.size(); ++position) {
        end.slot_min = std::min(end.slot_min, slot(indices[position]));
        end.slot_max = std::max(end.slot_max, slot(indices[position]));
        if (!end.sends)
          plan.receiver[static_cast<std::size_t>(indices[position])] = {
              static_cast<std::int32_t>(ends.size()), static_cast<std::int32_t>(position)};
      }
      plan.steps = std::max(plan.steps, end.slot_max + 1);
      ends.push_back(std::move(end));
    }
  }
}

Plan plan_of(const Forest& forest) {
  const bool up = reduces(forest.kind);
  const bool down = forest.kind != CollectiveKind::reduce_scatter && forest.kind != CollectiveKind::reduce;
  Plan plan;
  plan.ranks = forest.ranks;
  for (std::size_t number = 0; number < forest.trees.size(); ++number) {
    const TreeTransfers tree(forest.trees[number], static_cast<std::int32_t>(number), up, down);
    const auto first = static_cast<std::int32_t>(plan.transfers.size());
    const auto shift = [first](std::int32_t index) { return index == nothing ? nothing : index + first; };
    plan.transfers.insert(plan.transfers.end(), tree.transfers.begin(), tree.transfers.end());
    for (const std::int32_t index : tree.send_after) plan.send_after.push_back(shift(index));
    for (const std::int32_t index : tree.receive_after) plan.receive_after.push_back(shift(index));
  }
  add_ends(plan);
  return plan;
}

// Writes the programs of all streams, for a number of slices.
class Writer {
 public:
  Writer(Plan plan, const Forest& forest, std::int32_t slices)
      : plan_(std::move(plan)), forest_(forest), slices_(slices) {
    for (std::vector<End>& ends : plan_.ends)
      for (End& end : ends) count_steps(end);
  }

  Program program(Rank rank, std::int32_t stream) const {
    const End& end = end_at(rank, stream);
    Program result;
    Loop part{1, {}};
    const auto [first, last] = steady_steps(rank, end);
    const bool has_loop = last - first >= 1;
    for (std::int32_t step = end.slot_min; step < end.slot_max + slices_; ++step) {
      if (has_loop && step == first) {
        if (!part.body.empty()) result.loops.push_back(std::move(part));
        part = Loop{std::int64_t{last} - first + 1, {}};
        append_step(rank, end, step, 1, part);
        result.loops.push_back(std::move(part));
        part = Loop{1, {}};
        step = last;
      } else {
        append_step(rank, end, step, 0, part);
      }
    }
    if (!part.body.empty()) result.loops.push_back(std::move(part));
    return result;
  }

  const Plan& plan() const { return plan_; }

 private:
  const End& end_at(Rank rank, std::int32_t stream) const {
    return plan_.ends[static_cast<std::size_t>(rank)][static_cast<std::size_t>(stream)];
  }
  const Transfer& transfer(std::int32_t index) const {
    return plan_.transfers[static_cast<std::size_t>(index)];
  }
  std::int32_t waits_for(const End& end, std::int32_t index) const {
    return (end.sends ? plan_.send_after : plan_.receive_after)[static_cast<std::size_t>(index)];
  }
  bool is_active(std::int32_t index, std::int32_t step) const {
    const std::int32_t slice = step - transfer(index).slot;
    return slice >= 0 && slice < slices_;
  }

  void count_steps(End& end) const {
    std::int64_t count = 0;
    for (std::int32_t step = end.slot_min; step < end.slot_max + slices_; ++step) {
      end.before.push_back(count);
      for (const std::int32_t index : end.transfers) count += is_active(index, step);
    }
  }

  // The steps in which the stream, and those that it waits for where it does, have all transfers under way.
  std::pair<std::int32_t, std::int32_t> steady_steps(Rank rank, const End& end) const {
    std::int32_t first = end.slot_max;
    std::int32_t last = end.slot_min + slices_ - 1;
    for (const std::int32_t index : end.transfers) {
      const std::int32_t other = waits_for(end, index);
      if (other == nothing) continue;
      const End& receiving = end_at(rank, plan_.receiver[static_cast<std::size_t>(other)].stream);
      const std::int32_t later = transfer(index).slot - transfer(other).slot;
      first = std::max(first, receiving.slot_max + later);
      last = std::min(last, receiving.slot_min + slices_ - 1 + later);
    }
    return {first, last};
  }

  // The operations of one step, or (stride 1) of as many steps from it on as the loop has trips.
  void append_step(Rank rank, const End& end, std::int32_t step, std::int32_t stride, Loop& loop) const {
    for (const std::int32_t index : end.transfers) {
      if (!is_active(index, step)) continue;
      const Transfer& now = transfer(index);
      const std::int32_t slice = step - now.slot;
      const OperationKind kind = end.sends ? OperationKind::send
                                 : now.up  ? OperationKind::receive_reduce
                                           : OperationKind::receive;
      loop.body.push_back(make_operation(kind, 0, chunk(now.tree, slice, stride)));
      const std::int32_t other = waits_for(end, index);
      if (other != nothing) loop.body.back().dependencies.push_back(dependency(rank, other, slice, stride));
    }
  }

  // Slice `slice` of the transfer has been received.
  Dependency dependency(Rank rank, std::int32_t index, std::int32_t slice, std::int32_t stride) const {
    const Place place = plan_.receiver[static_cast<std::size_t>(index)];
    const End& end = end_at(rank, place.stream);
    const std::int32_t step = transfer(index).slot + slice;
    std::int64_t operation = end.before[static_cast<std::size_t>(step - end.slot_min)];
    for (std::int32_t position = 0; position < place.position; ++position)
      operation += is_active(end.transfers[static_cast<std::size_t>(position)], step);
    return {place.stream, operation, stride * static_cast<std::int64_t>(end.transfers.size())};
  }

  ChunkExpression chunk(std::int32_t tree, std::int32_t slice, std::int32_t stride) const {
    ChunkExpression result;
    result.region_offset = tree % forest_.pieces * slices_ + slice;
    result.region_stride = stride;
    if (in_parts(forest_.kind)) {
      result.block_offset = tree / forest_.pieces;
      result.block_modulus = forest_.ranks;
    }
    return result;
  }

  Plan plan_;
  const Forest& forest_;
  std::int32_t slices_;
};

// As many as keep the time in which the trees fill and empty small, while slices are not too small, nor too
// many to be simulated quickly.
std::int32_t slices_automatic(const Collective& collective, const Forest& forest, const Plan& plan) {
  const std::int64_t piece =
      collective.bytes.count() / forest.pieces / (in_parts(forest.kind) ? forest.ranks : 1);
  const std::int64_t affordable = messages_wanted_max / static_cast<std::int64_t>(plan.transfers.size() + 1);
  const std::int64_t wanted = std::min(std::int64_t{64} * plan.steps, affordable);
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(std::min(piece / slice_bytes_min, wanted), 1, slices_max));
}

std::optional<Impossible> check_request(const Collective& collective, const Placement& placement,
                                        const AlgorithmOptions& options, const Forest& forest) {
  if (auto wrong = check_options(options, placement.ranks())) return wrong;
  if (collective.kind != forest.kind || placement.ranks() != forest.ranks ||
      (has_root(collective.kind) && collective.root != forest.root))
    return Impossible{"the trees were packed for another collective, root or number of ranks"};
  if (in_parts(collective.kind) && collective.elements() % placement.ranks() != 0)
    return Impossible{std::to_string(collective.elements()) + " elements are not equal parts for " +
                      std::to_string(placement.ranks()) + " ranks"};
  return std::nullopt;
}

}  // namespace

AlgorithmInfo synthesized_info() {
  using enum CollectiveKind;
  AlgorithmInfo info;
  info.name = "synthesized";
  info.summary = "pipelined spanning trees, packed for the cluster at hand";
  info.source = "ForestColl, arXiv 2402.06787; packed by exponential prices";
  info.collectives = {all_reduce, reduce_scatter, all_gather, broadcast, reduce};
  info.options = {"slices", "slots", "channel_bandwidth"};
  return info;
}

ScheduleOrReason synthesized(const Collective& collective, const Placement& placement,
                             const AlgorithmOptions& options, const Forest& forest) {
  if (auto wrong = check_request(collective, placement, options, forest)) return *wrong;
  if (forest.ranks == 1) return empty_schedule("synthesized", collective, 1);
  Plan plan = plan_of(forest);
  const std::int32_t slices = options.slices.value_or(slices_automatic(collective, forest, plan));
  Schedule schedule = schedule_frame("synthesized", collective, placement, options, {forest.pieces, slices},
                                     in_parts(collective.kind) ? forest.ranks : 1);
  const Writer writer(std::move(plan), forest, slices);
  struct Stream {
    std::int32_t program;
    Peer peer;
  };
  const auto streams = std::make_shared<std::vector<std::vector<Stream>>>();
  for (Rank rank = 0; rank < forest.ranks; ++rank) {
    std::vector<Stream>& of_rank = streams->emplace_back();
    for (const End& end : writer.plan().ends[static_cast<std::size_t>(rank)]) {
      schedule.programs.push_back(writer.program(rank, static_cast<std::int32_t>(of_rank.size())));
      of_rank.push_back({static_cast<std::int32_t>(schedule.programs.size()) - 1, {end.peer, end.channel}});
      schedule.channels = std::max(schedule.channels, end.channel + 1);
    }
  }
  schedule.slices = slices;
  schedule.stream_count = [streams](Rank rank) {
    return static_cast<std::int32_t>((*streams)[static_cast<std::size_t>(rank)].size());
  };
  schedule.bind = [streams](Rank rank, std::int32_t stream, Binding& binding) {
    const std::vector<Stream>& of_rank = (*streams)[static_cast<std::size_t>(rank)];
    binding.program = of_rank[static_cast<std::size_t>(stream)].program;
    binding.peers.push_back(of_rank[static_cast<std::size_t>(stream)].peer);
    for (std::size_t other = 0; other < of_rank.size(); ++other)
      binding.streams.push_back(static_cast<std::int32_t>(other));
  };
  return schedule;
}

}  // namespace collsim::algorithms
