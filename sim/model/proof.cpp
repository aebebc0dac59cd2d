#include "sim/model/proof.hpp"

#include <algorithm>
#include <utility>

#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"
#include "sim/model/program_facts.hpp"
#include "sim/model/proof_cells.hpp"
#include "sim/model/proof_orbits.hpp"
#include "sim/model/proof_order.hpp"
#include "sim/model/proof_sets.hpp"
#include "sim/model/proof_slices.hpp"
#include "sim/model/proof_tokens.hpp"
#include "sim/model/proof_translation.hpp"

namespace collsim {
namespace {

// Below work_small all cells are executed even where the other methods would save most of it; beyond work_max
// nothing is tried. Setting a stream up costs as much as work_a_stream cell operations.
constexpr std::int64_t work_small = 200'000;
constexpr std::int64_t work_max = 10'000'000'000;
constexpr std::int64_t work_a_stream = 16;
constexpr std::int64_t memory_max = std::int64_t{32} << 20;
constexpr std::int64_t memory_max_moving = std::int64_t{4} << 30;

// A proof that is neither shown nor refuted.
Proof& undecided(Proof& proof, std::string text) {
  proof.proven = false;
  proof.undecided = true;
  proof.failures.push_back(ProofFailure{-1, -1, -1, std::move(text)});
  return proof;
}

// Conflicts that remain are decided exactly where that is possible.
void judge(const DataflowGraph& graph, const std::vector<Conflict>& conflicts, Proof& proof) {
  std::vector<ProofFailure>& failures = proof.failures;
  if (conflicts.empty() || decide_order(graph, failures)) return;
  proof.undecided = failures.empty();
  for (const Conflict& conflict : conflicts) {
    const std::int32_t stream = graph.local_number(conflict.later.stream);
    failures.push_back(ProofFailure{
        conflict.rank, stream, std::int64_t{conflict.later.index},
        "rank " + std::to_string(conflict.rank) + ", stream " + std::to_string(stream) + ", step " +
            std::to_string(conflict.later.index) + ": the access to " + text_of(conflict.chunk) +
            " cannot be shown to be ordered after step " + std::to_string(conflict.earlier.index) +
            " of stream " + std::to_string(graph.local_number(conflict.earlier.stream))});
  }
}

struct Findings {
  std::vector<WrongCell> wrong;
  std::vector<Conflict> conflicts;
  bool moves = false;
  bool repeats = true;  // could be done again in other regions: conditions (4) and (5) of proof_slices.hpp
};

// One pass over the cells [first, first + count). False: the run did not end; the proof says why.
bool pass(const DataflowGraph& graph, std::int64_t first, std::int64_t count, Findings& findings,
          Proof& proof) {
  TokenMemory memory(graph.schedule(), waits_of(graph), graph.single_blocks(), first, count);
  Dataflow<TokenMemory> run(graph, memory);
  const DataflowOutcome outcome = run.run(first, count);
  proof.deadlock = outcome == DataflowOutcome::deadlock;
  proof.failures = run.failures();
  if (outcome != DataflowOutcome::finished) return false;
  findings.moves = findings.moves || memory.moves();
  findings.repeats = findings.repeats && run.same_chunks() && run.drained();
  memory.find_wrong(findings.wrong);
  const std::size_t room = proof_failures_max - findings.conflicts.size();
  const std::vector<Conflict>& more = memory.conflicts();
  findings.conflicts.insert(findings.conflicts.end(), more.begin(),
                            more.begin() + static_cast<std::ptrdiff_t>(std::min(room, more.size())));
  return true;
}

bool all_passes(const DataflowGraph& graph, Findings& findings, Proof& proof) {
  const Schedule& schedule = graph.schedule();
  const std::int64_t output = schedule.layout.cells();
  const std::int64_t cells = output + schedule.layout.scratch_cells();
  const std::int64_t cell_bytes = std::int64_t{schedule.ranks} * static_cast<std::int64_t>(sizeof(TokenCell));
  // Whole regions at a time where they fit: channels and slices are often independent of each other.
  std::int64_t batch = std::max<std::int64_t>(memory_max / cell_bytes, 1);
  if (batch > schedule.layout.blocks()) batch -= batch % schedule.layout.blocks();
  bool whole = cells <= batch || schedule.layout.scratch_regions() > 0;
  for (std::int64_t first = 0; !whole && first < cells; first += batch) {
    if (!pass(graph, first, std::min(batch, cells - first), findings, proof)) return false;
    whole = findings.moves;
  }
  if (!whole) return true;
  if (cells > memory_max_moving / cell_bytes) {
    undecided(proof, "contents move between cells and there are too many cells to follow at once");
    return false;
  }
  findings = Findings{};
  return pass(graph, 0, cells, findings, proof);
}

Proof execute(const Schedule& schedule, Findings& findings) {
  Proof proof;
  const DataflowGraph graph(schedule);
  proof.messages = graph.messages();
  proof.failures = graph.failures();
  proof.undecided = graph.too_large() && proof.failures.size() == 1;
  if (!proof.failures.empty()) return proof;
  if (!all_passes(graph, findings, proof)) return proof;
  proof.deadlock_freedom = DeadlockFreedom::run;
  proof.cells_traced = schedule.layout.cells();
  if (!findings.wrong.empty()) explain(graph, findings.wrong, findings.moves, proof.failures);
  judge(graph, findings.conflicts, proof);
  if (proof.failures.size() > proof_failures_max) proof.failures.resize(proof_failures_max);
  proof.proven = proof.failures.empty();
  return proof;
}

// What executing all cells would cost.
struct Size {
  std::int64_t streams = 0;
  std::int64_t messages = 0;
  std::int64_t work = 0;  // cell operations, and streams as many as it takes to make one
  bool valid = true;      // every stream has a program that exists

  // Of executing one of `count` slices.
  std::int64_t of_slices(std::int64_t count) const { return work / count + work_a_stream * streams; }
};

Size size_of(const Schedule& schedule) {
  Size size;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) size.streams += schedule.stream_count(rank);
  if (size.streams > proof_streams_max) return size;
  const std::vector<ProgramFacts> facts = facts_of_programs(schedule);
  Binding binding;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::int32_t streams = schedule.stream_count(rank);
    for (std::int32_t stream = 0; stream < streams; ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      const auto program = static_cast<std::size_t>(binding.program);
      size.valid = size.valid && program < facts.size() && facts[program].well_formed;
      if (!size.valid) return size;
      size.messages += facts[program].sends;
      size.work = std::min(size.work + work_a_stream + facts[program].cell_operations, much);
    }
  }
  return size;
}

Proof too_large(Proof proof, const Size& size) {
  std::string text = "executing all cells of " + std::to_string(size.streams) + " streams";
  if (size.messages > 0) text += " with " + std::to_string(size.messages) + " messages";
  undecided(proof, text + " is beyond what a proof attempts");
  for (const std::string& reason : proof.rejected_symmetries) {
    if (proof.failures.size() >= proof_failures_max) break;
    proof.failures.push_back(ProofFailure{-1, -1, -1, "not used: " + reason});
  }
  return proof;
}

}  // namespace

const char* name_of(ProofMethod method) {
  switch (method) {
    case ProofMethod::all_cells:
      return "all cells";
    case ProofMethod::one_cell_an_orbit:
      return "one cell an orbit";
    case ProofMethod::one_slice:
      return "one slice";
  }
  return "unknown";
}

const char* name_of(DeadlockFreedom shown) {
  switch (shown) {
    case DeadlockFreedom::not_shown:
      return "not shown";
    case DeadlockFreedom::run:
      return "run";
    case DeadlockFreedom::quotient:
      return "quotient";
    case DeadlockFreedom::one_slice:
      return "one slice";
  }
  return "unknown";
}

Proof prove_cells(const Schedule& schedule) {
  Findings findings;
  return execute(schedule, findings);
}

Proof prove_all_cells(const Schedule& schedule) {
  auto problem = Contract(schedule).problem();
  if (!problem) return prove_cells(schedule);
  Proof proof;
  proof.failures.push_back(ProofFailure{-1, -1, -1, *std::move(problem)});
  return proof;
}

Proof prove_first_slice(const FirstSlice& slice) {
  Findings findings;
  Proof proof = execute(slice.schedule, findings);
  proof.method = ProofMethod::one_slice;
  proof.messages *= slice.trips;
  if (!proof.proven) return proof;
  proof.deadlock_freedom = DeadlockFreedom::one_slice;
  if (findings.repeats) return proof;
  return undecided(proof, "what the first slice does cannot be repeated");
}

Proof prove(const Schedule& schedule) {
  if (Contract(schedule).problem()) return prove_all_cells(schedule);  // which says so at once
  if (schedule.translated && std::int64_t{schedule.translated->streams} * schedule.ranks > work_small)
    if (auto proof = prove_translated(schedule)) return *std::move(proof);
  const Size size = size_of(schedule);
  if (size.streams > proof_streams_max) return too_large(Proof{}, size);
  if (size.work <= work_small || !size.valid) return prove_all_cells(schedule);
  std::vector<std::string> unused;  // why other methods were not used
  if (!schedule.symmetries.empty()) {
    OrbitProof orbits = prove_by_orbits(schedule, work_max);
    orbits.proof.messages = size.messages;
    if (orbits.decided) return orbits.proof;
    if (size.work > work_max) return too_large(std::move(orbits.proof), size);
    unused = std::move(orbits.proof.rejected_symmetries);
  } else if (const auto slice = first_slice(schedule); slice && size.of_slices(slice->trips) <= work_max) {
    Proof proof = prove_first_slice(*slice);
    if (proof.proven) return proof;
  }
  if (size.work <= work_max) {
    Proof proof = prove_all_cells(schedule);
    proof.rejected_symmetries = std::move(unused);
    return proof;
  }
  Proof proof;
  proof.messages = size.messages;
  return too_large(std::move(proof), size);
}

}  // namespace collsim
