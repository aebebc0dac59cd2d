#include "experiments/proofs.hpp"

namespace collsim::program {

namespace {

// Beyond so many streams no proof is attempted (sim/model/proof.hpp), and hashing them all would take
// minutes.
constexpr std::int64_t hashed_streams_max = std::int64_t{1} << 28;

bool is_hashed(const Schedule& schedule) {
  if (schedule.translated) return true;  // the streams of rank 0 are all that is hashed
  std::int64_t streams = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) streams += schedule.stream_count(rank);
  return streams <= hashed_streams_max;
}

}  // namespace

Proof Proofs::of(const Schedule& schedule) {
  if (!is_hashed(schedule)) return prove(schedule, options_);
  const StructureDigest digest = structure_digest(schedule);
  return proofs_.of({digest.low, digest.high}, [&] { return prove(schedule, options_); });
}

}  // namespace collsim::program
