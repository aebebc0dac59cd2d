#include "sim/model/contract.hpp"

#include "sim/core/check.hpp"

namespace collsim {

Contract::Contract(const Schedule& schedule)
    : schedule_(schedule),
      kind_(schedule.collective.kind == CollectiveKind::barrier ? schedule.barrier_as
                                                                : schedule.collective.kind) {
  COLLSIM_CHECK(kind_ != CollectiveKind::barrier);
}

bool Contract::gives(Rank rank, std::int64_t cell) const {
  switch (kind_) {
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return rank == schedule_.collective.root;
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return owner(cell) == rank;
    default:
      return true;
  }
}

Contract::Wants Contract::wants(Rank rank, std::int64_t cell) const {
  const bool is_root = rank == schedule_.collective.root;
  switch (kind_) {
    case CollectiveKind::all_reduce:
      return Wants::sum;
    case CollectiveKind::reduce:
      return is_root ? Wants::sum : Wants::nothing;
    case CollectiveKind::reduce_scatter:
      return owner(cell) == rank ? Wants::sum : Wants::nothing;
    case CollectiveKind::scatter:
      return owner(cell) == rank ? Wants::copy : Wants::nothing;
    case CollectiveKind::gather:
      return is_root ? Wants::copy : Wants::nothing;
    default:
      return Wants::copy;
  }
}

Contract::Origin Contract::origin(Rank rank, std::int64_t cell) const {
  switch (kind_) {
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return {schedule_.collective.root, cell};
    case CollectiveKind::send_recv:
      return {rank > 0 ? rank - 1 : schedule_.ranks - 1, cell};
    case CollectiveKind::all_to_all: {
      const std::int64_t blocks = schedule_.layout.blocks();
      const std::int64_t in_part = blocks / schedule_.ranks;  // blocks of a part
      const std::int64_t block = cell % blocks;
      return {static_cast<Rank>(block / in_part), cell - block + rank * in_part + block % in_part};
    }
    default:
      return {owner(cell), cell};
  }
}

}  // namespace collsim
