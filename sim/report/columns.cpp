#include "sim/report/columns.hpp"

#include <algorithm>

#include "sim/core/check.hpp"

namespace collsim {

void Columns::add(std::vector<std::string> cells) {
  COLLSIM_CHECK(cells.size() == aligns_.size());
  rows_.push_back(std::move(cells));
}

std::string Columns::text(const std::string& indent, std::size_t width) const {
  std::vector<std::size_t> widths(aligns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t total = indent.size();
  for (const std::size_t each : widths) total += each;
  const std::size_t gap = total + 2 * (widths.size() - 1) <= width ? 2 : 1;

  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(gap, ' ');
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += aligns_[i] == Align::right ? padding + row[i] : row[i] + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + '\n';
  }
  return text;
}

}  // namespace collsim
