// The all-cells method of prove(), for those who prove a schedule by way of another. Internal to sim/model.
#pragma once

#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

// prove_all_cells() of a schedule whose contract is known to hold together: a single cell of a collective
// that has parts belongs to one rank and so has no equal parts. REQUIRES: the root exists; kind is not
// all_to_all
// Adds what it finds to `numerics`, if that is given.
Proof prove_cells(const Schedule& schedule, Numerics* numerics = nullptr);

}  // namespace collsim
