#include "sim/model/proof_orbits.hpp"

#include <algorithm>
#include <tuple>

#include "sim/model/dataflow.hpp"
#include "sim/model/symmetry.hpp"

namespace collsim {
namespace {

constexpr std::int64_t cells_max = std::int64_t{1} << 28;

bool overlap(std::int64_t a, std::int64_t a_count, std::int64_t b, std::int64_t b_count) {
  return a < b + b_count && b < a + a_count && a_count > 0 && b_count > 0;
}

// What tracing one cell an orbit costs: every stream of the part is looked at for each.
std::int64_t work_of(const OrbitPlan& plan) {
  const Layout& layout = plan.schedule.layout;
  const std::int64_t all = plan.start.back();
  std::int64_t work = 0;
  for (std::int64_t cell = 0; cell < layout.cells(); ++cell) {
    if (!plan.cells.is_root(static_cast<std::int32_t>(cell))) continue;
    const std::size_t part = plan.part_of_region(static_cast<std::int32_t>(cell / layout.blocks()));
    work +=
        part < plan.parts.size() ? std::int64_t{plan.parts[part].stream_count} * plan.schedule.ranks : all;
  }
  return work;
}

}  // namespace

Orbits::Orbits(std::size_t count) : parent_(count) {
  for (std::size_t item = 0; item < count; ++item) parent_[item] = static_cast<std::int32_t>(item);
}

std::int32_t Orbits::root_of(std::int32_t item) {
  while (parent_[static_cast<std::size_t>(item)] != item) {
    std::int32_t& up = parent_[static_cast<std::size_t>(item)];
    up = parent_[static_cast<std::size_t>(up)];
    item = up;
  }
  return item;
}

void Orbits::unite(std::int32_t a, std::int32_t b) {
  a = root_of(a);
  b = root_of(b);
  parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
}

OrbitPlan::OrbitPlan(const Schedule& its_schedule)
    : schedule(its_schedule), facts(facts_of_programs(its_schedule)) {
  for (const ProgramFacts& program : facts)
    if (!program.well_formed || !program.plain)
      refusal = "aggregations, copies and scratch are followed only in all cells at once";
  for (const ProgramFacts& program : facts)
    if (program.reads_input && schedule.in_place) refusal = "a schedule in place has no input to read";
  if (schedule.slots < 1) refusal = "a connection needs at least one slot";
  if (schedule.layout.cells() > cells_max) refusal = "there are more cells than a proof can follow";
  if (!refusal.empty() || !number_streams()) return;
  for (const Symmetry& symmetry : schedule.symmetries) use(symmetry);
  streams = Orbits(static_cast<std::size_t>(start.back()));
  cells = Orbits(static_cast<std::size_t>(schedule.layout.cells()));
  for (const Part& part : parts)
    for (const Symmetry* symmetry : part.symmetries) unite(*symmetry);
}

bool OrbitPlan::number_streams() {
  std::int64_t total = 0;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    start.push_back(static_cast<std::int32_t>(total));
    total += schedule.stream_count(rank);
    if (total <= proof_streams_max) continue;
    refusal = "there are more streams than a proof can follow";
    return false;
  }
  start.push_back(static_cast<std::int32_t>(total));
  return true;
}

Rank OrbitPlan::rank_of(std::int32_t number) const {
  return static_cast<Rank>(std::upper_bound(start.begin(), start.end(), number) - start.begin()) - 1;
}

std::size_t OrbitPlan::part_of_stream(std::int32_t local) const {
  for (std::size_t part = 0; part < parts.size(); ++part)
    if (local >= parts[part].first_stream && local - parts[part].first_stream < parts[part].stream_count)
      return part;
  return parts.size();
}

std::size_t OrbitPlan::part_of_region(std::int32_t region) const {
  for (std::size_t part = 0; part < parts.size(); ++part)
    if (region >= parts[part].first_region && region - parts[part].first_region < parts[part].region_count)
      return part;
  return parts.size();
}

// Verifies a symmetry and gives it its part.
void OrbitPlan::use(const Symmetry& symmetry) {
  auto reason = verify_symmetry(schedule, symmetry);
  if (!reason) reason = verify_contract(schedule, symmetry);
  if (reason) {
    rejected.push_back(*reason);
    return;
  }
  for (Part& part : parts) {
    const auto key = [](const auto& of) {
      return std::tuple(of.first_stream, of.stream_count, of.first_region, of.region_count);
    };
    if (key(part) == key(symmetry)) {
      part.symmetries.push_back(&symmetry);
      ++verified;
      return;
    }
    if (overlap(part.first_stream, part.stream_count, symmetry.first_stream, symmetry.stream_count) ||
        overlap(part.first_region, part.region_count, symmetry.first_region, symmetry.region_count)) {
      rejected.push_back(symmetry.name + ": its streams or regions overlap those of " +
                         part.symmetries.front()->name);
      return;
    }
  }
  parts.push_back(Part{symmetry.first_stream,
                       symmetry.stream_count,
                       symmetry.first_region,
                       symmetry.region_count,
                       {&symmetry}});
  ++verified;
}

void OrbitPlan::unite(const Symmetry& symmetry) {
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t from = start[static_cast<std::size_t>(rank)];
    const std::int32_t to = start[static_cast<std::size_t>(symmetry.rank(rank))];
    for (std::int32_t i = 0; i < symmetry.stream_count; ++i) {
      const std::int32_t stream = symmetry.first_stream + i;
      streams.unite(from + stream, to + (symmetry.stream ? symmetry.stream(rank, stream) : stream));
    }
  }
  const std::int32_t blocks = schedule.layout.blocks();
  for (std::int32_t i = 0; i < symmetry.region_count; ++i) {
    const std::int32_t region = symmetry.first_region + i;
    const auto image = static_cast<std::int32_t>(symmetry.region(region));
    for (std::int32_t block = 0; block < blocks; ++block)
      cells.unite(region * blocks + block, image * blocks + static_cast<std::int32_t>(symmetry.block(block)));
  }
}

void OrbitProof::refuse(const std::string& text) {
  decided = false;
  if (proof.failures.size() < proof_failures_max) proof.failures.push_back(ProofFailure{-1, -1, -1, text});
}

void OrbitProof::fail(Rank rank, std::int32_t stream, std::int64_t step, const std::string& text) {
  if (proof.failures.size() >= proof_failures_max) return;
  std::string place = "rank " + std::to_string(rank);
  if (stream >= 0) place += ", stream " + std::to_string(stream);
  if (step >= 0) place += ", step " + std::to_string(step);
  proof.failures.push_back(ProofFailure{rank, stream, step, place + ": " + text});
}

OrbitProof prove_by_orbits(const Schedule& schedule, std::int64_t work_max, Numerics* numerics) {
  OrbitProof result;
  OrbitPlan plan(schedule);
  result.proof.method = ProofMethod::one_cell_an_orbit;
  result.proof.symmetries = plan.verified;
  result.proof.rejected_symmetries = plan.rejected;
  if (plan.refusal.empty() && work_of(plan) > work_max)
    plan.refusal = "too few symmetries hold to prove it one cell an orbit";
  if (!plan.refusal.empty()) {
    result.refuse(plan.refusal);
    return result;
  }
  if (!run_quotient(plan, result)) return result;
  const std::int32_t blocks = schedule.layout.blocks();
  for (std::int32_t cell = 0; cell < schedule.layout.cells(); ++cell) {
    if (!plan.cells.is_root(cell)) continue;
    ++result.proof.cells_traced;
    trace_cell(plan, cell / blocks, cell % blocks, result, numerics);
    if (result.proof.failures.size() >= proof_failures_max) break;
  }
  result.proof.proven = result.proof.failures.empty();
  return result;
}

}  // namespace collsim
