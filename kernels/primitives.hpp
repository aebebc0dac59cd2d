// Primitives: what one operation costs on a backend, measured with plans that do nothing else.
//
// Method      Medians of repeated runs after a warm-up; buffers are cycled, so that together they are larger
//             than the cache. A plan of k chains (one a rank) of t equal tasks, each after the one before,
//             gives the rate of k concurrent operations; the difference between long and short chains takes
//             away what starting and ending costs.
// Rates       Bytes of the message a second: a copy of m bytes reads m and writes m; a reduction of m bytes
//             reads 2 m and writes m.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "sim/core/units.hpp"

namespace collsim::kernels {

enum class PrimitiveKind { copy, reduce, reduce_many, fused, peer_copy };
const char* name_of(PrimitiveKind kind);  // "copy", "reduce", "reduce of 8", "reduce, copy and send", ...

struct PrimitiveSample {
  PrimitiveKind kind = PrimitiveKind::copy;
  std::int64_t bytes = 0;             // of one operation
  std::int32_t concurrent = 1;        // ranks that do it at a time
  Duration time;                      // of one operation
  Bandwidth total;                    // of all concurrent ones together
  std::int64_t traffic_per_byte = 2;  // bytes read and written for each byte of the message
};

struct MachineCosts {
  std::string device;  // Backend::name()
  std::string description;
  std::int32_t ranks = 1;
  std::vector<PrimitiveSample> samples;
  Duration launch;       // an empty run: from its start to its end
  Duration operation;    // one operation of hardly any bytes that waits for the one before
  Bandwidth copy_one;    // large copies by one rank
  Bandwidth copy_all;    // by all ranks at once, together
  Bandwidth reduce_one;  // large reductions of two sources
  Bandwidth reduce_all;
  // Between two GPUs, where there are several.
  std::optional<Bandwidth> peer;
  std::optional<Duration> peer_latency;
};

struct MeasureOptions {
  std::int32_t ranks = 2;
  std::int64_t bytes_large = 8 << 20;  // at which the rates of copy_one, ... are taken
  int warmup = 2;
  int runs = 9;
};

// Throws DeviceError.
MachineCosts measure(Backend& backend, const MeasureOptions& options);

}  // namespace collsim::kernels
