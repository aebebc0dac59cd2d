// Orders that are looked through for races (kernels/diagnosis.hpp). Internal to kernels.
//
// A race is two accesses u and v of which none comes after the other by the plan. The order that delays u's
// stream (takes its tasks only where nothing else can run) has v before u: were u taken before v, all that is
// ready would be of u's stream, and so be u; then v waits for u, which it does not. So the orders that delay
// each stream in turn show both sides of every race.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/plan.hpp"

namespace collsim::kernels {

// Streams of all ranks that have tasks; the divisions of a rank count as one.
std::int32_t stream_count_of(const Plan& plan);
// Tasks of stream number `stream` only where no other task can run. O(tasks log tasks + predecessors).
// REQUIRES: 0 <= stream < stream_count_of(plan)
std::vector<std::int32_t> order_delaying(const Plan& plan, std::int32_t stream);

}  // namespace collsim::kernels
