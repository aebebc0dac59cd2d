#include "sim/model/proof.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/model/contract.hpp"
#include "sim/model/dataflow.hpp"
#include "sim/model/program_facts.hpp"
#include "sim/model/proof_cells.hpp"
#include "sim/model/proof_numbers.hpp"
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
  Numerics numerics;
  bool moves = false;
  bool repeats = true;  // could be done again in other regions: conditions (4) and (5) of proof_slices.hpp
};

// Runs one pass over the cells [first, first + count). False: it did not end; the proof says why.
template <class Memory>
bool run_pass(const DataflowGraph& graph, Memory& memory, std::int64_t first, std::int64_t count,
              Findings& findings, Proof& proof) {
  Dataflow<Memory> run(graph, memory);
  const DataflowOutcome outcome = run.run(first, count);
  proof.deadlock = outcome == DataflowOutcome::deadlock;
  proof.failures = run.failures();
  if (outcome != DataflowOutcome::finished) return false;
  findings.repeats = findings.repeats && run.same_chunks() && run.drained();
  return true;
}

bool pass_with_numbers(const DataflowGraph& graph, TokenMemory& tokens, std::int64_t first,
                       std::int64_t count, Findings& findings, Proof& proof) {
  const auto scope_of = [&graph](std::int32_t stream, const OperationTemplate& operation) {
    const DataflowGraph::Stream& fixed = graph.streams()[static_cast<std::size_t>(stream)];
    return graph.groups()[static_cast<std::size_t>(graph.groups_of(fixed)[operation.peer].group)].scope;
  };
  NumberMemory numbers(graph.schedule(), scope_of, first, count);
  TokensAndNumbers both(tokens, numbers);
  if (!run_pass(graph, both, first, count, findings, proof)) return false;
  numbers.report(findings.numerics);
  return true;
}

bool pass(const DataflowGraph& graph, std::int64_t first, std::int64_t count, bool with_numbers,
          Findings& findings, Proof& proof) {
  TokenMemory memory(graph.schedule(), waits_of(graph), graph.single_blocks(), first, count);
  if (with_numbers ? !pass_with_numbers(graph, memory, first, count, findings, proof)
                   : !run_pass(graph, memory, first, count, findings, proof))
    return false;
  findings.moves = findings.moves || memory.moves();
  memory.find_wrong(findings.wrong);
  const std::size_t room = proof_failures_max - findings.conflicts.size();
  const std::vector<Conflict>& more = memory.conflicts();
  findings.conflicts.insert(findings.conflicts.end(), more.begin(),
                            more.begin() + static_cast<std::ptrdiff_t>(std::min(room, more.size())));
  return true;
}

bool all_passes(const DataflowGraph& graph, bool with_numbers, Findings& findings, Proof& proof) {
  const Schedule& schedule = graph.schedule();
  const std::int64_t output = schedule.layout.cells();
  const std::int64_t cells = output + schedule.layout.scratch_cells();
  const std::int64_t cell_bytes = std::int64_t{schedule.ranks} * static_cast<std::int64_t>(sizeof(TokenCell));
  // Whole regions at a time where they fit: channels and slices are often independent of each other.
  std::int64_t batch = std::max<std::int64_t>(memory_max / cell_bytes, 1);
  if (batch > schedule.layout.blocks()) batch -= batch % schedule.layout.blocks();
  bool whole = cells <= batch || schedule.layout.scratch_regions() > 0;
  for (std::int64_t first = 0; !whole && first < cells; first += batch) {
    if (!pass(graph, first, std::min(batch, cells - first), with_numbers, findings, proof)) return false;
    whole = findings.moves;
  }
  if (!whole) return true;
  if (cells > memory_max_moving / cell_bytes) {
    undecided(proof, "contents move between cells and there are too many cells to follow at once");
    return false;
  }
  findings = Findings{};
  return pass(graph, 0, cells, with_numbers, findings, proof);
}

void merge(Numerics& numerics, const Numerics& more) {
  numerics.same_on_all_ranks = numerics.same_on_all_ranks && more.same_on_all_ranks;
  numerics.repeats = numerics.repeats && more.repeats;
  numerics.node_switches_add = numerics.node_switches_add || more.node_switches_add;
  numerics.fabric_switches_add = numerics.fabric_switches_add || more.fabric_switches_add;
  numerics.additions_deep = std::max(numerics.additions_deep, more.additions_deep);
}

Proof execute(const Schedule& schedule, Findings& findings, Numerics* numerics) {
  Proof proof;
  const DataflowGraph graph(schedule);
  proof.messages = graph.messages();
  proof.failures = graph.failures();
  proof.undecided = graph.too_large() && proof.failures.size() == 1;
  if (!proof.failures.empty()) return proof;
  if (!all_passes(graph, numerics != nullptr, findings, proof)) return proof;
  proof.deadlock_freedom = DeadlockFreedom::run;
  proof.cells_traced = schedule.layout.cells();
  if (!findings.wrong.empty()) explain(graph, findings.wrong, findings.moves, proof.failures);
  judge(graph, findings.conflicts, proof);
  if (proof.failures.size() > proof_failures_max) proof.failures.resize(proof_failures_max);
  proof.proven = proof.failures.empty();
  if (proof.proven && numerics != nullptr) merge(*numerics, findings.numerics);
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

Proof prove_cells(const Schedule& schedule, Numerics* numerics) {
  Findings findings;
  return execute(schedule, findings, numerics);
}

Proof prove_first_slice(const FirstSlice& slice, Numerics* numerics) {
  Findings findings;
  Proof proof = execute(slice.schedule, findings, numerics);
  proof.method = ProofMethod::one_slice;
  proof.messages *= slice.trips;
  if (!proof.proven) return proof;
  proof.deadlock_freedom = DeadlockFreedom::one_slice;
  if (findings.repeats) return proof;
  return undecided(proof, "what the first slice does cannot be repeated");
}

namespace {

// Before another method is tried.
void forget(Numerics* numerics) {
  if (numerics != nullptr) *numerics = Numerics{};
}

Proof prove_large(const Schedule& schedule, const Size& size, Numerics* numerics) {
  Proof proof;
  proof.messages = size.messages;
  if (!schedule.symmetries.empty()) {
    OrbitProof orbits = prove_by_orbits(schedule, std::min(size.work, work_max), numerics);
    orbits.proof.messages = size.messages;
    if (orbits.decided) return orbits.proof;
    proof = std::move(orbits.proof);
    forget(numerics);
  }
  if (const auto slice = first_slice(schedule); slice && size.of_slices(slice->trips) <= work_max) {
    Proof sliced = prove_first_slice(*slice, numerics);
    sliced.rejected_symmetries = proof.rejected_symmetries;
    if (sliced.proven) return sliced;
    forget(numerics);
  }
  if (size.work > work_max) return too_large(std::move(proof), size);
  Proof all = prove_cells(schedule, numerics);
  all.rejected_symmetries = std::move(proof.rejected_symmetries);
  return all;
}

Proof prove_checked(const Schedule& schedule, Numerics* numerics) {
  if (schedule.translated && std::int64_t{schedule.translated->streams} * schedule.ranks > work_small)
    if (auto proof = prove_translated(schedule, numerics)) return *std::move(proof);
  forget(numerics);
  const Size size = size_of(schedule);
  if (size.streams > proof_streams_max) return too_large(Proof{}, size);
  if (size.work <= work_small || !size.valid) return prove_cells(schedule, numerics);
  return prove_large(schedule, size, numerics);
}

// By one of the methods, if there is a contract to hold the schedule against.
template <class Method>
Proof prove_by(const Schedule& schedule, const ProofOptions& options, Method method) {
  const Contract contract(schedule);
  Proof proof;
  if (auto problem = contract.problem()) {
    proof.failures.push_back(ProofFailure{-1, -1, -1, *std::move(problem)});
    return proof;
  }
  Numerics numerics;
  const bool follows = options.numerics && contract.sums();
  proof = method(schedule, follows ? &numerics : nullptr);
  numerics.known = options.numerics && proof.proven;
  if (options.numerics && !proof.proven) numerics.reason = "the schedule is not proven";
  proof.numerics = std::move(numerics);
  return proof;
}

// Nothing is moved: for deadlocks.
struct NoMemory {
  struct Payload {};
  void begin(const Step&) {}
  Payload read(const Step&, const Chunk&) { return {}; }
  void write(const Step&, const Chunk&, Payload, bool) {}
  void write_sum(const Step&, const Chunk&, Payload, const Chunk&) {}
  void release(Payload, const Chunk&) {}
  void join(Payload&, const Chunk&, Payload, const Chunk&) {}
  void local(const Step&, const Chunk&) {}
  void drained(Post, const std::vector<Post>&) {}
};

DataflowOutcome outcome_with(const DataflowGraph& graph, std::int32_t slots) {
  NoMemory memory;
  return Dataflow<NoMemory>(graph, memory, slots).run();
}

}  // namespace

Proof prove_all_cells(const Schedule& schedule, const ProofOptions& options) {
  return prove_by(schedule, options, prove_cells);
}

Proof prove(const Schedule& schedule, const ProofOptions& options) {
  return prove_by(schedule, options, prove_checked);
}

SmallestSlots smallest_slots(const Schedule& schedule) {
  constexpr std::int64_t slots_work_max = 30'000'000;
  constexpr std::int32_t unbounded = std::numeric_limits<std::int32_t>::max();
  if (const Size size = size_of(schedule); !size.valid || size.work > slots_work_max) return {};
  Schedule with_slots = schedule;
  with_slots.slots = 1;  // malformed with none
  const DataflowGraph graph(with_slots);
  if (!graph.failures().empty()) return {};
  const DataflowOutcome best = outcome_with(graph, unbounded);
  if (best == DataflowOutcome::aborted) return {};
  if (best == DataflowOutcome::deadlock) return {true, std::nullopt};
  std::int32_t too_few = 0;
  std::int32_t enough = 1;
  while (outcome_with(graph, enough) == DataflowOutcome::deadlock) {
    too_few = enough;
    enough *= 2;
  }
  while (enough - too_few > 1) {
    const std::int32_t middle = too_few + (enough - too_few) / 2;
    (outcome_with(graph, middle) == DataflowOutcome::deadlock ? too_few : enough) = middle;
  }
  return {true, enough};
}

}  // namespace collsim
