#include "kernels/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "kernels/plan_orders.hpp"
#include "sim/core/random.hpp"
#include "sim/model/contract.hpp"
#include "tests/algorithms/ideal_placement.hpp"
#include "tests/support/requests.hpp"
#include "tests/support/serial_backend.hpp"

using namespace collsim;
using namespace collsim::kernels;
using collsim::testing::SerialBackend;
using collsim::testing::Variant;
using collsim::testing::variants;

namespace {

constexpr std::int64_t element = 8;

Collective collective_of(CollectiveKind kind, std::int64_t elements, std::int32_t ranks, Rank root = 0) {
  Collective collective = testing::collective_of(kind, elements, ranks, root);
  collective.bytes = Bytes(collective.bytes.count() / element_bytes(collective.datatype) * element);
  collective.datatype = Datatype::uint64;
  return collective;
}

std::optional<Schedule> schedule_of(const AlgorithmRequest& request, const Collective& collective,
                                    const Placement& placement) {
  auto made = algorithms::make_schedule(request, collective, placement);
  if (std::holds_alternative<Impossible>(made)) return std::nullopt;
  return std::get<Schedule>(std::move(made));
}

Schedule schedule_of(const std::string& name, CollectiveKind kind, std::int64_t elements, std::int32_t ranks,
                     AlgorithmOptions options = {}) {
  auto schedule =
      schedule_of({name, options}, collective_of(kind, elements, ranks), testing::ideal_placement(1, ranks));
  REQUIRE(schedule.has_value());
  return *std::move(schedule);
}

Plan plan_for(const Schedule& schedule, PlanOptions options = {}) {
  auto made = plan_of(schedule, options);
  REQUIRE(std::holds_alternative<Plan>(made));
  return std::get<Plan>(std::move(made));
}

// What a rank gives in an element; what lies there if it gives nothing.
std::uint64_t given(Rank rank, std::int64_t index) {
  return mix64(mix64(static_cast<std::uint64_t>(rank) + 1) ^ static_cast<std::uint64_t>(index));
}
std::uint64_t undefined(Rank rank, std::int64_t index) { return ~given(rank, index); }

struct Cell {
  std::int64_t first = 0;  // element
  std::int64_t count = 0;
};
Cell cell_of(const Layout& layout, std::int64_t cell) {
  const auto region = static_cast<std::int32_t>(cell / layout.blocks());
  const auto block = static_cast<std::int32_t>(cell % layout.blocks());
  return {layout.offset_bytes(region, block) / element, layout.size(region, block, 1).count() / element};
}

void fill_in(const Schedule& schedule, const Plan& plan, Execution& execution) {
  const Contract contract(schedule);
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const auto bytes = plan.areas[static_cast<std::size_t>(plan.output[place])].bytes;
    std::vector<std::uint64_t> holds(static_cast<std::size_t>(bytes / element));
    std::vector<std::uint64_t> nothing(holds.size());
    for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell) {
      const Cell range = cell_of(schedule.layout, cell);
      for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
        nothing[static_cast<std::size_t>(i)] = undefined(rank, i);
        holds[static_cast<std::size_t>(i)] = contract.gives(rank, cell) ? given(rank, i) : undefined(rank, i);
      }
    }
    execution.upload(plan.output[place], 0, std::as_bytes(std::span(schedule.in_place ? holds : nothing)));
    if (plan.input[place] >= 0) execution.upload(plan.input[place], 0, std::as_bytes(std::span(holds)));
  }
}

// Elements that are not what the contract wants; of averages the sum, divided.
std::int64_t wrong_in(const Schedule& schedule, const Plan& plan, Execution& execution) {
  const Contract contract(schedule);
  const bool divides = schedule.collective.reduction == ReductionOp::avg;
  std::int64_t wrong = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t area = plan.output[static_cast<std::size_t>(rank)];
    std::vector<std::uint64_t> found(
        static_cast<std::size_t>(plan.areas[static_cast<std::size_t>(area)].bytes / element));
    execution.download(area, 0, std::as_writable_bytes(std::span(found)));
    for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell) {
      if (contract.wants(rank, cell) == Contract::Wants::nothing) continue;
      const Cell range = cell_of(schedule.layout, cell);
      for (std::int64_t i = 0; i < range.count; ++i) {
        std::uint64_t wanted = 0;
        if (contract.sums()) {
          for (Rank other = 0; other < schedule.ranks; ++other) wanted += given(other, range.first + i);
          if (divides) wanted /= static_cast<std::uint64_t>(schedule.ranks);
        } else {
          const Contract::Origin origin = contract.origin(rank, cell);
          wanted = given(origin.rank, cell_of(schedule.layout, origin.cell).first + i);
        }
        if (found[static_cast<std::size_t>(range.first + i)] != wanted) ++wrong;
      }
    }
  }
  return wrong;
}

std::int64_t wrong_after(const Schedule& schedule, const Plan& plan, const std::vector<std::int32_t>& order) {
  SerialBackend backend;
  const auto execution = backend.prepare(plan, {});
  fill_in(schedule, plan, *execution);
  execution->run_in_order(order);
  return wrong_in(schedule, plan, *execution);
}

// What is wrong with how a plan is made, or an empty text.
std::string structure_fault(const Plan& plan) {
  const auto count = static_cast<std::int32_t>(plan.tasks.size());
  for (std::int32_t number = 0; number < count; ++number) {
    const Task& task = plan.tasks[static_cast<std::size_t>(number)];
    std::int32_t last = -1;
    for (const std::int32_t before : plan.predecessors_of(task)) {
      if (before <= last || before >= number) return "predecessors are no rising numbers below the task";
      last = before;
    }
    if (task.rank < 0 || task.rank >= plan.ranks) return "a task of no rank";
    if (task.kind == TaskKind::nothing) continue;
    if (task.bytes < 1) return "work of no bytes";
    if (task.kind == TaskKind::combine && (task.sources < 1 || task.sources > sources_max ||
                                           task.destinations < 1 || task.destinations > destinations_max))
      return "too many sources or destinations";
    for (const Place& place : plan.places_of(task)) {
      if (place.area < 0 || place.area >= static_cast<std::int32_t>(plan.areas.size())) return "no such area";
      if (place.offset < 0 ||
          place.offset + task.bytes > plan.areas[static_cast<std::size_t>(place.area)].bytes)
        return "a place is outside its area";
    }
  }
  for (Rank rank = 0; rank < plan.ranks; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const auto is = [&](std::int32_t area, AreaKind kind) {
      const Area& found = plan.areas[static_cast<std::size_t>(area)];
      return found.kind == kind && found.rank == rank;
    };
    if (!is(plan.output[place], AreaKind::output)) return "output";
    if (plan.input[place] >= 0 && !is(plan.input[place], AreaKind::input)) return "input";
    if (plan.scratch[place] >= 0 && !is(plan.scratch[place], AreaKind::scratch)) return "scratch";
  }
  return "";
}

std::vector<PlanOptions> all_options() {
  return {PlanOptions{false, false}, PlanOptions{true, false}, PlanOptions{false, true},
          PlanOptions{true, true}};
}

// In the plan's order, in that which lets things wait, in random ones and with streams delayed.
void check_orders(const Schedule& schedule, const Plan& plan) {
  CHECK(structure_fault(plan) == "");
  CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::as_planned)) == 0);
  CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::latest_first)) == 0);
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    CHECK(wrong_after(schedule, plan, order_of(plan, OrderKind::random, seed)) == 0);
  const std::int32_t streams = stream_count_of(plan);
  for (std::int32_t stream = 0; stream < streams; stream += 1 + streams / 4)
    CHECK(wrong_after(schedule, plan, order_delaying(plan, stream)) == 0);
}

void check_every_algorithm(std::int32_t ranks, std::int64_t elements) {
  std::int64_t made = 0;
  for (const Variant& variant : variants()) {
    const Collective collective = collective_of(variant.kind, elements, ranks, ranks / 2);
    const std::vector<Placement> shapes = testing::all_shapes(ranks);
    for (const Placement& placement : {shapes.front(), shapes.back()}) {
      const auto schedule = schedule_of(variant.request(), collective, placement);
      if (!schedule) continue;
      ++made;
      for (const PlanOptions& options : all_options()) {
        INFO(variant.text() << ", " << ranks << " ranks, " << elements << " elements, direct "
                            << options.direct << ", fused " << options.fused);
        check_orders(*schedule, plan_for(*schedule, options));
      }
    }
  }
  CHECK(made > 20);
}

}  // namespace

TEST_CASE("Plans of every algorithm compute its collective in every order: 1 to 3 ranks") {
  for (std::int32_t ranks = 1; ranks <= 3; ++ranks) check_every_algorithm(ranks, 29);
}

TEST_CASE("Plans of every algorithm compute its collective in every order: 5 ranks") {
  check_every_algorithm(5, 41);
}

TEST_CASE("Plans of every algorithm compute its collective in every order: 8 ranks") {
  check_every_algorithm(8, 67);
}

TEST_CASE("Plans of every algorithm with hardly any elements") {
  for (const std::int32_t ranks : {2, 4, 5}) check_every_algorithm(ranks, 1);
}
