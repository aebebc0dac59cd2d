// Packed spanning trees: they span, they run on routes that exist, and their links are as full as they say.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/core/random.hpp"
#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/flow_bounds.hpp"
#include "topologies/forest.hpp"

namespace collsim::testing {
namespace {

const std::vector<CollectiveKind> packed_kinds = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                                  CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                                  CollectiveKind::reduce};

Forest packed(const Topology& topology, CollectiveKind kind, Rank root = 0) {
  auto result = topologies::pack_forest(topology, kind, root);
  if (const auto* impossible = std::get_if<Impossible>(&result)) FAIL(impossible->reason);
  return std::get<Forest>(std::move(result));
}

std::string reason(const Topology& topology, CollectiveKind kind) {
  const auto result = topologies::pack_forest(topology, kind);
  return std::holds_alternative<Impossible>(result) ? std::get<Impossible>(result).reason : "packed";
}

// What is wrong with the shape of the forest, or "".
std::string shape_fault(const Forest& forest, CollectiveKind kind, Rank root, std::int32_t ranks) {
  if (forest.kind != kind || forest.ranks != ranks) return "another collective";
  const std::int32_t count = in_parts(kind) ? ranks * forest.pieces : forest.pieces;
  if (static_cast<std::int32_t>(forest.trees.size()) != count) return "number of trees";
  for (std::int32_t number = 0; number < count; ++number) {
    const SpanningTree& tree = forest.trees[static_cast<std::size_t>(number)];
    if (in_parts(kind) && tree.root != number / forest.pieces) return "root of a part";
    if (has_root(kind) && tree.root != root) return "root";
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::int32_t steps = 0;
      Rank above = rank;
      while (above != tree.root && above >= 0 && steps++ < ranks)
        above = tree.parent[static_cast<std::size_t>(above)];
      if (above != tree.root) return "rank " + std::to_string(rank) + " does not hang from the root";
    }
    if (tree.parent[static_cast<std::size_t>(tree.root)] != -1) return "parent of the root";
  }
  return "";
}

// How long the busiest link is busy with `bytes` cut among the trees, in picoseconds.
double busiest_link(const Topology& topology, const Forest& forest, double bytes) {
  const bool up = reduces(forest.kind);
  const bool down = forest.kind != CollectiveKind::reduce_scatter && forest.kind != CollectiveKind::reduce;
  std::vector<std::int64_t> crossings(topology.link_count(), 0);
  const auto cross = [&](Rank from, Rank to, std::int32_t channel) {
    std::vector<LinkId> route;
    topology.route(from, to, channel, route);
    for (const LinkId link : route) ++crossings[link.value];
  };
  for (const SpanningTree& tree : forest.trees)
    for (Rank rank = 0; rank < forest.ranks; ++rank) {
      const auto place = static_cast<std::size_t>(rank);
      if (rank == tree.root) continue;
      if (down) cross(tree.parent[place], rank, tree.channel[place]);
      if (up) cross(rank, tree.parent[place], tree.channel[place]);
    }
  double longest = 0;
  for (std::size_t link = 0; link < crossings.size(); ++link)
    longest = std::max(
        longest, static_cast<double>(crossings[link]) * bytes / static_cast<double>(forest.trees.size()) *
                     1e12 / static_cast<double>(topology.link(LinkId(link)).bandwidth.bytes_per_second()));
  return longest;
}

void check_forest(const ClusterSpec& cluster, CollectiveKind kind, Rank root, double least_share) {
  const Topology topology = built(cluster);
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  CAPTURE(name_of(kind));
  const Forest forest = packed(topology, kind, root);
  if (topology.ranks() == 1) {
    CHECK(forest.trees.empty());
    return;
  }
  REQUIRE(shape_fault(forest, kind, root, topology.ranks()) == "");
  Collective collective;
  collective.kind = kind;
  collective.root = root;
  collective.bytes = Bytes(std::int64_t{1} << 40);
  const auto bound = static_cast<double>(topologies::FlowBounds(topology).of(collective).time.picoseconds());
  const double busy = busiest_link(topology, forest, static_cast<double>(collective.bytes.count()));
  CHECK(busy >= bound * 0.999999);
  CHECK(static_cast<double>(forest.busiest_millionths) == doctest::Approx(busy / bound * 1e6).epsilon(0.001));
  CHECK(bound / busy >= least_share);
}

TEST_SUITE("topologies") {
  TEST_CASE("Forests span every small shape, and their busiest link is as busy as they say") {
    int index = 0;
    for (const ClusterSpec& cluster : all_shapes()) {
      // Every shape with one kind, every kind with some shapes.
      const CollectiveKind kind = packed_kinds[static_cast<std::size_t>(index++) % packed_kinds.size()];
      const Topology topology = built(cluster);
      if (topology.ranks() > (index % 8 == 0 ? 16 : 6)) continue;
      check_forest(cluster, kind, has_root(kind) ? topology.ranks() / 2 : 0, 0.0);
    }
  }

  TEST_CASE("Forests reach the tightest cut on regular networks") {
    std::vector<ClusterSpec> clusters;
    for (const std::int32_t ranks : {2, 3, 7, 8}) clusters.push_back(fabric_of(FabricKind::ring, ranks));
    for (const std::vector<int>& sides : {std::vector{4, 4}, {3, 3, 3}, {2, 4}, {5, 3}}) {
      clusters.push_back(fabric_of(FabricKind::torus, 1));
      clusters.back().fabric.dimensions = sides;
    }
    clusters.push_back(node_of(InterconnectKind::nvswitch, 8));
    clusters.push_back(node_of(InterconnectKind::hybrid_cube_mesh, 8));
    clusters.push_back(node_of(InterconnectKind::full_mesh, 6));
    clusters.push_back(fabric_of(FabricKind::hypercube, 16));
    for (const ClusterSpec& cluster : clusters)
      for (const CollectiveKind kind :
           {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce})
        check_forest(cluster, kind, 0, 0.96);
  }

  TEST_CASE("Forests of an all-reduce on a mesh beat a reduce-scatter and an all-gather") {
    // A corner of the 3 x 3 mesh receives 8/9 of S over two links in an all-gather, and again before it;
    // trees that run both ways need 2/3 instead of 8/9.
    ClusterSpec mesh = fabric_of(FabricKind::mesh, 1);
    mesh.fabric.dimensions = {3, 3};
    const Topology topology = built(mesh);
    const double unit = 1e12 / 50e9;  // of one byte
    CHECK(busiest_link(topology, packed(topology, CollectiveKind::all_gather), 1.0) ==
          doctest::Approx(4.0 / 9 * unit).epsilon(0.02));
    CHECK(busiest_link(topology, packed(topology, CollectiveKind::all_reduce), 1.0) ==
          doctest::Approx(2.0 / 3 * unit).epsilon(0.02));
  }

  TEST_CASE("Forests are the same every time") {
    const Topology topology = built(node_of(InterconnectKind::hybrid_cube_mesh, 8));
    const Forest first = packed(topology, CollectiveKind::all_gather);
    const Forest second = packed(topology, CollectiveKind::all_gather);
    REQUIRE(first.trees.size() == second.trees.size());
    for (std::size_t i = 0; i < first.trees.size(); ++i) {
      CHECK(first.trees[i].parent == second.trees[i].parent);
      CHECK(first.trees[i].channel == second.trees[i].channel);
    }
  }

  TEST_CASE("Forests are refused for what has no trees and for too many ranks") {
    const Topology small = built(fabric_of(FabricKind::ring, 4));
    CHECK(reason(small, CollectiveKind::all_to_all) == "no trees are packed for all_to_all");
    CHECK(reason(small, CollectiveKind::scatter) == "no trees are packed for scatter");
    CHECK(reason(built(fabric_of(FabricKind::ring, 65)), CollectiveKind::all_gather) ==
          "trees are packed for at most 64 ranks; here are 65");
  }
}

}  // namespace
}  // namespace collsim::testing
