// Rows: the numbers that ranks give to a reduction, and what they make together.
//
// A row is one number a rank and what all of them reduce to. Values (values.hpp) makes a few thousand rows
// and gives every element one of them, by a hash of its position; so an element costs a hash and a look into
// a table, however many ranks there are. Internal to kernels.
//
// Exact, for any subset of the ranks, so in every order and grouping, with a rounding after each step or not:
//   sum of floats       Integers; the positive ones of a row sum to less than 2^p, the negative ones to more
//                       than -2^p, with p bits of significand. Up to 2 * (2^p - 1) ranks (float8_e5m2 14,
//                       float8_e4m3 30, bfloat16 510, float16 4094) none is 0. Above, at least 2^p - 1 of
//                       them are not, drawn anew for each row.
//   avg of floats       As sum, then one division.
//   prod of floats      Powers of two with signs; exponents as the integers of sum, within those of normal
//                       numbers. Above twice as many ranks (float8_e4m3 12, float16 and float8_e5m2 28,
//                       bfloat16 and float32 252) some are 1 or -1.
//   sum of integers     Any but 0, modulo 2^n.
//   prod of integers    Any odd ones but 1, modulo 2^n.
//   avg of integers     All of one sign; the sum does not wrap. At most max/N of them are not 0, each at
//   least
//                       N, so that each changes the average.
//   min, max            Any finite ones but 0. One rank has the extreme alone; ranks take turns.
// Inputs and results have no negative zero and no NaN.
//
// A single element shows that one contribution is missing, or is there twice, with this probability:
//   sum                 1 where none is 0 (see above), else at least (2^p - 1) / N
//   prod                1 where no exponent is 0; integers 1; else more than 1/2
//   avg of floats       as sum up to 2^p / 4 ranks; above, the division may round two sums to one number
//   avg of integers     1 up to sqrt(max) ranks, else about max / N^2; 0 above max (int8: 127), where every
//                       average is 0
//   min, max            1 / N that one is missing; nothing can tell that one is there twice
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/random.hpp"
#include "sim/model/collective.hpp"

namespace collsim::kernels {

// Elements are words: their bytes in memory, the first one lowest, as an unsigned number.
void store_word(std::uint64_t word, int bytes, std::byte* element);

class Rows {
 public:
  // random: floats whose sum, average or product rounds (see values.hpp). REQUIRES: then the datatype is a
  // float and the reduction one of these. O(ranks * count)
  Rows(const Collective& collective, std::int32_t ranks, bool random, std::uint64_t seed, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(expected_.size()); }
  bool random() const { return random_; }
  std::uint64_t input(Rank rank, std::int64_t row) const;
  std::uint64_t expected(std::int64_t row) const { return expected_[static_cast<std::size_t>(row)]; }

  // random: the result before any rounding, and what its error is a part of (see Values).
  struct Reference {
    long double value = 0;
    long double magnitude = 0;  // sum |x|, sum |x| / N, |product|
  };
  const Reference& reference(std::int64_t row) const { return references_[static_cast<std::size_t>(row)]; }

 private:
  Random draws(Rank rank, std::int64_t row) const;
  std::int64_t permuted(Rank rank, Random& of_row) const;
  std::int64_t share(Rank rank, std::int64_t row, std::int64_t limit, std::int64_t magnitude_max) const;
  std::int64_t term(Rank rank, std::int64_t row) const;
  std::int64_t exponent(Rank rank, std::int64_t row) const;
  bool negative(Rank rank, std::int64_t row) const;
  std::uint64_t part_of_average(Rank rank, std::int64_t row) const;
  std::uint64_t extreme(Rank rank, std::int64_t row) const;
  std::uint64_t random_float(Rank rank, std::int64_t row) const;
  Rank winner(std::int64_t row) const;
  std::uint64_t float_input(Rank rank, std::int64_t row) const;
  std::uint64_t integer_input(Rank rank, std::int64_t row) const;
  std::uint64_t reduce_floats(std::int64_t row) const;
  std::uint64_t reduce_integers(std::int64_t row) const;
  std::uint64_t divided(std::uint64_t word) const;
  Reference refer(std::int64_t row) const;

  Datatype datatype_;
  ReductionOp reduction_;
  std::int32_t ranks_;
  bool random_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> expected_;
  std::vector<Reference> references_;
};

}  // namespace collsim::kernels
