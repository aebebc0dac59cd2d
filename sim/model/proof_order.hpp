// Which operations of a rank are ordered by the dependencies in its programs. Internal to sim/model.
#pragma once

#include <functional>

#include "sim/model/dataflow.hpp"

namespace collsim {

// What a stream executes, and the numbers of the streams in Binding::streams. By number of the stream.
struct StreamWaits {
  const Program* program = nullptr;
  const std::int32_t* targets = nullptr;
};
using WaitsOf = std::function<StreamWaits(std::int32_t)>;
WaitsOf waits_of(const DataflowGraph& graph);

// True if operation `later.index` of stream `later.stream` starts after `earlier` is done, because of the
// dependencies of both streams' rank, followed transitively. Closed form in the loops: O(operation templates
// of the streams on the way).
bool ordered_by_dependencies(const WaitsOf& waits_of, Post earlier, Post later);

// Decides exactly, with vector clocks that travel with the messages, whether every two conflicting accesses
// to a cell are ordered. Appends what is not. Returns false if the schedule is too large to decide: more than
// 4096 streams, or clocks beyond 256 MiB.
bool decide_order(const DataflowGraph& graph, std::vector<ProofFailure>& failures);

}  // namespace collsim
