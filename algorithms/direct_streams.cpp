#include "algorithms/direct_streams.hpp"

#include <bit>
#include <utility>

namespace collsim::algorithms {

Program one_operation(const OperationTemplate& operation) { return Program{{Loop{1, {operation}}}}; }

Translation translation_of(std::int32_t ranks) {
  const bool bits = std::has_single_bit(static_cast<std::uint32_t>(ranks));
  return {bits ? TranslationKind::exclusive_or : TranslationKind::rotation, ranks};
}

void set_streams_of_rank_0(Schedule& schedule, std::int32_t streams, std::size_t moving_bases,
                           std::function<void(std::int32_t, Binding&)> bind) {
  const std::int32_t ranks = schedule.ranks;
  const Translation translation = translation_of(ranks);
  set_translated_streams(schedule, {translation, streams, moving_bases, std::move(bind)});
  if (!schedule.in_place) return;  // symmetries are verified on chunks of the output alone
  const bool bits = translation.kind == TranslationKind::exclusive_or;
  for (std::int32_t unit = 1; unit < (bits ? ranks : 2); unit *= 2) {
    Symmetry symmetry;
    symmetry.name = bits ? "rank XOR " + std::to_string(unit) : "next rank";
    symmetry.stream_count = streams;
    symmetry.region_count = 1;
    symmetry.rank = [translation, unit](Rank rank) { return translation.move(rank, unit); };
    if (moving_bases > 0) symmetry.block = Rotation{0, ranks, unit, bits ? 2 : ranks, 1};
    schedule.symmetries.push_back(symmetry);
  }
}

// Bases: 0 the own rank, 1 the rank that it receives from.
Schedule direct_all_gather(const char* name, const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  Schedule schedule = schedule_frame(name, collective, placement, options, {}, ranks);
  schedule.programs = {Program{{Loop{1,
                                     {make_operation(OperationKind::send, 0, block_of(0, 0, ranks)),
                                      make_operation(OperationKind::receive, 1, block_of(1, 0, ranks))}}}}};
  set_streams_of_rank_0(schedule, ranks - 1, 2,
                        [translation = translation_of(ranks)](std::int32_t stream, Binding& binding) {
                          const Rank to = stream + 1;
                          const Rank from = translation.home(to);
                          binding.peers = {{to, 0}, {from, 0}};
                          binding.bases = {0, from};
                        });
  return schedule;
}

}  // namespace collsim::algorithms
