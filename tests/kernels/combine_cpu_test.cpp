#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "kernels/combine.hpp"
#include "kernels/elements.hpp"
#include "kernels/stream_store.hpp"
#include "sim/core/random.hpp"
#include "tests/kernels/all_types.hpp"

using namespace collsim;
using namespace collsim::kernels;

namespace {

constexpr const auto& datatypes = testing::all_datatypes;
constexpr const auto& reductions = testing::all_reductions;
constexpr std::byte guard{0x5c};
constexpr std::int64_t guard_size = 192;

// Memory with a guard on both sides, that starts so many bytes past a multiple of 64.
class Guarded {
 public:
  Guarded(std::int64_t bytes, std::int64_t misalignment)
      : bytes_(bytes), memory_(static_cast<std::size_t>(bytes + 2 * guard_size + 128), guard) {
    const auto first = reinterpret_cast<std::uintptr_t>(memory_.data() + guard_size);
    begin_ = guard_size + static_cast<std::int64_t>((64 - first % 64) % 64) + misalignment;
  }
  std::byte* data() { return memory_.data() + begin_; }
  std::span<std::byte> bytes() { return {data(), static_cast<std::size_t>(bytes_)}; }
  bool guards_hold() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    return std::all_of(memory_.begin(), memory_.begin() + begin_, is_guard) &&
           std::all_of(memory_.begin() + begin_ + bytes_, memory_.end(), is_guard);
  }

 private:
  std::int64_t bytes_;
  std::int64_t begin_ = 0;
  std::vector<std::byte> memory_;
};

void fill_random(std::span<std::byte> bytes, Random& random) {
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  for (; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(random.next() & 0xff);
}

// Every other element is near 1, so that sums round and products stay finite; the rest is any bits: NaN,
// infinities, subnormal numbers, zeros.
void fill_elements(std::span<std::byte> bytes, Datatype datatype, Random& random) {
  fill_random(bytes, random);
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  constexpr std::array special = {0.0, -0.0, 1.0, -1.0, 0.0625};
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    const std::uint64_t draw = random.below(8);
    if (!is_float(datatype) || draw >= 5) continue;
    if (draw < 1) {
      store_element(datatype, special[random.below(special.size())], bytes.data() + at);
    } else {
      store_element(datatype, static_cast<double>(random.below(1 << 20)) / (1 << 19) - 1, bytes.data() + at);
    }
  }
}

// Of two NaN any may come out of a sum in float32 and float64: the operands' order is the compiler's.
bool same_element(Datatype datatype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(element_bytes(datatype))) == 0) return true;
  if (datatype != Datatype::float32 && datatype != Datatype::float64) return false;
  const double x = element_value(datatype, a);
  const double y = element_value(datatype, b);
  return x != x && y != y;
}

// Elements that are not alike.
std::int64_t differences(Datatype datatype, std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  std::int64_t count = 0;
  for (std::size_t at = 0; at < a.size(); at += size)
    if (!same_element(datatype, a.data() + at, b.data() + at)) ++count;
  return count;
}

bool is_narrow(Datatype datatype) {
  return is_float(datatype) && datatype != Datatype::float32 && datatype != Datatype::float64;
}

// ((source0 op source1) op source2) ... element by element; narrow floats in float32, rounded at the end.
std::vector<std::byte> reference(const std::vector<std::span<const std::byte>>& sources, Datatype datatype,
                                 ReductionOp reduction) {
  const auto size = static_cast<std::size_t>(element_bytes(datatype));
  std::vector<std::byte> result(sources[0].begin(), sources[0].end());
  if (sources.size() == 1) return result;
  for (std::size_t at = 0; at < result.size(); at += size) {
    if (sources.size() == 2 || !is_narrow(datatype)) {
      for (std::size_t k = 1; k < sources.size(); ++k)
        combine_elements(datatype, reduction, result.data() + at, sources[k].data() + at, result.data() + at);
      continue;
    }
    auto sum = static_cast<float>(element_value(datatype, result.data() + at));
    for (std::size_t k = 1; k < sources.size(); ++k) {
      const auto next = static_cast<float>(element_value(datatype, sources[k].data() + at));
      combine_elements(Datatype::float32, reduction, reinterpret_cast<const std::byte*>(&sum),
                       reinterpret_cast<const std::byte*>(&next), reinterpret_cast<std::byte*>(&sum));
    }
    store_element(datatype, static_cast<double>(sum), result.data() + at);
  }
  return result;
}

struct Shape {
  int sources = 2;
  int destinations = 1;
  std::int64_t elements = 1;
  std::int64_t misalignment = 0;  // elements; the k-th place has k times as many
  int in_place = -1;              // the source that is the first destination
};

// Runs one item and compares it with the reference. Returns the elements that differ; guards are checked.
std::int64_t run(const Shape& shape, Datatype datatype, ReductionOp reduction, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t size = element_bytes(datatype);
  std::vector<Guarded> places;
  for (std::int64_t k = 0; k < shape.sources + shape.destinations; ++k)
    places.push_back(Guarded(shape.elements * size, k * shape.misalignment * size % 64));
  CombineItem item;
  item.source_count = shape.sources;
  item.destination_count = shape.destinations;
  item.bytes = shape.elements * size;
  std::vector<std::span<const std::byte>> sources;
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.sources); ++k) {
    fill_elements(places[k].bytes(), datatype, random);
    item.sources[k] = places[k].data();
    sources.push_back(places[k].bytes());
  }
  std::vector<std::span<std::byte>> destinations;
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.destinations); ++k)
    destinations.push_back(places[static_cast<std::size_t>(shape.sources) + k].bytes());
  if (shape.in_place >= 0) destinations[0] = places[static_cast<std::size_t>(shape.in_place)].bytes();
  for (std::size_t k = 0; k < destinations.size(); ++k) item.destinations[k] = destinations[k].data();

  const std::vector<std::byte> expected = reference(sources, datatype, reduction);
  combine_on_cpu(item, datatype, reduction);
  std::int64_t wrong = 0;
  for (const auto& destination : destinations) wrong += differences(datatype, destination, expected);
  for (const Guarded& place : places) CHECK(place.guards_hold());
  return wrong;
}

template <class Function>
void for_each_kind(Function function) {
  for (const Datatype datatype : datatypes) {
    for (const ReductionOp reduction : reductions) {
      INFO(name_of(datatype), " ", name_of(reduction));
      function(datatype, reduction);
    }
  }
}

}  // namespace

TEST_CASE("CPU loops combine up to eight sources into one or two destinations as the elements do") {
  for_each_kind([](Datatype datatype, ReductionOp reduction) {
    for (int sources = 1; sources <= sources_max; ++sources) {
      for (int destinations = 1; destinations <= destinations_max; ++destinations) {
        for (const std::int64_t elements : {0, 1, 7, 33, 1'023, 1'025}) {
          CAPTURE(sources);
          CAPTURE(destinations);
          CAPTURE(elements);
          const auto seed = static_cast<std::uint64_t>(elements + 10 * sources);
          CHECK(run({sources, destinations, elements, 0, -1}, datatype, reduction, seed) == 0);
        }
      }
    }
  });
}

TEST_CASE("CPU loops take places of any alignment") {
  for_each_kind([](Datatype datatype, ReductionOp reduction) {
    for (const int sources : {1, 2, 3}) {
      for (std::int64_t misalignment = 1; misalignment < 6; ++misalignment) {
        CAPTURE(sources);
        CAPTURE(misalignment);
        CHECK(run({sources, 2, 1'100, misalignment, -1}, datatype, reduction, 5) == 0);
      }
    }
  });
}

TEST_CASE("CPU loops write over any one of their sources") {
  for_each_kind([](Datatype datatype, ReductionOp reduction) {
    for (const int sources : {1, 2, 5}) {
      for (int in_place = 0; in_place < sources; ++in_place) {
        CAPTURE(sources);
        CAPTURE(in_place);
        CHECK(run({sources, 1, 2'500, 0, in_place}, datatype, reduction, 6) == 0);
        CHECK(run({sources, 2, 2'500, 3, in_place}, datatype, reduction, 7) == 0);
      }
    }
  });
}

TEST_CASE("CPU loops write large pieces past the cache with the same results") {
  for (const Datatype datatype : {Datatype::float32, Datatype::bfloat16, Datatype::int8}) {
    const std::int64_t least = stream_bytes_min / element_bytes(datatype);
    for (const std::int64_t elements : {least - 1, least, least + 1, least + 12'345}) {
      for (const int sources : {1, 2}) {
        for (const int in_place : {-1, 0}) {
          INFO(name_of(datatype));
          CAPTURE(elements);
          CAPTURE(sources);
          CAPTURE(in_place);
          CHECK(run({sources, 2, elements, 1, in_place}, datatype, ReductionOp::sum, 8) == 0);
        }
      }
    }
  }
}

TEST_CASE("Streamed stores are memcpy for every size and alignment") {
  Random random(1);
  std::vector<std::byte> source(400);
  fill_random(source, random);
  for (std::size_t bytes = 0; bytes < 300; ++bytes) {
    for (std::int64_t past = 0; past < 64; past += 7) {
      Guarded place(static_cast<std::int64_t>(bytes), past);
      stream_store(place.data(), source.data() + past, bytes);
      stream_fence();
      CHECK(std::equal(place.bytes().begin(), place.bytes().end(), source.begin() + past));
      CHECK(place.guards_hold());
    }
  }
}

// All pairs of 8 bits; of 16 bits all values with a few others: each conversion in both directions.
TEST_CASE("CPU loops convert every narrow float as the elements do") {
  for (const Datatype datatype :
       {Datatype::float16, Datatype::bfloat16, Datatype::float8_e4m3, Datatype::float8_e5m2}) {
    const auto size = static_cast<std::size_t>(element_bytes(datatype));
    const std::uint32_t values = size == 1 ? 256 : 65'536;
    std::vector<std::byte> a(values * size);
    for (std::uint32_t value = 0; value < values; ++value) std::memcpy(a.data() + value * size, &value, size);
    for (const ReductionOp reduction :
         {ReductionOp::sum, ReductionOp::prod, ReductionOp::min, ReductionOp::max}) {
      for (std::uint32_t other = 0; other < 256; ++other) {
        INFO(name_of(datatype), " ", name_of(reduction));
        CAPTURE(other);
        const std::uint32_t bits = size == 1 ? other : other * 257;
        std::vector<std::byte> b(a.size());
        for (std::uint32_t value = 0; value < values; ++value)
          std::memcpy(b.data() + value * size, &bits, size);
        std::vector<std::byte> result(a.size());
        CombineItem item;
        item.sources = {a.data(), b.data()};
        item.source_count = 2;
        item.destinations = {result.data()};
        item.bytes = std::ssize(result);
        combine_on_cpu(item, datatype, reduction);
        CHECK(differences(datatype, result, reference({a, b}, datatype, reduction)) == 0);
      }
    }
  }
}

TEST_CASE("CPU loops divide as the elements do") {
  for (const Datatype datatype : datatypes) {
    for (const std::int64_t divisor : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{127},
                                       std::int64_t{131'072}, std::int64_t{1} << 40}) {
      INFO(name_of(datatype));
      CAPTURE(divisor);
      Random random(9);
      const std::int64_t size = element_bytes(datatype);
      Guarded place(3'001 * size, size);
      fill_elements(place.bytes(), datatype, random);
      std::vector<std::byte> expected(place.bytes().begin(), place.bytes().end());
      for (std::int64_t i = 0; i < 3'001; ++i) divide_element(datatype, divisor, expected.data() + i * size);
      divide_on_cpu(place.data(), 3'001 * size, datatype, divisor);
      CHECK(differences(datatype, place.bytes(), expected) == 0);
      CHECK(place.guards_hold());
    }
  }
}
