// Proofs: a table of many sizes proves each structure once. Safe to share between threads.
#pragma once

#include <cstdint>
#include <utility>

#include "experiments/once.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::program {

class Proofs {
 public:
  // `numerics`: the order of additions is of interest.
  explicit Proofs(bool numerics) : options_{numerics} {}
  Proof of(const Schedule& schedule);

 private:
  ProofOptions options_;
  Once<std::pair<std::uint64_t, std::uint64_t>, Proof> proofs_;
};

}  // namespace collsim::program
