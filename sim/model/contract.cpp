#include "sim/model/contract.hpp"

#include <vector>

namespace collsim {
namespace {

// Every rank hears of all others.
bool makes_a_barrier(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::all_gather || kind == CollectiveKind::all_to_all;
}

}  // namespace

Contract::Contract(const Schedule& schedule)
    : schedule_(schedule),
      kind_(schedule.collective.kind == CollectiveKind::barrier ? schedule.barrier_as
                                                                : schedule.collective.kind) {}

std::optional<std::string> Contract::problem() const {
  if (schedule_.collective.kind == CollectiveKind::barrier && !makes_a_barrier(kind_))
    return "the barrier is performed as " + std::string(name_of(kind_)) +
           ", in which not every rank hears of all others";
  const Rank root = schedule_.collective.root;
  if (has_root(kind_) && (root < 0 || root >= schedule_.ranks))
    return "the root is rank " + std::to_string(root) + ", which does not exist";
  return in_parts(kind_) ? unequal_parts() : std::nullopt;
}

// Blocks of a region can differ by an element, but not in a collective that has parts; so parts are equal if
// they have as many blocks of each region.
std::optional<std::string> Contract::unequal_parts() const {
  const std::int32_t blocks = schedule_.layout.blocks();
  if (blocks % schedule_.ranks != 0)
    return "regions of " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks") +
           " have no equal parts for " + std::to_string(schedule_.ranks) + " ranks";
  if (!schedule_.owner) return std::nullopt;
  if (kind_ == CollectiveKind::all_to_all)
    return "the parts of an all_to_all are in the order of the ranks, and it needs no owners";
  std::vector<std::int64_t> owned(static_cast<std::size_t>(schedule_.ranks));
  for (std::int32_t region = 0; region < schedule_.layout.regions(); ++region) {
    const std::int64_t share = std::int64_t{blocks / schedule_.ranks} * (region + 1);  // up to this region
    for (std::int32_t block = 0; block < blocks; ++block) {
      const Rank owner = schedule_.owner(region, block);
      const bool exists = owner >= 0 && owner < schedule_.ranks;
      if (exists && ++owned[static_cast<std::size_t>(owner)] <= share) continue;
      return "block " + std::to_string(block) + " of region " + std::to_string(region) + " belongs to rank " +
             std::to_string(owner) + (exists ? ", which has more than its part" : ", which does not exist");
    }
  }
  return std::nullopt;
}

Rank Contract::giver(std::int64_t cell) const {
  switch (kind_) {
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return schedule_.collective.root;
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return owner(cell);
    default:
      return everybody;
  }
}

Rank Contract::taker(std::int64_t cell) const {
  switch (kind_) {
    case CollectiveKind::reduce:
    case CollectiveKind::gather:
      return schedule_.collective.root;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::scatter:
      return owner(cell);
    default:
      return everybody;
  }
}

Contract::Origin Contract::origin(Rank rank, std::int64_t cell) const {
  switch (kind_) {
    case CollectiveKind::send_recv:
      return {rank > 0 ? rank - 1 : schedule_.ranks - 1, cell};
    case CollectiveKind::all_to_all: {
      const std::int64_t blocks = schedule_.layout.blocks();
      const std::int64_t in_part = blocks / schedule_.ranks;  // blocks of a part
      const std::int64_t block = cell % blocks;
      return {static_cast<Rank>(block / in_part), cell - block + rank * in_part + block % in_part};
    }
    default:
      return {giver(cell), cell};
  }
}

}  // namespace collsim
