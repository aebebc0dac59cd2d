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
//   barrier          as Schedule::barrier_as, a collective of nothing in which every rank hears of all
//                    others: who holds what all have given knows that all have come
// "Sum" stands for the reduction, whatever it is; each contribution exactly once.
//
// Complexity  problem() O(cells); O(1) any other question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  static constexpr Rank everybody = -1;

  // Keeps a reference to the schedule.
  explicit Contract(const Schedule& schedule);

  // Why the schedule cannot be held against a contract, or nothing: a root that does not exist, parts that
  // are not equal, a barrier as what makes no barrier. All below REQUIRES that there is none.
  std::optional<std::string> problem() const;

  // The collective whose contract it is; never barrier.
  CollectiveKind kind() const { return kind_; }
  bool sums() const { return reduces(kind_); }
  // The rank that alone gives the cell, or everybody.
  Rank giver(std::int64_t cell) const;
  // The rank that alone wants the cell, or everybody.
  Rank taker(std::int64_t cell) const;
  bool gives(Rank rank, std::int64_t cell) const {
    const Rank only = giver(cell);
    return only == everybody || only == rank;
  }
  Wants wants(Rank rank, std::int64_t cell) const {
    const Rank only = taker(cell);
    if (only != everybody && only != rank) return Wants::nothing;
    return sums() ? Wants::sum : Wants::copy;
  }
  // Whose cell it is that `rank` wants in `cell`. REQUIRES: wants(rank, cell) is copy
  Origin origin(Rank rank, std::int64_t cell) const;
  // What a rank wants in a cell depends on the rank: all_to_all, send_recv. Else all want the same.
  bool differs_by_rank() const {
    return kind_ == CollectiveKind::all_to_all || kind_ == CollectiveKind::send_recv;
  }

 private:
  std::optional<std::string> unequal_parts() const;
  Rank owner(std::int64_t cell) const {
    return owner_of(schedule_, static_cast<std::int32_t>(cell / schedule_.layout.blocks()),
                    static_cast<std::int32_t>(cell % schedule_.layout.blocks()));
  }
  const Schedule& schedule_;
  CollectiveKind kind_;
};

}  // namespace collsim
