#include "algorithms/butterfly_exchange.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

// Binding of a core rank: bases 2i and 2i + 1 are the first block of its range before round i and its digit
// in round i, the last base is its first own block; peers are those of round 0, 1, .. by the shift of the
// digit, then its extra. Of an extra: its own block, the rank that stands in for it.
class Exchange {
 public:
  Exchange(std::shared_ptr<const Butterfly> butterfly, std::int32_t channel, CollectiveKind kind,
           bool send_streams)
      : butterfly_(std::move(butterfly)),
        channel_(channel),
        parts_(in_parts(kind)),
        scatters_(kind != CollectiveKind::all_gather),
        gathers_(kind != CollectiveKind::reduce_scatter),
        send_streams_(send_streams) {}

  void add_programs(std::vector<Program>& programs);
  std::int32_t stream_count(Rank rank) const {
    if (butterfly_->is_extra(rank)) return 1;
    return 1 + side_streams_.at(static_cast<std::size_t>(program_[core_index(rank)]) - first_program_);
  }
  void bind(Rank rank, std::int32_t stream, Binding& binding) const;
  Rank owner(std::int32_t block) const;

 private:
  std::size_t core_index(Rank rank) const { return static_cast<std::size_t>(butterfly_->core_of(rank)); }
  std::int32_t position_of(Rank rank) const { return butterfly_->position_of(butterfly_->core_of(rank)); }
  // Positions below this have two blocks.
  std::int32_t doubles() const { return parts_ ? butterfly_->extras() : 0; }
  std::int32_t first_block(std::int32_t position) const { return position + std::min(position, doubles()); }
  std::int32_t blocks() const { return first_block(butterfly_->size()); }

  // What tells programs apart: whether there is an extra; for each round the blocks a position, or -1 - digit
  // where the range has positions with one and with two.
  std::vector<std::int32_t> key_of(std::int32_t core) const;
  ChunkExpression range(std::int32_t core, std::int32_t round, std::int32_t shift) const;
  ChunkExpression whole() const;
  ChunkExpression own_block() const;
  void add_core_programs(std::int32_t core, std::vector<Program>& programs);
  void add_extra_program(std::vector<Program>& programs) const;
  void add(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk);
  void scatter_rounds(std::int32_t core);
  void gather_rounds(std::int32_t core);

  std::shared_ptr<const Butterfly> butterfly_;
  std::int32_t channel_;
  bool parts_;
  bool scatters_;
  bool gathers_;
  bool send_streams_;
  std::size_t first_program_ = 0;
  std::int32_t extra_program_ = -1;
  std::vector<std::int32_t> program_;       // [core]: that of its first stream, its other streams follow
  std::vector<std::int32_t> side_streams_;  // [program - first_program_]
  std::vector<Program> made_;               // of the core that is at work: first stream, other streams
};

std::vector<std::int32_t> Exchange::key_of(std::int32_t core) const {
  std::vector<std::int32_t> key = {butterfly_->extra_of(core).has_value() ? 1 : 0};
  if (doubles() == 0) return key;
  const std::int32_t position = butterfly_->position_of(core);
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round) {
    const std::int32_t start = butterfly_->range_start(position, round);
    const std::int32_t end = start + butterfly_->unit(round) * butterfly_->factor(round);
    if (end <= doubles())
      key.push_back(2);
    else
      key.push_back(start >= doubles() ? 1 : -1 - butterfly_->digit(position, round));
  }
  return key;
}

ChunkExpression Exchange::range(std::int32_t core, std::int32_t round, std::int32_t shift) const {
  const std::int32_t position = butterfly_->position_of(core);
  const std::int32_t factor = butterfly_->factor(round);
  const std::int32_t unit = butterfly_->unit(round);
  const std::int32_t start = butterfly_->range_start(position, round);
  ChunkExpression chunk;
  if (start < doubles() && doubles() < start + unit * factor) {
    const std::int32_t first = start + (butterfly_->digit(position, round) + shift) % factor * unit;
    chunk.block_offset = first_block(first);
    chunk.block_modulus = blocks();
    chunk.span = first_block(first + unit) - first_block(first);
    return chunk;
  }
  const std::int32_t width = start < doubles() ? 2 : 1;
  chunk.origin_base = static_cast<std::int8_t>(2 * round);
  chunk.block_base = static_cast<std::int8_t>(2 * round + 1);
  chunk.block_offset = shift;
  chunk.block_modulus = factor;
  chunk.block_unit = chunk.span = unit * width;
  return chunk;
}

ChunkExpression Exchange::whole() const {
  ChunkExpression chunk;
  chunk.span = blocks();
  return chunk;
}

// Where an extra has its part, in the binding of a core rank.
ChunkExpression Exchange::own_block() const {
  ChunkExpression chunk;
  chunk.origin_base = static_cast<std::int8_t>(2 * butterfly_->rounds());
  return chunk;
}

void Exchange::add(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk) {
  ChunkExpression placed = chunk;
  placed.region_offset = channel_;
  OperationTemplate operation = make_operation(kind, peer, placed);
  if (kind != OperationKind::send || !send_streams_) {
    made_[0].loops.push_back(Loop{1, {operation}});
    return;
  }
  const std::int64_t before = made_[0].operation_count();
  if (before > 0) operation.dependencies.push_back(Dependency{0, before - 1, 0});
  made_.push_back(Program{{Loop{1, {operation}}}});
}

void Exchange::scatter_rounds(std::int32_t core) {
  std::int32_t first_peer = 0;
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round) {
    const std::int32_t others = butterfly_->factor(round) - 1;
    for (std::int32_t shift = 1; shift <= others; ++shift)
      add(OperationKind::send, first_peer + shift - 1, range(core, round, shift));
    for (std::int32_t shift = others; shift >= 1; --shift)
      add(OperationKind::receive_reduce, first_peer + shift - 1, range(core, round, 0));
    first_peer += others;
  }
}

void Exchange::gather_rounds(std::int32_t core) {
  std::int32_t first_peer = 0;
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round)
    first_peer += butterfly_->factor(round) - 1;
  for (std::int32_t round = butterfly_->rounds(); round-- > 0;) {
    const std::int32_t others = butterfly_->factor(round) - 1;
    first_peer -= others;
    for (std::int32_t shift = 1; shift <= others; ++shift)
      add(OperationKind::send, first_peer + shift - 1, range(core, round, 0));
    for (std::int32_t shift = others; shift >= 1; --shift)
      add(OperationKind::receive, first_peer + shift - 1, range(core, round, shift));
  }
}

void Exchange::add_core_programs(std::int32_t core, std::vector<Program>& programs) {
  made_.assign(1, Program{});
  std::int32_t extra_peer = 0;
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round)
    extra_peer += butterfly_->factor(round) - 1;
  const bool has_extra = butterfly_->extra_of(core).has_value();
  if (has_extra && scatters_) add(OperationKind::receive_reduce, extra_peer, whole());
  if (has_extra && !scatters_) add(OperationKind::receive, extra_peer, own_block());
  if (scatters_) scatter_rounds(core);
  if (gathers_) gather_rounds(core);
  if (has_extra) add(OperationKind::send, extra_peer, gathers_ ? whole() : own_block());
  const auto sides = static_cast<std::int32_t>(made_.size()) - 1;
  side_streams_.insert(side_streams_.end(), made_.size(), sides);
  programs.insert(programs.end(), made_.begin(), made_.end());
}

void Exchange::add_extra_program(std::vector<Program>& programs) const {
  const auto add_one = [&](OperationKind kind, bool all) {
    ChunkExpression chunk;
    chunk.region_offset = channel_;
    chunk.origin_base = static_cast<std::int8_t>(all ? -1 : 0);
    if (all) chunk.span = blocks();
    programs.back().loops.push_back(Loop{1, {make_operation(kind, 0, chunk)}});
  };
  programs.emplace_back();
  add_one(OperationKind::send, scatters_);
  add_one(OperationKind::receive, gathers_);
}

void Exchange::add_programs(std::vector<Program>& programs) {
  first_program_ = programs.size();
  std::map<std::vector<std::int32_t>, std::int32_t> known;
  for (std::int32_t core = 0; core < butterfly_->size(); ++core) {
    const auto [entry, is_new] = known.emplace(key_of(core), static_cast<std::int32_t>(programs.size()));
    if (is_new) add_core_programs(core, programs);
    program_.push_back(entry->second);
  }
  if (butterfly_->extras() == 0) return;
  extra_program_ = static_cast<std::int32_t>(programs.size());
  add_extra_program(programs);
}

void Exchange::bind(Rank rank, std::int32_t stream, Binding& binding) const {
  const std::int32_t core = butterfly_->core_of(rank);
  const std::int32_t position = butterfly_->position_of(core);
  if (butterfly_->is_extra(rank)) {
    binding.program = extra_program_;
    binding.peers.push_back(Peer{butterfly_->rank_of(core), channel_});
    binding.bases.push_back(first_block(position));
    return;
  }
  binding.program = program_[core_index(rank)] + stream;
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round) {
    binding.bases.push_back(first_block(butterfly_->range_start(position, round)));
    binding.bases.push_back(butterfly_->digit(position, round));
    for (std::int32_t shift = 1; shift < butterfly_->factor(round); ++shift)
      binding.peers.push_back(Peer{butterfly_->peer(core, round, shift), channel_});
  }
  binding.bases.push_back(first_block(position));
  if (const auto extra = butterfly_->extra_of(core)) binding.peers.push_back(Peer{*extra, channel_});
  if (stream > 0) binding.streams.push_back(0);
}

Rank Exchange::owner(std::int32_t block) const {
  const bool is_double = block < 2 * doubles();
  const std::int32_t core = butterfly_->core_at(is_double ? block / 2 : block - doubles());
  return is_double && block % 2 == 0 ? *butterfly_->extra_of(core) : butterfly_->rank_of(core);
}

void add_symmetries(const ButterflyPlan& plan, bool parts, std::vector<Symmetry>& symmetries) {
  for (std::size_t channel = 0; channel < plan.channels.size(); ++channel) {
    const std::shared_ptr<const Butterfly>& butterfly = plan.channels[channel];
    // Blocks of unlike positions, or streams that extras have not: no digit turns them all.
    if ((parts || plan.send_streams) && butterfly->extras() > 0) continue;
    std::int32_t streams = 1;
    for (std::int32_t round = 0; plan.send_streams && round < butterfly->rounds(); ++round)
      streams += butterfly->factor(round) - 1;
    for (Symmetry& symmetry : butterfly_symmetries(butterfly, true)) {
      symmetry.first_stream = symmetry.first_region = static_cast<std::int32_t>(channel);
      symmetry.stream_count = streams;
      symmetry.region_count = 1;
      symmetries.push_back(std::move(symmetry));
    }
  }
}

}  // namespace

Schedule exchange_in_butterflies(const ButterflyPlan& plan, const Collective& collective,
                                 const Placement& placement, const AlgorithmOptions& options) {
  COLLSIM_CHECK(!plan.send_streams ||
                (plan.channels.size() == 1 && collective.kind == CollectiveKind::all_gather));
  const bool parts = in_parts(collective.kind);
  const auto channels = static_cast<std::int32_t>(plan.channels.size());
  Schedule schedule = schedule_frame(plan.name, collective, placement, options, {channels},
                                     parts ? placement.ranks() : plan.channels[0]->size());
  schedule.channels = channels;
  auto exchanges = std::make_shared<std::vector<Exchange>>();
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    exchanges->emplace_back(plan.channels[static_cast<std::size_t>(channel)], channel, collective.kind,
                            plan.send_streams);
    exchanges->back().add_programs(schedule.programs);
  }
  const std::shared_ptr<const std::vector<Exchange>> shared = exchanges;
  if (parts)
    schedule.owner = [shared](std::int32_t region, std::int32_t block) {
      return (*shared)[static_cast<std::size_t>(region)].owner(block);
    };
  if (plan.send_streams) {
    schedule.stream_count = [shared](Rank rank) { return shared->front().stream_count(rank); };
    schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
      shared->front().bind(rank, stream, binding);
    };
  } else {
    schedule.stream_count = [channels](Rank) { return channels; };
    schedule.bind = [shared](Rank rank, std::int32_t stream, Binding& binding) {
      (*shared)[static_cast<std::size_t>(stream)].bind(rank, 0, binding);
    };
  }
  add_symmetries(plan, parts, schedule.symmetries);
  return schedule;
}

}  // namespace collsim::algorithms
