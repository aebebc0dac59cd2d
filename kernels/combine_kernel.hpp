// Combine kernel: the one source of what devices do, for nvcc and for the host compiler.
//
// A kernel is a function template over a Grid: what tells a thread which it is. nvcc compiles it with the
// grid of the device (combine_reductions.cuh), the host with one that a loop counts up (combine_source.cpp).
//
// Items       of a launch are cut into tiles of tile_bytes. A block takes every blocks()-th tile and finds
// its
//             item by a binary search over first_tile.
// Accesses    Packs of 16 bytes where all places of the item agree modulo 16. Else copies take the largest
//             power of two modulo which they agree, reductions 4 bytes or an element: with 4 bytes a thread,
//             a warp still takes whole lines of 128, and fewer variants compile faster. What lies before the
//             first address that is a multiple of the width (first tile only) and after the last whole pack
//             goes element by element.
// In flight   A thread loads packs_in_flight packs of a source (two where elements have one byte) before it
//             looks at the first; then it goes on to the next source. Sums stay in registers over all
//             sources.
// In place    A thread writes where it alone has read, and after that. So a destination may be a source.
//
// Complexity  (sources + destinations) * bytes of traffic; O(log items) a tile to find its item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda_launch.hpp"
#include "kernels/element_types.hpp"

#ifdef __CUDA_ARCH__
#define COLLSIM_UNROLL _Pragma("unroll")
#define COLLSIM_NO_UNROLL _Pragma("unroll 1")
#else
#define COLLSIM_UNROLL
#define COLLSIM_NO_UNROLL
#endif
#ifdef __CUDACC__
#define COLLSIM_NOINLINE __noinline__
#else
#define COLLSIM_NOINLINE
#endif

namespace collsim::kernels {

constexpr int threads_of_block = 256;
constexpr int packs_in_flight = 4;
constexpr int pack_bytes_max = 16;
// One round of a block with whole packs.
constexpr std::int64_t tile_bytes = std::int64_t{threads_of_block} * packs_in_flight * pack_bytes_max;

constexpr std::int64_t tiles_of(std::int64_t bytes) { return (bytes + tile_bytes - 1) / tile_bytes; }

// Elements that are loaded and stored with one access.
template <class T, int width>
struct Pack {
  static constexpr int size = width / static_cast<int>(sizeof(T));
  T elements[size] = {};
};

#ifdef __CUDA_ARCH__
template <int width>
struct DeviceWord;
template <>
struct DeviceWord<1> {
  using Type = unsigned char;
};
template <>
struct DeviceWord<2> {
  using Type = unsigned short;
};
template <>
struct DeviceWord<4> {
  using Type = unsigned int;
};
template <>
struct DeviceWord<8> {
  using Type = uint2;
};
template <>
struct DeviceWord<16> {
  using Type = uint4;
};

// One load. Of plain assignments nvcc makes several where it likes to have the parts; `memory` keeps the load
// before the stores that come after it.
template <class Word>
__device__ inline Word load_word(const std::byte* from) {
  Word word;
  if constexpr (sizeof(Word) == 16) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(from)
                 : "memory");
  } else if constexpr (sizeof(Word) == 8) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(from) : "memory");
  } else {
    word = *reinterpret_cast<const Word*>(from);
  }
  return word;
}
#endif

// REQUIRES: the address is a multiple of width
template <class T, int width>
COLLSIM_HOST_DEVICE inline Pack<T, width> load_pack(const std::byte* from) {
#ifdef __CUDA_ARCH__
  return with_bits_of<Pack<T, width>>(load_word<typename DeviceWord<width>::Type>(from));
#else
  Pack<T, width> pack;
  std::memcpy(&pack, from, width);
  return pack;
#endif
}

template <class T, int width>
COLLSIM_HOST_DEVICE inline void store_pack(const Pack<T, width>& pack, std::byte* to) {
#ifdef __CUDA_ARCH__
  using Word = typename DeviceWord<width>::Type;
  *reinterpret_cast<Word*>(to) = with_bits_of<Word>(pack);
#else
  std::memcpy(to, &pack, width);
#endif
}

// The sums of a pack.
template <class T, int width>
struct Sums {
  Accumulator<T> values[Pack<T, width>::size] = {};
};

template <class T, int width>
COLLSIM_HOST_DEVICE inline Sums<T, width> widened_pack(const Pack<T, width>& pack) {
  Sums<T, width> sums;
  if constexpr (Pack<T, width>::size == 1) {
    sums.values[0] = widened(pack.elements[0]);
  } else {
    COLLSIM_UNROLL
    for (int i = 0; i < Pack<T, width>::size; i += 2) widen_two(&pack.elements[i], &sums.values[i]);
  }
  return sums;
}

template <class T, int width>
COLLSIM_HOST_DEVICE inline Pack<T, width> narrowed_pack(const Sums<T, width>& sums) {
  Pack<T, width> pack;
  if constexpr (Pack<T, width>::size == 1) {
    pack.elements[0] = narrowed<T>(sums.values[0]);
  } else {
    COLLSIM_UNROLL
    for (int i = 0; i < Pack<T, width>::size; i += 2) narrow_two(&sums.values[i], &pack.elements[i]);
  }
  return pack;
}

// `packs` packs of `width` bytes from byte `begin` of an item on, for all threads of a block.
struct Stretch {
  std::int64_t begin = 0;
  int packs = 0;
  int width = 1;
};

// What is done with an item of several sources. The reduction is no template parameter: all threads take the
// same branch, once for packs_in_flight packs, and kernels for every reduction take four times as long to
// compile.
template <class T>
struct Reduce {
  static constexpr int element_size = static_cast<int>(sizeof(T));  // what cannot be cut
  static constexpr int middle_width = element_size > 4 ? element_size : 4;
  ReductionOp reduction;

  // The width that is taken where places agree modulo `common`.
  COLLSIM_HOST_DEVICE static int width_for(int common) {
    return common >= pack_bytes_max ? pack_bytes_max : common >= middle_width ? middle_width : element_size;
  }

  template <class Grid>
  COLLSIM_HOST_DEVICE void work(const CombineItem& item, Stretch stretch, const Grid& grid) const {
    if (stretch.width == pack_bytes_max) return work_packs<pack_bytes_max>(item, stretch, grid);
    if (stretch.width == middle_width) return work_packs<middle_width>(item, stretch, grid);
    if constexpr (element_size < middle_width) work_packs<element_size>(item, stretch, grid);
  }

 private:
  template <int width, class Grid>
  COLLSIM_HOST_DEVICE void work_packs(const CombineItem& item, Stretch stretch, const Grid& grid) const {
    // Narrow accesses are rare, and more than 32 sums leave room for one block on a multiprocessor.
    constexpr int room = 32 / Pack<T, width>::size;
    constexpr int flight = width < middle_width ? 1 : room < packs_in_flight ? room : packs_in_flight;
    const int threads = grid.threads();
    for (int first = grid.thread(); first < stretch.packs; first += flight * threads) {
      Sums<T, width> sums[flight];
      for (int source = 0; source < item.source_count; ++source) {
        const std::byte* from = item.sources[static_cast<std::size_t>(source)] + stretch.begin;
        Pack<T, width> loaded[flight];
        COLLSIM_UNROLL
        for (int i = 0; i < flight; ++i)
          if (first + i * threads < stretch.packs)
            loaded[i] = load_pack<T, width>(from + std::int64_t{first + i * threads} * width);
        add(sums, loaded, source == 0);
      }
      for (int destination = 0; destination < item.destination_count; ++destination) {
        std::byte* to = item.destinations[static_cast<std::size_t>(destination)] + stretch.begin;
        COLLSIM_UNROLL
        for (int i = 0; i < flight; ++i)
          if (first + i * threads < stretch.packs)
            store_pack(narrowed_pack(sums[i]), to + std::int64_t{first + i * threads} * width);
      }
    }
  }

  template <int width, int flight>
  COLLSIM_HOST_DEVICE void add(Sums<T, width> (&sums)[flight], const Pack<T, width> (&more)[flight],
                               bool first) const {
    if (first) {
      COLLSIM_UNROLL
      for (int i = 0; i < flight; ++i) sums[i] = widened_pack(more[i]);
      return;
    }
    switch (reduction) {
      case ReductionOp::prod:
        return add_as<ReductionOp::prod>(sums, more);
      case ReductionOp::min:
        return add_as<ReductionOp::min>(sums, more);
      case ReductionOp::max:
        return add_as<ReductionOp::max>(sums, more);
      default:
        return add_as<ReductionOp::sum>(sums, more);
    }
  }

  template <ReductionOp op, int width, int flight>
  COLLSIM_HOST_DEVICE static void add_as(Sums<T, width> (&sums)[flight],
                                         const Pack<T, width> (&more)[flight]) {
    COLLSIM_UNROLL
    for (int i = 0; i < flight; ++i) {
      const Sums<T, width> wide = widened_pack(more[i]);
      COLLSIM_UNROLL
      for (int k = 0; k < Pack<T, width>::size; ++k)
        sums[i].values[k] = combined<op>(sums[i].values[k], wide.values[k]);
    }
  }
};

// What is done with an item of one source: its bytes, whatever they are.
struct Copy {
  static constexpr int element_size = 1;
  COLLSIM_HOST_DEVICE static int width_for(int common) { return common; }

  template <class Grid>
  COLLSIM_HOST_DEVICE static void work(const CombineItem& item, Stretch stretch, const Grid& grid) {
    switch (stretch.width) {
      case 16:
        return work_packs<16>(item, stretch, grid);
      case 8:
        return work_packs<8>(item, stretch, grid);
      case 4:
        return work_packs<4>(item, stretch, grid);
      case 2:
        return work_packs<2>(item, stretch, grid);
      default:
        return work_packs<1>(item, stretch, grid);
    }
  }

 private:
  static constexpr int flight = packs_in_flight;

  template <int width, class Grid>
  COLLSIM_HOST_DEVICE static void work_packs(const CombineItem& item, Stretch stretch, const Grid& grid) {
    const int threads = grid.threads();
    const std::byte* from = item.sources[0] + stretch.begin;
    for (int first = grid.thread(); first < stretch.packs; first += flight * threads) {
      Pack<std::uint8_t, width> loaded[flight];
      COLLSIM_UNROLL
      for (int i = 0; i < flight; ++i)
        if (first + i * threads < stretch.packs)
          loaded[i] = load_pack<std::uint8_t, width>(from + std::int64_t{first + i * threads} * width);
      for (int destination = 0; destination < item.destination_count; ++destination) {
        std::byte* to = item.destinations[static_cast<std::size_t>(destination)] + stretch.begin;
        COLLSIM_UNROLL
        for (int i = 0; i < flight; ++i)
          if (first + i * threads < stretch.packs)
            store_pack(loaded[i], to + std::int64_t{first + i * threads} * width);
      }
    }
  }
};

namespace detail {
COLLSIM_HOST_DEVICE inline std::uint64_t address(const std::byte* place) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(place));
}
// 1, 2, 4, 8 or 16: modulo that all places agree.
COLLSIM_HOST_DEVICE inline int common_width(const CombineItem& item) {
  std::uint64_t unlike = pack_bytes_max;
  const std::uint64_t first = address(item.destinations[0]);
  for (int i = 0; i < item.source_count; ++i)
    unlike |= first ^ address(item.sources[static_cast<std::size_t>(i)]);
  for (int i = 1; i < item.destination_count; ++i)
    unlike |= first ^ address(item.destinations[static_cast<std::size_t>(i)]);
  return static_cast<int>(unlike & (~unlike + 1));
}
// How many bytes from a place to the next multiple of width.
COLLSIM_HOST_DEVICE inline std::int64_t bytes_to_multiple(const std::byte* place, int width) {
  return static_cast<std::int64_t>((~address(place) + 1) & static_cast<std::uint64_t>(width - 1));
}

// Tile `tile` of an item, by all threads of a block: its packs, and the elements before and after them.
template <class Work, class Grid>
COLLSIM_HOST_DEVICE inline void work_tile(const Work& work, const CombineItem& item, std::int64_t tile,
                                          const Grid& grid) {
  constexpr int element = Work::element_size;
  const int width = Work::width_for(common_width(item));
  const std::int64_t head = bytes_to_multiple(item.destinations[0], width);
  const std::int64_t wanted_end = head + (tile + 1) * tile_bytes;
  const std::int64_t end = wanted_end < item.bytes ? wanted_end : item.bytes;
  const std::int64_t wanted_begin = head + tile * tile_bytes;
  const std::int64_t begin = wanted_begin < end ? wanted_begin : end;
  const int packs = static_cast<int>((end - begin) / width);
  const std::int64_t tail = begin + std::int64_t{packs} * width;
  COLLSIM_NO_UNROLL
  for (int part = 0; part < 3; ++part) {  // one call, so that it is compiled once
    Stretch stretch = {begin, packs, width};
    if (part == 1) stretch = {0, tile == 0 ? static_cast<int>(begin) / element : 0, element};
    if (part == 2) stretch = {tail, static_cast<int>(end - tail) / element, element};
    if (stretch.packs > 0) work.work(item, stretch, grid);
  }
}

// Not compiled again for every datatype.
template <class Grid>
COLLSIM_HOST_DEVICE COLLSIM_NOINLINE void copy_tile(const CombineItem& item, std::int64_t tile,
                                                    const Grid& grid) {
  work_tile(Copy(), item, tile, grid);
}
}  // namespace detail

// The item of a tile: the last one whose first tile is not behind it. REQUIRES: count >= 1
COLLSIM_HOST_DEVICE inline std::int32_t item_of_tile(const LaunchItem* items, std::int32_t count,
                                                     std::int64_t tile) {
  std::int32_t low = 0;
  std::int32_t high = count;
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    if (items[middle].first_tile <= tile) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// The whole of a launch, of one thread.
template <class T, class Grid>
COLLSIM_HOST_DEVICE void combine_items(const LaunchItem* items, std::int32_t count, std::int64_t tiles,
                                       ReductionOp reduction, const Grid& grid) {
  for (std::int64_t tile = grid.block(); tile < tiles; tile += grid.blocks()) {
    const LaunchItem& found = items[item_of_tile(items, count, tile)];
    if (found.item.source_count == 1) {
      detail::copy_tile(found.item, tile - found.first_tile, grid);
    } else {
      detail::work_tile(Reduce<T>{reduction}, found.item, tile - found.first_tile, grid);
    }
  }
}

namespace detail {
// `packs` packs from `data` on, by all threads of all blocks.
template <class T, int width, class Grid>
COLLSIM_HOST_DEVICE inline void divide_packs(std::byte* data, std::int64_t packs, std::int64_t divisor,
                                             const Grid& grid) {
  const std::int64_t step = std::int64_t{grid.blocks()} * grid.threads();
  for (std::int64_t at = std::int64_t{grid.block()} * grid.threads() + grid.thread(); at < packs;
       at += step) {
    Sums<T, width> sums = widened_pack(load_pack<T, width>(data + at * width));
    COLLSIM_UNROLL
    for (int i = 0; i < Pack<T, width>::size; ++i) sums.values[i] = divided(sums.values[i], divisor);
    store_pack(narrowed_pack(sums), data + at * width);
  }
}
}  // namespace detail

// data[i] = data[i] / divisor, of one thread.
template <class T, class Grid>
COLLSIM_HOST_DEVICE void divide_items(std::byte* data, std::int64_t bytes, std::int64_t divisor,
                                      const Grid& grid) {
  constexpr int element = static_cast<int>(sizeof(T));
  const std::int64_t before = detail::bytes_to_multiple(data, pack_bytes_max);
  const std::int64_t head = before < bytes ? before : bytes;
  const std::int64_t packs = (bytes - head) / pack_bytes_max;
  const std::int64_t tail = head + packs * pack_bytes_max;
  detail::divide_packs<T, element>(data, head / element, divisor, grid);
  detail::divide_packs<T, pack_bytes_max>(data + head, packs, divisor, grid);
  detail::divide_packs<T, element>(data + tail, (bytes - tail) / element, divisor, grid);
}

}  // namespace collsim::kernels
