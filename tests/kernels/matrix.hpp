// What can run, and running it: every algorithm on a cluster that it can run on, synthesized schedules, and
// MSCCL files, on the CPU with exact values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
#include "kernels/values.hpp"

namespace collsim::kernels::testing {

// One algorithm for one collective on one cluster.
struct Entry {
  std::string text;  // "ring all_reduce, 8 ranks"
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int32_t ranks = 1;
  bool any_root = false;  // else rank 0 only
  std::function<algorithms::ScheduleOrReason(const Collective&)> make;
};

// The registry's algorithms, collectives and forms, each on one cluster of all_shapes() on which it can run,
// with several nodes of several GPUs where that can be; or on all that it can (`everywhere`, with options
// drawn from `seed`).
std::vector<Entry> registry_entries(std::int32_t ranks);
std::vector<Entry> registry_entries_everywhere(std::int32_t ranks, std::uint64_t seed);
// Trees packed for one switch and for a ring of cables.
std::vector<Entry> synthesized_entries(std::int32_t ranks);
// Rings and exchanges as MSCCL files, in place and not.
std::vector<Entry> file_entries(std::int32_t ranks);

// Which datatypes have elements of so many bytes.
std::vector<Datatype> datatypes_of(int width);

constexpr std::int32_t rank_counts[] = {1, 2, 3, 5, 8, 16};

// Runs entries and counts what was run. Backends of one and of two threads, plans of all four kinds, aligned
// and misaligned areas, and several orders take turns.
class Matrix {
 public:
  explicit Matrix(std::uint64_t seed) : turn_(seed) {}

  // From now on only plans that are neither direct nor fused, which need no proof: a schedule that is wrong
  // is run as well.
  void plain_plans_only() { plain_only_ = true; }

  // All datatypes of the width, all reductions. `elements` of a rank, at least one a part; what has more
  // parts than elements is rounded up.
  void run_all(const Entry& entry, std::int64_t elements, int width);
  // One datatype and reduction, the next ones; about `bytes` and some elements more.
  void run_next(const Entry& entry, std::int64_t bytes);
  // The same with random values, where the datatype rounds and there is a bound.
  void run_next_random(const Entry& entry, std::int64_t bytes);

  std::int64_t combinations() const { return combinations_; }
  // Those in which an element had another value than expected.
  std::int64_t wrong_combinations() const { return wrong_combinations_; }
  std::int64_t random_runs() const { return random_runs_; }
  // Of those datatypes and reductions of which something was reduced: how many, and the fewest runs of one.
  std::int64_t pairs_reduced() const { return static_cast<std::int64_t>(reduced_.size()); }
  std::int64_t fewest_of_a_pair() const;
  // The first faults, a line each; empty where all is right.
  const std::string& faults() const { return faults_; }

 private:
  struct Prepared {
    Schedule schedule;
    Plan plan;
    std::unique_ptr<Execution> execution;
    std::string text;
  };
  bool prepare(const Entry& entry, const Collective& collective, Prepared& prepared);
  void run(Prepared& prepared, Datatype datatype, ReductionOp reduction, InputKind kind,
           std::optional<double> bound);
  void fault(const std::string& text);
  Collective next_collective(const Entry& entry, std::int64_t bytes);
  Backend& backend();

  std::uint64_t turn_;
  bool plain_only_ = false;
  std::unique_ptr<Backend> backends_[2];
  std::int64_t combinations_ = 0;
  std::int64_t wrong_combinations_ = 0;
  std::int64_t random_runs_ = 0;
  std::int64_t faults_found_ = 0;
  std::int64_t collectives_[2] = {};  // of run_next: that only move, that reduce
  std::map<std::pair<Datatype, ReductionOp>, std::int64_t> reduced_;
  std::string faults_;
};

}  // namespace collsim::kernels::testing
