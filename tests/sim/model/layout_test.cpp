// Layout: nested even partition.
#include "sim/model/layout.hpp"

#include <doctest/doctest.h>

using namespace collsim;

TEST_CASE("Layout gives the first parts one element more") {
  const Layout layout(1000, 4, {}, 7);
  CHECK(layout.regions() == 1);
  CHECK(layout.cells() == 7);
  for (std::int32_t block = 0; block < 7; ++block)
    CHECK(layout.size(0, block, 1) == Bytes(4 * (block < 6 ? 143 : 142)));
  CHECK(layout.size(0, 0, 7) == Bytes(4000));
  CHECK(layout.size(0, 5, 2) == Bytes(4 * 285));
}

TEST_CASE("Layout cuts regions first, then blocks") {
  const Layout layout(11, 1, {2, 3}, 2);  // 6 + 5; 2 2 2 and 2 2 1
  CHECK(layout.regions() == 6);
  const std::vector<std::int64_t> offsets = {0, 2, 4, 6, 8, 10};
  for (std::int32_t region = 0; region < 6; ++region)
    CHECK(layout.offset_bytes(region, 0) == offsets[static_cast<std::size_t>(region)]);
  CHECK(layout.size(5, 0, 1) == Bytes(1));
  CHECK(layout.size(5, 1, 1) == Bytes(0));
  CHECK(layout.offset_bytes(5, 2) == 11);
}

TEST_CASE("Layout parts are contiguous, even to one element, and cover the vector") {
  for (std::int64_t elements = 0; elements <= 40; ++elements)
    for (const std::int32_t channels : {1, 2, 3})
      for (const std::int32_t slices : {1, 4})
        for (const std::int32_t blocks : {1, 2, 5}) {
          const Layout layout(elements, 4, {channels, slices}, blocks);
          std::int64_t end = 0;
          for (std::int32_t region = 0; region < layout.regions(); ++region) {
            std::int64_t least = elements * 4;
            std::int64_t most = 0;
            for (std::int32_t block = 0; block < blocks; ++block) {
              CHECK(layout.offset_bytes(region, block) == end);
              const std::int64_t size = layout.size(region, block, 1).count();
              end += size;
              least = std::min(least, size);
              most = std::max(most, size);
            }
            CHECK(most - least <= 4);
          }
          CHECK(end == elements * 4);
        }
}

TEST_CASE("Layout of nothing has empty parts") {
  const Layout layout;
  CHECK(layout.cells() == 1);
  CHECK(layout.size(0, 0, 1) == Bytes(0));
}
