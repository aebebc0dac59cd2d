// Faults put into schedules, one at a time: what a programmer of an algorithm might get wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::testing {

enum class Fault {
  not_added,            // a receive in place of a receive_reduce, a copy in place of a reduce
  added,                // a receive_reduce in place of a receive, a reduce in place of a copy
  other_block,          // an operation's chunk is the next one
  other_source,         // the same of a source
  swapped_operations,   // of one stream, two that follow each other
  forgotten_wait,       // an operation waits for no other stream
  forgotten_operation,  // one that does nothing but wait: a receive, a send, a collect
  twice,                // a reduce or copy is done twice
  few_slots             // one less than it needs
};
const std::vector<Fault>& all_faults();
const char* name_of(Fault fault);

struct Mutant {
  Fault fault = Fault::not_added;
  std::string text;  // "receive in place of receive_reduce in rank 1, stream 0, step 3"
  Schedule schedule;
};

// Up to `most` schedules with this fault, in places drawn from `random`; none where it cannot be.
std::vector<Mutant> mutants_of(const Schedule& schedule, Fault fault, std::size_t most, Random& random);

}  // namespace collsim::testing
