// Swing: a butterfly whose peers swing to and fro, for rings and tori (De Sensi et al., NSDI 2024).
//
// In step s an even rank r talks to r + rho(s), an odd one to r - rho(s), with rho(s) = (1 - (-2)^(s+1)) / 3
// = 1, -1, 3, -5, ..: distances grow as 2^(s+1)/3, not 2^s, so that fewer messages share a link.
//
// Copies      A copy of the algorithm works on a piece of the vector (channel). On a torus of D sides, copy c
//             begins with side c mod D and takes the sides in turn; copies from D on swing the other way, so
//             that 2D copies use all links of a node. Left to itself: 2D on a torus or mesh, else 1.
// Sides       are those of the torus where a node has one GPU and every side is a power of two; else there is
//             one side, the largest power of two of ranks, and every other rank is stood in for by a
//             neighbour (butterfly.hpp), also for odd N. (The paper sends what an odd rank needs directly.)
// Form        bandwidth: reduce-scatter and all-gather (butterfly_exchange.hpp). latency: all of the vector
//             in each step, two buffers in turn as in recursive_doubling.cpp.
// Blocks      After step s rank r is responsible for all ranks that it still reaches: those that are like it
//             modulo 2^(s+1) if as even as it, and like its peer of step s + 1 if not. So the half that a
//             rank keeps in step s is named by bit s + 1 of the even one of the two, and in the last step by
//             whether it is even itself.
#include <algorithm>

#include "algorithms/butterfly_exchange.hpp"
#include "algorithms/exchanges.hpp"
#include "algorithms/full_vector_exchange.hpp"

namespace collsim::algorithms {
namespace {

std::int32_t rho(std::int32_t step) {
  const std::int64_t power = (std::int64_t{1} << (step + 1)) * (step % 2 == 0 ? -1 : 1);
  return static_cast<std::int32_t>((1 - power) / 3);
}

std::int32_t log2_of(std::int32_t power) {
  std::int32_t log = 0;
  while (power >> (log + 1) > 0) ++log;
  return log;
}

bool is_power_of_two(std::int32_t number) { return (number & (number - 1)) == 0; }

// Step s of one side of `length` places, swinging up (sign 1) or down (-1) from even places.
std::int32_t swung(std::int32_t place, std::int32_t step, std::int32_t sign, std::int32_t length) {
  const std::int64_t move = std::int64_t{rho(step)} * (place % 2 == 0 ? sign : -sign);
  return static_cast<std::int32_t>(((place + move) % length + length) % length);
}

std::int32_t half_kept(std::int32_t place, std::int32_t step, std::int32_t sign, std::int32_t length) {
  if (2 << step == length) return place % 2;
  const std::int32_t even = place % 2 == 0 ? place : swung(place, step + 1, sign, length);
  return even >> (step + 1) & 1;
}

std::vector<std::int32_t> sides_of(const Placement& placement) {
  std::vector<std::int32_t> sides;
  const bool grid = placement.fabric == FabricKind::torus || placement.fabric == FabricKind::mesh;
  const auto& dimensions = placement.dimensions;
  if (grid && placement.gpus_per_node == 1 &&
      std::all_of(dimensions.begin(), dimensions.end(), is_power_of_two))
    sides = dimensions;
  std::erase(sides, 1);
  if (sides.empty()) sides.push_back(1 << log2_of(placement.ranks()));
  return sides;
}

// One copy: which side each round works on, and which step of that side it is.
class Copy {
 public:
  Copy(const std::vector<std::int32_t>& sides, std::int32_t number) {
    const std::size_t count = sides.size();
    sign_ = static_cast<std::size_t>(number) / count % 2 == 0 ? 1 : -1;
    std::vector<std::int32_t> strides(count, 1);
    for (std::size_t side = 1; side < count; ++side) strides[side] = strides[side - 1] * sides[side - 1];
    for (std::int32_t step = 0; step < 31; ++step)
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t side = (static_cast<std::size_t>(number) + i) % count;
        if (step < log2_of(sides[side])) rounds_.push_back({sides[side], strides[side], step});
      }
  }

  std::int32_t peer(std::int32_t core, std::int32_t number) const {
    const Round& round = rounds_[static_cast<std::size_t>(number)];
    const std::int32_t place = core / round.stride % round.length;
    return core + (swung(place, round.step, sign_, round.length) - place) * round.stride;
  }
  std::int32_t position_of(std::int32_t core) const {
    std::int32_t position = 0;
    for (const Round& round : rounds_)
      position =
          2 * position + half_kept(core / round.stride % round.length, round.step, sign_, round.length);
    return position;
  }

 private:
  struct Round {
    std::int32_t length;
    std::int32_t stride;
    std::int32_t step;
  };
  std::int32_t sign_ = 1;
  std::vector<Round> rounds_;
};

}  // namespace

ScheduleOrReason swing(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options) {
  const std::int32_t ranks = placement.ranks();
  const bool whole = options.form == "latency";
  if (whole && collective.kind != CollectiveKind::all_reduce)
    return Impossible{"form latency is an all_reduce; swing does " + std::string(name_of(collective.kind)) +
                      " in form bandwidth"};
  if (ranks == 1) return empty_schedule("swing", collective, 1);
  const std::vector<std::int32_t> sides = sides_of(placement);
  const bool grid = placement.fabric == FabricKind::torus || placement.fabric == FabricKind::mesh;
  const auto all_ports = grid ? 2 * static_cast<std::int32_t>(sides.size()) : 1;
  const std::int32_t channels = options.channels.value_or(std::min(all_ports, channels_max));
  const FoldKind fold = in_parts(collective.kind) ? FoldKind::positions : FoldKind::even_extras;
  ButterflyPlan plan{"swing", {}, false};
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    const Copy copy(sides, channel);
    plan.channels.push_back(std::make_shared<const Butterfly>(
        ranks, fold,
        [copy](std::int32_t core, std::int32_t round, std::int32_t) { return copy.peer(core, round); },
        [copy](std::int32_t core) { return copy.position_of(core); }));
  }
  if (whole) return exchange_full_vectors(plan, collective, placement, options);
  return exchange_in_butterflies(plan, collective, placement, options);
}

}  // namespace collsim::algorithms
