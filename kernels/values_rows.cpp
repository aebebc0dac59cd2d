#include "kernels/values_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/elements.hpp"
#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

// Of a float: bits of the fraction, the exponent's bias, the largest finite number's bits, and the largest
// exponent such that 2^exponent and 2^-exponent are normal.
struct Format {
  int fraction = 0;
  int bias = 0;
  std::uint64_t largest = 0;
  std::int64_t exponent_max = 0;
  std::int64_t integer_max() const { return std::int64_t{1} << (fraction + 1); }  // all up to it are exact
};

Format format_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::float8_e5m2:
      return {2, 15, 0x7b, 14};
    case Datatype::float8_e4m3:
      return {3, 7, 0x7e, 6};
    case Datatype::float16:
      return {10, 15, 0x7bff, 14};
    case Datatype::bfloat16:
      return {7, 127, 0x7f7f, 126};
    case Datatype::float32:
      return {23, 127, 0x7f7fffff, 126};
    default:
      return {52, 1023, 0x7fefffffffffffff, 1022};
  }
}

int bits_of(Datatype datatype) { return element_bytes(datatype) * 8; }
std::uint64_t mask_of(Datatype datatype) { return ~std::uint64_t{0} >> (64 - bits_of(datatype)); }
std::uint64_t sign_of(Datatype datatype) { return std::uint64_t{1} << (bits_of(datatype) - 1); }

std::int64_t below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
}

// value * 2^exponent. REQUIRES: 0, or normal, and exact in the format
std::uint64_t float_word(Datatype datatype, std::int64_t value, std::int64_t exponent) {
  if (value == 0) return 0;
  const Format format = format_of(datatype);
  const std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const int top = static_cast<int>(std::bit_width(magnitude)) - 1;
  const std::uint64_t fraction = magnitude ^ (std::uint64_t{1} << top);
  const std::uint64_t aligned =
      top <= format.fraction ? fraction << (format.fraction - top) : fraction >> (top - format.fraction);
  const std::uint64_t biased = static_cast<std::uint64_t>(exponent + top + format.bias);
  return (value < 0 ? sign_of(datatype) : 0) | (biased << format.fraction) | aligned;
}

std::uint64_t word_at(const std::byte* element, int bytes) {
  std::uint64_t word = 0;
  for (int i = 0; i < bytes; ++i) word |= std::to_integer<std::uint64_t>(element[i]) << (8 * i);
  return word;
}

// Ordered numbers: 0 is the smallest of the datatype, 2 * half - 1 the largest; floats without 0.
std::uint64_t half_of(Datatype datatype) {
  return is_float(datatype) ? format_of(datatype).largest : sign_of(datatype);
}

std::uint64_t ordered_word(Datatype datatype, std::uint64_t number) {
  const std::uint64_t half = half_of(datatype);
  if (is_float(datatype)) return number < half ? sign_of(datatype) | (half - number) : number - half + 1;
  return is_signed(datatype) ? (number - half) & mask_of(datatype) : number;
}

}  // namespace

void store_word(std::uint64_t word, int bytes, std::byte* element) {
  for (int i = 0; i < bytes; ++i) element[i] = static_cast<std::byte>(word >> (8 * i));
}

Rows::Rows(const Collective& collective, std::int32_t ranks, bool random, std::uint64_t seed,
           std::int64_t count)
    : datatype_(collective.datatype),
      reduction_(collective.reduction),
      ranks_(ranks),
      random_(random),
      seed_(mix64(seed)) {
  expected_.resize(static_cast<std::size_t>(count));
  if (random_) references_.resize(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < count; ++row) {
    const std::size_t at = static_cast<std::size_t>(row);
    if (!random_) {
      expected_[at] = is_float(datatype_) ? reduce_floats(row) : reduce_integers(row);
      continue;
    }
    references_[at] = refer(row);
    std::byte element[8];
    store_element(datatype_, static_cast<double>(references_[at].value), element);
    expected_[at] = word_at(element, element_bytes(datatype_));
  }
}

std::uint64_t Rows::input(Rank rank, std::int64_t row) const {
  return is_float(datatype_) ? float_input(rank, row) : integer_input(rank, row);
}

Random Rows::draws(Rank rank, std::int64_t row) const {
  const std::uint64_t of_row = mix64(seed_ + static_cast<std::uint64_t>(row));
  return Random(mix64(of_row + static_cast<std::uint64_t>(rank)));
}

// The place of a rank in an order of all ranks, drawn for the row. The same draws for all ranks.
std::int64_t Rows::permuted(Rank rank, Random& of_row) const {
  std::int64_t stride = 1;
  do {
    stride = 1 + below(of_row, ranks_);
  } while (std::gcd(stride, std::int64_t{ranks_}) != 1);
  const std::int64_t start = below(of_row, ranks_);
  return (rank * stride + start) % ranks_;
}

// Integers, one a rank; the positive ones of a row sum to at most `limit`, the negative ones to at least
// -limit. Of a magnitude up to magnitude_max where there is room for that. REQUIRES: limit >= 2
std::int64_t Rows::share(Rank rank, std::int64_t row, std::int64_t limit, std::int64_t magnitude_max) const {
  if (ranks_ <= limit) {
    Random random = draws(rank, row);
    const std::int64_t magnitude = 1 + below(random, std::max<std::int64_t>(magnitude_max, 1));
    return (random.next() & 1) != 0 ? magnitude : -magnitude;
  }
  Random of_row = draws(-1, row);
  const std::int64_t place = permuted(rank, of_row);
  if (ranks_ <= 2 * limit) {
    const std::int64_t positive = ranks_ - limit + below(of_row, 2 * limit - ranks_ + 1);
    return place < positive ? 1 : -1;
  }
  const std::int64_t positive = limit - below(of_row, limit / 2 + 1);
  const std::int64_t negative = limit - below(of_row, limit / 2 + 1);
  if (place < positive) return 1;
  return place < positive + negative ? -1 : 0;
}

// Of sums. One below what is exact, so that a term that is there twice does not round away; where there is
// room, a quarter of it, so that different sums have different averages.
std::int64_t Rows::term(Rank rank, std::int64_t row) const {
  const std::int64_t limit = format_of(datatype_).integer_max();
  return share(rank, row, limit - 1, limit / 4 / ranks_);
}

std::int64_t Rows::exponent(Rank rank, std::int64_t row) const {
  const std::int64_t limit = format_of(datatype_).exponent_max;
  return share(rank, row, limit, limit / ranks_);
}

bool Rows::negative(Rank rank, std::int64_t row) const { return (mix64(draws(rank, row).next()) & 1) != 0; }

std::uint64_t Rows::part_of_average(Rank rank, std::int64_t row) const {
  const std::uint64_t limit = is_signed(datatype_) ? sign_of(datatype_) - 1 : mask_of(datatype_);
  const std::uint64_t ranks = static_cast<std::uint64_t>(ranks_);
  const std::uint64_t givers = std::clamp<std::uint64_t>(limit / ranks, 1, ranks);
  Random of_row = draws(-1, row);
  const std::uint64_t place = static_cast<std::uint64_t>(permuted(rank, of_row));
  const bool negative = is_signed(datatype_) && (of_row.next() & 1) != 0;
  if (place >= givers) return 0;
  Random random = draws(rank, row);
  const std::uint64_t least = std::min(ranks, limit);
  const std::uint64_t magnitude = least + random.below(limit / givers - least + 1);
  return (negative ? 0 - magnitude : magnitude) & mask_of(datatype_);
}

Rank Rows::winner(std::int64_t row) const {
  return static_cast<Rank>((seed_ + static_cast<std::uint64_t>(row)) % static_cast<std::uint64_t>(ranks_));
}

std::uint64_t Rows::extreme(Rank rank, std::int64_t row) const {
  const std::uint64_t half = half_of(datatype_);
  std::uint64_t number = draws(-1, row).below(half);
  if (rank != winner(row)) number += 1 + draws(rank, row).below(2 * half - 1 - number);
  return ordered_word(datatype_, reduction_ == ReductionOp::min ? number : 2 * half - 1 - number);
}

// Sums: of a magnitude from 1/4 to 1. Products: near 1, so that the product stays within e^2 and e^-2.
std::uint64_t Rows::random_float(Rank rank, std::int64_t row) const {
  Random random = draws(rank, row);
  const std::int64_t fraction = (std::int64_t{1} << 51) + below(random, std::int64_t{3} << 51);
  double value = std::ldexp(static_cast<double>(fraction), -53);
  const std::uint64_t signs = random.next();
  if (reduction_ == ReductionOp::prod) {
    const double step = value * std::min(0.5, 2.0 / ranks_);
    value = (signs & 2) != 0 ? 1 + step : 1 - step;
  }
  std::byte element[8];
  store_element(datatype_, (signs & 1) != 0 ? value : -value, element);
  return word_at(element, element_bytes(datatype_));
}

std::uint64_t Rows::float_input(Rank rank, std::int64_t row) const {
  if (random_) return random_float(rank, row);
  switch (reduction_) {
    case ReductionOp::min:
    case ReductionOp::max:
      return extreme(rank, row);
    case ReductionOp::prod:
      return float_word(datatype_, negative(rank, row) ? -1 : 1, exponent(rank, row));
    default:
      return float_word(datatype_, term(rank, row), 0);
  }
}

std::uint64_t Rows::integer_input(Rank rank, std::int64_t row) const {
  switch (reduction_) {
    case ReductionOp::min:
    case ReductionOp::max:
      return extreme(rank, row);
    case ReductionOp::prod:
      return 3 + 2 * draws(rank, row).below(sign_of(datatype_) - 1);
    case ReductionOp::avg:
      return part_of_average(rank, row);
    default:
      return 1 + draws(rank, row).below(mask_of(datatype_));
  }
}

std::uint64_t Rows::divided(std::uint64_t word) const {
  const int bytes = element_bytes(datatype_);
  std::byte element[8];
  store_word(word, bytes, element);
  divide_element(datatype_, ranks_, element);
  return word_at(element, bytes);
}

std::uint64_t Rows::reduce_floats(std::int64_t row) const {
  if (reduction_ == ReductionOp::min || reduction_ == ReductionOp::max) return extreme(winner(row), row);
  std::int64_t sum = 0;  // of terms or of exponents
  bool minus = false;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (reduction_ == ReductionOp::prod) {
      sum += exponent(rank, row);
      minus ^= negative(rank, row);
    } else {
      sum += term(rank, row);
    }
  }
  if (reduction_ == ReductionOp::prod) return float_word(datatype_, minus ? -1 : 1, sum);
  const std::uint64_t word = float_word(datatype_, sum, 0);
  return reduction_ == ReductionOp::avg ? divided(word) : word;
}

std::uint64_t Rows::reduce_integers(std::int64_t row) const {
  if (reduction_ == ReductionOp::min || reduction_ == ReductionOp::max) return extreme(winner(row), row);
  std::uint64_t result = reduction_ == ReductionOp::prod ? 1 : 0;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    if (reduction_ == ReductionOp::prod)
      result *= integer_input(rank, row);
    else
      result += integer_input(rank, row);
  }
  result &= mask_of(datatype_);
  return reduction_ == ReductionOp::avg ? divided(result) : result;
}

Rows::Reference Rows::refer(std::int64_t row) const {
  Reference reference;
  if (reduction_ == ReductionOp::prod) reference.value = 1;
  for (Rank rank = 0; rank < ranks_; ++rank) {
    std::byte element[8];
    store_word(random_float(rank, row), element_bytes(datatype_), element);
    const long double value = element_value(datatype_, element);
    if (reduction_ == ReductionOp::prod) {
      reference.value *= value;
    } else {
      reference.value += value;
      reference.magnitude += std::fabs(value);
    }
  }
  if (reduction_ == ReductionOp::prod) reference.magnitude = std::fabs(reference.value);
  if (reduction_ == ReductionOp::avg) {
    reference.value /= ranks_;
    reference.magnitude /= ranks_;
  }
  return reference;
}

}  // namespace collsim::kernels
