// Proof by orbits: one cell an orbit is traced in full. Internal to sim/model.
//
// Parts       The streams and regions of the published symmetries divide the schedule into parts, which
//             share no region, connection or dependency (checked); what no verified symmetry speaks of is
//             the last part. A part without symmetries has orbits of one: all its cells are traced.
// Contract    A symmetry is used only if it maps what the collective gives and wants onto itself as well:
//             the root stays, the image of a part belongs to the image of its owner (symmetry.hpp).
// Pairing     Every end of a connection of one representative an orbit of streams has exactly one other end,
//             found among all streams of the peer rank, and the n-th send and the n-th receive name the same
//             blocks for all n (affine expressions, compared loop by loop). A verified permutation carries
//             this to the whole orbit. So messages move every cell to the same cell, in output or from
//             input, and cells are independent of each other. Copies and sums of two operands on one rank
//             are followed where both are the same cell, of input and output.
// Deadlock    The quotient: one stream an orbit, one connection an orbit of connections, with the schedule's
//             slots. Let all streams of an orbit step together. At the start, counters are equal in an
//             orbit; whether a step is possible depends only on counters (operations done by streams of the
//             same rank, messages in one connection), which the permutation maps onto each other; and the
//             steps of one orbit do not hinder each other, because a connection has one sending and one
//             receiving stream and an operation is only one of the two. So each step of the quotient is a
//             run of steps of the schedule, and counters stay equal. If the quotient ends, the schedule has
//             a run that ends, and then all its runs end (Kahn, 1974); if it stops earlier, nothing can step
//             in the schedule: a deadlock.
// Trace       All operations of all ranks that touch the cell, found by solving the affine expressions for
//             the trip, executed in stream order with tokens. An operation waits for those before its
//             dependency in that stream. This is less than what orders the schedule, but each access must
//             still be shown to follow the conflicting one before it (proof_tokens.hpp) by order that holds
//             in the schedule; then every run has the order of the trace, and its values.
// Refusals    Aggregations, copies between cells and scratch; contents that move between cells; expressions
//             that are not shown alike; order that is not shown by dependencies or values.
// Complexity  O(streams) for each symmetry; O(streams of the part + accesses * log) time and memory a cell
//             traced; O(operations of the representatives) for the quotient.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/model/program_facts.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

constexpr std::int64_t proof_streams_max = std::int64_t{1} << 28;

// Union-find; the root of a set is its smallest number.
class Orbits {
 public:
  explicit Orbits(std::size_t count);
  std::int32_t root_of(std::int32_t item);
  void unite(std::int32_t a, std::int32_t b);
  bool is_root(std::int32_t item) const { return parent_[static_cast<std::size_t>(item)] == item; }

 private:
  std::vector<std::int32_t> parent_;
};

// A schedule in parts and orbits. Streams of all ranks are numbered one after the other.
struct OrbitPlan {
  struct Part {
    std::int32_t first_stream = 0;
    std::int32_t stream_count = 0;
    std::int32_t first_region = 0;
    std::int32_t region_count = 0;
    std::vector<const Symmetry*> symmetries;
  };

  explicit OrbitPlan(const Schedule& its_schedule);
  Rank rank_of(std::int32_t number) const;
  // parts.size() for what belongs to no symmetry.
  std::size_t part_of_stream(std::int32_t local) const;
  std::size_t part_of_region(std::int32_t region) const;

  const Schedule& schedule;
  std::vector<ProgramFacts> facts;
  std::vector<std::int32_t> start;  // [rank]: number of its first stream; one more entry for the end
  std::vector<Part> parts;
  std::vector<std::string> rejected;  // why symmetries were not used
  std::int64_t verified = 0;
  std::string refusal;  // not empty: no proof by orbits
  Orbits streams{0};
  Orbits cells{0};

 private:
  bool number_streams();
  void use(const Symmetry& symmetry);
  void unite(const Symmetry& symmetry);
};

struct OrbitProof {
  Proof proof;
  bool decided = true;  // false: refused, proof.failures says why; the schedule may be right
  void refuse(const std::string& text);
  void fail(Rank rank, std::int32_t stream, std::int64_t step, const std::string& text);
};

// False: `result` says what is wrong or refused.
bool run_quotient(OrbitPlan& plan, OrbitProof& result);
// Adds what it finds to `numerics`, if that is given.
bool trace_cell(const OrbitPlan& plan, std::int32_t region, std::int32_t block, OrbitProof& result,
                Numerics* numerics);

// work_max: cell operations and bindings that it may cost; about 10^7 a second.
OrbitProof prove_by_orbits(const Schedule& schedule, std::int64_t work_max, Numerics* numerics = nullptr);

}  // namespace collsim
