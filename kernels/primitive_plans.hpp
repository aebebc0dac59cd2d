// Plans that do one primitive over and over (primitives.hpp); internal to kernels. An operation comes after
// the operations of all chains that are one earlier in theirs: of more than two chains through one task
// without work. The tasks of one operation come one after the other, and after nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/plan.hpp"
#include "kernels/primitives.hpp"

namespace collsim::kernels {

// What one operation of a kind uses.
struct PrimitiveShape {
  std::int32_t outputs = 1;  // places in the output of the rank
  std::int32_t stagings = 1;
  std::int32_t tasks = 1;
  std::int64_t traffic = 2;  // PrimitiveSample::traffic_per_byte
};
PrimitiveShape shape_of(PrimitiveKind kind);

struct ChainsSpec {
  PrimitiveKind kind = PrimitiveKind::copy;
  std::int64_t bytes = 4;
  std::int32_t ranks = 1;         // with memory
  std::int32_t chains = 1;        // chain c is that of rank c
  std::int64_t length = 1;        // operations of a chain
  std::int64_t slots = 1;         // operation i uses places i mod slots
  std::vector<int> device = {0};  // [rank]
};

// Rank r has the area r (output) and the area ranks + r (staging), as large as what its tasks use.
// REQUIRES: chains <= ranks; bytes a multiple of 4
Plan chains_plan(const ChainsSpec& spec);
// Of that plan's areas, without making it. O(ranks)
std::int64_t memory_bytes(const ChainsSpec& spec);

// One task without work.
Plan empty_plan(std::int32_t ranks);

}  // namespace collsim::kernels
