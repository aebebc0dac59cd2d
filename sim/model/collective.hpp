// Collective: what is to be computed, in the terms of NCCL and nccl-tests.
//
// `bytes` is what nccl-tests calls size: for all_reduce the vector of one rank; for all_gather and
// reduce_scatter the total vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/core/units.hpp"

namespace collsim {

enum class CollectiveKind { all_reduce };
enum class Datatype {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,
  float8_e5m2
};
enum class ReductionOp { sum, prod, min, max, avg };

struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes;
  Datatype datatype = Datatype::float32;
  ReductionOp reduction = ReductionOp::sum;

  // REQUIRES: bytes is a whole number of elements
  std::int64_t elements() const;
};

int element_bytes(Datatype datatype);
std::string_view name_of(CollectiveKind kind);
std::string_view name_of(Datatype datatype);
std::string_view name_of(ReductionOp reduction);
std::optional<CollectiveKind> collective_from_name(std::string_view name);
std::optional<Datatype> datatype_from_name(std::string_view name);
std::optional<ReductionOp> reduction_from_name(std::string_view name);

// busbw = algbw * factor (nccl-tests, doc/PERFORMANCE.md): all_reduce 2(N-1)/N. As a fraction, to stay exact.
struct Fraction {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};
Fraction bus_factor(CollectiveKind kind, std::int64_t ranks);

}  // namespace collsim
