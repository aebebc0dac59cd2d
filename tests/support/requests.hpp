// Everything that can be asked of the registry: which collective of which algorithm in which form, with which
// options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "sim/core/random.hpp"

namespace collsim::testing {

struct Variant {
  const algorithms::AlgorithmInfo* info = nullptr;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string form;  // empty where the algorithm has one only

  AlgorithmRequest request(AlgorithmOptions options = {}) const;
  bool takes(std::string_view option) const;
  std::string text() const;  // "ring reduce_scatter", "bruck all_gather form mirrored"
};

// Of every algorithm every collective in every form.
std::vector<Variant> variants();

// A collective with about `elements` elements of float32: parts are rounded up to whole elements.
Collective collective_of(CollectiveKind kind, std::int64_t elements, std::int32_t ranks, Rank root = 0);

// Options that the algorithm takes, each given or left to itself; where all its forms are as good, a form.
AlgorithmOptions random_options(Random& random, const algorithms::AlgorithmInfo& info, std::int32_t ranks);

// "channels 2, slices 3, slots 1"
std::string text_of(const AlgorithmOptions& options);

}  // namespace collsim::testing
