// Layout: how a schedule cuts the vector of `elements` into regions and blocks.
//
// The vector is first cut into regions by nested even partition (for instance {channels, slices}), then every
// region into the same number of blocks, again evenly: of `count` elements in n parts, the first (count mod
// n) parts have one more. A part can be empty. A cell is one block of one region; cells are numbered region *
// blocks + block.
//
// Parts       A collective with a part a rank (reduce_scatter, all_gather, ...; sim/model/collective.hpp)
//             has one block a part, and region g of it holds the g-th piece of every part: in_parts() cuts
//             the part into regions and gives all blocks of a region the same size. Which rank a block
//             belongs to is Schedule::owner. The pieces of a part lie side by side in memory, regions do not.
// Scratch     is as many regions, each with blocks like the region of the same number (modulo regions()) of
//             the vector; or one region of blocks that are all like block 0 of region 0.
//
// Order       size_bytes and offset_bytes are O(1). Memory is O(regions).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

class Layout {
 public:
  Layout() : Layout(0, 1, {}, 1) {}
  // REQUIRES: elements >= 0, every factor >= 1, blocks >= 1
  Layout(std::int64_t elements, std::int32_t element_bytes, const std::vector<std::int32_t>& region_factors,
         std::int32_t blocks);

  // REQUIRES: elements is a multiple of parts
  static Layout in_parts(std::int64_t elements, std::int32_t element_bytes,
                         const std::vector<std::int32_t>& region_factors, std::int32_t parts);

  // Scratch of `regions` regions like those of the vector, or of `blocks` blocks in one region.
  void set_scratch_regions(std::int32_t regions);
  void set_scratch_blocks(std::int32_t blocks);
  std::int32_t scratch_regions() const { return scratch_regions_; }
  std::int32_t scratch_blocks() const { return scratch_blocks_ > 0 ? scratch_blocks_ : blocks_; }  // a region
  std::int64_t scratch_cells() const { return std::int64_t{scratch_regions_} * scratch_blocks(); }
  Bytes scratch_size(std::int32_t region, std::int32_t block, std::int32_t span) const {
    return scratch_blocks_ > 0 ? Bytes(span * size(0, 0, 1).count()) : size(region % regions(), block, span);
  }

  std::int32_t regions() const { return static_cast<std::int32_t>(start_.size()) - 1; }
  std::int32_t blocks() const { return blocks_; }
  std::int64_t cells() const { return std::int64_t{regions()} * blocks_; }
  std::int32_t element_bytes() const { return element_bytes_; }

  // First byte of block `block` of `region`; block may be blocks() (the end of the region).
  std::int64_t offset_bytes(std::int32_t region, std::int32_t block) const {
    const std::int64_t begin = start_[static_cast<std::size_t>(region)];
    const std::int64_t count = start_[static_cast<std::size_t>(region) + 1] - begin;
    const std::int64_t quotient = quotient_[static_cast<std::size_t>(region)];
    const std::int64_t rest = count - quotient * blocks_;
    return (begin + quotient * block + (block < rest ? block : rest)) * element_bytes_;
  }
  // Bytes of blocks [block, block + span) of `region`.
  Bytes size(std::int32_t region, std::int32_t block, std::int32_t span) const {
    return Bytes(offset_bytes(region, block + span) - offset_bytes(region, block));
  }

 private:
  std::int32_t element_bytes_ = 1;
  std::int32_t blocks_ = 1;
  std::int32_t scratch_regions_ = 0;
  std::int32_t scratch_blocks_ = 0;     // 0: as the vector
  std::vector<std::int64_t> start_;     // [region]: its first element; one more entry holds the end
  std::vector<std::int64_t> quotient_;  // [region]: elements / blocks
};

}  // namespace collsim
