#include "topologies/kinds.hpp"

#include "sim/model/cluster.hpp"

namespace collsim::topologies {
namespace {

std::string_view summary_of(InterconnectKind kind) {
  switch (kind) {
    case InterconnectKind::none:
      return "GPUs of a node meet only over the fabric";
    case InterconnectKind::nvswitch:
      return "every GPU on one non-blocking switch, or on several planes of it; can reduce (NVLS)";
    case InterconnectKind::full_mesh:
      return "one link between every two GPUs";
    case InterconnectKind::ring:
      return "every GPU linked to the next, closed";
    case InterconnectKind::pcie:
      return "GPUs under PCIe switches under one root complex";
    case InterconnectKind::hybrid_cube_mesh:
      return "the 8 GPUs of a DGX-1 with V100: single and double NVLinks, six a GPU";
    case InterconnectKind::shared_memory:
      return "ranks share one device or one machine's memory, which messages and local work draw on";
  }
  return {};
}

std::string_view summary_of(FabricKind kind) {
  switch (kind) {
    case FabricKind::none:
      return "one node";
    case FabricKind::single_switch:
      return "every NIC on one non-blocking switch; can reduce (SHARP)";
    case FabricKind::fat_tree:
      return "1 to 3 levels of switches by radix and oversubscription; can reduce (SHARP)";
    case FabricKind::rail_fat_tree:
      return "fat tree with NIC i of neighbouring nodes on one leaf; can reduce (SHARP)";
    case FabricKind::torus:
      return "nodes in a grid of any number of dimensions that wraps around";
    case FabricKind::mesh:
      return "nodes in a grid of any number of dimensions";
    case FabricKind::dragonfly:
      return "groups of all-to-all routers, joined by global links";
    case FabricKind::hypercube:
      return "2^d nodes, linked where their numbers differ in one bit";
    case FabricKind::ring:
      return "every node linked to the next, closed";
    case FabricKind::full_mesh:
      return "one link between every two nodes";
    case FabricKind::custom:
      return "the links between nodes that are listed";
  }
  return {};
}

}  // namespace

std::vector<KindInfo> kinds() {
  std::vector<KindInfo> result;
  for (const InterconnectKind kind :
       {InterconnectKind::nvswitch, InterconnectKind::full_mesh, InterconnectKind::ring,
        InterconnectKind::pcie, InterconnectKind::hybrid_cube_mesh, InterconnectKind::shared_memory,
        InterconnectKind::none})
    result.push_back({name_of(kind), "cluster.node.interconnect.kind", summary_of(kind)});
  for (const FabricKind kind :
       {FabricKind::single_switch, FabricKind::fat_tree, FabricKind::rail_fat_tree, FabricKind::torus,
        FabricKind::mesh, FabricKind::dragonfly, FabricKind::hypercube, FabricKind::ring,
        FabricKind::full_mesh, FabricKind::custom, FabricKind::none})
    result.push_back({name_of(kind), "cluster.fabric.kind", summary_of(kind)});
  return result;
}

}  // namespace collsim::topologies
