#include "sim/model/proof_slices.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/model/program_facts.hpp"

namespace collsim {
namespace {

// The trips that all loops have, or 0.
std::int64_t common_trips(const Schedule& schedule) {
  std::int64_t trips = 0;
  for (const Program& program : schedule.programs) {
    if (program.loops.empty()) continue;
    if (program.loops.size() > 1 || program.loops[0].body.empty()) return 0;
    if (trips == 0) trips = program.loops[0].trips;
    if (program.loops[0].trips != trips) return 0;
  }
  return trips;
}

// How a program uses its bases: which are regions.
struct BaseUse {
  std::vector<bool> region;
  std::vector<bool> block;

  explicit BaseUse(std::size_t count) : region(count), block(count) {}
  void add(const ChunkExpression& chunk) {
    mark(region, chunk.region_base);
    mark(block, chunk.origin_base);
    mark(block, chunk.block_base);
  }

 private:
  static void mark(std::vector<bool>& used, std::int8_t slot) {
    if (slot >= 0) used[static_cast<std::size_t>(slot)] = true;
  }
};

bool moves_with_the_slice(const ChunkExpression& chunk, std::int64_t trips) {
  return chunk.buffer != Buffer::scratch && chunk.region_stride == 1 && chunk.region_offset % trips == 0 &&
         chunk.block_stride % chunk.block_modulus == 0;
}

// Whether the parts of all slices belong to the same ranks.
bool same_owners(const Schedule& schedule, std::int64_t trips) {
  const std::int32_t regions = schedule.owner ? schedule.layout.regions() : 0;
  for (std::int32_t region = 0; region < regions; ++region)
    for (std::int32_t block = 0; block < schedule.layout.blocks(); ++block) {
      const auto first = static_cast<std::int32_t>(region - region % trips);
      if (schedule.owner(region, block) != schedule.owner(first, block)) return false;
    }
  return true;
}

// Reduces a program to its first trip, with regions counted in slices; and lists the bases that are regions.
// False: its trips are not alike.
bool reduce(Program& program, const ProgramFacts& facts, std::vector<std::size_t>& region_bases) {
  if (!facts.well_formed) return false;
  if (program.loops.empty()) return true;
  BaseUse bases(facts.bases);
  Loop& loop = program.loops[0];
  const auto reduce_chunk = [&](ChunkExpression& chunk) {
    if (!moves_with_the_slice(chunk, loop.trips)) return false;
    bases.add(chunk);
    chunk.region_offset /= static_cast<std::int32_t>(loop.trips);
    chunk.region_stride = 0;
    return true;
  };
  for (OperationTemplate& operation : loop.body) {
    if (operation.kind != OperationKind::wait && !reduce_chunk(operation.chunk)) return false;
    if (reads_source(operation) && !reduce_chunk(operation.source)) return false;
  }
  loop.trips = 1;
  for (std::size_t slot = 0; slot < bases.region.size(); ++slot) {
    if (bases.region[slot] && bases.block[slot]) return false;
    if (bases.region[slot]) region_bases.push_back(slot);
  }
  return true;
}

// The bindings of one rank, as far as slices are concerned.
class RankCheck {
 public:
  RankCheck(const Schedule& schedule, const std::vector<ProgramFacts>& facts,
            const std::vector<std::vector<std::size_t>>& region_bases, std::int64_t trips)
      : schedule_(schedule), facts_(facts), region_bases_(region_bases), trips_(trips) {}

  bool alike(Rank rank) {
    programs_.clear();
    targets_.clear();
    const std::int32_t streams = schedule_.stream_count(rank);
    for (std::int32_t stream = 0; stream < streams; ++stream) {
      binding_.clear();
      schedule_.bind(rank, stream, binding_);
      const auto program = static_cast<std::size_t>(binding_.program);
      if (program >= facts_.size() || !facts_[program].fits(binding_)) return false;
      for (const std::size_t slot : region_bases_[program])
        if (binding_.bases[slot] % trips_ != 0) return false;
      programs_.push_back(program);
      targets_.insert(targets_.end(), binding_.streams.begin(),
                      binding_.streams.begin() + static_cast<std::ptrdiff_t>(facts_[program].streams));
    }
    const std::int32_t* targets = targets_.data();
    for (const std::size_t program : programs_) {
      if (!waits_within_the_trip(program, targets)) return false;
      targets += facts_[program].streams;
    }
    return true;
  }

 private:
  bool waits_within_the_trip(std::size_t program, const std::int32_t* targets) const {
    for (const Loop& loop : schedule_.programs[program].loops)
      for (const OperationTemplate& operation : loop.body)
        for (const Dependency& wait : operation.dependencies) {
          const auto target = static_cast<std::size_t>(targets[wait.stream_slot]);
          if (target >= programs_.size()) return false;
          const std::vector<Loop>& loops = schedule_.programs[programs_[target]].loops;
          const std::int64_t length = loops.empty() ? 0 : static_cast<std::int64_t>(loops[0].body.size());
          if (wait.stride != length || wait.offset < 0 || wait.offset >= length) return false;
        }
    return true;
  }

  const Schedule& schedule_;
  const std::vector<ProgramFacts>& facts_;
  const std::vector<std::vector<std::size_t>>& region_bases_;
  const std::int64_t trips_;
  Binding binding_;
  std::vector<std::size_t> programs_;  // [stream]
  std::vector<std::int32_t> targets_;  // of all streams, one after the other
};

}  // namespace

std::optional<FirstSlice> first_slice(const Schedule& schedule) {
  const std::int64_t trips = common_trips(schedule);
  if (trips <= 1 || schedule.layout.regions() % trips != 0 || schedule.layout.scratch_regions() != 0)
    return std::nullopt;
  FirstSlice slice{schedule, trips};
  slice.schedule.symmetries.clear();  // they speak of other regions
  const std::vector<ProgramFacts> facts = facts_of_programs(schedule);
  std::vector<std::vector<std::size_t>> region_bases(facts.size());
  for (std::size_t program = 0; program < facts.size(); ++program)
    if (!reduce(slice.schedule.programs[program], facts[program], region_bases[program])) return std::nullopt;
  if (!same_owners(schedule, trips)) return std::nullopt;
  RankCheck check(schedule, facts, region_bases, trips);
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    if (!check.alike(rank)) return std::nullopt;
  // Sizes do not matter: chunks are compared as they are.
  const auto regions = static_cast<std::int32_t>(schedule.layout.regions() / trips);
  slice.schedule.layout = Layout(0, 1, {regions}, schedule.layout.blocks());
  if (schedule.owner)
    slice.schedule.owner = [owner = schedule.owner, trips](std::int32_t region, std::int32_t block) {
      return owner(static_cast<std::int32_t>(region * trips), block);
    };
  slice.schedule.bind = [bind = schedule.bind, bases = std::move(region_bases), trips](
                            Rank rank, std::int32_t stream, Binding& binding) {
    bind(rank, stream, binding);
    for (const std::size_t slot : bases[static_cast<std::size_t>(binding.program)])
      binding.bases[slot] /= trips;
  };
  return slice;
}

}  // namespace collsim
