#include "tests/kernels/matrix.hpp"

#include <algorithm>

#include "sim/core/random.hpp"
#include "sim/model/proof.hpp"
#include "tests/kernels/all_types.hpp"

namespace collsim::kernels::testing {
namespace {

constexpr std::int64_t faults_max = 10;

Collective collective_of(const Entry& entry, std::int64_t elements, Datatype datatype, std::uint64_t draw) {
  if (in_parts(entry.kind)) elements = (elements + entry.ranks - 1) / entry.ranks * entry.ranks;
  if (entry.kind == CollectiveKind::barrier) elements = 0;
  Collective collective;
  collective.kind = entry.kind;
  collective.datatype = datatype;
  collective.bytes = Bytes(elements * element_bytes(datatype));
  if (has_root(entry.kind) && entry.any_root)
    collective.root = static_cast<Rank>(draw % static_cast<std::uint64_t>(entry.ranks));
  return collective;
}

std::string text_of(const ValueReport& report) {
  std::string text = std::to_string(report.wrong) + " wrong, " + std::to_string(report.input_changed) +
                     " inputs changed, " + std::to_string(report.unlike_ranks) + " unlike, " +
                     std::to_string(report.breaches.size()) + " breaches";
  if (report.first.empty()) return text;
  const WrongElement& first = report.first[0];
  return text + "; rank " + std::to_string(first.rank) + " region " + std::to_string(first.region) +
         " block " + std::to_string(first.block) + " element " + std::to_string(first.element) + " is " +
         first.found + ", not " + first.expected;
}

}  // namespace

std::vector<Datatype> datatypes_of(int width) {
  std::vector<Datatype> result;
  for (const Datatype datatype : all_datatypes)
    if (element_bytes(datatype) == width) result.push_back(datatype);
  return result;
}

std::int64_t Matrix::fewest_of_a_pair() const {
  std::int64_t fewest = combinations_;
  for (const auto& [pair, runs] : reduced_) fewest = std::min(fewest, runs);
  return fewest;
}

void Matrix::fault(const std::string& text) {
  if (++faults_found_ <= faults_max) faults_ += text + "\n";
}

Backend& Matrix::backend() {
  const int threads = turn_ % 4 == 1 ? 2 : 1;
  std::unique_ptr<Backend>& chosen = backends_[threads - 1];
  if (!chosen) chosen = cpu_backend(threads);
  return *chosen;
}

// False where the entry cannot have this collective.
bool Matrix::prepare(const Entry& entry, const Collective& collective, Prepared& prepared) {
  ++turn_;
  auto made = entry.make(collective);
  if (std::holds_alternative<Impossible>(made)) return false;
  prepared.schedule = std::get<Schedule>(std::move(made));
  const std::uint64_t draw = mix64(turn_);
  PlanOptions options;
  options.direct = !plain_only_ && (draw & 1) != 0;
  options.fused = !plain_only_ && (draw & 2) != 0;
  PrepareOptions memory;
  const int width = element_bytes(collective.datatype);
  memory.misalignment = (draw & 4) != 0 ? static_cast<std::int32_t>(draw >> 8 & 15) * width : 0;
  prepared.text = entry.text + ", " + std::to_string(collective.bytes.count()) + " bytes" +
                  (options.direct ? ", direct" : "") + (options.fused ? ", fused" : "") + ", at " +
                  std::to_string(memory.misalignment);
  if ((options.direct || options.fused) && !prove(prepared.schedule).proven) {
    fault(prepared.text + ": not proven");
    return false;
  }
  auto planned = plan_of(prepared.schedule, options);
  if (const auto* none = std::get_if<NoPlan>(&planned)) {
    fault(prepared.text + ": no plan: " + none->failures[0].text);
    return false;
  }
  prepared.plan = std::get<Plan>(std::move(planned));
  prepared.execution = backend().prepare(prepared.plan, memory);
  return true;
}

void Matrix::run(Prepared& prepared, Datatype datatype, ReductionOp reduction, InputKind kind,
                 std::optional<double> bound) {
  ++turn_;
  prepared.schedule.collective.datatype = datatype;
  prepared.schedule.collective.reduction = reduction;
  prepared.plan.collective = prepared.schedule.collective;
  const Values values(prepared.schedule, kind, turn_, bound);
  Execution& execution = *prepared.execution;
  fill(execution, prepared.plan, values);
  if (turn_ % 3 == 0)
    execution.run_in_order(order_of(prepared.plan, OrderKind::latest_first));
  else if (turn_ % 7 == 0)
    execution.run_in_order(order_of(prepared.plan, OrderKind::random, turn_));
  else
    execution.run();
  const ValueReport report = check(execution, prepared.plan, values);
  const bool unlike = values.kind() == InputKind::exact && report.unlike_ranks > 0;
  if (!report.right() || unlike)
    fault(prepared.text + ", " + std::string(name_of(datatype)) + " " + std::string(name_of(reduction)) +
          ": " + text_of(report));
  ++combinations_;
  if (report.wrong > 0) ++wrong_combinations_;
  if (report.inputs == InputKind::random) ++random_runs_;
  if (reduces(prepared.schedule.collective.kind)) ++reduced_[{datatype, reduction}];
}

void Matrix::run_all(const Entry& entry, std::int64_t elements, int width) {
  const std::vector<Datatype> datatypes = datatypes_of(width);
  Collective collective = collective_of(entry, elements, datatypes[0], turn_);
  const bool sums = reduces(entry.kind);
  for (const bool average : {false, true}) {
    if (average && !sums) return;
    collective.reduction = average ? ReductionOp::avg : ReductionOp::sum;
    Prepared prepared;
    if (!prepare(entry, collective, prepared)) return;
    for (const Datatype datatype : datatypes)
      for (const ReductionOp reduction : all_reductions) {
        if (average != (reduction == ReductionOp::avg)) continue;
        if (!sums && reduction != ReductionOp::sum) continue;
        run(prepared, datatype, reduction, InputKind::exact, {});
      }
  }
}

Collective Matrix::next_collective(const Entry& entry, std::int64_t bytes) {
  const std::uint64_t turn = static_cast<std::uint64_t>(collectives_[reduces(entry.kind) ? 1 : 0]++);
  const Datatype datatype = all_datatypes[turn % std::size(all_datatypes)];
  const std::int64_t tail = 1 + static_cast<std::int64_t>(turn * 2 % 29);
  Collective collective = collective_of(entry, bytes / element_bytes(datatype) + tail, datatype, turn);
  collective.reduction = all_reductions[turn % std::size(all_reductions)];
  return collective;
}

void Matrix::run_next(const Entry& entry, std::int64_t bytes) {
  const Collective collective = next_collective(entry, bytes);
  Prepared prepared;
  if (prepare(entry, collective, prepared))
    run(prepared, collective.datatype, collective.reduction, InputKind::exact, {});
}

void Matrix::run_next_random(const Entry& entry, std::int64_t bytes) {
  const Collective collective = next_collective(entry, bytes);
  Prepared prepared;
  if (!prepare(entry, collective, prepared)) return;
  const Proof proof = prove(prepared.schedule, {true});
  run(prepared, collective.datatype, collective.reduction, InputKind::random,
      error_bound(proof.numerics, collective, entry.ranks));
}

}  // namespace collsim::kernels::testing
