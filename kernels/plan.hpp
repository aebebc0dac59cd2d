// Plan: a Schedule as a graph of tasks on memory, ready for a backend.
//
//   Schedule -> plan_of() -> Plan -> Backend::prepare() -> Execution
//
// An untimed run of the schedule (streams in order, bounded connections, aggregations as barriers) gives the
// operations, which message meets which receive, and who waits for whom. It decides nothing else: a backend
// may run tasks in any order in which each comes after its predecessors.
//
// Areas       The buffers of each rank: output always; input and scratch where the schedule has them. And
//             staging memory of a connection, at the receiving rank: up to `slots` messages, as many bytes
//             each as its largest staged message, in multiples of 256; the k-th staged message uses place
//             k mod slots. Of an aggregation group, at its first member; of a stream that needs a copy (see
//             Overlaps). Element order inside input, output and scratch is the layout's (offset_of()).
// Messages    A send copies its chunk into staging at the receiver; the receive copies it out, or reduces it
//             with what is there: chunk = chunk op message, and from_source chunk = source op message, the
//             local operand first. For the order of additions either is right: the two operands of one may
//             change places (sim/model/numerics.hpp). An empty message has no bytes and no place.
//             direct: the copy of a send goes straight into the chunk of a plain receive wherever the target
//             chunk's earlier users (by the plan's order) come before the send; then the receive is a task
//             without work. REQUIRES a proven schedule: only there is every access ordered.
//             fused: a receive or receive_reduce and a send of the same chunk that waits for nothing else
//             become one task with two destinations (collective libraries' receive-reduce-copy-send).
// Slots       Send k of a connection comes after receive (k - slots) of it.
// Aggregation Tasks reduce all members' chunks, in their order, into staging at the first member, eight
//             sources at a time; each collect copies from there. A group has as many places for results as a
//             connection has slots, and more only where the untimed run needs more at a time; before a place
//             is used again, all must have collected what was there.
// Overlaps    A source that shares some but not all of its elements with the chunk that is written is copied
//             to staging memory first, by a task of its own.
// Average     avg is a sum; when all is done, a divide task for every range that a rank wants.
// Tasks       In an order in which all predecessors of a task come before it. Tasks without work (wait,
//             empty chunks, direct receives) carry order only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/combine.hpp"
#include "sim/model/proof.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::kernels {

enum class AreaKind : std::uint8_t { input, output, scratch, staging };

struct Area {
  AreaKind kind = AreaKind::output;
  Rank rank = 0;  // in whose memory
  std::int64_t bytes = 0;
};

struct Place {
  std::int32_t area = 0;
  std::int64_t offset = 0;  // bytes
};

enum class TaskKind : std::uint8_t { nothing, combine, divide };

struct Task {
  TaskKind kind = TaskKind::nothing;
  std::uint8_t sources = 0;  // combine
  std::uint8_t destinations = 0;
  Rank rank = 0;                       // whose processor does it: a send's is the sender
  std::int32_t stream = -1;            // of the rank; -1: none (divide)
  std::int64_t step = -1;              // operation of the stream that it stands for, or the first of two
  std::int32_t first_place = 0;        // into Plan::places: sources, then destinations; divide: one
  std::int64_t bytes = 0;              // of each place
  std::int32_t first_predecessor = 0;  // into Plan::predecessors
  std::int32_t predecessor_count = 0;
};

struct Plan {
  Collective collective;  // with the datatype and the reduction that tasks use
  std::int32_t ranks = 1;
  std::vector<Area> areas;            // of rank 0: output, input, scratch; of rank 1: ...; then staging
  std::vector<std::int32_t> output;   // [rank]: its area
  std::vector<std::int32_t> input;    // [rank]: or -1
  std::vector<std::int32_t> scratch;  // [rank]: or -1
  std::vector<Task> tasks;
  std::vector<Place> places;
  std::vector<std::int32_t> predecessors;

  std::span<const std::int32_t> predecessors_of(const Task& task) const {
    return {predecessors.data() + task.first_predecessor, static_cast<std::size_t>(task.predecessor_count)};
  }
  std::span<const Place> places_of(const Task& task) const {
    const int count = task.kind == TaskKind::divide ? 1 : task.sources + task.destinations;
    return {places.data() + task.first_place, static_cast<std::size_t>(count)};
  }
  std::int64_t memory_bytes() const;  // of all areas
  // What all tasks read and write together.
  std::int64_t traffic_bytes() const;
};

struct PlanOptions {
  bool direct = false;  // REQUIRES: the schedule is proven
  bool fused = false;   // the same
};

// Why there is no plan: the schedule is malformed or deadlocks (as its proof says), or has more tasks than
// tasks_max.
struct NoPlan {
  bool deadlock = false;
  bool too_large = false;
  std::vector<ProofFailure> failures;  // at least one
};
constexpr std::int64_t tasks_max = 20'000'000;

// Of all streams whose program exists; some number beyond tasks_max where there are more than that. Of
// malformed schedules too. O(streams).
std::int64_t operations_of(const Schedule& schedule);

// O(operations * (blocks of a chunk)) time and memory.
std::variant<Plan, NoPlan> plan_of(const Schedule& schedule, const PlanOptions& options);

// First byte of a chunk in the area of its buffer.
std::int64_t offset_of(const Layout& layout, const Chunk& chunk);
std::int64_t scratch_bytes(const Layout& layout);

// Orders in which to run all tasks one after the other. What a schedule forgets to order shows in some of
// them. All but the first are list schedules, O(tasks log tasks + predecessors): of the tasks that can run,
//   latest_first  one that writes to a buffer before those that only read there, and of these the last one:
//                 what may wait, does, and reads wait longest
//   random        one of the stream with the highest of random priorities (so that some streams wait as long
//                 as they can), or, for half of the seeds, one with a random priority of its own
enum class OrderKind { as_planned, latest_first, random };
std::vector<std::int32_t> order_of(const Plan& plan, OrderKind kind, std::uint64_t seed = 1);

}  // namespace collsim::kernels
