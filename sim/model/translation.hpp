// Translation: a group of permutations that moves every rank to every other one, r -> r + g modulo N or
// r -> r XOR g, and what it means that a schedule is built from rank 0 by it.
//
// A direct exchange has a stream a pair of ranks: 1.7e10 at 131,072 ranks, too many to bind one by one, let
// alone to verify a permutation on. A translated schedule states the streams of rank 0 only; those of rank r
// are made from them by moving peers and block numbers by r. So the symmetry holds by construction, and a
// proof (proof_translation.hpp) and a run (sim/execution/translated.hpp) need the streams of rank 0 alone.
//
// Complexity  O(1) a question.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/core/id.hpp"

namespace collsim {

struct Binding;
struct Schedule;

enum class TranslationKind : std::uint8_t { rotation, exclusive_or };

struct Translation {
  TranslationKind kind = TranslationKind::rotation;
  std::int32_t ranks = 1;  // exclusive_or: a power of two

  // Where `rank` goes when rank 0 goes to `by`.
  Rank move(Rank rank, Rank by) const {
    if (kind == TranslationKind::exclusive_or) return rank ^ by;
    const Rank moved = rank - ranks + by;  // below 0 unless it passes the end
    return moved < 0 ? moved + ranks : moved;
  }
  // The `by` that brings `rank` to 0.
  Rank home(Rank rank) const {
    return kind == TranslationKind::exclusive_or || rank == 0 ? rank : ranks - rank;
  }
};

struct TranslatedStreams {
  Translation translation;
  std::int32_t streams = 0;  // of every rank
  // The first so many entries of Binding::bases are blocks, below ranks, that move with the rank; the others
  // stay.
  std::size_t moving_bases = 0;
  std::function<void(std::int32_t stream, Binding&)> bind;  // of rank 0; fills a cleared Binding
};

// Gives the schedule these streams: stream_count and bind follow. Stream s of rank r is stream s of rank 0
// with the same program and dependencies, peers and moving bases moved by r. REQUIRES: layout.blocks() is the
// number of ranks where a base moves; no aggregation groups
void set_translated_streams(Schedule& schedule, TranslatedStreams streams);

}  // namespace collsim
