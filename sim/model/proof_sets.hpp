// Exact sets of contributions, to explain a wrong result. Internal to sim/model.
#pragma once

#include "sim/model/dataflow.hpp"

namespace collsim {

struct WrongCell {
  Rank rank = 0;
  std::int64_t cell = 0;
  Post writer;  // of the last write; stream -1: nobody
};

// One failure for each of `wrong`, which lists output cells whose sums are wrong. `moves` says that contents
// move between cells, so that all must be traced. Where exact sets would be too large (2^24 entries), a
// failure says only that the sum is wrong.
void explain(const DataflowGraph& graph, const std::vector<WrongCell>& wrong, bool moves,
             std::vector<ProofFailure>& failures);

}  // namespace collsim
