#include "experiments/execution.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/forecast.hpp"
#include "sim/model/numerics.hpp"
#include "sim/report/ratio.hpp"

namespace collsim::program {

namespace {

using kernels::Backend;
using kernels::InputKind;
using kernels::OrderKind;
using kernels::Plan;
using kernels::ValueReport;

bool fail(ExecutedPoint& point, ExecutionStatus status, std::string reason) {
  point.status = status;
  point.reason = std::move(reason);
  return false;
}

bool fits(Backend& backend, std::int64_t bytes, ExecutedPoint& point) {
  const std::int64_t free = backend.free_bytes();
  if (bytes <= free) return true;
  point.free_bytes = free;
  return fail(point, ExecutionStatus::limit, "it needs " + memory_text(bytes) + " of memory");
}

// Of all streams, or tasks_max + 1 as soon as they are more.
std::int64_t operations_of(const Schedule& schedule) {
  std::int64_t sum = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t streams = schedule.stream_count(rank);
    for (std::int32_t stream = 0; stream < streams; ++stream) {
      sum += operation_count(schedule, rank, stream);
      if (sum > kernels::tasks_max) return kernels::tasks_max + 1;
    }
  }
  return sum;
}

bool is_small_enough(const Schedule& schedule, ExecutedPoint& point) {
  if (operations_of(schedule) <= kernels::tasks_max) return true;
  return fail(point, ExecutionStatus::limit,
              "it has more than " + grouped_text(kernels::tasks_max) + " operations");
}

void take_proof(const Proof& proof, ExecutedPoint& point) {
  point.proof = proof.proven      ? ProofVerdict::proven
                : proof.undecided ? ProofVerdict::undecided
                                  : ProofVerdict::refuted;
  point.proof_failures = proof.failures;
}

// Nothing: there is none, and the point says why.
std::optional<Plan> planned(const Schedule& schedule, const ExecutionOptions& options, ExecutedPoint& point) {
  kernels::PlanOptions how;
  how.direct = point.proof == ProofVerdict::proven;
  how.fused = how.direct && options.fused;
  auto made = kernels::plan_of(schedule, how);
  if (auto* plan = std::get_if<Plan>(&made)) {
    point.tasks = static_cast<std::int64_t>(plan->tasks.size());
    point.memory_bytes = plan->memory_bytes();
    point.traffic_bytes = plan->traffic_bytes();
    return std::move(*plan);
  }
  auto& none = std::get<kernels::NoPlan>(made);
  const std::string text = none.failures.empty() ? "it has no plan" : none.failures.front().text;
  const ExecutionStatus status = none.deadlock    ? ExecutionStatus::deadlock
                                 : none.too_large ? ExecutionStatus::limit
                                                  : ExecutionStatus::unproven;
  fail(point, status, none.deadlock ? "it deadlocks: " + text : text);
  if (point.proof_failures.empty()) point.proof_failures = std::move(none.failures);
  return std::nullopt;
}

// Buffers and their guards; what fill() and check() hold of one buffer of a rank beside them.
std::int64_t needed_bytes(const Plan& plan) {
  std::int64_t largest = 0;
  for (const kernels::Area& area : plan.areas) largest = std::max(largest, area.bytes);
  return plan.memory_bytes() + static_cast<std::int64_t>(plan.areas.size()) * 2 * kernels::guard_bytes +
         2 * largest;
}

// What may happen to one point and leaves the others as they are.
bool is_of_one_point(const kernels::DeviceError& error) {
  using Kind = kernels::DeviceError::Kind;
  return error.kind() == Kind::memory || error.kind() == Kind::unsupported;
}

// ---------------------------------------------------------------- values

const char* name_of(OrderKind order) {
  switch (order) {
    case OrderKind::as_planned:
      return "as planned";
    case OrderKind::latest_first:
      return "latest first";
    case OrderKind::random:
      return "random";
  }
  return "unknown";
}

void take_values(const ValueReport& report, InputKind inputs, std::string order, ExecutedPoint& point) {
  const std::int64_t wrong =
      report.wrong + report.input_changed + static_cast<std::int64_t>(report.breaches.size());
  point.checks.push_back({inputs, std::move(order), wrong});
  point.wrong = std::max(point.wrong, wrong);
  point.checked = std::max(point.checked, report.checked);
  point.unlike_ranks = std::max(point.unlike_ranks, report.unlike_ranks);
  if (inputs == InputKind::random)
    point.error_of_bound = std::max(point.error_of_bound.value_or(0), report.error_of_bound);
  if (!report.right() && !point.first_wrong) point.first_wrong = report;
}

// One schedule with its values on a device.
struct Bench {
  const Schedule& schedule;
  const Plan& plan;
  kernels::Execution& execution;
  ExecutedPoint& point;
};

void check_in_order(const Bench& bench, const kernels::Values& values, OrderKind order, std::uint64_t seed) {
  kernels::fill(bench.execution, bench.plan, values);
  bench.execution.run_in_order(kernels::order_of(bench.plan, order, seed));
  take_values(kernels::check(bench.execution, bench.plan, values), InputKind::exact, name_of(order),
              bench.point);
}

void check_in_parallel(const Bench& bench, const kernels::Values& values, InputKind inputs) {
  kernels::fill(bench.execution, bench.plan, values);
  bench.execution.run();
  take_values(kernels::check(bench.execution, bench.plan, values), inputs, "parallel", bench.point);
}

void check_exact(const Bench& bench, const ExecutionOptions& options) {
  const kernels::Values values(bench.schedule, InputKind::exact, options.seed);
  const bool proven = bench.point.proof == ProofVerdict::proven;
  if (bench.point.tasks <= serial_tasks_max) {
    for (const OrderKind order : {OrderKind::as_planned, OrderKind::latest_first, OrderKind::random})
      check_in_order(bench, values, order, options.seed);
  } else if (proven) {
    bench.point.notes.push_back("not run in serial orders: it has more than " +
                                grouped_text(serial_tasks_max) + " tasks");
  } else {
    check_in_order(bench, values, OrderKind::as_planned, options.seed);
  }
  if (proven) return check_in_parallel(bench, values, InputKind::exact);
  bench.point.notes.push_back("not run in parallel, and not timed: it is not proven");
}

void check_random(const Bench& bench, const Proof& proof, const ExecutionOptions& options) {
  if (!proof.proven) return;  // there is no order of additions to take a bound from
  const Collective& collective = bench.schedule.collective;
  std::optional<double> bound = 0.0;
  if (!is_exact(collective)) bound = error_bound(proof.numerics, collective, bench.schedule.ranks);
  if (!bound) {
    bench.point.notes.push_back("not run with random inputs: there is no bound of the error" +
                                (proof.numerics.known ? std::string() : ": " + proof.numerics.reason));
    return;
  }
  const kernels::Values values(bench.schedule, InputKind::random, options.seed, bound);
  check_in_parallel(bench, values, InputKind::random);
}

void diagnose(Backend& backend, const Schedule& schedule, ExecutedPoint& point) {
  if (point.memory_bytes > diagnosed_bytes_max) {
    point.notes.push_back("contributions are not counted at more than " + memory_text(diagnosed_bytes_max));
    return;
  }
  try {
    point.diagnosis = kernels::diagnose(schedule, backend);
  } catch (const kernels::DeviceError& error) {
    if (!is_of_one_point(error)) throw;
    point.notes.push_back(std::string("contributions are not counted: ") + error.what());
  }
}

void judge(Backend& backend, const Schedule& schedule, ExecutedPoint& point) {
  const bool refuted = point.proof == ProofVerdict::refuted;
  if (point.wrong == 0 && !refuted) return;
  diagnose(backend, schedule, point);
  const auto runs = static_cast<std::size_t>(std::count_if(
      point.checks.begin(), point.checks.end(), [](const CheckedRun& run) { return run.wrong > 0; }));
  if (runs > 0) {
    fail(point, ExecutionStatus::wrong,
         std::to_string(point.wrong) + " wrong elements in " + std::to_string(runs) + " of " +
             std::to_string(point.checks.size()) + " runs");
  } else if (point.diagnosis.wrong_cells > 0) {
    fail(point, ExecutionStatus::wrong, "contributions are missing or counted twice in some order");
  } else {
    fail(point, ExecutionStatus::unproven, "the schedule does not compute its collective, by its proof");
  }
}

void check_values(Backend& backend, const Schedule& schedule, const Plan& plan, const Proof& proof,
                  const ExecutionOptions& options, ExecutedPoint& point) {
  const auto execution = backend.prepare(plan, {});
  const Bench bench{schedule, plan, *execution, point};
  if (options.exact) check_exact(bench, options);
  if (options.random && point.wrong == 0) check_random(bench, proof, options);
  if (!point.ran()) check_exact(bench, options);  // no bound for random inputs
}

// ---------------------------------------------------------------- times

std::int32_t sets_of(Backend& backend, const Plan& plan) {
  const std::int64_t one = std::max<std::int64_t>(1, needed_bytes(plan));
  const std::int64_t cache = 2 * backend.cache_bytes() * backend.devices();
  const std::int64_t wanted = cache / one + 1;
  const std::int64_t possible = std::max<std::int64_t>(1, backend.free_bytes() / 2 / one);
  return static_cast<std::int32_t>(std::min({wanted, possible, std::int64_t{sets_max}}));
}

Duration median_of(const std::vector<Duration>& sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[half];
  return Duration::picoseconds((sorted[half - 1] + sorted[half]).picoseconds() / 2);
}

Times timed(Backend& backend, const Plan& plan, const ExecutionOptions& options) {
  kernels::PrepareOptions how;
  how.sets = sets_of(backend, plan);
  const auto execution = backend.prepare(plan, how);
  Times times;
  times.runs = options.runs;
  times.sets = how.sets;
  times.warmups = std::max<std::int64_t>(options.warmups, how.sets);
  for (std::int64_t i = 0; i < times.warmups; ++i) execution->run();
  std::vector<Duration> runs;
  for (std::int64_t i = 0; i < times.runs; ++i) runs.push_back(execution->run());
  std::sort(runs.begin(), runs.end());
  times.minimum = runs.front();
  times.median = median_of(runs);
  times.maximum = runs.back();
  return times;
}

void run_on_device(Backend& backend, const Schedule& schedule, const Plan& plan, const Proof& proof,
                   const ExecutionOptions& options, ExecutedPoint& point) {
  check_values(backend, schedule, plan, proof, options, point);
  judge(backend, schedule, point);
  const bool is_timed = proof.proven && options.runs > 0;
  if (point.status == ExecutionStatus::ok && is_timed) point.times = timed(backend, plan, options);
}

void take_error(const kernels::DeviceError& error, ExecutedPoint& point) {
  if (!is_of_one_point(error)) throw error;
  const bool memory = error.kind() == kernels::DeviceError::Kind::memory;
  point.times.reset();
  fail(point, memory ? ExecutionStatus::limit : ExecutionStatus::impossible, error.what());
}

}  // namespace

bool may_fit(Backend& backend, ExecutedPoint& point) {
  const Int128 outputs = Int128{point.collective.bytes.count()} * point.ranks;
  constexpr Int128 most = std::numeric_limits<std::int64_t>::max();
  return fits(backend, static_cast<std::int64_t>(std::min(outputs, most)), point);
}

void execute_schedule(Backend& backend, Proofs& proofs, const Schedule& schedule,
                      const ExecutionOptions& options, ExecutedPoint& point) {
  point.in_place = schedule.in_place;
  if (!is_small_enough(schedule, point)) return;
  const Proof proof = proofs.of(schedule);
  take_proof(proof, point);
  const std::optional<Plan> plan = planned(schedule, options, point);
  if (!plan || !fits(backend, needed_bytes(*plan), point)) return;
  try {
    run_on_device(backend, schedule, *plan, proof, options, point);
  } catch (const kernels::DeviceError& error) {
    take_error(error, point);
  }
}

std::string memory_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit < 6 && bytes >> (10 * (unit + 1)) > 0) ++unit;
  if (unit == 0) return std::to_string(bytes) + " B";
  return decimal_text({bytes, std::int64_t{1} << (10 * unit)}, 2) + " " + units[unit];
}

}  // namespace collsim::program
