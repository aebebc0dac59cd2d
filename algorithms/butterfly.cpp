#include "algorithms/butterfly.hpp"

#include <algorithm>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

// The values of the digits, least significant first.
std::vector<std::int32_t> factors_of(std::int32_t ranks, std::int32_t radix) {
  std::vector<std::int32_t> factors;
  std::int64_t power = 1;
  while (power * radix <= ranks) {
    power *= radix;
    factors.push_back(radix);
  }
  const auto rest = static_cast<std::int32_t>(ranks / power);
  if (rest > 1) factors.push_back(rest);
  return factors;
}

}  // namespace

std::optional<Impossible> check_radix(const AlgorithmOptions& options) {
  if (!options.radix || *options.radix >= 2) return std::nullopt;
  return Impossible{"radix is " + std::to_string(*options.radix) + "; it must be 2 or more"};
}

Butterfly::Butterfly(std::int32_t ranks, std::int32_t radix, DigitOrder order, FoldKind fold)
    : ranks_(ranks), factors_(factors_of(ranks, radix)) {
  for (const std::int32_t factor : factors_) {
    strides_.push_back(size_);
    size_ *= factor;
  }
  if (order == DigitOrder::descending) {
    std::reverse(factors_.begin(), factors_.end());
    std::reverse(strides_.begin(), strides_.end());
  }
  peer_ = [factors = factors_, strides = strides_](std::int32_t core, std::int32_t round,
                                                   std::int32_t shift) {
    const std::int32_t factor = factors[static_cast<std::size_t>(round)];
    const std::int32_t stride = strides[static_cast<std::size_t>(round)];
    const std::int32_t digit = core / stride % factor;
    return core + ((digit + shift) % factor - digit) * stride;
  };
  set_positions([this](std::int32_t core) {
    std::int32_t position = 0;
    for (std::size_t round = 0; round < factors_.size(); ++round)
      position = position * factors_[round] + core / strides_[round] % factors_[round];
    return position;
  });
  place_extras(fold);
}

Butterfly::Butterfly(std::int32_t ranks, FoldKind fold, PeerRule peer,
                     const std::function<std::int32_t(std::int32_t core)>& position_of)
    : ranks_(ranks), factors_(factors_of(ranks, 2)), peer_(std::move(peer)) {
  size_ = 1 << factors_.size();
  set_positions(position_of);
  place_extras(fold);
}

void Butterfly::set_positions(const std::function<std::int32_t(std::int32_t core)>& position_of) {
  std::int32_t unit = size_;
  for (const std::int32_t factor : factors_) units_.push_back(unit /= factor);
  core_at_.resize(static_cast<std::size_t>(size_));
  for (std::int32_t core = 0; core < size_; ++core) {
    const std::int32_t position = position_of(core);
    position_of_.push_back(position);
    core_at_.at(static_cast<std::size_t>(position)) = core;
  }
}

void Butterfly::place_extras(FoldKind fold) {
  for (std::int32_t core = 0; core < size_; ++core) {
    const bool has_extra = (fold == FoldKind::positions ? position_of(core) : core) < extras();
    const auto first = static_cast<Rank>(core_of_.size());
    const bool extra_first = fold != FoldKind::odd_extras;
    rank_of_.push_back(has_extra && extra_first ? first + 1 : first);
    for (std::int32_t i = 0; i < (has_extra ? 2 : 1); ++i) {
      core_of_.push_back(core);
      extra_.push_back(first + i != rank_of_.back());
    }
  }
  COLLSIM_CHECK(core_of_.size() == static_cast<std::size_t>(ranks_));
}

std::optional<Rank> Butterfly::extra_of(std::int32_t core) const {
  const Rank rank = rank_of(core);
  for (const Rank neighbour : {rank - 1, rank + 1})
    if (neighbour >= 0 && neighbour < ranks_ && is_extra(neighbour) && core_of(neighbour) == core)
      return neighbour;
  return std::nullopt;
}

std::vector<Symmetry> butterfly_symmetries(const std::shared_ptr<const Butterfly>& butterfly, bool blocks) {
  std::vector<Symmetry> symmetries;
  for (std::int32_t round = 0; round < butterfly->rounds(); ++round) {
    const std::int32_t stride = butterfly->stride(round);
    const std::int32_t factor = butterfly->factor(round);
    // Else a rank with an extra would turn into one without.
    if (stride == 0 || butterfly->extras() % (stride * factor) != 0) continue;
    Symmetry& symmetry = symmetries.emplace_back();
    symmetry.name = "next of " + std::to_string(factor) + " members " + std::to_string(stride) + " apart";
    symmetry.rank = [butterfly, stride, factor](Rank rank) {
      const std::int32_t core = butterfly->core_of(rank);
      const std::int32_t digit = core / stride % factor;
      const std::int32_t image = core + ((digit + 1) % factor - digit) * stride;
      return butterfly->is_extra(rank) ? *butterfly->extra_of(image) : butterfly->rank_of(image);
    };
    if (blocks) symmetry.block = Rotation{0, butterfly->size(), butterfly->unit(round), factor, 1};
  }
  return symmetries;
}

}  // namespace collsim::algorithms
