// Inputs, expected values, and that no fault of a run goes unnoticed.
#include "kernels/values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/model/numerics.hpp"
#include "tests/kernels/all_types.hpp"
#include "tests/kernels/memory_execution.hpp"

namespace collsim::kernels::testing {
namespace {

constexpr const auto& datatypes = testing::all_datatypes;
constexpr const auto& reductions = testing::all_reductions;

Collective collective_of(CollectiveKind kind, std::int64_t elements, Datatype datatype,
                         ReductionOp reduction = ReductionOp::sum) {
  Collective collective;
  collective.kind = kind;
  collective.datatype = datatype;
  collective.reduction = reduction;
  collective.bytes = Bytes(elements * element_bytes(datatype));
  return collective;
}

using Element = std::array<std::byte, 8>;

Element element_of(std::uint64_t word) {
  Element element{};
  store_word(word, 8, element.data());
  return element;
}

// The datatype's bytes only.
std::uint64_t word_of(const Element& element, Datatype datatype) {
  std::uint64_t word = 0;
  for (int i = 0; i < element_bytes(datatype); ++i)
    word |= std::to_integer<std::uint64_t>(element[static_cast<std::size_t>(i)]) << (8 * i);
  return word;
}

// Reduces in an order and grouping that are drawn.
std::uint64_t reduced(std::vector<Element> parts, const Collective& collective, std::int32_t ranks,
                      Random& random) {
  while (parts.size() > 1) {
    const std::size_t a = random.below(parts.size());
    std::swap(parts[a], parts.back());
    const Element last = parts.back();
    parts.pop_back();
    Element& other = parts[random.below(parts.size())];
    combine_elements(collective.datatype, collective.reduction, other.data(), last.data(), other.data());
  }
  if (collective.reduction == ReductionOp::avg) divide_element(collective.datatype, ranks, parts[0].data());
  return word_of(parts[0], collective.datatype);
}

std::vector<Element> inputs_of(const Rows& rows, std::int32_t ranks, std::int64_t row) {
  std::vector<Element> parts;
  for (Rank rank = 0; rank < ranks; ++rank) parts.push_back(element_of(rows.input(rank, row)));
  return parts;
}

template <class Function>
void for_all_reductions(Function function) {
  for (const Datatype datatype : datatypes)
    for (const ReductionOp reduction : reductions) {
      CAPTURE(name_of(datatype));
      CAPTURE(name_of(reduction));
      function(collective_of(CollectiveKind::all_reduce, 1, datatype, reduction));
    }
}

constexpr std::int64_t row_count = 128;

std::int64_t wrong_orders(const Collective& collective, std::int32_t ranks, std::int64_t tried, int orders) {
  const Rows rows(collective, ranks, false, 7, tried);
  Random random(static_cast<std::uint64_t>(ranks));
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < tried; ++row) {
    const std::vector<Element> parts = inputs_of(rows, ranks, row);
    for (int order = 0; order < orders; ++order)
      if (reduced(parts, collective, ranks, random) != rows.expected(row)) ++wrong;
  }
  return wrong;
}

// In how many rows the result is another if `rank` is missing (twice: counts twice).
std::int64_t rows_that_show(const Rows& rows, const Collective& collective, std::int32_t ranks, Rank rank,
                            bool twice) {
  Random random(3);
  std::int64_t shown = 0;
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    std::vector<Element> parts = inputs_of(rows, ranks, row);
    const auto at = parts.begin() + rank;
    if (twice)
      parts.push_back(*at);
    else
      parts.erase(at);
    if (reduced(parts, collective, ranks, random) != rows.expected(row)) ++shown;
  }
  return shown;
}

// Up to how many ranks each element shows each fault for certain, by the header.
std::int32_t certain_up_to(const Collective& collective) {
  const bool wide = element_bytes(collective.datatype) >= 4;
  const bool average = collective.reduction == ReductionOp::avg;
  if (!is_float(collective.datatype)) {
    if (!average) return 1 << 20;
    return collective.datatype == Datatype::int8 ? 11 : collective.datatype == Datatype::uint8 ? 15 : 46340;
  }
  if (collective.reduction == ReductionOp::prod) {
    if (collective.datatype == Datatype::float8_e4m3) return 12;
    if (wide || collective.datatype == Datatype::bfloat16) return 252;
    return 28;
  }
  if (wide) return 1 << 20;
  const std::int32_t exact = collective.datatype == Datatype::float16       ? 2048
                             : collective.datatype == Datatype::bfloat16    ? 256
                             : collective.datatype == Datatype::float8_e4m3 ? 16
                                                                            : 8;
  return average ? exact / 4 : 2 * (exact - 1);
}

bool is_extreme(const Collective& collective) {
  return collective.reduction == ReductionOp::min || collective.reduction == ReductionOp::max;
}

// A vector of `elements` in 2 x 3 regions of `blocks` blocks, or of a block a rank.
Schedule schedule_of(const Collective& collective, std::int32_t ranks, bool in_place) {
  Schedule schedule;
  schedule.collective = collective;
  schedule.ranks = ranks;
  schedule.in_place = in_place;
  const int width = element_bytes(collective.datatype);
  const std::int64_t elements = collective.bytes.count() / width;
  schedule.layout = in_parts(collective.kind) ? Layout::in_parts(elements, width, {2, 3}, ranks)
                                              : Layout(elements, width, {2, 3}, 5);
  return schedule;
}

ValueReport report_of(const Schedule& schedule, const Values& values, const RunAsContract& run = {}) {
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  run(schedule, plan, execution);
  return check(execution, plan, values);
}

std::int64_t wanted_elements(const Schedule& schedule) {
  const Contract contract(schedule);
  std::int64_t bytes = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (std::int64_t cell = 0; cell < schedule.layout.cells(); ++cell)
      if (contract.wants(rank, cell) != Contract::Wants::nothing)
        bytes += RunAsContract::begin_of(schedule, cell + 1) - RunAsContract::begin_of(schedule, cell);
  return bytes / schedule.layout.element_bytes();
}

}  // namespace

TEST_CASE("Exact inputs reduce to what is expected in every order and grouping") {
  for_all_reductions([](const Collective& collective) {
    for (std::int32_t ranks = 1; ranks <= 17; ++ranks) {
      CAPTURE(ranks);
      CHECK(wrong_orders(collective, ranks, 64, 5) == 0);
    }
  });
}

TEST_CASE("Exact inputs of many ranks reduce to what is expected in every order and grouping") {
  for_all_reductions([](const Collective& collective) {
    for (const std::int32_t ranks : {28, 29, 30, 31, 33, 127, 128, 253, 511, 1000}) {
      CAPTURE(ranks);
      CHECK(wrong_orders(collective, ranks, 16, 2) == 0);
    }
  });
}

TEST_CASE("Partial sums of the largest kind are exact") {
  // All positive terms first, then all negative ones: the largest partial sum that any order has.
  for_all_reductions([](const Collective& collective) {
    if (!is_float(collective.datatype) || is_extreme(collective)) return;
    for (const std::int32_t ranks : {3, 8, 9, 16, 17, 33, 300, 1000, 5000}) {
      CAPTURE(ranks);
      const Rows rows(collective, ranks, false, 5, 8);
      for (std::int64_t row = 0; row < rows.count(); ++row) {
        std::vector<Element> parts = inputs_of(rows, ranks, row);
        const auto size_of_value = [&](const Element& element) {
          const double value = element_value(collective.datatype, element.data());
          return collective.reduction == ReductionOp::prod ? std::fabs(value) : value;
        };
        std::stable_sort(parts.begin(), parts.end(), [&](const Element& a, const Element& b) {
          return size_of_value(a) > size_of_value(b);
        });
        Element all = parts[0];
        for (std::size_t i = 1; i < parts.size(); ++i)
          combine_elements(collective.datatype, collective.reduction, all.data(), parts[i].data(),
                           all.data());
        if (collective.reduction == ReductionOp::avg) divide_element(collective.datatype, ranks, all.data());
        CHECK(word_of(all, collective.datatype) == rows.expected(row));
      }
    }
  });
}

TEST_CASE("A contribution that is missing or there twice shows as often as the header says") {
  for_all_reductions([](const Collective& collective) {
    for (const std::int32_t ranks : {2, 3, 8, 11, 12, 14, 15, 16, 30, 31}) {
      CAPTURE(ranks);
      const Rows rows(collective, ranks, false, 11, row_count);
      for (Rank rank = 0; rank<ranks; rank += ranks> 12 ? 5 : 1) {
        const std::int64_t missing = rows_that_show(rows, collective, ranks, rank, false);
        const std::int64_t twice = rows_that_show(rows, collective, ranks, rank, true);
        if (is_extreme(collective)) {
          CHECK(missing >= row_count / ranks);
          CHECK(missing <= row_count / ranks + 1);
          CHECK(twice == 0);
        } else if (ranks <= certain_up_to(collective)) {
          CHECK(missing == row_count);
          CHECK(twice == row_count);
        } else {
          CHECK(missing >= 3);
          CHECK(twice >= 3);
        }
      }
    }
  });
}

TEST_CASE("Of a thousand ranks each shows in some of 4096 rows") {
  for (const ReductionOp reduction : {ReductionOp::sum, ReductionOp::prod, ReductionOp::min})
    for (const Datatype datatype : {Datatype::float8_e5m2, Datatype::float16}) {
      CAPTURE(name_of(datatype));
      CAPTURE(name_of(reduction));
      const Rows rows(collective_of(CollectiveKind::all_reduce, 1, datatype, reduction), 1000, false, 1,
                      4096);
      std::int64_t seen = 0;
      for (Rank rank = 0; rank < 1000; rank += 37) {
        std::int64_t shown = 0;
        for (std::int64_t row = 0; row < rows.count(); ++row) {
          const std::uint64_t word = rows.input(rank, row);
          const double value = element_value(datatype, element_of(word).data());
          if (reduction == ReductionOp::min ? word == rows.expected(row)
                                            : value != (reduction == ReductionOp::prod ? 1 : 0))
            ++shown;
        }
        if (shown > 0) ++seen;
      }
      CHECK(seen == 28);
    }
}

TEST_CASE("Random inputs stay within the bound of any order and a missing rank does not") {
  int narrow = 0;
  for (const Datatype datatype : datatypes)
    for (const ReductionOp reduction : {ReductionOp::sum, ReductionOp::prod, ReductionOp::avg})
      for (const std::int32_t ranks : {1, 2, 3, 8, 15, 40}) {
        if (!is_float(datatype)) continue;
        CAPTURE(name_of(datatype));
        CAPTURE(name_of(reduction));
        CAPTURE(ranks);
        const Schedule schedule =
            schedule_of(collective_of(CollectiveKind::all_reduce, 203, datatype, reduction), ranks, true);
        Numerics numerics;
        numerics.known = true;
        numerics.additions_deep = ranks - 1;
        const std::optional<double> bound = error_bound(numerics, schedule.collective, ranks);
        const Values values(schedule, InputKind::random, 3, bound);
        CHECK((values.kind() == InputKind::random) == bound.has_value());
        const ValueReport report = report_of(schedule, values);
        CHECK(report.inputs == values.kind());
        CHECK(report.wrong == 0);
        CHECK(report.checked == 203 * ranks);
        CHECK(report.error_of_bound <= 1);
        // Something rounds, so a bound of nothing would not do.
        if (bound && ranks > 2) {
          CHECK(report.error_of_bound > 0);
          CHECK(report_of(schedule, Values(schedule, InputKind::random, 3, 0.0)).wrong > 0);
        }
        if (!bound || ranks == 1 || *bound * ranks > 0.1) continue;
        ++narrow;
        CHECK(report_of(schedule, values, {0, -1}).wrong > 100 * ranks);
      }
  CHECK(narrow >= 40);
}

TEST_CASE("What rounds in no order is exact whatever is asked for") {
  for_all_reductions([](const Collective& collective) {
    const Schedule schedule = schedule_of(collective, 4, true);
    const bool rounds = is_float(collective.datatype) && !is_extreme(collective);
    CHECK(Values(schedule, InputKind::random, 1, 0.5).kind() ==
          (rounds ? InputKind::random : InputKind::exact));
    CHECK(Values(schedule, InputKind::random, 1).kind() == InputKind::exact);
    CHECK(Values(schedule, InputKind::exact, 1, 0.5).kind() == InputKind::exact);
  });
}

TEST_CASE("A right run of every collective is right, in place and not") {
  for (const CollectiveKind kind : collective_kinds())
    for (const Datatype datatype : datatypes)
      for (const std::int32_t ranks : {1, 2, 5})
        for (const std::int64_t elements : {0, 10, 370})
          for (const bool in_place : {false, true}) {
            if (kind == CollectiveKind::barrier && elements > 0) continue;
            if (in_place && (kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv))
              continue;
            CAPTURE(name_of(kind));
            CAPTURE(name_of(datatype));
            CAPTURE(ranks);
            CAPTURE(in_place);
            Collective collective = collective_of(kind, elements, datatype);
            if (has_root(kind)) collective.root = ranks - 1;
            const Schedule schedule = schedule_of(collective, ranks, in_place);
            const ValueReport report = report_of(schedule, Values(schedule, InputKind::exact, 1));
            CHECK(report.right());
            CHECK(report.unlike_ranks == 0);
            CHECK(report.checked == wanted_elements(schedule));
          }
}

TEST_CASE("A run that does nothing leaves no element right but what ranks have given themselves") {
  for (const CollectiveKind kind : collective_kinds())
    for (const Datatype datatype : datatypes)
      for (const InputKind inputs : {InputKind::exact, InputKind::random}) {
        CAPTURE(name_of(kind));
        CAPTURE(name_of(datatype));
        const Schedule schedule =
            schedule_of(collective_of(kind, kind == CollectiveKind::barrier ? 0 : 360, datatype), 4, false);
        const Values values(schedule, inputs, 1, 0.5);
        const Plan plan = plan_without_tasks(schedule);
        MemoryExecution execution(plan);
        fill(execution, plan, values);
        const ValueReport report = check(execution, plan, values);
        CHECK(report.wrong == wanted_elements(schedule));
        CHECK(report.right() == (kind == CollectiveKind::barrier));
        CHECK(report.first.size() ==
              std::min<std::size_t>(wrong_elements_max, static_cast<std::size_t>(report.wrong)));
      }
}

TEST_CASE("A missing and a doubled rank are found in every collective that reduces") {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::reduce})
    for_all_reductions([kind](Collective collective) {
      collective.kind = kind;
      collective.bytes = Bytes(2000 * element_bytes(collective.datatype));
      const Schedule schedule = schedule_of(collective, 4, true);
      const Values values(schedule, InputKind::exact, 9);
      for (Rank rank = 0; rank < 4; ++rank) {
        const ValueReport missing = report_of(schedule, values, {rank, -1});
        const ValueReport twice = report_of(schedule, values, {-1, rank});
        const std::int64_t enough = missing.checked / (is_extreme(collective) ? 6 : 2);
        CHECK(missing.wrong > enough);
        if (!is_extreme(collective)) CHECK(twice.wrong > enough);
      }
    });
}

TEST_CASE("One changed bit is found, and where it is") {
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather})
    for (const Datatype datatype : datatypes) {
      CAPTURE(name_of(kind));
      CAPTURE(name_of(datatype));
      const Schedule schedule = schedule_of(collective_of(kind, 1200, datatype), 4, true);
      const Values values(schedule, InputKind::exact, 2);
      const Plan plan = plan_without_tasks(schedule);
      MemoryExecution execution(plan);
      fill(execution, plan, values);
      RunAsContract()(schedule, plan, execution);
      const int width = element_bytes(datatype);
      // The third element of block 2 of region 4 of rank 3.
      const std::int64_t byte = schedule.layout.offset_bytes(4, 2) + 2 * width + width - 1;
      execution.memory(plan.output[3])[static_cast<std::size_t>(byte)] ^= std::byte{0x01};
      const ValueReport report = check(execution, plan, values);
      CHECK(!report.right());
      CHECK(report.wrong == 1);
      CHECK(report.unlike_ranks == 1);
      CHECK(report.input_changed == 0);
      REQUIRE(report.first.size() == 1);
      const WrongElement& wrong = report.first[0];
      CHECK(wrong.rank == 3);
      CHECK(wrong.region == 4);
      CHECK(wrong.block == 2);
      CHECK(wrong.element == 2);
      CHECK(wrong.expected != wrong.found);
    }
}

TEST_CASE("Elements that are wrong are named with numbers") {
  Schedule schedule = schedule_of(collective_of(CollectiveKind::all_reduce, 30, Datatype::int32), 2, true);
  const Values values(schedule, InputKind::exact, 2);
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  std::byte* element = execution.memory(plan.output[1]).data() + 4 * 7;
  const std::string right = text_of_element(Datatype::int32, element);
  store_integer(Datatype::int32, 77, element);
  const ValueReport report = check(execution, plan, values);
  REQUIRE(report.first.size() == 1);
  CHECK(report.first[0].expected == right);
  CHECK(report.first[0].found == "77");
}

TEST_CASE("NaNs that differ in their bits are told apart") {
  const Schedule schedule =
      schedule_of(collective_of(CollectiveKind::broadcast, 4000, Datatype::float8_e4m3), 2, true);
  const Values values(schedule, InputKind::exact, 2);
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  Memory& output = execution.memory(plan.output[1]);
  const auto nan = std::find(output.begin(), output.end(), std::byte{0x7f});
  REQUIRE(nan != output.end());
  *nan = std::byte{0xff};
  const ValueReport report = check(execution, plan, values);
  REQUIRE(report.wrong == 1);
  CHECK(report.first[0].expected.find("(0x7f)") != std::string::npos);
  CHECK(report.first[0].found.find("(0xff)") != std::string::npos);
}

TEST_CASE("Random values are named with their bound") {
  const Schedule schedule =
      schedule_of(collective_of(CollectiveKind::all_reduce, 30, Datatype::float32), 2, true);
  const Values values(schedule, InputKind::random, 2, 0.25);
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  store_element(Datatype::float32, 100, execution.memory(plan.output[0]).data());
  const ValueReport report = check(execution, plan, values);
  REQUIRE(report.first.size() == 1);
  CHECK(report.first[0].expected.find(" within ") != std::string::npos);
  CHECK(report.first[0].found == "100");
}

TEST_CASE("Changed inputs and guards are found") {
  const Schedule schedule =
      schedule_of(collective_of(CollectiveKind::reduce_scatter, 360, Datatype::float16), 3, false);
  const Values values(schedule, InputKind::exact, 2);
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  CHECK(check(execution, plan, values).right());
  execution.memory(plan.input[1])[100] ^= std::byte{0x80};
  execution.memory(plan.input[2])[719] ^= std::byte{0x80};
  const ValueReport changed = check(execution, plan, values);
  CHECK(!changed.right());
  CHECK(changed.wrong == 0);
  CHECK(changed.input_changed == 2);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  GuardBreach breach;
  breach.area = 1;
  execution.found_breaches.push_back(breach);
  const ValueReport outside = check(execution, plan, values);
  CHECK(!outside.right());
  CHECK(outside.wrong == 0);
  CHECK(outside.breaches.size() == 1);
}

TEST_CASE("Ranks that round in other orders are unlike and within the bound") {
  const Schedule schedule =
      schedule_of(collective_of(CollectiveKind::all_reduce, 600, Datatype::float32), 3, true);
  const Values values(schedule, InputKind::random, 2, 1e-6);
  const Plan plan = plan_without_tasks(schedule);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  RunAsContract()(schedule, plan, execution);
  CHECK(check(execution, plan, values).unlike_ranks == 0);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{4}, std::size_t{40}})  // the last bit of three elements
    execution.memory(plan.output[2])[at] ^= std::byte{0x01};
  const ValueReport report = check(execution, plan, values);
  CHECK(report.right());
  CHECK(report.unlike_ranks == 3);
}

TEST_CASE("Shifted and exchanged elements are wrong") {
  for (const Datatype datatype : {Datatype::float32, Datatype::int8, Datatype::float8_e5m2})
    for (const std::ptrdiff_t shift : {1, 2, 64, 610, 4096, 4181}) {
      CAPTURE(name_of(datatype));
      CAPTURE(shift);
      const Schedule schedule =
          schedule_of(collective_of(CollectiveKind::all_reduce, 9000, datatype), 8, true);
      const Values values(schedule, InputKind::exact, 2);
      const Plan plan = plan_without_tasks(schedule);
      MemoryExecution execution(plan);
      fill(execution, plan, values);
      RunAsContract()(schedule, plan, execution);
      Memory& output = execution.memory(plan.output[0]);
      std::rotate(output.begin(), output.begin() + shift * element_bytes(datatype), output.end());
      CHECK(check(execution, plan, values).wrong > 6000);
    }
}

TEST_CASE("Everything that ranks hold is filled, and differs by seed") {
  const Schedule schedule =
      schedule_of(collective_of(CollectiveKind::all_reduce, 400, Datatype::float32), 2, false);
  const Values values(schedule, InputKind::exact, 2);
  const Plan plan = plan_without_tasks(schedule, 48);
  MemoryExecution execution(plan);
  fill(execution, plan, values);
  REQUIRE(plan.scratch[0] >= 0);
  for (const std::byte each : execution.memory(plan.scratch[0])) CHECK(each == values.pattern());
  CHECK(values.before(0, Buffer::input) != values.before(1, Buffer::input));
  CHECK(values.before(0, Buffer::input) == Values(schedule, InputKind::exact, 2).before(0, Buffer::input));
  CHECK(values.before(0, Buffer::input) != Values(schedule, InputKind::exact, 3).before(0, Buffer::input));
  CHECK(execution.memory(plan.input[1]) == values.before(1, Buffer::input));
  CHECK(execution.memory(plan.output[1]) == values.before(1, Buffer::output));
}

}  // namespace collsim::kernels::testing
