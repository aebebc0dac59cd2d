// A plan that is being made. Internal to kernels.
//
// The untimed run of a schedule (sim/model/dataflow.hpp) gives one task an operation, in the order of that
// run, and a few more for aggregations. Staging memory has no addresses yet: Place::area is -1 - i for
// staged[i]. finish() lays it out.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "kernels/plan.hpp"
#include "sim/model/dataflow.hpp"

namespace collsim::kernels {

// Something that lies in staging memory for a while.
struct Staged {
  // Connections of the graph, then its groups, then its streams: whose memory.
  std::int32_t owner = -1;
  std::int32_t place = -1;  // -1: a message, which takes its connection's places in turn
  std::int64_t bytes = 0;
  std::int32_t send = -1;  // message: its task
  bool direct = false;     // needs no staging memory
};

struct Draft {
  Plan plan;
  std::vector<OperationKind> kinds;  // [task]: of the operation that it stands for
  std::vector<Staged> staged;
};

// What the schedule does, task by task.
std::variant<Draft, NoPlan> draft_of(const Schedule& schedule, const DataflowGraph& graph);
// Lays out staging memory.
Plan finish(Draft draft, const DataflowGraph& graph);

}  // namespace collsim::kernels
