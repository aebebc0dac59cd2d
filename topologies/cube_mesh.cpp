#include "topologies/cube_mesh.hpp"

#include <array>

#include "topologies/shortest_paths.hpp"

namespace collsim::topologies {
namespace {

// NVLinks between two GPUs. Bandwidth is that of one of them.
constexpr std::array<std::array<int, cube_mesh_gpus>, cube_mesh_gpus> nvlinks = {{
    {0, 1, 1, 2, 2, 0, 0, 0},
    {1, 0, 2, 1, 0, 2, 0, 0},
    {1, 2, 0, 2, 0, 0, 1, 0},
    {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2},
    {0, 2, 0, 0, 1, 0, 2, 1},
    {0, 0, 1, 0, 1, 2, 0, 2},
    {0, 0, 0, 1, 2, 1, 2, 0},
}};

std::vector<CableEnds> cube_mesh_cables() {
  std::vector<CableEnds> cables;
  for (int i = 0; i < cube_mesh_gpus; ++i)
    for (int j = i + 1; j < cube_mesh_gpus; ++j)
      for (int n = 0; n < nvlinks[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; ++n)
        cables.push_back({i, j});
  return cables;
}

// GPUs that share no NVLink reach each other through one that both have; GPUs forward.
class CubeMesh final : public Interior {
 public:
  CubeMesh(const InterconnectSpec& interconnect, const Choice& choice)
      : cable_{interconnect.bandwidth, interconnect.latency},
        paths_(cube_mesh_gpus, cube_mesh_cables(), choice) {}

  std::vector<std::int32_t> switch_indices() const override { return {}; }
  void lay(VertexId gpu, VertexId, Wiring& wiring) const override {
    for (const CableEnds& ends : paths_.cables())
      wiring.add_cable(after(gpu, ends.a), after(gpu, ends.b), cable_);
  }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
             std::vector<LinkId>& links) const override {
    paths_.route(first, source, target, flow, links);
  }
  Duration latency_max() const override { return cable_.latency * 2; }

 private:
  CableSpec cable_;
  ShortestPaths paths_;
};

}  // namespace

std::unique_ptr<Interior> make_cube_mesh(const InterconnectSpec& interconnect, const Choice& choice) {
  return std::make_unique<CubeMesh>(interconnect, choice);
}

}  // namespace collsim::topologies
