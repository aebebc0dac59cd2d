#include "sim/model/schedule.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

namespace collsim {
namespace {

// Two independent 64-bit hashes of one sequence of words.
class Hasher {
 public:
  template <class Integer>
  void add(Integer value) {
    const auto word = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    low_ = mix64(low_ ^ word);
    high_ = mix64(high_ + word * 0xff51afd7ed558ccdULL);
  }
  StructureDigest digest() const { return StructureDigest{low_, high_}; }

 private:
  std::uint64_t low_ = 0x243f6a8885a308d3ULL;
  std::uint64_t high_ = 0x13198a2e03707344ULL;
};

void add(Hasher& hash, const ChunkExpression& chunk) {
  hash.add(static_cast<int>(chunk.buffer));
  hash.add(chunk.region_base);
  hash.add(chunk.origin_base);
  hash.add(chunk.block_base);
  hash.add(chunk.region_offset);
  hash.add(chunk.region_stride);
  hash.add(chunk.block_offset);
  hash.add(chunk.block_stride);
  hash.add(chunk.block_modulus);
  hash.add(chunk.block_unit);
  hash.add(chunk.span);
}

void add(Hasher& hash, const OperationTemplate& operation) {
  hash.add(static_cast<int>(operation.kind));
  hash.add(operation.peer);
  add(hash, operation.chunk);
  add(hash, operation.source);
  hash.add(operation.from_source);
  hash.add(operation.dependencies.size());
  for (const Dependency& dependency : operation.dependencies) {
    hash.add(dependency.stream_slot);
    hash.add(dependency.offset);
    hash.add(dependency.stride);
  }
}

void add(Hasher& hash, const Program& program) {
  hash.add(program.loops.size());
  for (const Loop& loop : program.loops) {
    hash.add(loop.trips);
    hash.add(loop.body.size());
    for (const OperationTemplate& operation : loop.body) add(hash, operation);
  }
}

void add(Hasher& hash, const Binding& binding) {
  hash.add(binding.program);
  hash.add(binding.peers.size());
  for (const Peer& peer : binding.peers) {
    hash.add(peer.rank);
    hash.add(peer.channel);
  }
  hash.add(binding.bases.size());
  for (const std::int64_t base : binding.bases) hash.add(base);
  hash.add(binding.streams.size());
  for (const std::int32_t stream : binding.streams) hash.add(stream);
  hash.add(binding.groups.size());
  for (const std::int32_t group : binding.groups) hash.add(group);
}

void add(Hasher& hash, const AggregationGroup& group) {
  hash.add(static_cast<int>(group.scope));
  hash.add(static_cast<int>(group.mode));
  hash.add(group.root);
  hash.add(group.rail);
  hash.add(group.members.size());
  for (const Rank member : group.members) hash.add(member);
}

// The binding of an existing stream, whose program exists.
Binding bind_checked(const Schedule& schedule, Rank rank, std::int32_t stream) {
  COLLSIM_CHECK(rank >= 0 && rank < schedule.ranks);
  COLLSIM_CHECK(stream >= 0 && stream < schedule.stream_count(rank));
  Binding binding;
  schedule.bind(rank, stream, binding);
  COLLSIM_CHECK(binding.program >= 0 &&
                binding.program < static_cast<std::int32_t>(schedule.programs.size()));
  return binding;
}

bool has_peer(OperationKind kind) {
  return kind == OperationKind::send || kind == OperationKind::receive ||
         kind == OperationKind::receive_reduce;
}

bool has_group(OperationKind kind) {
  return kind == OperationKind::aggregate || kind == OperationKind::collect;
}

}  // namespace

const char* name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::send:
      return "send";
    case OperationKind::receive:
      return "receive";
    case OperationKind::receive_reduce:
      return "receive_reduce";
    case OperationKind::copy:
      return "copy";
    case OperationKind::reduce:
      return "reduce";
    case OperationKind::aggregate:
      return "aggregate";
    case OperationKind::collect:
      return "collect";
    case OperationKind::wait:
      return "wait";
  }
  return "unknown";
}

std::int64_t Program::operation_count() const {
  std::int64_t count = 0;
  for (const Loop& loop : loops) count += loop.trips * static_cast<std::int64_t>(loop.body.size());
  return count;
}

void Binding::clear() {
  program = 0;
  peers.clear();
  bases.clear();
  streams.clear();
  groups.clear();
}

Rank owner_of(const Schedule& schedule, std::int32_t region, std::int32_t block) {
  if (schedule.owner) return schedule.owner(region, block);
  return static_cast<Rank>(std::int64_t{block} * schedule.ranks / schedule.layout.blocks());
}

Operation operation(const Schedule& schedule, Rank rank, std::int32_t stream, std::int64_t index) {
  const Binding binding = bind_checked(schedule, rank, stream);
  COLLSIM_CHECK(index >= 0);
  for (const Loop& loop : schedule.programs[static_cast<std::size_t>(binding.program)].loops) {
    const auto length = static_cast<std::int64_t>(loop.body.size());
    if (index >= loop.trips * length) {
      index -= loop.trips * length;
      continue;
    }
    const std::int64_t trip = index / length;
    const OperationTemplate& body = loop.body[static_cast<std::size_t>(index % length)];
    Operation result;
    result.kind = body.kind;
    if (has_peer(body.kind)) result.peer = binding.peers.at(static_cast<std::size_t>(body.peer));
    if (has_group(body.kind)) result.group = binding.groups.at(static_cast<std::size_t>(body.peer));
    result.chunk = resolve(body.chunk, binding.bases.data(), trip);
    result.source = resolve(body.source, binding.bases.data(), trip);
    result.from_source = body.from_source;
    for (const Dependency& wait : body.dependencies)
      result.waits.push_back(
          {binding.streams.at(static_cast<std::size_t>(wait.stream_slot)), wait.offset + trip * wait.stride});
    return result;
  }
  check_failed(__FILE__, __LINE__, "index < operation_count", "a stream has no such operation");
}

std::int64_t operation_count(const Schedule& schedule, Rank rank, std::int32_t stream) {
  const Binding binding = bind_checked(schedule, rank, stream);
  return schedule.programs[static_cast<std::size_t>(binding.program)].operation_count();
}

Schedule empty_schedule(std::string algorithm, const Collective& collective, std::int32_t ranks) {
  Schedule schedule;
  schedule.algorithm = std::move(algorithm);
  schedule.collective = collective;
  schedule.ranks = ranks;
  schedule.layout = Layout(collective.elements(), element_bytes(collective.datatype), {}, 1);
  schedule.stream_count = [](Rank) { return 0; };
  schedule.bind = [](Rank, std::int32_t, Binding&) {};
  schedule.group = [](std::int32_t) { return AggregationGroup{}; };
  schedule.aggregated_bytes = [](std::int32_t, Bytes payload) { return payload; };
  return schedule;
}

StructureDigest structure_digest(const Schedule& schedule) {
  Hasher hash;
  hash.add(static_cast<int>(schedule.collective.kind));
  hash.add(schedule.ranks);
  hash.add(schedule.layout.regions());
  hash.add(schedule.layout.blocks());
  hash.add(schedule.layout.scratch_regions());
  hash.add(schedule.layout.scratch_blocks());
  hash.add(schedule.collective.root);
  hash.add(schedule.in_place);
  hash.add(static_cast<int>(schedule.barrier_as));
  if (schedule.owner)
    for (std::int32_t region = 0; region < schedule.layout.regions(); ++region)
      for (std::int32_t block = 0; block < schedule.layout.blocks(); ++block)
        hash.add(schedule.owner(region, block));
  hash.add(schedule.slots);
  hash.add(schedule.programs.size());
  for (const Program& program : schedule.programs) add(hash, program);
  Binding binding;
  if (schedule.translated) {
    hash.add(static_cast<int>(schedule.translated->translation.kind));
    hash.add(schedule.translated->moving_bases);
  }
  // The streams of rank 0 say all of a translated schedule.
  const Rank bound = schedule.translated ? std::min<Rank>(schedule.ranks, 1) : schedule.ranks;
  for (Rank rank = 0; rank < bound; ++rank) {
    const std::int32_t streams = schedule.stream_count(rank);
    hash.add(streams);
    for (std::int32_t stream = 0; stream < streams; ++stream) {
      binding.clear();
      schedule.bind(rank, stream, binding);
      add(hash, binding);
    }
  }
  hash.add(schedule.group_count);
  for (std::int32_t group = 0; group < schedule.group_count; ++group) add(hash, schedule.group(group));
  return hash.digest();
}

}  // namespace collsim
