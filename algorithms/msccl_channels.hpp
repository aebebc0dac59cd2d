// Channels for the thread blocks of a file. Internal to the msccl files.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"

namespace collsim::algorithms {

constexpr std::int32_t msccl_channels_max = 32;   // MAXCHANNELS (msccl-executor-nccl, src/include/devcomm.h)
constexpr std::int32_t msccl_tbs_a_channel = 32;  // MSCCL_MAX_NUM_THREAD_BLOCKS_PER_CHANNEL

// A thread block: its gpu, the peers (or -1), the channel of both connections.
struct MscclEnds {
  Rank gpu = 0;
  Rank send = -1;
  Rank receive = -1;
  std::int32_t channel = 0;
};

// Leaves the channels as they are if they are below 32 and at most 32 thread blocks of a gpu send, and
// receive, on each. Else gives every set of connections that thread blocks tie together the first channel,
// its own before all others, that no connection between the same two gpus has and where there is room. False:
// 32 channels are not enough. O(connections * 32). REQUIRES: no two thread blocks share a connection
bool fit_channels(std::vector<MscclEnds>& tbs);

}  // namespace collsim::algorithms
