// Collective: what is to be computed, in the terms of NCCL and nccl-tests.
//
// `bytes` is what nccl-tests calls size:
//   all_reduce, reduce, broadcast, send_recv   the vector of one rank
//   reduce_scatter, all_gather, scatter, gather   the whole vector, N parts: part r is rank r's
//   all_to_all                                 the vector of one rank, N parts: part r goes to rank r
//   barrier                                    0
// send_recv is that of nccl-tests: rank r sends to rank r + 1 and receives from rank r - 1, modulo N.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

enum class CollectiveKind {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  scatter,
  gather,
  all_to_all,
  send_recv,
  barrier
};
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
  std::int32_t root = 0;  // a rank; broadcast, reduce, scatter, gather

  // REQUIRES: bytes is a whole number of elements
  std::int64_t elements() const;
};

// All kinds, in the order in which they are listed.
const std::vector<CollectiveKind>& collective_kinds();
bool reduces(CollectiveKind kind);   // all_reduce, reduce_scatter, reduce
bool has_root(CollectiveKind kind);  // broadcast, reduce, scatter, gather
// The vector has a part a rank, all of as many elements: reduce_scatter, all_gather, scatter, gather,
// all_to_all.
bool in_parts(CollectiveKind kind);
// The largest size up to `bytes` that the kind can have on `ranks` ranks, whole elements a part. nccl-tests
// rounds down further, to 16 bytes a part, and so runs nothing below 16 bytes a rank. Other kinds: `bytes`.
Bytes rounded_to_parts(CollectiveKind kind, Bytes bytes, Datatype datatype, std::int32_t ranks);

int element_bytes(Datatype datatype);
std::string_view name_of(CollectiveKind kind);
std::string_view name_of(Datatype datatype);
std::string_view name_of(ReductionOp reduction);
std::optional<CollectiveKind> collective_from_name(std::string_view name);
std::optional<Datatype> datatype_from_name(std::string_view name);
std::optional<ReductionOp> reduction_from_name(std::string_view name);

// busbw = algbw * factor (nccl-tests, doc/PERFORMANCE.md): all_reduce 2(N-1)/N; reduce_scatter, all_gather,
// scatter, gather and all_to_all (N-1)/N; broadcast, reduce and send_recv 1; barrier 0. As a fraction, to
// stay exact.
struct Fraction {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};
Fraction bus_factor(CollectiveKind kind, std::int64_t ranks);

}  // namespace collsim
