// Outcome: what one run of an Instance leaves behind, per element of the instance. assemble() makes it a
// RunResult.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/execution/chain.hpp"
#include "sim/execution/instance.hpp"

namespace collsim {

struct Outcome {
  RunStatus status = RunStatus::ok;
  Duration time;
  std::vector<Instant> job_start;
  std::vector<Instant> job_finish;
  std::vector<Instant> stream_finish;          // [stream]; 0 if it has not ended
  std::vector<std::int64_t> connection_bytes;  // [connection] sent
  std::vector<std::int64_t> detour_bytes;      // [detour]; connection_bytes are those of first ways
  std::vector<std::int64_t> group_bytes;       // [group] that have drained, on each of its resources
  std::int64_t messages = 0;                   // represented: counted with weights
  std::int64_t events = 0;                     // handled
  std::uint64_t fingerprint = 0;
  std::uint32_t last_stream = Instance::none;  // the first of those that end last
  Chain chain;                                 // of that stream, if explained
  std::vector<Bytes> link_bytes;               // [LinkId], counted by a transport; else empty
  std::optional<PacketFacts> packets;
  std::vector<BlockedStream> blocked;
  LinkId down_link;        // status failed: which carries nothing
  Instant down_since;      //
  std::string standstill;  // deadlock: where packets wait for each other
};

// Which element of the instance that ran stands for a stream or resource of the whole instance. Empty:
// itself.
struct Classes {
  std::vector<std::uint32_t> streams;
  std::vector<std::uint32_t> resources;
  std::vector<std::uint32_t> connections;
  std::size_t connection(std::size_t id) const { return connections.empty() ? id : connections[id]; }
  std::size_t stream(std::size_t id) const { return streams.empty() ? id : streams[id]; }
  std::size_t resource(std::size_t id) const { return resources.empty() ? id : resources[id]; }
};

// Bytes that have passed each resource of the instance that ran, but for those of connections with several
// routes.
std::vector<std::int64_t> resource_bytes(const Instance& instance, const Outcome& outcome);

// What an outcome says of the whole run; nothing of ranks and links.
RunResult totals_of(const Outcome& outcome);

// Which element of which instance: `ran` is `whole` itself, or a folded one.
struct WhatRan {
  const Instance& whole;
  const Instance& ran;
  const Classes& classes;
};

// The result of the whole. Without the critical path.
RunResult result_of(const Topology& topology, const Conditions& conditions, const WhatRan& what,
                    const Outcome& outcome);

}  // namespace collsim
