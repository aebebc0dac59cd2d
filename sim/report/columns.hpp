// Columns: cells of text laid out in columns, each as wide as its widest cell.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace collsim {

enum class Align { left, right };

class Columns {
 public:
  explicit Columns(std::vector<Align> aligns) : aligns_(std::move(aligns)) {}
  // REQUIRES: as many cells as columns
  void add(std::vector<std::string> cells);
  std::size_t row_count() const { return rows_.size(); }
  // Every row as one line that starts with `indent`, without trailing blanks. Columns are two blanks apart,
  // or one where two would make a line longer than `width`.
  std::string text(const std::string& indent, std::size_t width) const;

 private:
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace collsim
