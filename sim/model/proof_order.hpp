// Which operations of a rank are ordered by the dependencies in its programs. Internal to sim/model.
#pragma once

#include "sim/model/dataflow.hpp"

namespace collsim {

// True if operation `later.index` of stream `later.stream` starts after `earlier` is done, because of the
// dependencies of both streams' rank, followed transitively. Closed form in the loops: O(operation templates
// of the streams on the way).
bool ordered_by_dependencies(const DataflowGraph& graph, Post earlier, Post later);

// Decides exactly, with vector clocks that travel with the messages, whether every two conflicting accesses
// to a cell are ordered. Appends what is not. Returns false if the schedule is too large to decide: more than
// 4096 streams, or clocks beyond 256 MiB.
bool decide_order(const DataflowGraph& graph, std::vector<ProofFailure>& failures);

}  // namespace collsim
