// Kinds of routing, each on every small shape that it fits, and what each is for.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"

namespace collsim::testing {
namespace {

using Route = std::vector<LinkId>;

std::vector<ClusterSpec> minimal_shapes() {
  std::vector<ClusterSpec> shapes;
  for (ClusterSpec& cluster : all_shapes())
    if (cluster.routing.kind == RoutingKind::minimal) shapes.push_back(std::move(cluster));
  return shapes;
}

// The shape with routing of that kind, if it fits.
std::optional<Topology> with_kind(ClusterSpec cluster, RoutingKind kind, std::uint64_t seed = 7) {
  cluster.routing.kind = kind;
  auto result = topologies::build(cluster, seed);
  if (auto* topology = std::get_if<Topology>(&result)) return std::move(*topology);
  const auto& error = std::get<topologies::BuildError>(result);
  REQUIRE_MESSAGE(error.key == "routing", error.message);
  return std::nullopt;
}

std::vector<Route> all_routes(const Topology& topology, Rank source, Rank target, std::int32_t channel) {
  std::vector<Route> routes;
  for (std::int32_t n = 0; n < topology.routes().route_count(source, target, channel); ++n)
    topology.routes().numbered_route(source, target, channel, n, routes.emplace_back());
  return routes;
}

template <class Check>
void for_each_pair(const Topology& topology, Check&& check) {
  for (Rank source = 0; source < topology.ranks(); ++source)
    for (Rank target = 0; target < topology.ranks(); ++target) {
      if (source == target) continue;
      CAPTURE(source);
      CAPTURE(target);
      check(source, target);
    }
}

bool passes_a_vertex_twice(const Topology& topology, const Route& route) {
  std::set<VertexId> passed = {topology.link(route[0]).source};
  for (const LinkId link : route)
    if (!passed.insert(topology.link(link).target).second) return true;
  return false;
}

bool is_grid(const ClusterSpec& cluster) {
  const FabricKind kind = cluster.fabric.kind;
  return kind == FabricKind::torus || kind == FabricKind::mesh || kind == FabricKind::ring;
}

// Of a point's dimensions: m! orders of the m that differ, times 2 for each where both ways are as short.
std::int64_t turns_of(const ClusterSpec& cluster, std::int32_t from, std::int32_t to) {
  std::vector<int> sides = cluster.fabric.dimensions;
  if (cluster.fabric.kind == FabricKind::ring) sides = {cluster.nodes};
  std::int64_t routes = 1;
  std::int64_t differing = 0;
  for (const int side : sides) {
    const std::int32_t apart = std::abs(from % side - to % side);
    from /= side;
    to /= side;
    if (apart > 0) routes *= ++differing;
    const bool closes = cluster.fabric.kind != FabricKind::mesh && side > 2;
    if (closes && 2 * apart == side) routes *= 2;
  }
  return routes;
}

void check_spread(const ClusterSpec& cluster, RoutingKind kind) {
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  const Topology minimal = built(cluster, 7);
  const std::optional<Topology> topology = with_kind(cluster, kind);
  REQUIRE(topology.has_value());
  if (topology->ranks() == 1) return;
  REQUIRE(topology->routes().spreading() ==
          (kind == RoutingKind::spray ? Spreading::even : Spreading::shortest_queue));
  for (Rank source = 0; source < topology->ranks(); ++source) {
    const ShortestRoutes shortest(*topology, cluster, source);
    for (Rank target = 0; target < topology->ranks(); ++target) {
      if (source == target) continue;
      CAPTURE(source);
      CAPTURE(target);
      const std::int32_t channel = (source + target) % 3;
      const std::vector<Route> routes = all_routes(*topology, source, target, channel);
      REQUIRE(routes[0] == route_of(*topology, source, target, channel));
      REQUIRE(routes[0] == route_of(minimal, source, target, channel));
      REQUIRE(std::set<Route>(routes.begin(), routes.end()).size() == routes.size());
      const ShortestRoutes::Answer best = shortest.to(target);
      for (const Route& route : routes) {
        REQUIRE(path_fault(*topology, source, target, route) == "");
        REQUIRE(route.size() == best.links);
      }
      const std::int32_t from = topology->vertex(VertexId(source)).node;
      const std::int32_t to = topology->vertex(VertexId(target)).node;
      const auto count = static_cast<std::int64_t>(routes.size());
      if (from == to && cluster.node.interconnect.kind != InterconnectKind::none)
        REQUIRE(count == (cluster.node.interconnect.kind == InterconnectKind::nvswitch ? best.routes : 1));
      else if (is_grid(cluster))
        REQUIRE(count == std::min<std::int64_t>(64, turns_of(cluster, from, to)));
      else
        REQUIRE(count == std::min<std::int64_t>(64, best.routes));
    }
  }
}

// Links of level-1 to level-2 switches, and of level 2 to 3, that `channels` flows from 0 to `target` use.
std::set<std::pair<LinkId, LinkId>> ways_up(const Topology& topology, Rank target, std::int32_t channels) {
  std::set<std::pair<LinkId, LinkId>> ways;
  for (std::int32_t channel = 0; channel < channels; ++channel) {
    const Route route = route_of(topology, 0, target, channel);
    ways.insert({route[1], route[2]});
  }
  return ways;
}

std::string error_of(const ClusterSpec& cluster) {
  const auto result = topologies::build(cluster);
  const auto* error = std::get_if<topologies::BuildError>(&result);
  return error == nullptr ? "" : error->key + ": " + error->message + "; " + error->expected;
}

TEST_SUITE("topologies") {
  TEST_CASE("Spray takes all shortest routes of every shape, each once, the minimal one first") {
    for (const ClusterSpec& cluster : minimal_shapes()) check_spread(cluster, RoutingKind::spray);
  }
  TEST_CASE("Adaptive has the routes of spray") {
    for (const ClusterSpec& cluster : direct_shapes())
      if (cluster.routing.kind == RoutingKind::minimal) check_spread(cluster, RoutingKind::adaptive);
  }
  TEST_CASE("D-mod-k and dimension order are the minimal routes where they fit") {
    std::map<RoutingKind, std::set<FabricKind>> fitting;
    for (const ClusterSpec& cluster : minimal_shapes())
      for (const RoutingKind kind : {RoutingKind::d_mod_k, RoutingKind::dimension_order}) {
        const std::optional<Topology> topology = with_kind(cluster, kind);
        if (!topology) continue;
        fitting[kind].insert(cluster.fabric.kind);
        const std::string shape = text_of(cluster);
        CAPTURE(shape);
        const Topology minimal = built(cluster, 7);
        for_each_pair(minimal, [&](Rank source, Rank target) {
          REQUIRE(route_of(*topology, source, target, 1) == route_of(minimal, source, target, 1));
        });
      }
    using enum FabricKind;
    CHECK(fitting[RoutingKind::d_mod_k] == std::set<FabricKind>{single_switch, fat_tree, rail_fat_tree});
    CHECK(fitting[RoutingKind::dimension_order] == std::set<FabricKind>{torus, mesh, ring});
  }
  TEST_CASE("Valiant routes are paths that pass no vertex twice, the same for the same seed") {
    std::set<FabricKind> fitting;
    std::int64_t detours = 0;
    std::int64_t changed = 0;
    std::int64_t pairs = 0;
    for (const ClusterSpec& cluster : minimal_shapes()) {
      const std::optional<Topology> topology = with_kind(cluster, RoutingKind::valiant);
      if (!topology) continue;
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      fitting.insert(cluster.fabric.kind);
      const Topology minimal = built(cluster, 7);
      const std::optional<Topology> again = with_kind(cluster, RoutingKind::valiant);
      const std::optional<Topology> other = with_kind(cluster, RoutingKind::valiant, 8);
      for_each_pair(minimal, [&](Rank source, Rank target) {
        const Route route = route_of(*topology, source, target);
        REQUIRE(path_fault(*topology, source, target, route) == "");
        REQUIRE(!passes_a_vertex_twice(*topology, route));
        REQUIRE(route == route_of(*again, source, target));
        // Over two global cables of a dragonfly it can be shorter than over one.
        if (cluster.fabric.kind != FabricKind::dragonfly)
          REQUIRE(route.size() >= route_of(minimal, source, target).size());
        detours += route != route_of(minimal, source, target);
        changed += route != route_of(*other, source, target);
        ++pairs;
      });
    }
    using enum FabricKind;
    CHECK(fitting == std::set<FabricKind>{torus, mesh, ring, hypercube, dragonfly});
    CHECK(detours > pairs / 3);
    CHECK(changed > pairs / 3);
  }
  TEST_CASE("Valiant routes between groups of a dragonfly lead over every other group") {
    ClusterSpec cluster = fabric_of(FabricKind::dragonfly, 36);
    cluster.fabric.dragonfly_routers = 4;
    cluster.fabric.dragonfly_nodes = 1;
    cluster.fabric.dragonfly_global_links = 2;
    const std::optional<Topology> topology = with_kind(cluster, RoutingKind::valiant);
    const auto group_of = [&](VertexId vertex) { return topology->vertex(vertex).index / 4; };
    std::set<std::int32_t> passed;
    for (std::int32_t channel = 0; channel < 200; ++channel) {
      const Route route = route_of(*topology, 0, 35, channel);
      std::int32_t global = 0;
      for (std::size_t i = 1; i + 1 < route.size(); ++i) {
        const Link& link = topology->link(route[i]);
        global += group_of(link.source) != group_of(link.target);
        passed.insert(group_of(link.target));
      }
      REQUIRE(global <= 2);
      REQUIRE(route.size() <= 7);
    }
    CHECK(passed.size() == 9);
    CHECK(route_of(*topology, 0, 3).size() == 3);  // within a group: minimal
  }
  TEST_CASE("Valiant spreads a shift by half a ring over the links of both directions") {
    const std::optional<Topology> topology = with_kind(fabric_of(FabricKind::ring, 16), RoutingKind::valiant);
    std::map<LinkId, int> load;
    for (Rank source = 0; source < 16; ++source)
      for (const LinkId link : route_of(*topology, source, (source + 8) % 16)) ++load[link];
    CHECK(load.size() > 24);  // minimal: the 16 of the + direction, 8 flows each
  }

  TEST_CASE("ECMP decides at every switch for itself, polarised it decides once") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 3, 8, 128, 1, 0);
    cluster.routing.kind = RoutingKind::ecmp;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(seed);
      cluster.routing.polarised = false;
      CHECK(ways_up(built(cluster, seed), 127, 1000).size() == 16);
      cluster.routing.polarised = true;
      CHECK(ways_up(built(cluster, seed), 127, 1000).size() == 4);
    }
  }
  TEST_CASE("ECMP routes differ from seed to seed") {
    for (const ClusterSpec& shape :
         {tree_of(FabricKind::fat_tree, 2, 8, 32, 1, 0), fabric_of(FabricKind::hypercube, 32)}) {
      std::int64_t changed = 0;
      const std::optional<Topology> one = with_kind(shape, RoutingKind::ecmp, 1);
      const std::optional<Topology> two = with_kind(shape, RoutingKind::ecmp, 2);
      for_each_pair(*one, [&](Rank source, Rank target) {
        changed += route_of(*one, source, target) != route_of(*two, source, target);
      });
      CHECK(changed > 32 * 31 / 3);
    }
  }

  TEST_CASE("Spray with fewer paths than there are takes them evenly") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 3, 16, 128, 1, 0);
    cluster.routing.kind = RoutingKind::spray;
    cluster.routing.paths = 16;
    const Topology topology = built(cluster);
    std::map<LinkId, int> uses;
    const auto routes = all_routes(topology, 0, 127, 0);
    REQUIRE(routes.size() == 16);
    for (const Route& route : routes) ++uses[route[1]];
    CHECK(uses.size() == 8);
    for (const auto& use : uses) CHECK(use.second == 2);
  }

  TEST_CASE("Rail-local routes reach the target's NIC number inside the source's node") {
    ClusterSpec cluster = tree_of(FabricKind::rail_fat_tree, 2, 8, 4, 4, 4);
    cluster.routing.rail_local = true;
    const Topology topology = built(cluster);
    CHECK(names_of(topology, route_of(topology, 0, 6)) ==
          std::vector<std::string>{"node0/nvswitch0", "node0/gpu2", "node0/nic2", "leaf2", "node1/nic2",
                                   "node1/gpu2"});
    CHECK(names_of(topology, route_of(topology, 2, 6))[0] == "node0/nic2");
    CHECK(names_of(topology, route_of(topology, 0, 3)) ==
          std::vector<std::string>{"node0/nvswitch0", "node0/gpu3"});
    // GPUs 0 and 1 at NIC 0, 2 and 3 at NIC 1, 4 at NIC 2.
    ClusterSpec uneven = cluster_of(FabricKind::single_switch, 2, 5, 3);
    uneven.routing.rail_local = true;
    const Topology shared = built(uneven);
    CHECK(names_of(shared, route_of(shared, 0, 8))[1] == "node0/gpu3");
    CHECK(names_of(shared, route_of(shared, 1, 5))[0] == "node0/nic0");
    CHECK(names_of(shared, route_of(shared, 4, 6))[1] == "node0/gpu1");
  }
  TEST_CASE("Rail-local routes of every kind are paths that change no rail") {
    std::int64_t relayed = 0;
    for (ClusterSpec cluster : minimal_shapes())
      for (const RoutingKind kind : {RoutingKind::minimal, RoutingKind::ecmp, RoutingKind::spray}) {
        cluster.routing.rail_local = true;
        cluster.routing.kind = kind;
        const auto result = topologies::build(cluster, 3);
        if (!std::holds_alternative<Topology>(result)) continue;
        const auto& topology = std::get<Topology>(result);
        const std::string shape = text_of(cluster);
        CAPTURE(shape);
        for_each_pair(topology, [&](Rank source, Rank target) {
          const std::vector<Route> routes = all_routes(topology, source, target, 1);
          REQUIRE(routes[0] == route_of(topology, source, target, 1));
          REQUIRE(std::set<Route>(routes.begin(), routes.end()).size() == routes.size());
          for (const Route& route : routes) {
            REQUIRE(path_fault(topology, source, target, route) == "");
            std::vector<std::int32_t> nics;
            for (const LinkId link : route) {
              const Vertex& vertex = topology.vertex(topology.link(link).target);
              if (vertex.kind == VertexKind::nic) nics.push_back(vertex.index);
            }
            // On a torus of one NIC a node, messages pass other nodes' NICs.
            if (!nics.empty()) REQUIRE(nics.front() == nics.back());
            relayed +=
                topology.vertex(topology.link(route[0]).target).kind != VertexKind::nic && !nics.empty();
          }
        });
      }
    CHECK(relayed > 1000);
  }
  TEST_CASE("Rail-local spray takes the planes of the node and the spines of the fabric side by side") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 6, 4, 3, 3);
    cluster.node.interconnect.planes = 2;
    cluster.routing.kind = RoutingKind::spray;
    cluster.routing.rail_local = true;
    const Topology topology = built(cluster);
    std::set<std::string> planes;
    std::set<std::string> spines;
    for (const Route& route : all_routes(topology, 0, 11, 0)) {
      planes.insert(names_of(topology, route)[0]);
      spines.insert(names_of(topology, route)[4]);
    }
    CHECK(planes == std::set<std::string>{"node0/nvswitch0", "node0/nvswitch1"});
    CHECK(spines == std::set<std::string>{"spine0", "spine1", "spine2"});
  }

  TEST_CASE("Every kind of routing gives paths between unlike nodes and between sites") {
    ClusterSpec unlike = tree_of(FabricKind::rail_fat_tree, 2, 8, 6, 4, 4);
    unlike.groups = {{2, "", unlike.node}, {4, "", unlike.node}};
    unlike.groups[1].node.gpus = 2;
    unlike.groups[1].node.nics.count = 2;
    ClusterSpec sites = tree_of(FabricKind::fat_tree, 2, 8, 8, 2, 2);
    sites.sites.count = 2;
    sites.sites.bandwidth = Bandwidth::gigabytes_per_second(100);
    sites.sites.latency = Duration::microseconds(500);
    sites.sites.links = 2;
    for (ClusterSpec cluster : {unlike, sites})
      for (const bool rail_local : {false, true})
        for (const RoutingKind kind : {RoutingKind::minimal, RoutingKind::d_mod_k, RoutingKind::ecmp,
                                       RoutingKind::spray, RoutingKind::adaptive}) {
          cluster.routing.kind = kind;
          cluster.routing.rail_local = rail_local;
          const std::string shape = text_of(cluster);
          CAPTURE(shape);
          const Topology topology = built(cluster, 5);
          for_each_pair(topology, [&](Rank source, Rank target) {
            const std::vector<Route> routes = all_routes(topology, source, target, 1);
            REQUIRE(routes[0] == route_of(topology, source, target, 1));
            REQUIRE(std::set<Route>(routes.begin(), routes.end()).size() == routes.size());
            for (const Route& route : routes) REQUIRE(path_fault(topology, source, target, route) == "");
          });
        }
  }
  TEST_CASE("Rail-local routes between unlike nodes go over a relay where the source has such a NIC") {
    ClusterSpec cluster = tree_of(FabricKind::rail_fat_tree, 2, 8, 3, 4, 4);
    cluster.groups = {{2, "", cluster.node}, {1, "", cluster.node}};
    cluster.groups[1].node.gpus = 2;
    cluster.groups[1].node.nics.count = 2;
    cluster.routing.rail_local = true;
    const Topology topology = built(cluster);
    CHECK(names_of(topology, route_of(topology, 3, 9))[1] == "node0/gpu1");  // to node2/gpu1
    CHECK(names_of(topology, route_of(topology, 9, 3))[0] == "node2/nic1");  // it has no NIC 3
  }
  TEST_CASE("Rail-local clusters claim the translations of minimal ones, and those map routes onto routes") {
    int claims = 0;
    for (ClusterSpec cluster :
         {tree_of(FabricKind::rail_fat_tree, 2, 8, 8, 4, 4), tree_of(FabricKind::fat_tree, 2, 8, 4, 4, 2),
          cluster_of(FabricKind::single_switch, 4, 4, 4), cluster_of(FabricKind::single_switch, 2, 8, 2)}) {
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      const Topology minimal = built(cluster);
      cluster.routing.rail_local = true;
      const Topology topology = built(cluster);
      REQUIRE(minimal.has_translation(TranslationKind::exclusive_or));
      REQUIRE(topology.has_translation(TranslationKind::exclusive_or));
      for (Rank difference = 1; difference < topology.ranks(); ++difference) {
        CAPTURE(difference);
        std::vector<std::int64_t> crossed(topology.link_count(), 0);
        std::set<std::vector<std::pair<VertexKind, std::int8_t>>> courses;
        for (Rank rank = 0; rank < topology.ranks(); ++rank) {
          std::vector<std::pair<VertexKind, std::int8_t>> passed;
          for (const LinkId link : route_of(topology, rank, rank ^ difference)) {
            ++crossed[link.value];
            const Vertex& vertex = topology.vertex(topology.link(link).target);
            passed.push_back({vertex.kind, vertex.level});
          }
          courses.insert(passed);
        }
        REQUIRE(courses.size() == 1);
        std::map<std::vector<int>, std::set<std::int64_t>> of_kind;
        for (std::size_t id = 0; id < crossed.size(); ++id) {
          const Link& link = topology.link(LinkId(id));
          const Vertex& a = topology.vertex(link.source);
          const Vertex& b = topology.vertex(link.target);
          of_kind[{static_cast<int>(a.kind), a.level, static_cast<int>(b.kind), b.level}].insert(crossed[id]);
        }
        for (const auto& kind : of_kind) REQUIRE(kind.second.size() == 1);
        ++claims;
      }
    }
    CHECK(claims == 31 + 15 + 15 + 15);
  }

  TEST_CASE("Routing that does not fit is named with what does") {
    ClusterSpec cluster = fabric_of(FabricKind::ring, 8);
    cluster.routing.kind = RoutingKind::d_mod_k;
    CHECK(error_of(cluster) ==
          "routing: routing d_mod_k does not fit: the fabric is of kind ring; d_mod_k on a fabric of kind "
          "switch, fat_tree or rail_fat_tree");
    cluster.fabric.kind = FabricKind::single_switch;
    cluster.routing.kind = RoutingKind::dimension_order;
    CHECK(error_of(cluster) ==
          "routing: routing dimension_order does not fit: the fabric is of kind switch; dimension_order on a "
          "fabric of kind torus, mesh or ring");
    cluster.routing.kind = RoutingKind::valiant;
    CHECK(error_of(cluster) ==
          "routing: routing valiant does not fit: the fabric is of kind switch; valiant on a fabric of kind "
          "torus, mesh, ring, hypercube or dragonfly");
    ClusterSpec node = node_of(InterconnectKind::nvswitch, 8);
    node.routing.kind = RoutingKind::valiant;
    CHECK(error_of(node) ==
          "routing: routing valiant does not fit: there is no fabric; valiant on a fabric of kind torus, "
          "mesh, ring, hypercube or dragonfly");
  }
  TEST_CASE("Options of routing that have no effect are errors") {
    ClusterSpec cluster = fabric_of(FabricKind::single_switch, 8);
    cluster.routing.polarised = true;
    CHECK(
        error_of(cluster) ==
        "routing.polarised: polarised has no effect with routing minimal; polarised only with routing ecmp");
    cluster.routing = {};
    cluster.routing.paths = 8;
    CHECK(error_of(cluster) ==
          "routing.paths: paths has no effect with routing minimal; paths only with routing spray or "
          "adaptive");
    cluster.routing.kind = RoutingKind::spray;
    CHECK(error_of(cluster) == "");
    for (const int paths : {0, -1, 4097}) {
      cluster.routing.paths = paths;
      CHECK(error_of(cluster) == "routing.paths: a connection takes " + std::to_string(paths) +
                                     " routes; a whole number from 1 to 4096");
    }
    cluster.routing = {};
    cluster.routing.file = "routes.txt";
    CHECK(error_of(cluster) ==
          "routing.file: file has no effect with routing minimal; file only with routing table");
    cluster.routing = {};
    cluster.routing.rail_local = true;
    CHECK(error_of(cluster) ==
          "routing.rail_local: rail-local routes lead over NICs, and a node has none; rail_local where nodes "
          "have an interconnect and NICs");
    cluster = cluster_of(FabricKind::single_switch, 4, 4, 4, InterconnectKind::none);
    cluster.routing.rail_local = true;
    CHECK(error_of(cluster) ==
          "routing.rail_local: rail-local routes lead over an interconnect, and no node has one; rail_local "
          "where nodes have an interconnect and NICs");
    cluster = cluster_of(FabricKind::single_switch, 4, 4, 4);
    cluster.routing.rail_local = true;
    CHECK(error_of(cluster) == "");
    cluster.routing.kind = RoutingKind::table;
    CHECK(error_of(cluster) ==
          "routing.rail_local: rail_local has no effect with routing table; rail_local only with routing of "
          "another kind");
  }
}

}  // namespace
}  // namespace collsim::testing
