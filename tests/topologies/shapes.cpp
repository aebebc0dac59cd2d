#include "tests/topologies/shapes.hpp"

#include "sim/core/random.hpp"
#include "tests/topologies/reference.hpp"

namespace collsim::testing {
namespace {

// The shape with minimal routes and with hashed ones.
void add_both(std::vector<ClusterSpec>& shapes, ClusterSpec cluster) {
  shapes.push_back(cluster);
  cluster.routing.kind = RoutingKind::ecmp;
  shapes.push_back(cluster);
}

bool is_built(const ClusterSpec& cluster) {
  return std::holds_alternative<Topology>(topologies::build(cluster));
}

// A random tree over the nodes and some more links, some of them parallel.
ClusterSpec random_custom(std::uint64_t seed, std::int32_t nodes) {
  Random random(seed);
  const auto below = [&](std::int32_t bound) {
    return static_cast<int>(random.below(static_cast<std::uint64_t>(bound)));
  };
  ClusterSpec cluster = fabric_of(FabricKind::custom, nodes);
  for (std::int32_t node = 1; node < nodes; ++node)
    cluster.fabric.links.push_back({below(node), node, std::nullopt, std::nullopt});
  for (std::int32_t more = below(2 * nodes); more > 0; --more) {
    const int from = below(nodes);
    const int to = below(nodes);
    if (from == to) continue;
    cluster.fabric.links.push_back(
        {from, to, Bandwidth::gigabytes_per_second(10 + below(90)), Duration::nanoseconds(below(1000))});
  }
  return cluster;
}

}  // namespace

std::vector<ClusterSpec> node_shapes() {
  std::vector<ClusterSpec> shapes;
  using enum InterconnectKind;
  for (const InterconnectKind kind : {nvswitch, full_mesh, ring, pcie, shared_memory})
    for (std::int32_t gpus = 1; gpus <= 9; ++gpus) add_both(shapes, node_of(kind, gpus));
  for (int planes = 2; planes <= 4; ++planes) {
    ClusterSpec cluster = node_of(nvswitch, 5);
    cluster.node.interconnect.planes = planes;
    add_both(shapes, cluster);
  }
  for (int per_switch = 1; per_switch <= 4; ++per_switch) {
    ClusterSpec cluster = node_of(pcie, 7);
    cluster.node.interconnect.gpus_per_switch = per_switch;
    shapes.push_back(cluster);
  }
  add_both(shapes, node_of(hybrid_cube_mesh, 8));
  return shapes;
}

std::vector<ClusterSpec> tree_shapes() {
  std::vector<ClusterSpec> shapes;
  for (const auto& [gpus, nics] : {std::pair{1, 0}, {1, 1}, {2, 0}, {2, 2}, {4, 2}, {5, 3}, {3, 1}})
    for (std::int32_t nodes = 1; nodes <= 9; ++nodes) {
      add_both(shapes, tree_of(FabricKind::single_switch, 1, 0, nodes, gpus, nics));
      for (const FabricKind kind : {FabricKind::fat_tree, FabricKind::rail_fat_tree})
        for (const auto& [levels, radix] : {std::pair{1, 8}, {2, 4}, {2, 6}, {3, 4}, {3, 6}}) {
          const ClusterSpec cluster = tree_of(kind, levels, radix, nodes, gpus, nics);
          if (is_built(cluster)) add_both(shapes, cluster);
        }
    }
  for (std::int32_t nodes = 10; nodes <= 54; nodes += 11)
    shapes.push_back(tree_of(FabricKind::fat_tree, 3, 6, nodes, 1, 0));
  for (std::int32_t nodes = 5; nodes <= 24; nodes += 6) {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 6, nodes, 1, 0);
    cluster.fabric.oversubscription_numerator = 2;
    add_both(shapes, cluster);
  }
  return shapes;
}

std::vector<ClusterSpec> grid_shapes() {
  std::vector<ClusterSpec> shapes;
  using Sides = std::vector<int>;
  for (const FabricKind kind : {FabricKind::torus, FabricKind::mesh})
    for (const Sides& sides : {Sides{1},
                               {2},
                               {3},
                               {4},
                               {7},
                               {1, 1},
                               {2, 2},
                               {3, 1},
                               {1, 4},
                               {2, 5},
                               {3, 3},
                               {4, 4},
                               {2, 2, 2},
                               {3, 5, 7},
                               {1, 2, 3},
                               {4, 3, 2},
                               {2, 3, 2, 3},
                               {2, 2, 2, 2, 2}}) {
      ClusterSpec cluster = fabric_of(kind, 1);
      cluster.fabric.dimensions = sides;
      add_both(shapes, cluster);
    }
  for (std::int32_t nodes = 1; nodes <= 8; ++nodes) add_both(shapes, fabric_of(FabricKind::ring, nodes));
  for (const auto& [gpus, nics] : {std::pair{2, 0}, {1, 1}, {4, 2}, {5, 3}, {3, 1}}) {
    ClusterSpec cluster = cluster_of(FabricKind::torus, 1, gpus, nics);
    cluster.fabric.dimensions = {3, 2};
    add_both(shapes, cluster);
  }
  return shapes;
}

std::vector<ClusterSpec> dragonfly_shapes() {
  std::vector<ClusterSpec> shapes;
  for (const auto& [routers, on_router, global_links] :
       {std::tuple{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {3, 2, 2}, {4, 1, 1}, {4, 2, 2}})
    for (std::int32_t nodes = 1; nodes <= routers * on_router * (routers * global_links + 1);
         nodes += nodes < 10 ? 1 : 9) {
      ClusterSpec cluster = fabric_of(FabricKind::dragonfly, nodes);
      cluster.fabric.dragonfly_routers = routers;
      cluster.fabric.dragonfly_nodes = on_router;
      cluster.fabric.dragonfly_global_links = global_links;
      add_both(shapes, cluster);
    }
  ClusterSpec cluster = cluster_of(FabricKind::dragonfly, 11, 3, 2);
  cluster.fabric.dragonfly_routers = 3;
  cluster.fabric.dragonfly_nodes = 2;
  cluster.fabric.dragonfly_global_links = 1;
  add_both(shapes, cluster);
  return shapes;
}

std::vector<ClusterSpec> direct_shapes() {
  std::vector<ClusterSpec> shapes;
  for (std::int32_t nodes = 1; nodes <= 9; ++nodes) add_both(shapes, fabric_of(FabricKind::full_mesh, nodes));
  for (std::int32_t nodes = 1; nodes <= 32; nodes *= 2)
    add_both(shapes, fabric_of(FabricKind::hypercube, nodes));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    add_both(shapes, random_custom(seed, 1 + static_cast<std::int32_t>(seed) % 12));
  add_both(shapes, cluster_of(FabricKind::hypercube, 8, 3, 2));
  add_both(shapes, cluster_of(FabricKind::full_mesh, 5, 4, 4, InterconnectKind::none));
  add_both(shapes, cluster_of(FabricKind::hypercube, 4, 3, 2, InterconnectKind::shared_memory));
  add_both(shapes, cluster_of(FabricKind::single_switch, 3, 4, 2, InterconnectKind::shared_memory));
  return shapes;
}

std::vector<ClusterSpec> all_shapes() {
  std::vector<ClusterSpec> shapes;
  for (auto* make : {node_shapes, tree_shapes, grid_shapes, dragonfly_shapes, direct_shapes})
    for (ClusterSpec& cluster : make()) shapes.push_back(std::move(cluster));
  return shapes;
}

}  // namespace collsim::testing
