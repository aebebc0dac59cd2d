// schedule_from(): an MSCCL file as a Schedule.
//
// A thread block is a stream, with a program of its own: loops of one trip. A step becomes
//   s send · r receive · cpy copy · re reduce · rrc receive_reduce
//   rcs   receive, send                       rrcs  receive_reduce, send
//   rrs   receive_reduce into scratch that the file does not have, send from there
//   nop   its dependency, in the next operation; behind the last step a wait
// receive_reduce is from_source where target and source are different chunks: the runtime stores the message
// plus the source. With `generator`, as MSCCLang means it: the target plus the message (rrc only).
//
// The vector is one region of nchunksperloop equal blocks; chunks lie as MscclPlaces says.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/msccl_file.hpp"
#include "algorithms/registry.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

struct MscclReading {
  std::optional<bool> in_place;  // of the call; nothing: if the file is for calls in place
  bool generator = false;        // how the source of an rrc is meant
  std::int32_t slots = slots_default;
  std::optional<Bandwidth> channel_bandwidth;
};

// Impossible: another collective or number of ranks, elements that are no whole number each for the chunks
// (NCCL does not take the file then), a file that check_msccl() finds errors in before it runs, or one that
// deadlocks with these slots.
ScheduleOrReason schedule_from(const MscclFile& file, const Collective& collective, std::int32_t ranks,
                               const MscclReading& reading = {});

// The gpu that a broadcast, reduce, scatter or gather of the file has as its root: the attribute root, or the
// only gpu that sends and never receives (reduce, gather: receives and never sends), or 0.
Rank root_of(const MscclFile& file);

// For each operation of each stream of such a schedule: the step that it comes from. [gpu][tb][operation]
using MscclStepOfOperation = std::vector<std::vector<std::vector<std::int32_t>>>;
MscclStepOfOperation steps_of_operations(const MscclFile& file);

}  // namespace collsim::algorithms
