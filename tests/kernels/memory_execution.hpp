// MemoryExecution: an Execution that runs nothing, and what a right run would leave, from the contract alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/elements.hpp"
#include "kernels/plan.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::kernels::testing {

using Memory = std::vector<std::byte>;

// Areas as a plan of the schedule has them: output, and input where it is not in place, of each rank; scratch
// of rank 0, where there is any.
inline Plan plan_without_tasks(const Schedule& schedule, std::int64_t scratch = 0) {
  const std::int64_t bytes = schedule.layout.offset_bytes(schedule.layout.regions() - 1,  //
                                                          schedule.layout.blocks());
  Plan plan;
  plan.collective = schedule.collective;
  plan.ranks = schedule.ranks;
  const auto area = [&plan](AreaKind kind, Rank rank, std::int64_t size) {
    Area added;
    added.kind = kind;
    added.rank = rank;
    added.bytes = size;
    plan.areas.push_back(added);
    return static_cast<std::int32_t>(plan.areas.size()) - 1;
  };
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    plan.output.push_back(area(AreaKind::output, rank, bytes));
    plan.input.push_back(schedule.in_place ? -1 : area(AreaKind::input, rank, bytes));
    plan.scratch.push_back(rank == 0 && scratch > 0 ? area(AreaKind::scratch, rank, scratch) : -1);
  }
  return plan;
}

class MemoryExecution : public Execution {
 public:
  explicit MemoryExecution(const Plan& plan) {
    for (const Area& area : plan.areas) areas.emplace_back(static_cast<std::size_t>(area.bytes));
  }
  void upload(std::int32_t area, std::int64_t offset, std::span<const std::byte> data) override {
    std::copy(data.begin(), data.end(), memory(area).begin() + offset);
  }
  void download(std::int32_t area, std::int64_t offset, std::span<std::byte> data) override {
    const Memory& from = memory(area);
    std::copy_n(from.begin() + offset, data.size(), data.begin());
  }
  Duration run() override { return {}; }
  void run_in_order(std::span<const std::int32_t>) override {}
  std::vector<GuardBreach> breaches() override { return found_breaches; }

  Memory& memory(std::int32_t area) { return areas[static_cast<std::size_t>(area)]; }

  std::vector<Memory> areas;
  std::vector<GuardBreach> found_breaches;
};

// Leaves in all outputs what the collective is. Rank `missing` counts for nothing in reductions, rank `twice`
// counts twice.
struct RunAsContract {
  Rank missing = -1;
  Rank twice = -1;

  void operator()(const Schedule& schedule, const Plan& plan, MemoryExecution& execution) const {
    const Contract contract(schedule);
    const std::vector<std::int32_t>& from = schedule.in_place ? plan.output : plan.input;
    std::vector<Memory> given;
    for (const std::int32_t area : from) given.push_back(execution.memory(area));
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      Memory& output = execution.memory(plan.output[static_cast<std::size_t>(rank)]);
      for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell) {
        if (contract.wants(rank, cell) == Contract::Wants::copy) {
          const Contract::Origin origin = contract.origin(rank, cell);
          const Memory& source = given[static_cast<std::size_t>(origin.rank)];
          std::copy_n(source.begin() + begin_of(schedule, origin.cell),
                      begin_of(schedule, cell + 1) - begin_of(schedule, cell),
                      output.begin() + begin_of(schedule, cell));
        } else if (contract.wants(rank, cell) == Contract::Wants::sum) {
          reduce(schedule, given, begin_of(schedule, cell), begin_of(schedule, cell + 1), output);
        }
      }
    }
  }

  // Where a cell begins; the cell after the last one, where that ends.
  static std::int64_t begin_of(const Schedule& schedule, std::int64_t cell) {
    const Layout& layout = schedule.layout;
    if (cell == layout.cells()) return layout.offset_bytes(layout.regions() - 1, layout.blocks());
    return layout.offset_bytes(static_cast<std::int32_t>(cell / layout.blocks()),
                               static_cast<std::int32_t>(cell % layout.blocks()));
  }

 private:
  void reduce(const Schedule& schedule, const std::vector<Memory>& given, std::int64_t begin,
              std::int64_t end, Memory& output) const {
    const Collective& collective = schedule.collective;
    std::vector<Rank> order;
    for (Rank rank = 0; rank < schedule.ranks; ++rank) {
      if (rank != missing) order.push_back(rank);
      if (rank == twice) order.push_back(rank);
    }
    for (std::int64_t at = begin; at < end; at += schedule.layout.element_bytes()) {
      std::byte* element = output.data() + at;
      std::copy_n(given[static_cast<std::size_t>(order[0])].data() + at, schedule.layout.element_bytes(),
                  element);
      for (std::size_t i = 1; i < order.size(); ++i)
        combine_elements(collective.datatype, collective.reduction, element,
                         given[static_cast<std::size_t>(order[i])].data() + at, element);
      if (collective.reduction == ReductionOp::avg)
        divide_element(collective.datatype, schedule.ranks, element);
    }
  }
};

}  // namespace collsim::kernels::testing
