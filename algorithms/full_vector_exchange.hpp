// All-reduce in a butterfly by exchanging all of the vector in each round: recursive doubling and
// multiplying, Swing for latency.
//
// Streams     One a channel, which sends to the peers of a round and then adds what they sent; or, with
//             `send_streams`, stream 0 that receives and one for each message to a peer, as sends of unlike
//             rounds can overlap.
// Buffers     With one stream the sum is added up where it is. With send streams a rank may still be sending
//             the sum of round j when that of round j + 1 arrives, so two buffers take turns: sum j + 1 = sum
//             j + message, written when the sends of what the buffer held have drained. So that the result is
//             in the output, an odd number of rounds has three buffers; a single round writes what it reads.
// Fold        Before, an extra gives its vector to the rank that stands in for it; after, it gets the result.
// Bytes       out of a core rank: the vector to each peer of each round.
#pragma once

#include "algorithms/butterfly_exchange.hpp"

namespace collsim::algorithms {

// REQUIRES: at least two ranks; one channel where send_streams; the collective is all_reduce, or barrier
Schedule exchange_full_vectors(const ButterflyPlan& plan, const Collective& collective,
                               const Placement& placement, const AlgorithmOptions& options);

}  // namespace collsim::algorithms
