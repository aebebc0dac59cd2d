#include "sim/model/translation.hpp"

#include <bit>
#include <memory>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

void set_translated_streams(Schedule& schedule, TranslatedStreams streams) {
  COLLSIM_CHECK(streams.translation.ranks == schedule.ranks && schedule.group_count == 0);
  COLLSIM_CHECK(streams.translation.kind != TranslationKind::exclusive_or ||
                std::has_single_bit(static_cast<std::uint32_t>(schedule.ranks)));
  COLLSIM_CHECK(streams.moving_bases == 0 || schedule.layout.blocks() == schedule.ranks);
  schedule.translated = std::make_shared<const TranslatedStreams>(std::move(streams));
  schedule.stream_count = [count = schedule.translated->streams](Rank) { return count; };
  schedule.bind = [of_rank_0 = schedule.translated](Rank rank, std::int32_t stream, Binding& binding) {
    of_rank_0->bind(stream, binding);
    const Translation& translation = of_rank_0->translation;
    for (Peer& peer : binding.peers) peer.rank = translation.move(peer.rank, rank);
    for (std::size_t i = 0; i < of_rank_0->moving_bases && i < binding.bases.size(); ++i)
      binding.bases[i] = translation.move(static_cast<Rank>(binding.bases[i]), rank);
  };
}

}  // namespace collsim
