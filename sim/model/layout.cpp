#include "sim/model/layout.hpp"

#include "sim/core/check.hpp"

namespace collsim {
namespace {

// Replaces every part [start[i], start[i+1]) by `factor` even parts.
std::vector<std::int64_t> split(const std::vector<std::int64_t>& start, std::int32_t factor) {
  std::vector<std::int64_t> result;
  result.reserve((start.size() - 1) * static_cast<std::size_t>(factor) + 1);
  for (std::size_t part = 0; part + 1 < start.size(); ++part) {
    const std::int64_t count = start[part + 1] - start[part];
    const std::int64_t quotient = count / factor;
    const std::int64_t rest = count % factor;
    for (std::int32_t piece = 0; piece < factor; ++piece)
      result.push_back(start[part] + quotient * piece + (piece < rest ? piece : rest));
  }
  result.push_back(start.back());
  return result;
}

}  // namespace

Layout::Layout(std::int64_t elements, std::int32_t element_bytes,
               const std::vector<std::int32_t>& region_factors, std::int32_t blocks)
    : element_bytes_(element_bytes), blocks_(blocks), start_{0, elements} {
  COLLSIM_CHECK(elements >= 0 && element_bytes >= 1 && blocks >= 1);
  for (const std::int32_t factor : region_factors) {
    COLLSIM_CHECK(factor >= 1);
    start_ = split(start_, factor);
  }
  for (std::size_t region = 0; region + 1 < start_.size(); ++region)
    quotient_.push_back((start_[region + 1] - start_[region]) / blocks_);
}

Layout Layout::in_parts(std::int64_t elements, std::int32_t element_bytes,
                        const std::vector<std::int32_t>& region_factors, std::int32_t parts) {
  COLLSIM_CHECK(parts >= 1 && elements % parts == 0);
  Layout layout(elements / parts, element_bytes, region_factors, 1);
  layout.blocks_ = parts;
  layout.quotient_.clear();
  for (std::size_t region = 0; region + 1 < layout.start_.size(); ++region)
    layout.quotient_.push_back(layout.start_[region + 1] - layout.start_[region]);
  for (std::int64_t& start : layout.start_) start *= parts;
  return layout;
}

void Layout::set_scratch_regions(std::int32_t regions) {
  COLLSIM_CHECK(regions >= 0);
  scratch_regions_ = regions;
  scratch_blocks_ = 0;
}

void Layout::set_scratch_blocks(std::int32_t blocks) {
  COLLSIM_CHECK(blocks >= 0);
  scratch_regions_ = blocks > 0 ? 1 : 0;
  scratch_blocks_ = blocks;
}

}  // namespace collsim
