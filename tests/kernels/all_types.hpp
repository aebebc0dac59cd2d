// Every datatype and every reduction, for loops over all of them.
#pragma once

#include <array>

#include "sim/model/collective.hpp"

namespace collsim::kernels::testing {

constexpr std::array all_datatypes = {Datatype::int8,    Datatype::uint8,       Datatype::int32,
                                      Datatype::uint32,  Datatype::int64,       Datatype::uint64,
                                      Datatype::float16, Datatype::bfloat16,    Datatype::float32,
                                      Datatype::float64, Datatype::float8_e4m3, Datatype::float8_e5m2};
constexpr std::array all_reductions = {ReductionOp::sum, ReductionOp::prod, ReductionOp::min,
                                       ReductionOp::max, ReductionOp::avg};

}  // namespace collsim::kernels::testing
