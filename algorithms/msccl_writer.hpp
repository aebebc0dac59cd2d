// write_msccl(): a Schedule as an MSCCL algorithm file that reads back to the same schedule.
//
// What msccl_reader and msccl_schedule make of the text has the same operations on the same data, the same
// messages and the same time. It has the same streams, where the format allows it:
//   a thread block has one peer to send to, one to receive from and one channel: the operations of a stream
//   that has more are dealt to a thread block a peer and channel, each waiting for the one before
//   several dependencies become nops before the step, a wait becomes dependencies of the operation behind it
//   blocks that do not lie side by side in memory become several steps, and messages
//   channels keep their numbers unless they are above 31 or 32 thread blocks of a gpu meet on one; then
//   connections are spread over the 32 that NCCL has
// Chunks are equal: nchunksperloop is the number of cells of the layout, which must be of one size.
//
// Complexity  O(operations) time and memory.
#pragma once

#include <string>
#include <variant>

#include "sim/model/schedule.hpp"
#include "sim/model/topology.hpp"

namespace collsim::algorithms {

struct MscclWriting {
  std::string name;                 // empty: the schedule's algorithm
  std::string protocol = "Simple";  // Simple, LL, LL128
  std::int64_t bytes_min = 0;       // for which NCCL takes the file
  std::int64_t bytes_max = 0;       // 0: no limit
};

// Impossible: MSCCL has not the collective, the switches reduce, cells of different sizes, a part of a vector
// that no buffer of the format has, more operations or chunks than MscclLimits, more than 32 channels.
// REQUIRES: the schedule is proven
std::variant<std::string, Impossible> write_msccl(const Schedule& schedule, const MscclWriting& writing = {});

}  // namespace collsim::algorithms
