#include "sim/config/sizes.hpp"

#include <algorithm>

#include "sim/core/quantity_text.hpp"

namespace collsim::config {

void SizeList::add(const Value& value, const std::string& path) {
  const bool is_range = !value.keys.empty();
  if (kind_ == CollectiveKind::barrier) {
    if (is_range || value.number != 0)
      findings_.error_at(value.node->where, path, "a barrier moves no data", "no size, or 0 B");
  } else if (is_range) {
    add_range(value, path);
  } else {
    add_size(value.number, path, value);
  }
}

void SizeList::add_range(const Value& range, const std::string& path) {
  const std::int64_t to = range["to"].number;
  if (range["from"].number > to) return findings_.error(path, "'from' is larger than 'to'", "from <= to");
  std::int64_t last = 0;
  for (std::int64_t size = range["from"].number; size <= to; size *= range["factor"].number) {
    last = size;
    if (rounded(size) == 0)
      too_small_.push_back(size);
    else if (!add_size(size, path + ".from", range["from"]))
      return;
  }
  if (rounded(last) > 0) return;
  too_small_.clear();
  add_size(last, path + ".to", range["to"]);
}

// The size that the collective can have: whole elements, as many for each rank where it has parts.
std::int64_t SizeList::rounded(std::int64_t size) const {
  return rounded_to_parts(kind_, Bytes(size), datatype_, static_cast<std::int32_t>(ranks_)).count();
}

bool SizeList::add_size(std::int64_t size, const std::string& path, const Value& value) {
  const int element = element_bytes(datatype_);
  const std::string type(name_of(datatype_));
  if (size % element != 0) {
    findings_.error_at(value.node->where, path,
                       quoted(value.node->text) + " is no whole number of elements of " + type,
                       "a multiple of " + std::to_string(element) + " B");
    return false;
  }
  const std::int64_t effective = rounded(size);
  if (effective == 0 && size > 0) {
    findings_.error_at(value.node->where, path,
                       quoted(value.node->text) + " is less than one element of " + type + " for each of " +
                           std::to_string(ranks_) + " ranks",
                       "at least " + text_from(Bytes(element * ranks_)));
    return false;
  }
  if (effective != size) rounded_.push_back({size, effective});
  if (size > largest_) {
    largest_ = size;
    largest_path_ = path;
  }
  sizes_.emplace_back(effective);
  return true;
}

void SizeList::warn_rounded(const std::string& key) {
  constexpr std::size_t named_max = 4;
  const std::string ranks = std::to_string(ranks_) + " ranks";
  const auto listed = [&](std::size_t count, const auto& text) {
    std::string list;
    for (std::size_t i = 0; i < std::min(count, named_max); ++i) list += (i > 0 ? ", " : "") + text(i);
    if (count > named_max) list += " and " + std::to_string(count - named_max) + " more";
    return list;
  };
  if (!rounded_.empty())
    findings_.warn(
        key, "rounded down to equal parts for " + ranks + ": " + listed(rounded_.size(), [&](std::size_t i) {
               return text_from(Bytes(rounded_[i].first)) + " to " + text_from(Bytes(rounded_[i].second));
             }));
  if (!too_small_.empty())
    findings_.warn(
        key, "less than one element for each of " + ranks + ", left out: " +
                 listed(too_small_.size(), [&](std::size_t i) { return text_from(Bytes(too_small_[i])); }));
}

}  // namespace collsim::config
