// Elements: the datatypes of NCCL as bytes in memory, converted and combined one at a time.
//
// This is the reference that the kernels are held against; kernels work on whole vectors (combine.hpp).
//
// Formats     int8 ... uint64, float32 and float64 are the machine's own. float16: IEEE binary16. bfloat16:
//             the upper half of a float32. float8_e4m3, float8_e5m2: OCP 8-bit Floating Point Specification
//             (OFP8) 1.0: e4m3 has no infinity and one NaN a sign.
// Rounding    To nearest, ties to even. What is too large becomes infinity, in float8 the largest finite
//             number (saturating, as NCCL's types convert); NaN stays NaN.
// Combining   float16, bfloat16 and float8 are added, multiplied and divided in float32 and rounded once;
//             float32 in float32, float64 in float64; integers modulo 2^n. min and max give the other operand
//             where one is NaN, and take -0 for less than +0. avg adds; the division by the number of ranks
//             is its own step, at the end: floats are divided, integers cut toward zero. Which bits a NaN
//             has that comes of combining or dividing is not said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/model/collective.hpp"

namespace collsim::kernels {

bool is_float(Datatype datatype);
bool is_signed(Datatype datatype);

// As float64. Exact but for integers beyond 2^53, which are rounded.
double element_value(Datatype datatype, const std::byte* element);
// Rounded to the datatype; integers by truncation toward zero. REQUIRES: an integer type can hold it
void store_element(Datatype datatype, double value, std::byte* element);
// Integers exactly, two's complement for the signed ones. REQUIRES: !is_float(datatype)
std::uint64_t integer_element(Datatype datatype, const std::byte* element);
void store_integer(Datatype datatype, std::uint64_t value, std::byte* element);

// destination = a op b, as one step of a kernel with two sources does it. May be the same place as one of
// them.
void combine_elements(Datatype datatype, ReductionOp reduction, const std::byte* a, const std::byte* b,
                      std::byte* destination);
// element = element / divisor. REQUIRES: divisor >= 1
void divide_element(Datatype datatype, std::int64_t divisor, std::byte* element);

// "1.5", "-3", "nan"; enough digits to tell neighbours apart.
std::string text_of_element(Datatype datatype, const std::byte* element);

}  // namespace collsim::kernels
