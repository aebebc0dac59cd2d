// Schedule: what every rank does for one collective. A program with loops, generated and never stored as a
// list.
//
// A rank runs streams. A stream executes the operations of its Program in strict order; streams of one rank
// run concurrently and wait for each other only by dependencies. A Program is a list of loops {trips, body};
// peers are constant in a stream, chunks are affine in the trip. Programs are shared: a Binding (rank,
// stream) -> program, peers, bases says what they stand for, in closed form, O(1) per entry. operation()
// interprets the two.
//
// A connection is (source rank, target rank, channel). It belongs to one sending and one receiving stream and
// delivers in order: the n-th send on it is received by the n-th receive. Sizes of the two must be equal.
//
// Buffers: output holds the result. A schedule in place finds the rank's contribution there as well, and what
// a rank does not contribute is undefined until it is written (all_gather: the other parts). One that is not
// in place finds it in input, which nobody writes, and output is undefined until it is written. What a
// collective gives and wants, cell by cell, is sim/model/contract.hpp.
//
// Invariants (prove(), sim/model/proof.hpp, shows them for a whole schedule)
//   I1  every connection has one sending and one receiving stream, with as many sends as receives, equal
//   chunk sizes I2  a dependency names an existing stream of the same rank and an operation that it has I3
//   every chunk lies inside the layout (or the scratch area) I4  every element of every result holds every
//   contribution exactly once
// Threads     Immutable after it is made; bind and group are pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/layout.hpp"
#include "sim/model/topology.hpp"
#include "sim/model/translation.hpp"

namespace collsim {

enum class Buffer : std::uint8_t { input, output, scratch };

// send            `chunk` to the peer; done when it has drained from this rank
// receive         into `chunk` from the peer; done when it has arrived
// receive_reduce  the same, added to `chunk`; done when it is reduced. With from_source the local operand is
//                 `source` instead: chunk = source + message
// copy, reduce    `source` into `chunk` on this rank
// aggregate       post `chunk` to an in-network aggregation; done when the whole aggregation has drained
// collect         the result of the next aggregation of the group, in order, into `chunk`
// wait            nothing but its dependencies
enum class OperationKind : std::uint8_t {
  send,
  receive,
  receive_reduce,
  copy,
  reduce,
  aggregate,
  collect,
  wait
};
const char* name_of(OperationKind kind);

// Blocks [block, block + span) of a region of the layout.
struct Chunk {
  Buffer buffer = Buffer::output;
  std::int32_t region = 0;
  std::int32_t block = 0;
  std::int32_t span = 1;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// A Chunk as a function of the trip k. Each *_base is an index into Binding::bases, or -1 for 0:
//   region = bases[region_base] + region_offset + k * region_stride
//   block  = bases[origin_base]
//            + ((bases[block_base] + block_offset + k * block_stride) mod block_modulus) * block_unit
// with the mathematical mod (never negative).
struct ChunkExpression {
  Buffer buffer = Buffer::output;
  std::int8_t region_base = -1;
  std::int8_t origin_base = -1;
  std::int8_t block_base = -1;
  std::int32_t region_offset = 0;
  std::int32_t region_stride = 0;
  std::int32_t block_offset = 0;
  std::int32_t block_stride = 0;
  std::int32_t block_modulus = 1;
  std::int32_t block_unit = 1;
  std::int32_t span = 1;
};

// Wait until operation (offset + k * stride) of the rank's stream Binding::streams[stream_slot] is done.
struct Dependency {
  std::int32_t stream_slot = 0;
  std::int64_t offset = 0;
  std::int64_t stride = 0;
};

struct OperationTemplate {
  OperationKind kind = OperationKind::wait;
  std::int32_t peer =
      -1;  // send, receive*: index into Binding::peers; aggregate, collect: into Binding::groups
  ChunkExpression chunk;
  ChunkExpression source;    // copy, reduce; receive_reduce with from_source
  bool from_source = false;  // receive_reduce
  std::vector<Dependency> dependencies;
};

struct Loop {
  std::int64_t trips = 1;
  std::vector<OperationTemplate> body;
};

struct Program {
  std::vector<Loop> loops;
  std::int64_t operation_count() const;
};

struct Peer {
  Rank rank = 0;
  std::int32_t channel = 0;
  friend bool operator==(const Peer&, const Peer&) = default;
};

struct Binding {
  std::int32_t program = 0;
  std::vector<Peer> peers;
  std::vector<std::int64_t> bases;
  std::vector<std::int32_t> streams;  // stream numbers of the same rank that dependencies name
  std::vector<std::int32_t> groups;   // numbers of aggregation groups
  void clear();
};

// One operation, with everything resolved.
struct Operation {
  OperationKind kind = OperationKind::wait;
  Peer peer;
  std::int32_t group = -1;
  Chunk chunk;
  Chunk source;
  bool from_source = false;
  struct Wait {
    std::int32_t stream;
    std::int64_t operation;
  };
  std::vector<Wait> waits;
};

// Turns one digit of a number: numbers below `end` with (number / unit) mod modulus = d get the digit
// (d + shift) mod modulus, the others stay. REQUIRES of those who use it: end is a multiple of unit *
// modulus.
struct Rotation {
  std::int64_t begin = 0;  // digits are counted from here
  std::int64_t end = 0;
  std::int64_t unit = 1;
  std::int64_t modulus = 1;
  std::int64_t shift = 0;

  std::int64_t operator()(std::int64_t number) const {
    if (number < begin || number >= end) return number;
    // Divisions only where they change something: proofs call this for every operation of every program.
    std::int64_t digit = unit == 1 ? number - begin : (number - begin) / unit;
    if (digit >= modulus) digit %= modulus;
    const std::int64_t turned = digit + shift < modulus ? digit + shift : (digit + shift) % modulus;
    return number + (turned - digit) * unit;
  }
};

// A permutation that maps a part of a schedule onto itself, in closed form. The part: streams
// [first_stream, first_stream + stream_count) of every rank, which alone touch the regions
// [first_region, first_region + region_count). Published by the algorithm, believed only after
// verify_symmetry() (sim/model/symmetry.hpp).
//   stream (r, s)           -> (rank(r), stream(r, s))
//   cell (r, region, block) -> (rank(r), region rotated, block rotated)
//   connection (a, b, c)    -> (rank(a), rank(b), c rotated)
struct Symmetry {
  std::string name;  // "ring of channel 0, one position on"
  std::int32_t first_stream = 0;
  std::int32_t stream_count = 0;
  std::int32_t first_region = 0;
  std::int32_t region_count = 0;
  std::function<Rank(Rank)> rank;
  std::function<std::int32_t(Rank, std::int32_t)> stream;  // empty: the stream of the same number
  std::function<std::int32_t(std::int32_t)> group;         // empty: the same group
  Rotation region;
  Rotation block;
  Rotation channel;
};

constexpr std::int32_t slots_default = 8;  // NCCL_STEPS (NCCL src/include/device.h)

struct Schedule {
  std::string algorithm;
  Collective collective;
  std::int32_t ranks = 1;
  std::int32_t channels = 1;  // as chosen, for reports
  std::int32_t slices = 1;
  Layout layout;
  bool in_place = true;  // false: Buffer::input holds the contribution. all_to_all and send_recv are not
  // The rank whose part `block` of `region` belongs to, where the collective has parts. Empty: block * ranks
  // / layout.blocks(). REQUIRES of all_to_all: empty.
  std::function<Rank(std::int32_t region, std::int32_t block)> owner;
  // A barrier is shown by the collective of nothing that it performs: all_reduce or all_gather.
  CollectiveKind barrier_as = CollectiveKind::all_reduce;
  std::vector<Program> programs;
  std::function<std::int32_t(Rank)> stream_count;
  std::function<void(Rank, std::int32_t, Binding&)> bind;  // fills a cleared Binding
  std::int32_t group_count = 0;
  std::function<AggregationGroup(std::int32_t)> group;
  // Bytes that an aggregation of `payload` bytes of this group puts on each of its links (NVLS: (N+1)/N of
  // it).
  std::function<Bytes(std::int32_t, Bytes)> aggregated_bytes;
  std::int32_t slots = slots_default;
  std::optional<Bandwidth> channel_bandwidth;  // largest rate of one connection
  std::vector<Symmetry> symmetries;            // claims; verify_symmetry() checks one
  // Options that were asked for and have no effect on this cluster ("slots" where switches do all the work).
  std::vector<std::string> unused_options;
  // Set by set_translated_streams(), together with stream_count and bind; else null.
  std::shared_ptr<const TranslatedStreams> translated;
};

// The chunk of `expression` in trip `trip`. Inlined in the executor's inner loop.
inline Chunk resolve(const ChunkExpression& expression, const std::int64_t* bases, std::int64_t trip) {
  const auto base = [bases](std::int8_t slot) { return slot < 0 ? std::int64_t{0} : bases[slot]; };
  std::int64_t position =
      base(expression.block_base) + expression.block_offset + trip * expression.block_stride;
  position %= expression.block_modulus;
  if (position < 0) position += expression.block_modulus;
  Chunk chunk;
  chunk.buffer = expression.buffer;
  chunk.region = static_cast<std::int32_t>(base(expression.region_base) + expression.region_offset +
                                           trip * expression.region_stride);
  chunk.block = static_cast<std::int32_t>(base(expression.origin_base) + position * expression.block_unit);
  chunk.span = expression.span;
  return chunk;
}

inline Bytes size_of(const Layout& layout, const Chunk& chunk) {
  return chunk.buffer == Buffer::scratch ? layout.scratch_size(chunk.region, chunk.block, chunk.span)
                                         : layout.size(chunk.region, chunk.block, chunk.span);
}

// The rank whose part a block belongs to. O(1). REQUIRES: the collective has parts.
Rank owner_of(const Schedule& schedule, std::int32_t region, std::int32_t block);
// Operation `index` of a stream. O(loops of the program). REQUIRES: the stream and the index exist.
Operation operation(const Schedule& schedule, Rank rank, std::int32_t stream, std::int64_t index);
std::int64_t operation_count(const Schedule& schedule, Rank rank, std::int32_t stream);

// A schedule in which nobody does anything: one rank, or nothing to do.
Schedule empty_schedule(std::string algorithm, const Collective& collective, std::int32_t ranks);

// Equal for two schedules of equal structure, whatever the sizes of their cells: programs, bindings, groups,
// layout counts and slots. 128 bits as two words; O(streams + program sizes). A proof of one holds for the
// other.
struct StructureDigest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const StructureDigest&, const StructureDigest&) = default;
};
StructureDigest structure_digest(const Schedule& schedule);

}  // namespace collsim
