#include "topologies/node_rings.hpp"

#include <algorithm>
#include <numeric>

namespace collsim::topologies {
namespace {

using GpuRings = std::vector<std::vector<std::int32_t>>;

GpuRings both_directions(const std::vector<std::int32_t>& ring) {
  std::vector<std::int32_t> reversed = ring;
  std::reverse(reversed.begin() + 1, reversed.end());
  // Two GPUs have one ring: it uses both directions of their cable.
  return ring.size() == 2 ? GpuRings{ring} : GpuRings{ring, reversed};
}

// Walecki's cycles: GPU n-1 stays, the zigzag 0, 1, -1, 2, -2, ... over the others (mod n-1) is rotated.
GpuRings walecki_rings(std::int32_t gpus) {
  const std::int32_t others = gpus - 1;
  GpuRings rings;
  for (std::int32_t shift = 0; shift < std::max(others / 2, 1); ++shift) {
    std::vector<std::int32_t> ring = {others};
    for (std::int32_t i = 0; i < others; ++i) {
      const std::int32_t zigzag = i % 2 == 1 ? (i + 1) / 2 : -(i / 2);
      ring.push_back((zigzag + shift + others) % others);
    }
    for (const auto& direction : both_directions(ring)) rings.push_back(direction);
  }
  return rings;
}

// A decomposition of all 56 directed links (Tillson, J. Combin. Theory B 29, 1980, shows that one exists for
// every even n but 4 and 6), found by search. Any other would do.
const GpuRings& full_mesh_of_8() {
  static const GpuRings rings = {{0, 1, 4, 2, 6, 7, 3, 5}, {0, 2, 5, 6, 4, 3, 7, 1}, {0, 3, 2, 7, 5, 4, 1, 6},
                                 {0, 4, 6, 5, 1, 7, 2, 3}, {0, 5, 7, 6, 2, 1, 3, 4}, {0, 6, 3, 1, 5, 2, 4, 7},
                                 {0, 7, 4, 5, 3, 6, 1, 2}};
  return rings;
}

// All 48 directed NVLinks of the cube mesh, found by search; even and odd rings use each pair of parallel
// NVLinks once each.
const GpuRings& cube_mesh_rings() {
  static const GpuRings rings = {{0, 1, 3, 7, 5, 4, 6, 2}, {0, 2, 6, 4, 5, 7, 3, 1},
                                 {0, 3, 2, 1, 5, 6, 7, 4}, {0, 3, 2, 1, 5, 6, 7, 4},
                                 {0, 4, 7, 6, 5, 1, 2, 3}, {0, 4, 7, 6, 5, 1, 2, 3}};
  return rings;
}

}  // namespace

GpuRings node_rings(InterconnectKind kind, std::int32_t gpus) {
  if (gpus < 2) return {};
  std::vector<std::int32_t> in_order(static_cast<std::size_t>(gpus));
  std::iota(in_order.begin(), in_order.end(), 0);
  switch (kind) {
    case InterconnectKind::none:
    case InterconnectKind::nvswitch:
    case InterconnectKind::shared_memory:
      return {};
    case InterconnectKind::pcie:
      return {in_order};
    case InterconnectKind::ring:
      return both_directions(in_order);
    case InterconnectKind::full_mesh:
      return gpus == 8 ? full_mesh_of_8() : walecki_rings(gpus);
    case InterconnectKind::hybrid_cube_mesh:
      return cube_mesh_rings();
  }
  return {};
}

}  // namespace collsim::topologies
