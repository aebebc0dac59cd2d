// SizeList: the sizes of one collective on so many ranks, as they are run: whole elements, equal parts.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/findings.hpp"
#include "sim/model/collective.hpp"

namespace collsim::config {

class SizeList {
 public:
  SizeList(CollectiveKind kind, Datatype datatype, std::int64_t ranks, Findings& findings)
      : kind_(kind), datatype_(datatype), ranks_(ranks), findings_(findings) {}

  // What `value`, which was written at `path`, says: a size, or a range of them. A barrier has the size 0.
  void add(const Value& value, const std::string& path);
  // One warning at `key` for all sizes that are not run as they were written.
  void warn_rounded(const std::string& key);

  const std::vector<Bytes>& sizes() const { return sizes_; }
  std::int64_t largest() const { return largest_; }
  const std::string& largest_path() const { return largest_path_; }

 private:
  bool add_size(std::int64_t size, const std::string& path, const Value& value);
  void add_range(const Value& range, const std::string& path);
  std::int64_t rounded(std::int64_t size) const;

  CollectiveKind kind_;
  Datatype datatype_;
  std::int64_t ranks_;
  Findings& findings_;
  std::vector<Bytes> sizes_;
  std::vector<std::pair<std::int64_t, std::int64_t>> rounded_;  // as written, as run
  std::vector<std::int64_t> too_small_;                         // of ranges
  std::int64_t largest_ = 0;
  std::string largest_path_ = "size";
};

}  // namespace collsim::config
