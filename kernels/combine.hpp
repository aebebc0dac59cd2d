// Combine: what all kernels do. n sources become one value, which is written to one or two destinations.
//
//   n = 1                       copy (and copy with a second one: send on what has been received)
//   n = 2, one destination      reduce, receive-and-reduce
//   n = 2, two destinations     receive, reduce, copy and send in one pass
//   n up to 8                   reduce n sources at once; an aggregation by switches
//
// Order       destination[i] = ((source0[i] op source1[i]) op source2[i]) ..., as elements.hpp combines. The
//             narrow floats are accumulated in float32 over all n sources and rounded once, when stored.
// Memory      Nothing is required of alignment beyond that of the element. Kernels take 16-byte vectors where
//             all places agree modulo 16 bytes, else the widest accesses that they can; tails are done
//             element by element. A destination may be one of the sources; other overlaps are not allowed.
// Sources     Each byte of each source is read once and each byte of each destination written once, so a
//             launch moves (n + destinations) * bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/model/collective.hpp"

namespace collsim::kernels {

constexpr int sources_max = 8;
constexpr int destinations_max = 2;

// One chunk of work. Plain memory layout: it is copied to devices as it is.
struct CombineItem {
  std::array<const std::byte*, sources_max> sources{};
  std::array<std::byte*, destinations_max> destinations{};
  std::int32_t source_count = 1;
  std::int32_t destination_count = 1;
  std::int64_t bytes = 0;  // of each; a multiple of the element's size
};

// On the calling thread. The CPU's own loops: the same results as the device kernel, bit for bit.
void combine_on_cpu(const CombineItem& item, Datatype datatype, ReductionOp reduction);
// data[i] = data[i] / divisor. REQUIRES: divisor >= 1
void divide_on_cpu(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor);

// The device kernel's source, compiled for the host: a loop over the blocks and threads of a grid
// (combine_kernel.hpp). Slow; to test the source where there is no device.
struct GridShape {
  int blocks = 4;
  int threads = 64;
};
void combine_by_kernel_source(std::span<const CombineItem> items, Datatype datatype, ReductionOp reduction,
                              GridShape shape = {});
void divide_by_kernel_source(std::byte* data, std::int64_t bytes, Datatype datatype, std::int64_t divisor,
                             GridShape shape = {});

}  // namespace collsim::kernels
