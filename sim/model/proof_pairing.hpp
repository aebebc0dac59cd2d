// Do the sends of one stream and the receives of another name the same blocks, one after the other? Internal
// to sim/model.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/model/schedule.hpp"

namespace collsim {

// One end of a connection: what a program does on one of its peers.
struct PeerEnd {
  const Program* program = nullptr;
  const std::int64_t* bases = nullptr;
  std::int32_t slot = 0;
};

struct Unpaired {
  std::int64_t message = 0;  // its number on the connection
  bool known = false;        // false: the two could not be compared
  Chunk sent;
  Chunk received;
};

// Nothing if the n-th send and the n-th receive are of the same cells for all n, in output or from input.
// Loops are compared as a whole where both sides repeat alike, message by message otherwise, at most `budget`
// of them (which it counts down). REQUIRES: as many sends as receives.
std::optional<Unpaired> first_unpaired(const PeerEnd& sender, const PeerEnd& receiver, std::int64_t& budget);

}  // namespace collsim
