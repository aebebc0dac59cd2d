// Contract: what every rank holds before a collective and must hold after it, cell by cell.
//
// A cell is a block of a region of the layout: region * blocks + block. Contributions lie in output where the
// schedule is in place, else in input. What is neither given nor written is undefined.
//
//   collective       rank r gives          rank r must get
//   all_reduce       every cell            the sum of all ranks' cells, everywhere
//   reduce           every cell            the sum, at the root only
//   reduce_scatter   every cell            the sum, of its own part
//   broadcast        root: every cell      the root's cells
//   all_gather       its own part          every part, from its owner
//   scatter          root: every cell      its own part, from the root
//   gather           its own part          every part from its owner, at the root only
//   all_to_all       every cell            in part s: the part r of rank s
//   send_recv        every cell            the cells of rank r - 1
//   barrier          as Schedule::barrier_as, an all_reduce or all_gather of nothing: who has the
//   contribution
//                    of all has heard of all
// "Sum" stands for the reduction, whatever it is; each contribution exactly once.
//
// Complexity  O(1) a question (all_to_all: O(1), its parts are numbered by rank).
#pragma once

#include <cstdint>

#include "sim/model/schedule.hpp"

namespace collsim {

class Contract {
 public:
  enum class Wants { nothing, sum, copy };
  struct Origin {
    Rank rank;
    std::int64_t cell;
    friend bool operator==(const Origin&, const Origin&) = default;
  };

  // Keeps a reference to the schedule.
  explicit Contract(const Schedule& schedule);

  // The collective whose contract it is; never barrier.
  CollectiveKind kind() const { return kind_; }
  bool sums() const { return reduces(kind_); }
  bool gives(Rank rank, std::int64_t cell) const;
  Wants wants(Rank rank, std::int64_t cell) const;
  // Whose cell it is that `rank` wants in `cell`. REQUIRES: wants(rank, cell) is copy
  Origin origin(Rank rank, std::int64_t cell) const;

 private:
  Rank owner(std::int64_t cell) const {
    return owner_of(schedule_, static_cast<std::int32_t>(cell / schedule_.layout.blocks()),
                    static_cast<std::int32_t>(cell % schedule_.layout.blocks()));
  }
  const Schedule& schedule_;
  CollectiveKind kind_;
};

}  // namespace collsim
