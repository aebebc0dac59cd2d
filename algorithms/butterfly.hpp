// What recursive exchanges share: who takes part in a butterfly, who talks to whom in a round, and which part
// of the vector a rank is responsible for.
//
// Core        p = c * k^m <= N ranks run the butterfly, with c the largest factor below k: m digits with k
//             values and, where c > 1, one more with c (Open UCX UCC, recursive_knomial.h; k = 2: p is the
//             largest power of two). In a round, ranks that differ in one digit only exchange.
// Fold        The other e = N - p ranks ("extras", e <= k^m) give what they have to a neighbour before and
//             get the result after (MPICH's fold).
// Positions   The rounds name the digits in some order. Position q of a core rank has the digit of the first
//             round as its most significant one, so that the vector is halved into contiguous ranges: after
//             round i a rank is responsible for the ranges of all positions with its first i + 1 digits.
// Blocks      A vector that is cut for the core only has a block a position. One with a part for every rank
//             has two at the positions of ranks that have an extra; these are the positions 0 .. e - 1, and
//             the part of the extra comes first.
// Complexity  O(rounds) a call; memory O(ranks).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/common.hpp"

namespace collsim::algorithms {

// "radix is 1; it must be 2 or more"
std::optional<Impossible> check_radix(const AlgorithmOptions& options);

enum class DigitOrder {
  ascending,   // nearest peers first
  descending,  // farthest peers first
};

// Where the extras are.
enum class FoldKind {
  even_extras,  // 0, 2, .., 2e - 2 (MPICH)
  odd_extras,   // 1, 3, .., 2e - 1 (UCC)
  positions,    // just below the core ranks at the positions 0 .. e - 1: for a part a rank
};

class Butterfly {
 public:
  // The peer of core rank `core` in round `round` whose digit is larger by `shift` (modulo the factor).
  using PeerRule = std::function<std::int32_t(std::int32_t core, std::int32_t round, std::int32_t shift)>;

  // Digits of the core rank itself.
  Butterfly(std::int32_t ranks, std::int32_t radix, DigitOrder order, FoldKind fold);
  // Two values a digit, rounds as given: peer(core, round, 1), and position_of(core) as it halves the vector.
  // REQUIRES: the number of core ranks is the largest power of two up to `ranks`.
  Butterfly(std::int32_t ranks, FoldKind fold, PeerRule peer,
            const std::function<std::int32_t(std::int32_t core)>& position_of);

  std::int32_t ranks() const { return ranks_; }
  std::int32_t size() const { return size_; }
  std::int32_t extras() const { return ranks_ - size_; }
  std::int32_t rounds() const { return static_cast<std::int32_t>(factors_.size()); }
  std::int32_t factor(std::int32_t round) const { return factors_[static_cast<std::size_t>(round)]; }
  // Positions that a rank is still responsible for after the round.
  std::int32_t unit(std::int32_t round) const { return units_[static_cast<std::size_t>(round)]; }

  bool is_extra(Rank rank) const { return extra_[static_cast<std::size_t>(rank)] != 0; }
  // Of an extra: that of the rank that stands in for it.
  std::int32_t core_of(Rank rank) const { return core_of_[static_cast<std::size_t>(rank)]; }
  Rank rank_of(std::int32_t core) const { return rank_of_[static_cast<std::size_t>(core)]; }
  std::optional<Rank> extra_of(std::int32_t core) const;
  std::int32_t position_of(std::int32_t core) const { return position_of_[static_cast<std::size_t>(core)]; }
  std::int32_t core_at(std::int32_t position) const { return core_at_[static_cast<std::size_t>(position)]; }
  Rank peer(std::int32_t core, std::int32_t round, std::int32_t shift) const {
    return rank_of(peer_(core, round, shift));
  }
  std::int32_t digit(std::int32_t position, std::int32_t round) const {
    return position / unit(round) % factor(round);
  }
  // The first position that shares the digits of the rounds before.
  std::int32_t range_start(std::int32_t position, std::int32_t round) const {
    return position - position % (unit(round) * factor(round));
  }

  // Weight of the round's digit in the number of the core rank; 0 where a PeerRule decides.
  std::int32_t stride(std::int32_t round) const {
    return strides_.empty() ? 0 : strides_[static_cast<std::size_t>(round)];
  }

 private:
  void place_extras(FoldKind fold);
  void set_positions(const std::function<std::int32_t(std::int32_t core)>& position_of);

  std::int32_t ranks_;
  std::int32_t size_ = 1;
  std::vector<std::int32_t> factors_;  // [round]
  std::vector<std::int32_t> units_;    // [round]
  std::vector<std::int32_t> strides_;  // [round]: weight of its digit in the core rank; empty: other peers
  PeerRule peer_;
  std::vector<std::int32_t> position_of_;  // [core]
  std::vector<std::int32_t> core_at_;      // [position]
  std::vector<Rank> rank_of_;              // [core]
  std::vector<std::int32_t> core_of_;      // [rank]
  std::vector<char> extra_;                // [rank]
};

// A digit of all core ranks one on, extras with them, for each round where the extras allow it: rank, and
// with `blocks` the block of a vector that is cut for the core only. Streams and regions are the caller's to
// set.
std::vector<Symmetry> butterfly_symmetries(const std::shared_ptr<const Butterfly>& butterfly, bool blocks);

}  // namespace collsim::algorithms
