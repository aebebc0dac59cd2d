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

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
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
    std::uint32_t unit_weight = 1;    // folded: streams of this class that share a unit
    std::uint32_t memory = none;      // into memories, if its local work draws on one
    std::uint32_t memory_weight = 1;  // folded: streams of this class that draw on one
    std::uint32_t gpu = 0;            // of its rank, into gpus
    Duration skew;                    // from its job's start to its own
  };
  // How a connection crosses the network. A message is cut into `parts` equal ones, one for each of its
  // routes, which all drain at one rate; a hop's weight says how many parts cross it.
  struct Way {
    Duration latency;             // the largest of the routes
    std::uint32_t first_hop = 0;  // into hops
    std::uint32_t hop_end = 0;
    std::int32_t parts = 1;
    Bandwidth alone;  // rate of each part with nobody else there, as links are at the start
  };
  struct Connection : Way {
    std::int64_t weight = 1;
    std::uint32_t sender = none;  // stream
    std::uint32_t receiver = none;
    Rank source = 0;  // ranks of the topology
    Rank target = 0;
    std::int32_t channel = 0;
  };
  // Another way, which a change of routes gives a connection. Those of a connection lie together.
  struct Detour : Way {
    std::uint32_t connection = 0;
    std::uint32_t change = 0;  // of Conditions::route_changes, the first that gives it
  };
  struct Reroute {
    std::uint32_t change = 0;  // increasing
    std::uint32_t connection = 0;
    std::uint32_t detour = none;  // none: back to its first way
  };
  // From a change of a link on, the latency of a way is another.
  struct LatencyChange {
    std::uint32_t change = 0;  // of Conditions::link_changes, increasing
    std::uint32_t connection = 0;
    std::uint32_t detour = none;  // none: of its first way
    Duration latency;
  };
  // The same of a tree of switches: the latencies of its group and members from then on.
  struct TreeChange {
    std::uint32_t change = 0;  // of Conditions::link_changes, increasing
    std::uint32_t group = 0;
    Duration up_latency_max;
    Duration down_latency_max;
    std::vector<Duration> down_latency;  // [member of the group]
  };
  struct BackgroundFlow {
    Bandwidth rate;
    std::uint32_t first_hop = 0;
    std::uint32_t hop_end = 0;
  };
  // The GPU of a rank, and what it becomes. Ranks with equal ones share an entry.
  struct Gpu {
    GpuSpec spec;
    std::vector<std::pair<Instant, GpuSpec>> changes;  // by time
  };
  struct Member {
    std::uint32_t group = none;
    bool receives = false;  // it collects results
    bool sends = false;     // it contributes
    Rank rank = 0;          // of the topology
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
    VertexId root;               // of the tree that its links are
  };
  struct Hop {
    std::uint32_t resource = 0;
    std::uint32_t weight = 1;
  };
  // A link, or a unit of a GPU. Of a folded instance: each resource of a class.
  struct Resource {
    Bandwidth capacity;
    LinkId link;                  // none for a unit
    bool changes = false;         // its capacity or latency may change during the run
    std::uint32_t gpu = none;     // a unit's, into gpus
    bool copies = false;          // a unit that copies, else one that reduces
    std::uint32_t memory = none;  // of a unit beside one: into memories
  };
  // A memory that ranks share: the link that messages between them and their local work draw on.
  struct Memory {
    std::uint32_t resource = 0;
    SharedMemory terms;
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
  std::vector<Gpu> gpus;
  std::vector<Memory> memories;  // on which local work draws
  std::vector<Detour> detours;
  std::vector<Reroute> reroutes;
  std::vector<LatencyChange> latency_changes;
  std::vector<TreeChange> tree_changes;
  std::vector<BackgroundFlow> background;
  std::uint32_t shares_unit = 1;    // a flow of `parts` parts has the weight shares_unit / parts
  bool has_unlike_weights = false;  // of flows that may meet
  bool has_jitter = false;

  // Whether nothing changes during the run, and nothing is drawn.
  bool is_steady() const;
  // Whether alike elements always behave alike, to the last microbyte: a class of flows that has a link to
  // itself gets its capacity, where its members, among each other, get multiples of their weights.
  bool may_fold() const {
    return reroutes.empty() && tree_changes.empty() && !has_jitter && !has_unlike_weights;
  }
  std::uint32_t flow_weight(const Way& way) const {
    return std::max(1U, shares_unit / static_cast<std::uint32_t>(way.parts));
  }
  static Bytes part_of(const Way& way, Bytes size) {
    return way.parts == 1 ? size : Bytes((size.count() + way.parts - 1) / way.parts);
  }

  // What local work of `size` bytes is on its flow: beside a memory as bytes copied.
  Bytes local_size(const Stream& stream, bool copies, Bytes size) const {
    return copies || stream.memory == none ? size : memories[stream.memory].terms.reduction(size);
  }

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
