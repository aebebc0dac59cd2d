// Jitter: the extra latency of one message, drawn from what it is and from nothing that happens.
#pragma once

#include <cstdint>

#include "sim/core/distribution.hpp"
#include "sim/core/id.hpp"
#include "sim/core/random.hpp"
#include "sim/model/conditions.hpp"

namespace collsim {

struct MessageIdentity {
  std::uint32_t job = 0;
  Rank source = 0;  // ranks of the topology
  Rank target = 0;
  std::int32_t channel = 0;
  std::int64_t number = 0;  // of the messages of its connection, from 0 on
};

inline Duration jitter_of(const Conditions& conditions, const MessageIdentity& message) {
  std::uint64_t word = mix64(conditions.seed);
  const auto include = [&word](std::int64_t value) {
    word = mix64(word ^ static_cast<std::uint64_t>(value));
  };
  include(message.job);
  include(message.source);
  include(message.target);
  include(message.channel);
  include(message.number);
  return sample(conditions.jitter, word);
}

}  // namespace collsim
