#include "algorithms/full_vector_exchange.hpp"

#include <utility>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t in_output = -1;  // else a region of scratch

// Where the sum before round 0, 1, .. is; the last entry is the result.
std::vector<std::int32_t> buffers_of_rounds(std::int32_t rounds) {
  std::vector<std::int32_t> buffers = {in_output};
  if (rounds % 2 != 0 && rounds > 1) buffers.insert(buffers.end(), {0, 1});
  while (static_cast<std::int32_t>(buffers.size()) <= rounds)
    buffers.push_back(buffers.back() == in_output && rounds > 1 ? 0 : in_output);
  return buffers;
}

ChunkExpression in_buffer(std::int32_t buffer, std::int32_t channel) {
  ChunkExpression chunk;
  chunk.buffer = buffer == in_output ? Buffer::output : Buffer::scratch;
  chunk.region_offset = buffer == in_output ? channel : buffer;
  return chunk;
}

// Peers of a binding: those of round 0, 1, .. by the shift of the digit, then the extra.
class FullVectors {
 public:
  FullVectors(std::shared_ptr<const Butterfly> butterfly, std::int32_t channel, bool send_streams)
      : butterfly_(std::move(butterfly)), channel_(channel), send_streams_(send_streams) {
    if (send_streams_)
      buffers_ = buffers_of_rounds(butterfly_->rounds());
    else
      buffers_.assign(static_cast<std::size_t>(butterfly_->rounds()) + 1, in_output);
    for (std::int32_t round = 0; round < butterfly_->rounds(); ++round)
      peers_ += butterfly_->factor(round) - 1;
  }

  std::int32_t scratch_regions() const {
    return !send_streams_ || butterfly_->rounds() < 2 ? 0 : 1 + butterfly_->rounds() % 2;
  }
  // A rank without an extra, one with an extra, the extra.
  void add_programs(std::vector<Program>& programs);
  std::int32_t stream_count(Rank rank) const {
    if (butterfly_->is_extra(rank) || !send_streams_) return 1;
    return 1 + peers_ + (butterfly_->extra_of(butterfly_->core_of(rank)) ? 1 : 0);
  }
  void bind(Rank rank, std::int32_t stream, Binding& binding) const;

 private:
  ChunkExpression sum_before(std::int32_t round) const {
    return in_buffer(buffers_[static_cast<std::size_t>(round)], channel_);
  }
  // The sends of a round, in the stream or beside it; and its receives.
  void add_sends(std::int32_t round, std::int32_t first_peer);
  void add_receives(std::int32_t round, std::int32_t first_peer);
  void add_waits(std::int32_t round, OperationTemplate& receive) const;
  void add_send(std::int32_t peer, const ChunkExpression& chunk);

  std::shared_ptr<const Butterfly> butterfly_;
  std::int32_t channel_;
  bool send_streams_;
  std::vector<std::int32_t> buffers_;  // [round]: of the sum before it
  std::int32_t peers_ = 0;
  std::int32_t first_program_[3] = {0, 0, 0};  // without an extra, with one, of the extra
  std::vector<Program> made_;                  // of the rank that is at work: first stream, other streams
};

void FullVectors::add_send(std::int32_t peer, const ChunkExpression& chunk) {
  OperationTemplate send = make_operation(OperationKind::send, peer, chunk);
  if (!send_streams_) {
    made_[0].loops.push_back(Loop{1, {send}});
    return;
  }
  // Binding::streams of a send: the receives.
  const std::int64_t received = made_[0].operation_count();
  if (received > 0) send.dependencies.push_back(Dependency{0, received - 1, 0});
  made_.push_back(Program{{Loop{1, {send}}}});
}

void FullVectors::add_sends(std::int32_t round, std::int32_t first_peer) {
  for (std::int32_t shift = 1; shift < butterfly_->factor(round); ++shift)
    add_send(first_peer + shift - 1, sum_before(round));
}

// The sends of what is overwritten. Binding::streams of the receives: the sends by peer.
void FullVectors::add_waits(std::int32_t round, OperationTemplate& receive) const {
  if (!send_streams_) return;
  std::int32_t sent = round;
  while (sent >= 0 &&
         buffers_[static_cast<std::size_t>(sent)] != buffers_[static_cast<std::size_t>(round) + 1])
    --sent;
  if (sent < 0) return;
  std::int32_t peer = 0;
  for (std::int32_t before = 0; before < sent; ++before) peer += butterfly_->factor(before) - 1;
  for (std::int32_t shift = 1; shift < butterfly_->factor(sent); ++shift)
    receive.dependencies.push_back(Dependency{peer++, 0, 0});
}

void FullVectors::add_receives(std::int32_t round, std::int32_t first_peer) {
  for (std::int32_t shift = butterfly_->factor(round) - 1; shift >= 1; --shift) {
    OperationTemplate receive =
        make_operation(OperationKind::receive_reduce, first_peer + shift - 1, sum_before(round + 1));
    if (shift + 1 == butterfly_->factor(round)) {
      receive.source = sum_before(round);
      receive.from_source =
          buffers_[static_cast<std::size_t>(round)] != buffers_[static_cast<std::size_t>(round) + 1];
      add_waits(round, receive);
    }
    made_[0].loops.push_back(Loop{1, {receive}});
  }
}

void FullVectors::add_programs(std::vector<Program>& programs) {
  const ChunkExpression result = in_buffer(in_output, channel_);
  for (const bool has_extra : {false, true}) {
    made_.assign(1, Program{});
    if (has_extra)
      made_[0].loops.push_back(Loop{1, {make_operation(OperationKind::receive_reduce, peers_, result)}});
    std::int32_t first_peer = 0;
    for (std::int32_t round = 0; round < butterfly_->rounds(); ++round) {
      add_sends(round, first_peer);
      add_receives(round, first_peer);
      first_peer += butterfly_->factor(round) - 1;
    }
    if (has_extra) add_send(peers_, result);
    first_program_[has_extra ? 1 : 0] = static_cast<std::int32_t>(programs.size());
    programs.insert(programs.end(), made_.begin(), made_.end());
  }
  Program extra;
  for (const OperationKind kind : {OperationKind::send, OperationKind::receive})
    extra.loops.push_back(Loop{1, {make_operation(kind, 0, result)}});
  first_program_[2] = static_cast<std::int32_t>(programs.size());
  programs.push_back(extra);
}

// Peers: those of round 0, 1, .. by the shift of the digit, then the extra.
void FullVectors::bind(Rank rank, std::int32_t stream, Binding& binding) const {
  const std::int32_t core = butterfly_->core_of(rank);
  if (butterfly_->is_extra(rank)) {
    binding.program = first_program_[2];
    binding.peers.push_back(Peer{butterfly_->rank_of(core), channel_});
    return;
  }
  const auto extra = butterfly_->extra_of(core);
  binding.program = first_program_[extra ? 1 : 0] + stream;
  for (std::int32_t round = 0; round < butterfly_->rounds(); ++round)
    for (std::int32_t shift = 1; shift < butterfly_->factor(round); ++shift)
      binding.peers.push_back(Peer{butterfly_->peer(core, round, shift), channel_});
  if (extra) binding.peers.push_back(Peer{*extra, channel_});
  if (!send_streams_) return;
  if (stream > 0)
    binding.streams.push_back(0);
  else
    for (std::int32_t send = 1; send <= peers_; ++send) binding.streams.push_back(send);
}

// Peers of rank r are r XOR those of rank 0.
bool is_binary(const Butterfly& butterfly) {
  for (std::int32_t round = 0; round < butterfly.rounds(); ++round)
    if (butterfly.factor(round) != 2 || butterfly.stride(round) == 0) return false;
  return butterfly.extras() == 0;
}

}  // namespace

Schedule exchange_full_vectors(const ButterflyPlan& plan, const Collective& collective,
                               const Placement& placement, const AlgorithmOptions& options) {
  COLLSIM_CHECK(!plan.send_streams || plan.channels.size() == 1);
  const auto channels = static_cast<std::int32_t>(plan.channels.size());
  Schedule schedule = schedule_frame(plan.name, collective, placement, options, {channels}, 1);
  schedule.channels = channels;
  auto exchanges = std::make_shared<std::vector<FullVectors>>();
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    exchanges->emplace_back(plan.channels[static_cast<std::size_t>(channel)], channel, plan.send_streams);
    exchanges->back().add_programs(schedule.programs);
  }
  schedule.layout.set_scratch_regions(exchanges->front().scratch_regions());
  const std::shared_ptr<const std::vector<FullVectors>> shared = exchanges;
  if (plan.send_streams && is_binary(*plan.channels[0])) {
    const auto bind = [shared](std::int32_t stream, Binding& binding) {
      shared->front().bind(0, stream, binding);
    };
    const Translation bits{TranslationKind::exclusive_or, placement.ranks()};
    set_translated_streams(schedule, {bits, shared->front().stream_count(0), 0, bind});
  } else if (plan.send_streams) {
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
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    const std::shared_ptr<const Butterfly>& butterfly = plan.channels[static_cast<std::size_t>(channel)];
    if (plan.send_streams && butterfly->extras() > 0) continue;  // extras have fewer streams
    for (Symmetry& symmetry : butterfly_symmetries(butterfly, false)) {
      symmetry.first_stream = symmetry.first_region = channel;
      symmetry.stream_count = schedule.stream_count(0) / channels;
      symmetry.region_count = 1;
      schedule.symmetries.push_back(std::move(symmetry));
    }
  }
  return schedule;
}

}  // namespace collsim::algorithms
