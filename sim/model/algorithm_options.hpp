// AlgorithmOptions: what a user may ask of an algorithm. Absent = the algorithm's own default ("auto").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

enum class RankOrder { automatic, rank };  // neighbours close | by rank number

struct AlgorithmOptions {
  std::optional<std::int32_t> channels;
  std::optional<std::int32_t> slices;
  std::optional<std::int32_t> slots;  // messages that a connection holds; default 8
  std::optional<Bandwidth> channel_bandwidth;
  RankOrder order = RankOrder::automatic;
  std::vector<std::int32_t> levels;         // cascade, ...; their product must be the number of ranks
  std::vector<Bandwidth> level_bandwidths;  // of a rank at each level, for form: themis
  std::optional<std::int32_t> root;         // where an all-reduce has one
  std::optional<std::int32_t> radix;
  std::optional<std::int32_t> servers;  // parameter_server
  std::string form;                     // one of AlgorithmInfo::forms; empty = the first of them
};

// One entry of `algorithm:` in an experiment: "ring" or {name: ring, channels: 8}.
struct AlgorithmRequest {
  std::string name;
  AlgorithmOptions options;
};

}  // namespace collsim
