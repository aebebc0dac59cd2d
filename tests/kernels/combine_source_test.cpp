// The source of the device kernel, run on the host, against elements combined one at a time: every datatype,
// reduction and number of sources; sizes, alignments, destinations, places and grids taken in turn.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/combine.hpp"
#include "kernels/combine_kernel.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/elements.hpp"
#include "sim/core/random.hpp"
#include "tests/kernels/all_types.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

constexpr const auto& datatypes = testing::all_datatypes;
constexpr const auto& reductions = testing::all_reductions;
constexpr std::array<GridShape, 5> shapes = {{{4, 64}, {1, 1}, {2, 256}, {7, 5}, {1, 96}}};
constexpr std::size_t guard = 64;
constexpr std::byte guard_byte{0xa5};

// Bytes between guards, so many past a multiple of 16.
struct Buffer {
  Buffer(std::int64_t bytes, std::size_t offset)
      : memory(guard + offset + static_cast<std::size_t>(bytes) + guard, guard_byte),
        start(guard + offset),
        size(static_cast<std::size_t>(bytes)) {}
  std::byte* data() { return memory.data() + start; }
  const std::byte* data() const { return memory.data() + start; }
  bool guarded() const {
    for (std::size_t i = 0; i < memory.size(); ++i)
      if ((i < start || i >= start + size) && memory[i] != guard_byte) return false;
    return true;
  }
  std::vector<std::byte> memory;
  std::size_t start;
  std::size_t size;
};

// Numbers that do not drown each other, and now and then any bits: NaN, infinities, subnormals.
void draw(Datatype datatype, Random& random, Buffer& buffer) {
  const auto step = static_cast<std::size_t>(element_bytes(datatype));
  for (std::size_t at = 0; at < buffer.size; at += step) {
    const std::uint64_t bits = random.next();
    const std::uint64_t choice = random.below(8);
    const std::uint64_t number = random.below(256);
    if (is_float(datatype) && choice != 0) {
      store_element(datatype, (static_cast<double>(number) - 128) / 32, buffer.data() + at);
    } else {
      std::memcpy(buffer.data() + at, &bits, step);
    }
  }
}

bool same_element(Datatype datatype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(element_bytes(datatype))) == 0) return true;
  return is_float(datatype) && std::isnan(element_value(datatype, a)) &&
         std::isnan(element_value(datatype, b));
}

bool is_narrow_float(Datatype datatype) { return is_float(datatype) && element_bytes(datatype) < 4; }

// What an element must become: narrow floats are combined in float32 and rounded at the end.
void expected_element(Datatype datatype, ReductionOp reduction, const std::vector<Buffer>& sources,
                      std::size_t at, std::byte* result) {
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  std::memcpy(result, sources[0].data() + at, size);
  if (sources.size() == 1) return;
  if (!is_narrow_float(datatype)) {
    for (std::size_t i = 1; i < sources.size(); ++i)
      combine_elements(datatype, reduction, result, sources[i].data() + at, result);
    return;
  }
  std::array<std::byte, 4> sum{};
  std::array<std::byte, 4> next{};
  store_element(Datatype::float32, element_value(datatype, result), sum.data());
  for (std::size_t i = 1; i < sources.size(); ++i) {
    store_element(Datatype::float32, element_value(datatype, sources[i].data() + at), next.data());
    combine_elements(Datatype::float32, reduction, sum.data(), next.data(), sum.data());
  }
  store_element(datatype, element_value(Datatype::float32, sum.data()), result);
}

struct ItemShape {
  std::int64_t elements = 0;
  int sources = 1;
  int destinations = 1;
  std::size_t offset = 0;  // of all places, in elements, modulo 16 bytes
  std::size_t unlike = 0;  // by so many elements each place is further on than the one before
  int in_place = -1;       // the source that is destination 0
};

// An item with its memory.
class Work {
 public:
  Work(Datatype datatype, const ItemShape& shape, Random& random) : datatype_(datatype), shape_(shape) {
    const auto size = static_cast<std::size_t>(element_bytes(datatype));
    const std::int64_t bytes = shape.elements * element_bytes(datatype);
    std::size_t place = 0;
    const auto offset = [&] { return (shape.offset + shape.unlike * place++) * size % 16; };
    for (int i = 0; i < shape.sources; ++i) {
      sources_.emplace_back(bytes, offset());
      draw(datatype, random, sources_.back());
    }
    for (int i = 0; i < shape.destinations; ++i) destinations_.emplace_back(bytes, offset());
    before_ = sources_;
  }
  // Kept by address: not to be moved after this.
  CombineItem item() {
    CombineItem item;
    item.source_count = shape_.sources;
    item.destination_count = shape_.destinations;
    item.bytes = shape_.elements * element_bytes(datatype_);
    for (std::size_t i = 0; i < sources_.size(); ++i) item.sources[i] = sources_[i].data();
    for (std::size_t i = 0; i < destinations_.size(); ++i) item.destinations[i] = destinations_[i].data();
    if (shape_.in_place >= 0)
      item.destinations[0] = sources_[static_cast<std::size_t>(shape_.in_place)].data();
    return item;
  }
  // What is wrong, or nothing.
  std::string fault(ReductionOp reduction) const {
    const auto size = static_cast<std::size_t>(element_bytes(datatype_));
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!sources_[i].guarded()) return "a guard of source " + std::to_string(i);
      if (static_cast<int>(i) != shape_.in_place && sources_[i].memory != before_[i].memory)
        return "source " + std::to_string(i) + " was written";
    }
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
      const bool in_place = i == 0 && shape_.in_place >= 0;
      const Buffer& found = in_place ? sources_[static_cast<std::size_t>(shape_.in_place)] : destinations_[i];
      if (!found.guarded()) return "a guard of destination " + std::to_string(i);
      for (std::size_t at = 0; at < found.size; at += size) {
        std::array<std::byte, 8> expected{};
        expected_element(datatype_, reduction, before_, at, expected.data());
        if (!same_element(datatype_, found.data() + at, expected.data()))
          return "byte " + std::to_string(at) + " of destination " + std::to_string(i) + ": " +
                 text_of_element(datatype_, found.data() + at) + " for " +
                 text_of_element(datatype_, expected.data());
      }
    }
    return {};
  }

 private:
  Datatype datatype_;
  ItemShape shape_;
  std::vector<Buffer> sources_;
  std::vector<Buffer> before_;
  std::vector<Buffer> destinations_;
};

// Runs all items in one launch.
std::string fault_of(Datatype datatype, ReductionOp reduction, const std::vector<ItemShape>& items,
                     GridShape grid, Random& random) {
  std::vector<Work> works;
  works.reserve(items.size());
  for (const ItemShape& item : items) works.emplace_back(datatype, item, random);
  std::vector<CombineItem> launched;
  launched.reserve(works.size());
  for (Work& work : works) launched.push_back(work.item());
  combine_by_kernel_source(launched, datatype, reduction, grid);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const std::string fault = works[i].fault(reduction);
    if (!fault.empty()) return "item " + std::to_string(i) + ", " + fault;
  }
  return {};
}

std::string name_of_case(Datatype datatype, ReductionOp reduction, int sources) {
  return std::string(name_of(datatype)) + " " + std::string(name_of(reduction)) + " of " +
         std::to_string(sources);
}

}  // namespace

TEST_CASE("Every datatype with every reduction of up to eight sources is right in all shapes") {
  constexpr std::array<std::int64_t, 9> sizes = {0, 1, 2, 15, 16, 17, 100, 333, 4095};
  Random random(11);
  std::size_t turn = 0;  // sizes, grids, ... have counts without a common factor, so all meet all
  for (const Datatype datatype : datatypes)
    for (const ReductionOp reduction : reductions)
      for (int sources = 1; sources <= sources_max; ++sources) {
        std::vector<ItemShape> items;
        for (int i = 0; i < 4; ++i, ++turn) {
          ItemShape item;
          item.elements = sizes[turn % sizes.size()];
          item.sources = sources;
          item.destinations = 1 + static_cast<int>(turn % 2);
          item.offset = turn % 7;
          item.unlike = turn % 11 < 5 ? 0 : turn % 11 - 4;
          item.in_place = static_cast<int>(turn % 3) - 1 < sources ? static_cast<int>(turn % 3) - 1 : -1;
          items.push_back(item);
        }
        const GridShape grid = shapes[turn / 4 % shapes.size()];
        const std::string fault = fault_of(datatype, reduction, items, grid, random);
        CHECK_MESSAGE(fault.empty(), name_of_case(datatype, reduction, sources), ": ", fault);
      }
}

TEST_CASE("Items of many tiles are right at every alignment") {
  Random random(12);
  std::size_t turn = 0;
  for (const Datatype datatype : datatypes)
    for (const std::size_t unlike : {0U, 1U, 2U, 4U, 8U}) {
      for (const int sources : {1, 2}) {
        const ItemShape large = {65537,     sources, 1 + static_cast<int>(turn % 2),
                                 turn % 16, unlike,  unlike == 0 ? 0 : -1};
        const ItemShape small = {3, sources, 1, 1, unlike, -1};
        const ReductionOp reduction = reductions[turn % reductions.size()];
        const GridShape grid = shapes[turn % shapes.size()];
        const std::string fault = fault_of(datatype, reduction, {small, large, small}, grid, random);
        CHECK_MESSAGE(fault.empty(), name_of_case(datatype, reduction, sources), ", unlike by ", unlike, ": ",
                      fault);
        ++turn;
      }
    }
}

TEST_CASE("Copies and reductions of any number of sources share a launch") {
  Random random(13);
  for (const Datatype datatype : datatypes) {
    std::vector<ItemShape> items;
    for (int sources = 1; sources <= sources_max; ++sources)
      items.push_back(
          {1000 * sources, sources, 1 + sources % 2, static_cast<std::size_t>(sources % 3), 0, -1});
    const std::string fault = fault_of(datatype, ReductionOp::sum, items, {3, 128}, random);
    CHECK_MESSAGE(fault.empty(), name_of(datatype), ": ", fault);
  }
}

TEST_CASE("Two sources give what combine_elements gives") {
  Random random(14);
  for (const Datatype datatype : datatypes)
    for (const ReductionOp reduction : reductions) {
      Buffer a(2000 * element_bytes(datatype), 0);
      Buffer b = a;
      Buffer result = a;
      draw(datatype, random, a);
      draw(datatype, random, b);
      CombineItem item;
      item.sources = {a.data(), b.data()};
      item.destinations = {result.data()};
      item.source_count = 2;
      item.bytes = static_cast<std::int64_t>(a.size);
      combine_by_kernel_source({&item, 1}, datatype, reduction);
      int wrong = 0;
      for (std::size_t at = 0; at < a.size; at += static_cast<std::size_t>(element_bytes(datatype))) {
        std::array<std::byte, 8> expected{};
        combine_elements(datatype, reduction, a.data() + at, b.data() + at, expected.data());
        wrong += same_element(datatype, result.data() + at, expected.data()) ? 0 : 1;
      }
      CHECK_MESSAGE(wrong == 0, name_of_case(datatype, reduction, 2));
    }
}

TEST_CASE("Narrow floats are rounded once over all sources") {
  // 2048 + 1 is 2048 in float16, so that rounding after each source would lose all of the ones.
  std::array<std::byte, 2> large{};
  std::array<std::byte, 2> one{};
  std::array<std::byte, 2> result{};
  store_element(Datatype::float16, 2048, large.data());
  store_element(Datatype::float16, 1, one.data());
  CombineItem item;
  item.sources = {large.data(), one.data(), one.data(), one.data(), one.data()};
  item.source_count = 5;
  item.destinations = {result.data()};
  item.bytes = 2;
  combine_by_kernel_source({&item, 1}, Datatype::float16, ReductionOp::sum);
  CHECK(element_value(Datatype::float16, result.data()) == 2052);
}

TEST_CASE("Every element is divided once at every size and alignment") {
  Random random(15);
  std::size_t turn = 0;
  for (const Datatype datatype : datatypes)
    for (const std::int64_t elements : {0, 1, 2, 15, 16, 17, 100, 4097})
      for (const std::int64_t divisor : {1, 2, 3, 8, 1000}) {
        const auto size = static_cast<std::size_t>(element_bytes(datatype));
        Buffer data(elements * element_bytes(datatype), turn % 16 * size % 16);
        draw(datatype, random, data);
        Buffer expected = data;
        for (std::size_t at = 0; at < data.size; at += size)
          divide_element(datatype, divisor, expected.data() + at);
        divide_by_kernel_source(data.data(), elements * element_bytes(datatype), datatype, divisor,
                                shapes[turn++ % shapes.size()]);
        int wrong = data.guarded() ? 0 : 1;
        for (std::size_t at = 0; at < data.size; at += size)
          wrong += same_element(datatype, data.data() + at, expected.data() + at) ? 0 : 1;
        CHECK_MESSAGE(wrong == 0, name_of(datatype), " of ", elements, " by ", divisor);
      }
}

TEST_CASE("A launch list numbers the tiles of its items") {
  std::array<CombineItem, 5> items;
  items[0].bytes = 1;
  items[1].bytes = 0;
  items[2].bytes = tile_bytes;
  items[3].bytes = 2 * tile_bytes + 1;
  items[4].bytes = 0;
  const LaunchList list = launch_list(items);
  REQUIRE(list.items.size() == 5);
  const std::array<std::int64_t, 5> first = {0, 1, 1, 2, 5};
  for (std::size_t i = 0; i < 5; ++i) CHECK(list.items[i].first_tile == first[i]);
  CHECK(list.tiles == 5);
  const std::array<std::int32_t, 5> item_of = {0, 2, 3, 3, 3};
  for (std::size_t tile = 0; tile < 5; ++tile)
    CHECK(item_of_tile(list.items.data(), 5, static_cast<std::int64_t>(tile)) == item_of[tile]);
  CHECK(launch_list({}).tiles == 0);
}
