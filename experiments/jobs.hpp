// Several collectives at once: the jobs of an experiment in one run, a point for each.
//
// Jobs contend for links, NICs and local work like any other messages. Aggregations of different jobs over
// the same switches share their links as flows do; the limit on operations in flight is that of each group.
#pragma once

#include <cstddef>
#include <vector>

#include "experiments/answers.hpp"
#include "experiments/once.hpp"
#include "experiments/selection.hpp"

namespace collsim::program {

// What `auto` and `nccl` take for each job, by itself on the healthy cluster of the first seed.
using JobChoices = Once<std::size_t, ChoiceOrReason>;

// In the order of the experiment. If one cannot run, none does, and each says why.
std::vector<Point> simulate_jobs(Shared& shared, const Scene& scene, const Seats& seats, JobChoices& choices);

}  // namespace collsim::program
