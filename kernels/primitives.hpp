// Primitives: what one operation costs on a backend, measured with plans that do nothing else.
//
// Method      A plan of k chains (one a rank) of t equal operations, each after those before it of all
//             chains, gives the rate of k concurrent operations, once the time of an empty run is taken away.
//             Medians of repeated runs after a warm-up of some runs and some time, and medians of rounds over
//             all samples.
// Memory      Places and sets of buffers are cycled, so that together they are about twice the cache, or a
//             quarter of the free memory if that is less. Where one place of each chain is more than either,
//             it is one place: of reduce_many 8 * ranks * bytes_large.
// Rates       Bytes of the message a second: a copy of m bytes reads m and writes m; a reduction of m bytes
//             reads 2 m and writes m.
// In context  A reduction in a collective reads what a copy has just written, and what it writes is sent on:
//             some of it is in a cache. So the rates for the simulator are those of cold copies and
//             reductions, all times the ratio of an all_reduce's round (copy, reduction, copy back) to its
//             three parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "sim/core/units.hpp"

namespace collsim::kernels {

enum class PrimitiveKind {
  copy,         // from the output of a rank into staging memory, on one device
  reduce,       // output = output op staging
  reduce_many,  // output = output op seven places of staging
  fused,        // output and staging = output op staging
  round,        // a copy into staging of the next rank, output = output op staging there, a copy of that back
  peer_copy     // a copy from one device to the next
};
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
  int devices = 1;
  std::vector<PrimitiveSample> samples;
  Duration launch;     // an empty run: from its start to its end
  Duration operation;  // one operation of hardly any bytes that waits for the one before, of the same rank
  // The same by all ranks, each after those of all ranks (of more than two ranks through a task without
  // work). One rank: as operation.
  Duration handover;
  // Rates in a collective (see In context), of large messages.
  Bandwidth copy_one;    // by one rank
  Bandwidth copy_all;    // by all ranks at once, together
  Bandwidth reduce_one;  // of two sources
  Bandwidth reduce_all;
  // Between two GPUs, where there are several.
  std::optional<Bandwidth> peer;
  std::optional<Duration> peer_latency;
};

struct MeasureOptions {
  std::int32_t ranks = 2;
  std::int64_t bytes_large = 8 << 20;  // at which the rates of copy_one, ... are taken
  int warmup = 2;
  Duration warmup_time = warmup_time_min;  // at least, in at most warmup_runs_max runs
  int runs = 7;
  int rounds = 5;
};

// Samples: copy, reduce, round (and peer_copy where there are several devices) of sample_sizes(),
// ascending, one rank and all; of bytes_large also with 2, 4, ... ranks at a time; reduce_many and fused of
// bytes_large, one rank and all. REQUIRES: ranks >= 1 and >= devices, bytes_large >= 4 KiB and a multiple
// of 4. Throws DeviceError: of the kind memory, before anything is measured, where the free memory does not
// hold one place of each chain.
MachineCosts measure(Backend& backend, const MeasureOptions& options);

// 4 KiB, 64 KiB, ... below bytes_large, and bytes_large.
std::vector<std::int64_t> sample_sizes(std::int64_t bytes_large);

// Operations of the longest chain.
constexpr std::int64_t chain_max = 2048;

}  // namespace collsim::kernels
