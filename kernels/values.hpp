// Values: what ranks hold before a run, and what they must hold after it.
//
//   exact    Inputs whose reduction is the same in every order and grouping, and known: small integers whose
//            partial sums all fit the datatype's precision, powers of two for products; integers that wrap
//            are full-range (modulo 2^n is exact). Results are compared bit by bit. The idea is that of
//            nccl-tests' verifiable inputs.
//   random   Floats drawn from the seed; results are compared with a float64 reference, within the bound of
//            the schedule's order of additions (sim/model/numerics.hpp). Integers as in exact.
//   counting uint64: which contributions an element holds, and how often (diagnosis.hpp).
//
// Poison      What a rank wants and has not given holds the complement of what is expected, so that an
//             element that nobody writes is wrong. What it neither gives nor wants holds a pattern.
// Cells       By contract, as proofs: sim/model/contract.hpp. Elements of a cell are numbered from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
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
  // random: the largest error as a part of its bound, 0..1 where all is right
  double error_of_bound = 0;
  bool right() const { return wrong == 0 && input_changed == 0 && breaches.empty(); }
};

// What a schedule's ranks give and want. Keeps references to the schedule.
class Values {
 public:
  // `bound`: random floats; error_bound() of the schedule, a factor of sum |x| (sum), of sum |x| / N (avg),
  // of |product| (prod); 0 for min and max. Nothing: as exact.
  Values(const Schedule& schedule, InputKind kind, std::uint64_t seed, std::optional<double> bound = {});

  // What a rank holds in the whole of a buffer before a run. REQUIRES: buffer is input or output
  std::vector<std::byte> before(Rank rank, Buffer buffer) const;
  // Compares a whole output. Adds to `report`.
  void check(Rank rank, std::span<const std::byte> output, ValueReport& report) const;

 private:
  const Schedule& schedule_;
  InputKind kind_;
  std::uint64_t seed_;
  std::optional<double> bound_;
};

// Writes everything that ranks hold before a run; scratch gets the pattern.
void fill(Execution& execution, const Plan& plan, const Values& values);
// Everything after a run: outputs, inputs, guards, and that ranks agree.
ValueReport check(Execution& execution, const Plan& plan, const Values& values);

}  // namespace collsim::kernels
