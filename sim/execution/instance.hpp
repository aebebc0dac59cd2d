// Instance: all that a run knows before it starts: streams bound to their peers, connections, aggregations,
// and which resources each of them uses. Everything that the executors need, and nothing of schedules' or
// topologies' rules.
//
// An instance made by instance_of() has one stream for every stream of the jobs; weights are 1. A folded
// instance (fold.hpp) has one element for a class of alike ones: `weight` says how many it stands for, and a
// hop's weight how many flows of the class each of those resources carries.
//
// Memory  O(streams + connections * hops).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/execution/compiled.hpp"
#include "sim/execution/simulation.hpp"

namespace collsim {

struct Instance {
  static constexpr std::uint32_t none = 0xffffffffU;

  struct Stream {
    std::int64_t weight = 1;
    std::uint32_t program = 0;  // into programs.programs
    std::uint32_t bases = 0;    // into bases
    std::uint32_t base_count = 0;
    std::uint32_t peers = 0;  // into send_to and receive_from
    std::uint32_t peer_count = 0;
    std::uint32_t streams = 0;  // into stream_slots
    std::uint32_t stream_slot_count = 0;
    std::uint32_t groups = 0;  // into member_slots
    std::uint32_t group_slot_count = 0;
    std::uint32_t job = 0;
    Rank rank = 0;                     // of the topology
    std::int32_t number = 0;           // of the rank's streams in the job
    std::uint32_t reduce_unit = none;  // resource, if reductions take time
    std::uint32_t copy_unit = none;
    std::uint32_t unit_weight = 1;  // folded: streams of this class that share a unit
  };
  struct Connection {
    std::int64_t weight = 1;
    Duration latency;
    std::uint32_t sender = none;  // stream
    std::uint32_t receiver = none;
    std::uint32_t first_hop = 0;  // into hops
    std::uint32_t hop_end = 0;
    Rank source = 0;  // ranks of the topology
    Rank target = 0;
    std::int32_t channel = 0;
  };
  struct Member {
    std::uint32_t group = none;
    bool receives = false;  // it collects results
    Duration down_latency;
  };
  struct Group {
    std::int64_t weight = 1;
    Duration up_latency_max;
    Duration down_latency_max;
    std::optional<Bandwidth> rate_max;
    std::optional<std::int32_t> operations_max;
    std::uint32_t first_member = 0;  // into members
    std::uint32_t member_end = 0;
    std::uint32_t first_hop = 0;
    std::uint32_t hop_end = 0;
    std::uint32_t job = 0;
    std::int32_t number = 0;     // in its schedule
    std::uint64_t identity = 0;  // hash of its AggregationGroup
    std::int32_t members = 0;    // of the real group, for messages
  };
  struct Hop {
    std::uint32_t resource = 0;
    std::uint32_t weight = 1;
  };
  // A link, or a unit of a GPU. Of a folded instance: each resource of a class.
  struct Resource {
    Bandwidth capacity;
    LinkId link;           // none for a unit
    bool changes = false;  // its capacity may change during the run
  };
  struct JobFacts {
    const Schedule* schedule = nullptr;  // valid during the run that it was given for
    Instant start;
    std::int32_t after = -1;
    std::uint32_t first_stream = 0;  // streams of a job lie together
    std::uint32_t stream_end = 0;
    // Of the schedule, which may be gone when the next one comes (rebind).
    std::int32_t ranks = 0;
    std::int32_t slots = 0;
    std::int32_t group_count = 0;
    std::optional<Bandwidth> channel_bandwidth;
  };

  CompiledPrograms programs;
  std::vector<JobFacts> jobs;
  std::vector<Stream> streams;
  std::vector<Connection> connections;
  std::vector<Group> groups;
  std::vector<Member> members;
  std::vector<Hop> hops;
  std::vector<Resource> resources;
  std::vector<std::int64_t> bases;
  std::vector<std::uint32_t> send_to;  // connection of a peer slot, or none
  std::vector<std::uint32_t> receive_from;
  std::vector<std::uint32_t> stream_slots;  // streams that dependencies name
  std::vector<std::uint32_t> member_slots;  // members of groups
  GpuSpec gpu;                              // of every rank

  // Bytes of the present operation of a stream in trip `trip`.
  Bytes size(const Stream& stream, const CompiledOperation& operation, std::int64_t trip) const {
    if (operation.bytes >= 0) return Bytes(operation.bytes);
    return size_of(jobs[stream.job].schedule->layout,
                   resolve(operation.chunk, bases.data() + stream.bases, trip));
  }
};

// Gives a single job on all ranks another schedule of the same shape: equal streams, peers, dependencies and
// groups, but other sizes, trips and bases. Everything that was found of routes and classes then still holds.
// False, with the instance as it was, if the shape is another. O(streams).
bool rebind(Instance& instance, const Schedule& schedule);

// REQUIRES: as simulate()
Instance instance_of(const Topology& topology, const std::vector<Job>& jobs, const Conditions& conditions);

}  // namespace collsim
