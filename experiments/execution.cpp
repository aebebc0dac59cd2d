#include "experiments/execution.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/forecast.hpp"
#include "sim/model/numerics.hpp"

namespace collsim::program {

namespace {

using kernels::Backend;
using kernels::InputKind;
using kernels::OrderKind;
using kernels::Plan;
using kernels::ValueReport;

bool fits(Backend& backend, std::int64_t bytes, ExecutedPoint& point) {
  const std::int64_t free = backend.free_bytes();
  if (bytes <= free) return true;
  point.detail = memory_text(free) + " are free";
  return fail(point, ExecutionStatus::limit, "it needs " + memory_text(bytes) + " of memory");
}

bool is_small_enough(const Schedule& schedule, ExecutedPoint& point) {
  if (kernels::operations_of(schedule) <= kernels::tasks_max) return true;
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

BreachedArea breached(const Plan& plan, const kernels::GuardBreach& breach) {
  const kernels::Area& area = plan.areas[static_cast<std::size_t>(breach.area)];
  const std::int64_t bytes = breach.before ? -breach.offset : breach.offset - area.bytes;
  return {area.kind, area.rank, breach.before, bytes};
}

void take_values(const ValueReport& report, const Plan& plan, std::string order, ExecutedPoint& point) {
  const std::int64_t wrong =
      report.wrong + report.input_changed + static_cast<std::int64_t>(report.breaches.size());
  point.checks.push_back({report.inputs, std::move(order), wrong});
  point.wrong = std::max(point.wrong, wrong);
  point.checked = std::max(point.checked, report.checked);
  point.unlike_ranks = std::max(point.unlike_ranks, report.unlike_ranks);
  if (report.inputs == InputKind::random)
    point.error_of_bound = std::max(point.error_of_bound.value_or(0), report.error_of_bound);
  if (report.right() || point.first_wrong) return;
  point.first_wrong = report;
  for (const kernels::GuardBreach& each : report.breaches) point.breaches.push_back(breached(plan, each));
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
  take_values(kernels::check(bench.execution, bench.plan, values), bench.plan, name_of(order), bench.point);
}

void check_in_parallel(const Bench& bench, const kernels::Values& values) {
  kernels::fill(bench.execution, bench.plan, values);
  bench.execution.run();
  take_values(kernels::check(bench.execution, bench.plan, values), bench.plan, "parallel", bench.point);
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
  if (proven) return check_in_parallel(bench, values);
  bench.point.notes.push_back("not run in parallel, and not timed: it is not proven");
}

// A contribution that is missing leaves an error of at least the least input (1/4) less the error of what is
// there. It is seen for certain where that is more than the bound of the error: where the bound is below half
// of the least input, with inputs of up to 1 from each rank. Of products nothing is certain: their inputs are
// near 1.
bool shows_all(const Schedule& schedule, double bound) {
  return schedule.collective.reduction != ReductionOp::prod && bound * schedule.ranks < 0.125;
}

// Adds why exact inputs are needed beside random ones, or in their place, where it is random ones that were
// asked for. True: they are.
bool add_reason(const ExecutionOptions& options, std::string reason, ExecutedPoint& point) {
  if (!options.exact) point.notes.push_back(std::move(reason));
  return true;
}

// True: it does not do without exact inputs.
bool check_random(const Bench& bench, const Proof& proof, const ExecutionOptions& options) {
  if (!proof.proven) return true;  // there is no order of additions to take a bound from
  const Collective& collective = bench.schedule.collective;
  if (is_exact(collective))
    return add_reason(options, "exact inputs in place of random ones: nothing is rounded", bench.point);
  const std::optional<double> bound = error_bound(proof.numerics, collective, bench.schedule.ranks);
  if (!bound) {
    bench.point.notes.push_back("not run with random inputs: there is no bound of the error" +
                                (proof.numerics.known ? std::string() : ": " + proof.numerics.reason));
    return true;
  }
  check_in_parallel(bench, kernels::Values(bench.schedule, InputKind::random, options.seed, bound));
  if (shows_all(bench.schedule, *bound)) return false;
  return add_reason(options,
                    "exact inputs too: within the bound of the error, random ones may lack a contribution",
                    bench.point);
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

std::string undecided_reason(const ExecutedPoint& point) {
  const std::string reason = "there is no proof";
  return point.proof_failures.empty() ? reason : reason + ": " + point.proof_failures.front().text;
}

void judge(Backend& backend, const Schedule& schedule, ExecutedPoint& point) {
  const bool refuted = point.proof == ProofVerdict::refuted;
  if (point.wrong == 0 && point.proof == ProofVerdict::undecided)
    fail(point, ExecutionStatus::unproven, undecided_reason(point));
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
  const bool more = options.random && point.wrong == 0 && check_random(bench, proof, options);
  if (more && !options.exact && point.wrong == 0) check_exact(bench, options);
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

Times timed(Backend& backend, const Plan& plan, const ExecutionOptions& options, std::int32_t sets) {
  kernels::PrepareOptions how;
  how.sets = sets;
  const auto execution = backend.prepare(plan, how);
  Times times;
  times.runs = options.runs;
  times.sets = how.sets;
  times.warmups = kernels::warm_up(*execution, std::max<std::int64_t>(options.warmups, how.sets),
                                   options.warmups > 0 ? kernels::warmup_time_min : Duration());
  std::vector<Duration> runs;
  for (std::int64_t i = 0; i < times.runs; ++i) runs.push_back(execution->run());
  std::sort(runs.begin(), runs.end());
  times.minimum = runs.front();
  times.median = median_of(runs);
  times.maximum = runs.back();
  return times;
}

// Of as many sets of buffers as are wanted, or of one where memory does not last. Values are right by now: a
// point without memory for its time stays as it is.
void take_times(Backend& backend, const Plan& plan, const ExecutionOptions& options, ExecutedPoint& point) {
  std::string why = "out of memory";
  for (std::int32_t sets = sets_of(backend, plan); sets > 0; sets = sets > 1 ? 1 : 0) {
    try {
      point.times = timed(backend, plan, options, sets);
      return;
    } catch (const std::bad_alloc&) {
    } catch (const kernels::DeviceError& error) {
      if (error.kind() != kernels::DeviceError::Kind::memory) throw;
      why = error.what();
    }
  }
  point.notes.push_back("not timed: " + why);
}

void run_on_device(Backend& backend, const Schedule& schedule, const Plan& plan, const Proof& proof,
                   const ExecutionOptions& options, ExecutedPoint& point) {
  check_values(backend, schedule, plan, proof, options, point);
  judge(backend, schedule, point);
  const bool is_timed = proof.proven && options.runs > 0;
  if (point.status == ExecutionStatus::ok && is_timed) take_times(backend, plan, options, point);
}

void take_error(const kernels::DeviceError& error, ExecutedPoint& point) {
  if (!is_of_one_point(error)) throw error;
  const bool memory = error.kind() == kernels::DeviceError::Kind::memory;
  point.times.reset();
  point.detail = error.detail();
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

}  // namespace collsim::program
