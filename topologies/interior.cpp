#include "topologies/interior.hpp"

#include <algorithm>

#include "sim/core/check.hpp"
#include "topologies/alternatives.hpp"
#include "topologies/cube_mesh.hpp"
#include "topologies/grid.hpp"

namespace collsim::topologies {
namespace {

// Every GPU has one cable to every plane. A message crosses one plane: that of its channel,
// or all in turn where it is spread.
class NvSwitch final : public Interior {
 public:
  NvSwitch(const NodeSpec& node, const Choice& choice)
      : gpus_(node.gpus), planes_(node.interconnect.planes), spec_(node.interconnect), choice_(choice) {}

  std::vector<std::int32_t> switch_indices() const override {
    std::vector<std::int32_t> indices;
    for (int plane = 0; plane < planes_; ++plane) indices.push_back(plane);
    return indices;
  }
  void lay(VertexId gpu, VertexId node_switch, Wiring& wiring) const override {
    const std::int64_t whole = spec_.bandwidth.bytes_per_second();
    for (int g = 0; g < gpus_; ++g)
      for (int plane = 0; plane < planes_; ++plane) {
        // The planes share the bandwidth evenly; the first ones carry the remainder.
        const std::int64_t share = whole / planes_ + (plane < whole % planes_ ? 1 : 0);
        wiring.add_cable(after(gpu, g), after(node_switch, plane),
                         {Bandwidth::bytes_per_second(share), spec_.latency});
      }
  }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
             std::vector<LinkId>& links) const override {
    numbered_route(first, source, target, flow, 0, links);
  }
  std::int32_t route_count() const override { return choice_.paths(planes_); }
  void numbered_route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
                      std::int32_t number, std::vector<LinkId>& links) const override {
    const std::int64_t own = choice_.by_channel(flow, {0, -1 - first - source}, planes_);
    const std::int64_t plane = (own + spread_number(number, planes_)) % planes_;
    links.push_back(forward(nvswitch_cable(first, source, plane, planes_)));
    links.push_back(backward(nvswitch_cable(first, target, plane, planes_)));
  }
  Duration latency_max() const override { return spec_.latency * 2; }

 private:
  int gpus_;
  int planes_;
  InterconnectSpec spec_;
  Choice choice_;
};

class FullMesh final : public Interior {
 public:
  explicit FullMesh(const NodeSpec& node)
      : gpus_(node.gpus), cable_{node.interconnect.bandwidth, node.interconnect.latency} {}

  std::vector<std::int32_t> switch_indices() const override { return {}; }
  void lay(VertexId gpu, VertexId, Wiring& wiring) const override {
    for (int i = 0; i < gpus_; ++i)
      for (int j = i + 1; j < gpus_; ++j) wiring.add_cable(after(gpu, i), after(gpu, j), cable_);
  }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow&,
             std::vector<LinkId>& links) const override {
    const auto [low, high] = std::minmax(source, target);
    const Cable cable = first + pair_cable(low, high, gpus_);
    links.push_back(source < target ? forward(cable) : backward(cable));
  }
  Duration latency_max() const override { return cable_.latency; }

 private:
  int gpus_;
  CableSpec cable_;
};

class Ring final : public Interior {
 public:
  Ring(const NodeSpec& node, const Choice& choice)
      : grid_({node.gpus}, GridKind::torus, choice),
        cable_{node.interconnect.bandwidth, node.interconnect.latency} {}

  std::vector<std::int32_t> switch_indices() const override { return {}; }
  void lay(VertexId gpu, VertexId, Wiring& wiring) const override { grid_.lay(gpu, cable_, wiring); }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow& flow,
             std::vector<LinkId>& links) const override {
    grid_.route(first, source, target, flow, links);
  }
  Duration latency_max() const override { return cable_.latency * grid_.diameter(); }

 private:
  Grid grid_;
  CableSpec cable_;
};

// GPUs in order under PCIe switches; the switches, if there are several, under one root complex.
class PcieTree final : public Interior {
 public:
  explicit PcieTree(const NodeSpec& node)
      : gpus_(node.gpus),
        gpus_per_switch_(node.interconnect.gpus_per_switch),
        switches_((gpus_ + gpus_per_switch_ - 1) / gpus_per_switch_),
        cable_{node.interconnect.bandwidth, node.interconnect.latency} {}

  std::vector<std::int32_t> switch_indices() const override {
    std::vector<std::int32_t> indices;
    for (int i = 0; i < switches_; ++i) indices.push_back(i);
    if (switches_ > 1) indices.push_back(-1);  // the root complex
    return indices;
  }
  void lay(VertexId gpu, VertexId node_switch, Wiring& wiring) const override {
    for (int g = 0; g < gpus_; ++g)
      wiring.add_cable(after(gpu, g), after(node_switch, g / gpus_per_switch_), cable_);
    for (int i = 0; i < switches_ && switches_ > 1; ++i)
      wiring.add_cable(after(node_switch, i), after(node_switch, switches_), cable_);
  }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow&,
             std::vector<LinkId>& links) const override {
    const int up = source / gpus_per_switch_;
    const int down = target / gpus_per_switch_;
    links.push_back(forward(first + source));
    if (up != down) {
      links.push_back(forward(first + gpus_ + up));
      links.push_back(backward(first + gpus_ + down));
    }
    links.push_back(backward(first + target));
  }
  Duration latency_max() const override { return cable_.latency * (switches_ > 1 ? 4 : 2); }

 private:
  int gpus_;
  int gpus_per_switch_;
  int switches_;
  CableSpec cable_;
};

// A memory that all GPUs write to and read from: a cable of a GPU is its link into it and the one out of it.
class SharedMemoryNode final : public Interior {
 public:
  explicit SharedMemoryNode(const NodeSpec& node)
      : gpus_(node.gpus), cable_{node.interconnect.bandwidth, node.interconnect.latency} {}

  std::vector<std::int32_t> switch_indices() const override { return {0, 1}; }
  void lay(VertexId gpu, VertexId node_switch, Wiring& wiring) const override {
    for (int g = 0; g < gpus_; ++g)
      wiring.add_loop(after(gpu, g), node_switch, after(node_switch, 1), cable_);
  }
  bool has_memory() const override { return true; }
  void route(Cable first, std::int32_t source, std::int32_t target, const Flow&,
             std::vector<LinkId>& links) const override {
    links.push_back(forward(first + source));
    links.push_back(backward(first + target));
  }
  Duration latency_max() const override { return cable_.latency * 2; }

 private:
  int gpus_;
  CableSpec cable_;
};

}  // namespace

std::unique_ptr<Interior> make_interior(const NodeSpec& node, const Choice& cluster_choice) {
  const Choice choice = cluster_choice.inside_node();
  switch (node.interconnect.kind) {
    case InterconnectKind::nvswitch:
      return std::make_unique<NvSwitch>(node, choice);
    case InterconnectKind::full_mesh:
      return std::make_unique<FullMesh>(node);
    case InterconnectKind::ring:
      return std::make_unique<Ring>(node, choice);
    case InterconnectKind::pcie:
      return std::make_unique<PcieTree>(node);
    case InterconnectKind::hybrid_cube_mesh:
      return make_cube_mesh(node.interconnect, choice);
    case InterconnectKind::shared_memory:
      return std::make_unique<SharedMemoryNode>(node);
    case InterconnectKind::none:
      break;
  }
  check_failed(__FILE__, __LINE__, "the node has an interconnect", "");
}

}  // namespace collsim::topologies
