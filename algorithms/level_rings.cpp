#include "algorithms/level_rings.hpp"

#include <algorithm>
#include <memory>

#include "algorithms/common.hpp"

namespace collsim::algorithms {
namespace {

// More regions than this publish no symmetries of their own: there would be too many to verify.
constexpr std::int32_t parts_max = 1024;

std::string text_of(const std::vector<std::int32_t>& levels) {
  std::string text = "[";
  for (std::size_t i = 0; i < levels.size(); ++i) text += (i ? ", " : "") + std::to_string(levels[i]);
  return text + "]";
}

// One step of a plan, for a level at which `members` ranks run a ring.
struct PlanStep {
  std::int32_t members = 1;
  std::int32_t below = 1;  // distance of two neighbours as rank numbers
  std::int32_t unit = 1;   // blocks of a super-block
};

std::vector<PlanStep> steps_of(const std::vector<std::int32_t>& levels, const LevelPlan& plan) {
  std::vector<PlanStep> steps;
  std::int32_t unit = 1;
  for (const std::int32_t members : levels) unit *= members;
  for (const std::int32_t level : plan.order) {
    PlanStep step;
    step.members = levels[static_cast<std::size_t>(level)];
    for (std::int32_t lower = 0; lower < level; ++lower)
      step.below *= levels[static_cast<std::size_t>(lower)];
    unit /= step.members;
    step.unit = unit;
    steps.push_back(step);
  }
  return steps;
}

// Binding::bases: the coordinate of step i at 2i, the first block that begins with those of the steps before
// at 2i + 1, the region last. The position of super-block 0 is `ahead` members ahead of the own coordinate.
ChunkExpression super_block(const std::vector<PlanStep>& steps, std::size_t i, std::int32_t ahead,
                            std::int32_t stride) {
  ChunkExpression chunk;
  chunk.region_base = static_cast<std::int8_t>(2 * steps.size());
  chunk.block_base = static_cast<std::int8_t>(2 * i);
  chunk.origin_base = static_cast<std::int8_t>(2 * i + 1);
  chunk.block_offset = ahead;
  chunk.block_stride = stride;
  chunk.block_modulus = steps[i].members;
  chunk.block_unit = steps[i].unit;
  chunk.span = steps[i].unit;
  return chunk;
}

// Binding::peers: the next member of step i at 2i, the one before at 2i + 1. Binding::streams: the slice
// before.
Program program_of(const std::vector<PlanStep>& steps, const LevelPlan& plan, CollectiveKind kind,
                   bool waits) {
  Program program;
  const auto add = [&](std::size_t i, bool reduces) {
    // With two members both ways are one, and so must be the peer slots that stand for it.
    const bool scatters = reduces || steps[i].members == 2;
    const bool backwards = scatters ? plan.scatter_backwards : plan.gather_backwards;
    const std::int32_t turn = backwards ? 1 : -1;  // from one step of the ring to the next
    const std::int32_t first = reduces ? turn : 0;
    const auto next = static_cast<std::int32_t>(2 * i);
    Loop loop{std::int64_t{steps[i].members} - 1, {}};
    const std::int64_t last = program.operation_count() + 2 * loop.trips - 1;  // of this step and way
    loop.body.push_back(
        make_operation(OperationKind::send, backwards ? next + 1 : next, super_block(steps, i, first, turn)));
    if (waits) loop.body.back().dependencies.push_back(Dependency{0, last, 0});
    loop.body.push_back(make_operation(reduces ? OperationKind::receive_reduce : OperationKind::receive,
                                       backwards ? next : next + 1,
                                       super_block(steps, i, first + turn, turn)));
    program.loops.push_back(loop);
  };
  if (kind != CollectiveKind::all_gather)
    for (std::size_t i = 0; i < steps.size(); ++i) add(i, true);
  if (kind != CollectiveKind::reduce_scatter)
    for (std::size_t i = steps.size(); i-- > 0;) add(i, false);
  return program;
}

void bind_region(const std::vector<PlanStep>& steps, Rank rank, std::int32_t region, Binding& binding) {
  std::int64_t origin = 0;
  for (const PlanStep& step : steps) {
    const std::int32_t digit = rank / step.below % step.members;
    const std::int32_t base = rank - digit * step.below;
    binding.bases.push_back(digit);
    binding.bases.push_back(origin);
    binding.peers.push_back(Peer{base + (digit + 1) % step.members * step.below, region});
    binding.peers.push_back(Peer{base + (digit + step.members - 1) % step.members * step.below, region});
    origin += std::int64_t{digit} * step.unit;
  }
  binding.bases.push_back(region);
}

// The next member at one level, for every level: of the regions [first, first + count), which have one plan.
void add_symmetries(const std::vector<PlanStep>& steps, std::int32_t ranks, std::int32_t first,
                    std::int32_t count, std::vector<Symmetry>& symmetries) {
  for (const PlanStep& step : steps) {
    Symmetry& next = symmetries.emplace_back();
    next.first_stream = next.first_region = first;
    next.stream_count = next.region_count = count;
    next.name =
        "next of " + std::to_string(step.members) + " members " + std::to_string(step.below) + " ranks apart";
    next.rank = [step](Rank rank) {
      const std::int32_t digit = rank / step.below % step.members;
      return rank + ((digit + 1) % step.members - digit) * step.below;
    };
    next.block = Rotation{0, ranks, step.unit, step.members, 1};
  }
}

std::vector<Symmetry> symmetries_of(const LevelRings& shape, const std::vector<std::vector<PlanStep>>& steps,
                                    std::int32_t ranks) {
  std::vector<Symmetry> symmetries;
  const std::int32_t regions = shape.channels * shape.slices;
  if (steps.size() > 1) {  // parts that share nothing: channels, or slices that do not wait for each other
    const std::int32_t count = shape.one_after_another ? shape.slices : 1;
    if (regions / count > parts_max) return symmetries;
    for (std::int32_t first = 0; first < regions; first += count)
      add_symmetries(steps[static_cast<std::size_t>(shape.plan_of[static_cast<std::size_t>(first)])], ranks,
                     first, count, symmetries);
    return symmetries;
  }
  add_symmetries(steps[0], ranks, 0, regions, symmetries);
  if (shape.channels == 1) return symmetries;
  const std::int32_t slices = shape.slices;
  Symmetry& next = symmetries.emplace_back();
  next.stream_count = next.region_count = regions;
  next.name = "next channel";
  next.rank = [](Rank rank) { return rank; };
  next.stream = [regions, slices](Rank, std::int32_t stream) { return (stream + slices) % regions; };
  next.region = next.channel = Rotation{0, regions, slices, shape.channels, 1};
  return symmetries;
}

// The rank whose coordinates are the digits of `block`.
Rank rank_of_block(const std::vector<PlanStep>& steps, std::int32_t block) {
  Rank rank = 0;
  for (const PlanStep& step : steps) rank += block / step.unit % step.members * step.below;
  return rank;
}

}  // namespace

std::int32_t LevelRings::add_plan(const LevelPlan& plan) {
  const auto found = std::find(plans.begin(), plans.end(), plan);
  const auto number = static_cast<std::int32_t>(found - plans.begin());
  if (found == plans.end()) plans.push_back(plan);
  return number;
}

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

Schedule level_rings(const char* algorithm, const Collective& collective, const Placement& placement,
                     const AlgorithmOptions& options, const LevelRings& shape) {
  const std::int32_t ranks = placement.ranks();
  Schedule schedule =
      schedule_frame(algorithm, collective, placement, options, {shape.channels, shape.slices}, ranks);
  schedule.channels = shape.channels;
  schedule.slices = shape.slices;
  // Copies of unlike plans cut every block alike if the vector has equal blocks, so that the blocks of a copy
  // stay equal, whatever the number of copies.
  if (shape.plans.size() > 1 && collective.elements() % ranks == 0)
    schedule.layout = Layout::in_parts(collective.elements(), element_bytes(collective.datatype),
                                       {shape.channels, shape.slices}, ranks);
  std::vector<std::vector<PlanStep>> steps;
  for (const LevelPlan& plan : shape.plans) {
    steps.push_back(steps_of(shape.levels, plan));
    for (const bool waits : {false, true})
      schedule.programs.push_back(program_of(steps.back(), plan, collective.kind, waits));
  }
  schedule.symmetries = symmetries_of(shape, steps, ranks);
  struct Bindings {
    std::vector<std::vector<PlanStep>> steps;  // [plan]
    std::vector<std::int32_t> plan_of;         // [region]
  };
  const auto shared = std::make_shared<const Bindings>(Bindings{std::move(steps), shape.plan_of});
  const std::int32_t streams = shape.channels * shape.slices;
  const std::int32_t chained = shape.one_after_another ? shape.slices : 1;
  schedule.stream_count = [streams](Rank) { return streams; };
  schedule.bind = [shared, chained](Rank rank, std::int32_t stream, Binding& binding) {
    const std::int32_t plan = shared->plan_of[static_cast<std::size_t>(stream)];
    const bool waits = stream % chained > 0;
    binding.program = 2 * plan + (waits ? 1 : 0);
    if (waits) binding.streams.push_back(stream - 1);
    bind_region(shared->steps[static_cast<std::size_t>(plan)], rank, stream, binding);
  };
  if (in_parts(collective.kind))
    schedule.owner = [shared](std::int32_t region, std::int32_t block) {
      const std::int32_t plan = shared->plan_of[static_cast<std::size_t>(region)];
      return rank_of_block(shared->steps[static_cast<std::size_t>(plan)], block);
    };
  return schedule;
}

}  // namespace collsim::algorithms
