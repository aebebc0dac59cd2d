#include "sim/model/contributions.hpp"

#include <algorithm>
#include <cstddef>

#include "sim/model/dataflow.hpp"

namespace collsim {
namespace {

constexpr std::size_t names_max = 5;  // contributions named in one list of a text

Chunk chunk_of(const Layout& layout, std::int64_t cell) {
  Chunk chunk;
  std::int32_t blocks = layout.blocks();
  if (cell >= layout.cells()) {
    chunk.buffer = Buffer::scratch;
    cell -= layout.cells();
    blocks = layout.scratch_blocks();
  }
  chunk.region = static_cast<std::int32_t>(cell / blocks);
  chunk.block = static_cast<std::int32_t>(cell % blocks);
  return chunk;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < names_max; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > names_max) text += " and " + std::to_string(names.size() - names_max) + " more";
  return text;
}

// "rank 5", or with the cell where that is another one.
std::string name_of(const Layout& layout, const Contribution& entry, std::int64_t cell) {
  const std::string rank = "rank " + std::to_string(entry.rank);
  if (entry.cell == cell) return rank;
  if (entry.cell < undefined_from) return text_of(chunk_of(layout, entry.cell)) + " of " + rank;
  return "what was in " + text_of(chunk_of(layout, entry.cell - undefined_from)) + " of " + rank + " before";
}

}  // namespace

Contribution held_before(const Contract& contract, std::int64_t output_cells, Rank rank, std::int64_t cell,
                         bool holds) {
  const bool given = holds && cell < output_cells && contract.gives(rank, cell);
  return Contribution{rank, given ? cell : cell + undefined_from, 1};
}

Contributions wanted_in(const Contract& contract, Rank rank, std::int64_t cell, std::int32_t ranks) {
  Contributions result;
  if (contract.wants(rank, cell) == Contract::Wants::copy) {
    const Contract::Origin origin = contract.origin(rank, cell);
    result.push_back(Contribution{origin.rank, origin.cell, 1});
  } else {
    for (Rank other = 0; other < ranks; ++other) result.push_back(Contribution{other, cell, 1});
  }
  return result;
}

std::string text_of_cell(const Layout& layout, std::int64_t cell) { return text_of(chunk_of(layout, cell)); }

std::string difference_of(const Layout& layout, const Contributions& found, const Contributions& wanted,
                          std::int64_t cell) {
  const auto has = [](const Contributions& set, const Contribution& entry) {
    return std::any_of(set.begin(), set.end(),
                       [&](const Contribution& other) { return other.key() == entry.key(); });
  };
  std::vector<std::string> surplus;
  for (const Contribution& entry : found) {
    if (entry.count == 1 && has(wanted, entry)) continue;
    std::string name = name_of(layout, entry, cell);
    if (entry.count == 2) name += " twice";
    if (entry.count > 2) name += " " + std::to_string(entry.count) + " times";
    surplus.push_back(name);
  }
  std::vector<std::string> missing;
  for (const Contribution& entry : wanted)
    if (!has(found, entry)) missing.push_back(name_of(layout, entry, cell));
  std::string text = surplus.empty() ? "" : "holds " + list_of(surplus);
  if (!missing.empty()) text += (text.empty() ? "lacks " : " and lacks ") + list_of(missing);
  return text;
}

}  // namespace collsim
