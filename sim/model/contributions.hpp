// Contributions: what a cell holds, as a set that says whose cells are in it and how often, and the sentence
// that says what is wrong with it. For those who find wrong results, be it symbolically (proof_sets.hpp) or
// by running a schedule (kernels/diagnosis.hpp).
//
// Complexity  O(contributions); wanted_in() O(ranks).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/model/contract.hpp"
#include "sim/model/layout.hpp"
#include "sim/model/schedule.hpp"

namespace collsim {

// From undefined_from on, a contribution's cell is what lay in cell - undefined_from before anyone had
// written it. Cells of scratch come after those of output.
constexpr std::int64_t undefined_from = std::int64_t{1} << 40;

// How often the contribution of (rank, cell) is in a sum.
struct Contribution {
  Rank rank = 0;
  std::int64_t cell = 0;
  std::int64_t count = 1;
  auto key() const { return std::pair(rank, cell); }
};
using Contributions = std::vector<Contribution>;  // sorted by key

// What a cell holds before anyone has written it. `holds`: contributions lie in its buffer.
Contribution held_before(const Contract& contract, std::int64_t output_cells, Rank rank, std::int64_t cell,
                         bool holds);
// What a rank must hold in a cell. REQUIRES: it wants the cell
Contributions wanted_in(const Contract& contract, Rank rank, std::int64_t cell, std::int32_t ranks);
// "block 2 of region 0"
std::string text_of_cell(const Layout& layout, std::int64_t cell);
// "holds rank 1 twice and lacks rank 5"; empty where there is no difference.
std::string difference_of(const Layout& layout, const Contributions& found, const Contributions& wanted,
                          std::int64_t cell);

}  // namespace collsim
