#include "kernels/plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/plan_draft.hpp"
#include "kernels/plan_passes.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"

namespace collsim::kernels {
namespace {

constexpr std::size_t numbers_max = std::numeric_limits<std::int32_t>::max();

NoPlan no_plan(std::vector<ProofFailure> failures, bool too_large) {
  NoPlan none;
  none.too_large = too_large;
  none.failures = std::move(failures);
  return none;
}

// Tasks have numbers of places and predecessors of 32 bits.
bool can_be_numbered(const Plan& plan) {
  return std::max(plan.predecessors.size(), plan.places.size()) <= numbers_max;
}

NoPlan too_many_numbers() {
  return no_plan(
      {ProofFailure{-1, -1, -1, "its tasks have more predecessors or places than can be numbered"}}, true);
}

}  // namespace

std::int64_t operations_of(const Schedule& schedule) {
  std::vector<std::int64_t> lengths;  // [program]
  for (const Program& program : schedule.programs) {
    std::int64_t sum = 0;
    for (const Loop& loop : program.loops) {
      if (loop.trips < 1 || loop.body.empty()) continue;
      const auto length = static_cast<std::int64_t>(loop.body.size());
      sum += loop.trips > tasks_max / length ? tasks_max + 1 : loop.trips * length;
      sum = std::min(sum, tasks_max + 1);
    }
    lengths.push_back(sum);
  }
  std::int64_t sum = 0;
  Binding binding;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t streams = schedule.stream_count(rank);
    for (std::int32_t stream = 0; stream < streams && sum <= tasks_max; ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      const auto program = static_cast<std::size_t>(binding.program);
      if (binding.program >= 0 && program < lengths.size()) sum += lengths[program];
    }
  }
  return sum;
}

std::int64_t Plan::memory_bytes() const {
  std::int64_t sum = 0;
  for (const Area& area : areas) sum += area.bytes;
  return sum;
}

std::int64_t Plan::traffic_bytes() const {
  std::int64_t sum = 0;
  for (const Task& task : tasks) {
    if (task.kind == TaskKind::combine) sum += task.bytes * (task.sources + task.destinations);
    if (task.kind == TaskKind::divide) sum += task.bytes * 2;
  }
  return sum;
}

std::int64_t offset_of(const Layout& layout, const Chunk& chunk) {
  if (chunk.buffer != Buffer::scratch) return layout.offset_bytes(chunk.region, chunk.block);
  // Regions like those of the vector, which come in turn; only they can be more than one.
  const std::int64_t turns = chunk.region / layout.regions();
  const std::int64_t vector = layout.offset_bytes(layout.regions() - 1, layout.blocks());
  const std::int64_t region = turns * vector + layout.offset_bytes(chunk.region % layout.regions(), 0);
  return region + layout.scratch_size(chunk.region, 0, chunk.block).count();
}

std::int64_t scratch_bytes(const Layout& layout) {
  if (layout.scratch_cells() == 0) return 0;
  return offset_of(layout, Chunk{Buffer::scratch, layout.scratch_regions() - 1, layout.scratch_blocks(), 0});
}

std::variant<Plan, NoPlan> plan_of(const Schedule& schedule, const PlanOptions& options) {
  if (auto problem = Contract(schedule).problem())
    return no_plan({ProofFailure{-1, -1, -1, *std::move(problem)}}, false);
  if (operations_of(schedule) > tasks_max)
    return no_plan({ProofFailure{-1, -1, -1,
                                 "it has more than " + std::to_string(tasks_max) +
                                     " operations, which is too many to run"}},
                   true);
  const DataflowGraph graph(schedule);
  if (!graph.failures().empty())
    return no_plan(graph.failures(), graph.too_large() && graph.failures().size() == 1);
  auto made = draft_of(schedule, graph);
  if (auto* none = std::get_if<NoPlan>(&made)) return std::move(*none);
  Draft draft = std::get<Draft>(std::move(made));
  if (!can_be_numbered(draft.plan)) return too_many_numbers();  // the passes go by these numbers
  if (options.direct || options.fused) {
    PlanPasses passes(draft, schedule.layout);
    if (options.direct) passes.direct();
    if (options.fused) passes.fuse();
    passes.rebuild();
  }
  if (!can_be_numbered(draft.plan)) return too_many_numbers();
  return finish(std::move(draft), graph);
}

}  // namespace collsim::kernels
