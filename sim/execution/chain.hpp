// Chains of causes: where the time on the critical path went.
//
// Every stream carries the account of the chain of events that led to its present state: when a stream had to
// wait, its account becomes that of whatever it waited for. The parts of an account always sum to the present
// time, so at the end the account of the stream that ends last says where all the time went. Memory is one
// account a stream and one a message in flight.
#pragma once

#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"

namespace collsim {

struct Chain {
  Duration launch;
  Duration overhead;
  Duration bandwidth;
  Duration contention;
  Duration latency;
  Duration reduction;
  Duration waiting;
  std::int64_t messages = 0;

  Duration total() const {
    return launch + overhead + bandwidth + contention + latency + reduction + waiting;
  }
  CriticalPath path(Rank last_rank) const {
    return {launch, overhead, bandwidth, contention, latency, reduction, waiting, messages, last_rank};
  }
};

}  // namespace collsim
