// Cascade: a reduce-scatter at every level, innermost first, and the all-gathers back (Cho et al.,
// BlueConnect, MLSys 2019).
//
// Levels 1 .. L with p_1 .. p_L members. Rank r = x_1 + p_1 (x_2 + p_2 (x_3 + ...)). Block b has the digits
// b_1 .. b_L with b_1 most significant, so that the super-block of level i, all blocks that begin with given
// b_1 .. b_i, is contiguous: U_i = p_{i+1} ... p_L blocks. At level i the ranks that differ only in x_i run
// the ring of ring.cpp over the p_i super-blocks that begin with x_1 .. x_{i-1}. Afterwards rank r holds one
// block, and the way back retraces the levels.
//
// Slices are pipelined: a slice enters a level, on the way in and on the way back, when the slice before it
// has left it on this rank, so that the levels work on different slices at a time.
#include <algorithm>

#include "algorithms/common.hpp"
#include "algorithms/levels.hpp"

namespace collsim::algorithms {
namespace {

std::vector<std::int32_t> levels_of(const Placement& placement, const AlgorithmOptions& options) {
  std::vector<std::int32_t> levels = options.levels;
  if (levels.empty()) {
    levels.push_back(placement.gpus_per_node);
    const bool grid = placement.fabric == FabricKind::torus || placement.fabric == FabricKind::mesh;
    if (grid && !placement.dimensions.empty())
      levels.insert(levels.end(), placement.dimensions.begin(), placement.dimensions.end());
    else
      levels.push_back(placement.nodes);
  }
  return levels;
}

std::string text_of(const std::vector<std::int32_t>& levels) {
  std::string text = "[";
  for (std::size_t i = 0; i < levels.size(); ++i) text += (i ? ", " : "") + std::to_string(levels[i]);
  return text + "]";
}

std::optional<Impossible> check_levels(const std::vector<std::int32_t>& levels, std::int32_t ranks) {
  std::int64_t product = 1;
  for (const std::int32_t level : levels) {
    if (level < 1) return Impossible{"levels " + text_of(levels) + ": every level must be at least 1"};
    product = std::min<std::int64_t>(product * level, std::int64_t{1} << 31);
  }
  if (product == ranks) return std::nullopt;
  return Impossible{"the product of levels " + text_of(levels) + " is not the number of ranks, " +
                    std::to_string(ranks)};
}

// Binding::bases: x_i at 2i, the first block that begins with x_1 .. x_{i-1} at 2i + 1, the region last.
ChunkExpression super_block(std::size_t level, std::int32_t offset, const std::vector<std::int32_t>& levels) {
  ChunkExpression chunk;
  chunk.region_base = static_cast<std::int8_t>(2 * levels.size());
  chunk.block_base = static_cast<std::int8_t>(2 * level);
  chunk.origin_base = static_cast<std::int8_t>(2 * level + 1);
  chunk.block_offset = offset;
  chunk.block_stride = -1;
  chunk.block_modulus = levels[level];
  for (std::size_t above = level + 1; above < levels.size(); ++above) chunk.block_unit *= levels[above];
  chunk.span = chunk.block_unit;
  return chunk;
}

// Binding::peers: the next member of level i at 2i, the one before at 2i + 1. Binding::streams: the slice
// before.
Program cascade_program(const std::vector<std::int32_t>& levels, bool waits) {
  Program program;
  const auto add = [&](std::size_t level, std::int32_t first, OperationKind receive) {
    const auto next = static_cast<std::int32_t>(2 * level);
    Loop loop{std::int64_t{levels[level]} - 1, {}};
    const std::int64_t last = program.operation_count() + 2 * loop.trips - 1;  // of this level and way
    loop.body.push_back(make_operation(OperationKind::send, next, super_block(level, first, levels)));
    if (waits) loop.body.back().dependencies.push_back(Dependency{0, last, 0});
    loop.body.push_back(make_operation(receive, next + 1, super_block(level, first - 1, levels)));
    program.loops.push_back(loop);
  };
  for (std::size_t level = 0; level < levels.size(); ++level) add(level, -1, OperationKind::receive_reduce);
  for (std::size_t level = levels.size(); level-- > 0;) add(level, 0, OperationKind::receive);
  return program;
}

// The next member at one level, for every level; and the next channel, all its slices with it.
std::vector<Symmetry> cascade_symmetries(const std::vector<std::int32_t>& levels, std::int32_t ranks,
                                         std::int32_t channels, std::int32_t slices) {
  const std::int32_t regions = channels * slices;
  Symmetry all;
  all.stream_count = regions;
  all.region_count = regions;
  std::vector<Symmetry> symmetries;
  std::int32_t below = 1;
  std::int32_t unit = ranks;
  for (const std::int32_t members : levels) {
    unit /= members;
    Symmetry& next = symmetries.emplace_back(all);
    next.name = "next of " + std::to_string(members) + " members " + std::to_string(below) + " ranks apart";
    next.rank = [below, members](Rank rank) {
      const std::int32_t digit = rank / below % members;
      return rank + ((digit + 1) % members - digit) * below;
    };
    next.block = Rotation{0, ranks, unit, members, 1};
    below *= members;
  }
  if (channels == 1) return symmetries;
  Symmetry& next = symmetries.emplace_back(all);
  next.name = "next channel";
  next.rank = [](Rank rank) { return rank; };
  next.stream = [regions, slices](Rank, std::int32_t stream) { return (stream + slices) % regions; };
  next.region = next.channel = Rotation{0, regions, slices, channels, 1};
  return symmetries;
}

}  // namespace

ScheduleOrReason cascade(const Collective& collective, const Placement& placement,
                         const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  std::vector<std::int32_t> levels = levels_of(placement, options);
  if (auto wrong = check_levels(levels, ranks)) return *wrong;
  if (ranks == 1) return empty_schedule("cascade", collective, 1);
  std::erase(levels, 1);
  const std::int32_t channels = options.channels.value_or(1);
  const std::int32_t slices = options.slices.value_or(1);
  Schedule schedule = schedule_frame("cascade", collective, placement, options, {channels, slices}, ranks);
  schedule.channels = channels;
  schedule.slices = slices;
  schedule.programs = {cascade_program(levels, false), cascade_program(levels, true)};
  const std::int32_t streams = channels * slices;
  schedule.stream_count = [streams](Rank) { return streams; };
  // Stream = region = number of the connection's channel.
  schedule.bind = [levels, ranks, slices](Rank rank, std::int32_t stream, Binding& binding) {
    if (stream % slices > 0) {
      binding.program = 1;
      binding.streams.push_back(stream - 1);
    }
    std::int32_t below = 1;     // p_1 ... p_{i-1}
    std::int32_t unit = ranks;  // U_{i-1}
    std::int64_t origin = 0;
    for (const std::int32_t members : levels) {
      const std::int32_t digit = rank / below % members;
      const std::int32_t base = rank - digit * below;
      binding.bases.push_back(digit);
      binding.bases.push_back(origin);
      binding.peers.push_back(Peer{base + (digit + 1) % members * below, stream});
      binding.peers.push_back(Peer{base + (digit + members - 1) % members * below, stream});
      unit /= members;
      origin += std::int64_t{digit} * unit;
      below *= members;
    }
    binding.bases.push_back(stream);
  };
  schedule.symmetries = cascade_symmetries(levels, ranks, channels, slices);
  return schedule;
}

}  // namespace collsim::algorithms
