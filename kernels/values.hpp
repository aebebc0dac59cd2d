// Values: what ranks hold before a run, and what they must hold after it.
//
//   exact    Inputs whose reduction is the same in every order and grouping, and known: small integers whose
//            partial sums all fit the datatype's precision, powers of two for products; integers that wrap
//            are full-range (modulo 2^n is exact). Results are compared bit by bit. What is guaranteed, and
//            how likely one element shows a contribution that is missing or there twice: values_rows.hpp
//            (for sums of floats it is certain up to 14 ranks in float8_e5m2, 30 in float8_e4m3, 510 in
//            bfloat16). The idea is that of nccl-tests' verifiable inputs.
//   random   Floats drawn from the seed, from 1/4 to 1 and from -1 to -1/4 (prod: near 1 and -1), are summed,
//            averaged or multiplied; results are compared with a reference of at least float64, within the
//            bound of the schedule's order of additions (sim/model/numerics.hpp). All else is as in exact.
//   copies   Any bits, of a hash of the rank and the place that they come from: numbers, infinities, NaNs.
//            Compared bit by bit.
//   counting uint64: which contributions an element holds, and how often (diagnosis.hpp).
//
// Rows        A reduction has up to 4096 different rows of inputs; elements have theirs by a hash of their
//             place in the vector.
// Poison      What a rank wants and has not given holds the complement of what is expected (random: NaN), so
//             that an element that nobody writes is wrong. What it neither gives nor wants, scratch and
//             staging hold a pattern: NaN and -1 for sums and products, an extreme number for min and max,
//             so that a result which it gets into is wrong too.
// Cells       By contract, as proofs: sim/model/contract.hpp. Elements of a cell are numbered from 0.
// Complexity  O(1) an element for any number of ranks, and once O(rows * ranks). Memory: check() of an
//             execution has two buffers of a rank, fill() one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
#include "kernels/values_rows.hpp"
#include "sim/model/contract.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::kernels {

enum class InputKind { exact, random };

struct WrongElement {
  Rank rank = 0;
  std::int32_t region = 0;
  std::int32_t block = 0;
  std::int64_t element = 0;  // of the block
  std::string expected;      // as text: "12", "-0.5 within 0.001"
  std::string found;
};

constexpr std::size_t wrong_elements_max = 20;

struct ValueReport {
  std::int64_t wrong = 0;           // elements of all ranks; what nccl-tests prints as #wrong
  std::int64_t checked = 0;         // elements that ranks want
  std::vector<WrongElement> first;  // by rank, region, block, element
  std::int64_t input_changed = 0;   // elements of input buffers, which nobody may write
  std::int64_t unlike_ranks = 0;    // elements that two ranks want alike and hold with other bits
  std::vector<GuardBreach> breaches;
  InputKind inputs = InputKind::exact;  // what was compared; exact where there is no bound, or no rounding
  // random: the largest error as a part of its bound, 0..1 where all is right
  double error_of_bound = 0;
  bool right() const { return wrong == 0 && input_changed == 0 && breaches.empty(); }
};

// What a schedule's ranks give and want. Keeps references to the schedule.
class Values {
 public:
  // `bound`: random floats; error_bound() of the schedule, a factor of sum |x| (sum), of sum |x| / N (avg),
  // of |product| (prod); 0 for min and max. Nothing (float8 of many ranks has none): as exact.
  // REQUIRES: the schedule has a contract (Contract::problem() is nothing)
  Values(const Schedule& schedule, InputKind kind, std::uint64_t seed, std::optional<double> bound = {});

  // What a rank holds in the whole of a buffer before a run. REQUIRES: buffer is input or output
  std::vector<std::byte> before(Rank rank, Buffer buffer) const;
  // The same into memory that is there: the whole buffer.
  void write_before(Rank rank, Buffer buffer, std::span<std::byte> whole) const;
  // Compares a whole output. Adds to `report`.
  void check(Rank rank, std::span<const std::byte> output, ValueReport& report) const;

  // What is compared: random only where there is a bound and results round.
  InputKind kind() const { return rows_ && rows_->random() ? InputKind::random : InputKind::exact; }
  // Of scratch and of what a rank neither gives nor wants.
  std::byte pattern() const;
  // Elements that `other` wants in common with `rank`, and has with other bits in its output.
  std::int64_t unlike(Rank rank, std::span<const std::byte> output, Rank other,
                      std::span<const std::byte> output_of_other) const;

 private:
  struct Run {  // elements of a cell, in bytes from the vector's begin
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Run run_of(std::int64_t cell) const;
  std::vector<std::byte> table_of(Rank rank) const;
  void look_up(std::span<const std::byte> table, std::int64_t begin, std::span<std::byte> out) const;
  std::uint64_t key_of(Rank rank) const;
  void expect(Rank rank, std::int64_t cell, std::int64_t begin, std::span<std::byte> out) const;
  void poison(Rank rank, std::int64_t cell, std::span<std::byte> out) const;
  void check_bits(Rank rank, std::int64_t cell, std::span<const std::byte> found, ValueReport& report) const;
  void check_bounds(Rank rank, std::int64_t cell, std::span<const std::byte> found,
                    ValueReport& report) const;
  void note(Rank rank, std::int64_t cell, std::int64_t byte, std::string expected, std::string found,
            ValueReport& report) const;

  const Schedule& schedule_;
  Contract contract_;
  std::uint64_t seed_;
  std::optional<double> bound_;
  std::optional<Rows> rows_;         // of reductions
  std::vector<std::byte> expected_;  // of each row
};

// Writes everything that ranks hold before a run; scratch and staging get the pattern.
void fill(Execution& execution, const Plan& plan, const Values& values);
// Everything after a run: outputs, inputs, guards, and that ranks agree.
ValueReport check(Execution& execution, const Plan& plan, const Values& values);

}  // namespace collsim::kernels
