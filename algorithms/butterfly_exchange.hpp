// Reduce-scatter and all-gather in a butterfly: Rabenseifner's all-reduce and its halves, for any radix, any
// pattern of peers and any number of copies of the vector's pieces.
//
// Reduce-scatter  In round i a rank sends to the peer with each other digit the range of that digit, and adds
//             what it gets to the range of its own. All-gather: the rounds in reverse, each rank sends the
//             range that it has to the peers and gets theirs. An all-reduce is both, on a block a core rank.
// Fold        Before, an extra gives what it has to the rank that stands in for it; after, it gets the
// result. Streams     One a channel; with `send_streams` (all-gather only) one more for every message to a
// peer. Bytes       out of a core rank: (p-1)/p of the vector a phase; see Butterfly for what extras add.
// Programs    O(rounds) of them, also where blocks are not a power of two: parts of unlike numbers of blocks
//             are met on one path from the whole to a position only.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/butterfly.hpp"

namespace collsim::algorithms {

struct ButterflyPlan {
  const char* name;
  std::vector<std::shared_ptr<const Butterfly>> channels;  // an equal piece of the vector each
  bool send_streams = false;
};

// REQUIRES: at least two ranks; one channel where send_streams; the collective is all_reduce, reduce_scatter
// or all_gather, in the two latter cases the butterflies have FoldKind::positions or no extras
Schedule exchange_in_butterflies(const ButterflyPlan& plan, const Collective& collective,
                                 const Placement& placement, const AlgorithmOptions& options);

}  // namespace collsim::algorithms
