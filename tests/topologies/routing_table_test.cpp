// Routing tables: what they say is what is routed, and everything wrong in one is an error at its place.
#include "topologies/routing_table.hpp"

#include <doctest/doctest.h>

#include <set>

#include "sim/core/random.hpp"
#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"

namespace collsim::testing {
namespace {

using topologies::TableError;
using topologies::with_routing_table;

std::vector<std::string> messages_of(const std::vector<TableError>& errors) {
  std::vector<std::string> messages;
  for (const TableError& error : errors)
    messages.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + ": " +
                       error.message + "; " + error.expected + (error.hint.empty() ? "" : "; " + error.hint));
  return messages;
}

Topology read(const Topology& topology, const std::string& table, std::uint64_t seed = 1) {
  auto result = with_routing_table(topology, table, seed);
  if (const auto* errors = std::get_if<std::vector<TableError>>(&result)) FAIL(messages_of(*errors)[0]);
  return std::get<Topology>(std::move(result));
}

std::vector<std::string> errors_in(const Topology& topology, const std::string& table) {
  const auto result = with_routing_table(topology, table);
  const auto* errors = std::get_if<std::vector<TableError>>(&result);
  return errors == nullptr ? std::vector<std::string>() : messages_of(*errors);
}

// Two leaves of two nodes, two spines.
Topology small_tree() { return built(tree_of(FabricKind::fat_tree, 2, 4, 4, 1, 1)); }

std::vector<std::string> small_table() {
  return {"node0/gpu0 * node0/nic0",     "node1/gpu0 * node1/nic0",     "node2/gpu0 * node2/nic0",
          "node3/gpu0 * node3/nic0",     "node0/nic0 node0 node0/gpu0", "node0/nic0 * leaf0",
          "node1/nic0 node1 node1/gpu0", "node1/nic0 * leaf0",          "node2/nic0 node2 node2/gpu0",
          "node2/nic0 * leaf1",          "node3/nic0 node3 node3/gpu0", "node3/nic0 * leaf1",
          "leaf0 node0 node0/nic0",      "leaf0 node1 node1/nic0",      "leaf0 * spine0",
          "leaf1 node2 node2/nic0",      "leaf1 node3 node3/nic0",      "leaf1 * spine1",
          "spine0 node0 leaf0",          "spine0 node1 leaf0",          "spine0 * leaf1",
          "spine1 node2 leaf1",          "spine1 node3 leaf1",          "spine1 * leaf0"};
}

// The table with line `number` replaced; 25: one more.
std::string with_line(int number, const std::string& line) {
  std::vector<std::string> lines = small_table();
  lines.resize(std::max<std::size_t>(lines.size(), static_cast<std::size_t>(number)));
  lines[static_cast<std::size_t>(number) - 1] = line;
  std::string text;
  for (const std::string& each : lines) text += each + "\n";
  return text;
}

TEST_SUITE("topologies") {
  TEST_CASE("A routing table written from the minimal routes of any shape and read back gives those routes") {
    for (ClusterSpec cluster : all_shapes()) {
      if (cluster.routing.kind != RoutingKind::minimal) continue;
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      const Topology own = built(cluster, 3);
      if (own.ranks() == 1) continue;
      const Topology table = read(own, topologies::routing_table_of(own));
      // Where a route depends on its source the table has all of them.
      const bool draws = cluster.fabric.kind == FabricKind::dragonfly ||
                         cluster.fabric.kind == FabricKind::custom ||
                         cluster.node.interconnect.kind == InterconnectKind::hybrid_cube_mesh;
      for (Rank source = 0; source < own.ranks(); ++source)
        for (Rank target = 0; target < own.ranks(); ++target) {
          if (source == target) continue;
          const std::vector<LinkId> route = route_of(table, source, target);
          REQUIRE(path_fault(own, source, target, route) == "");
          REQUIRE(route.size() == route_of(own, source, target).size());
          if (!draws) REQUIRE(route == route_of(own, source, target));
        }
    }
  }
  TEST_CASE("A routing table holds rail-local routes") {
    ClusterSpec cluster = tree_of(FabricKind::rail_fat_tree, 2, 8, 4, 4, 4);
    cluster.routing.rail_local = true;
    const Topology own = built(cluster);
    const Topology table = read(own, topologies::routing_table_of(own));
    for (Rank target = 1; target < own.ranks(); ++target)
      CHECK(route_of(table, 0, target) == route_of(own, 0, target));
  }
  TEST_CASE("Several next vertices are ECMP, drawn by flow and seed") {
    const Topology own = small_tree();
    const std::string text = with_line(15, "leaf0 *\tspine1 spine0  # both\r");
    std::set<std::string> spines;
    std::int32_t changed = 0;
    const Topology one = read(own, text, 1);
    const Topology two = read(own, text, 2);
    for (std::int32_t channel = 0; channel < 50; ++channel) {
      spines.insert(names_of(own, route_of(one, 0, 2, channel))[2]);
      changed += route_of(one, 0, 2, channel) != route_of(two, 0, 2, channel);
      REQUIRE(path_fault(own, 0, 2, route_of(one, 0, 2, channel)) == "");
    }
    CHECK(spines == std::set<std::string>{"spine0", "spine1"});
    CHECK(changed > 10);
  }
  TEST_CASE("The narrowest destination of a routing table counts: GPU, NIC, node, all") {
    const Topology own = small_tree();
    const auto spine_of = [&](const std::string& more) {
      return names_of(own, route_of(read(own, with_line(25, more)), 0, 2))[2];
    };
    CHECK(spine_of("") == "spine0");
    CHECK(spine_of("leaf0 node2 spine1") == "spine1");
    CHECK(spine_of("leaf0 node3 spine1") == "spine0");
    CHECK(spine_of("leaf0 node2 spine0\nleaf0 node2/nic0 spine1") == "spine1");
    CHECK(spine_of("leaf0 node2/nic0 spine0\nleaf0 node2/gpu0 spine1\nleaf0 node2 spine0") == "spine1");
  }
  TEST_CASE("A routing table names one of parallel links, or means all of them") {
    ClusterSpec cluster = fabric_of(FabricKind::custom, 2);
    for (int i = 0; i < 3; ++i) cluster.fabric.links.push_back({0, 1, std::nullopt, std::nullopt});
    const Topology own = built(cluster);
    const std::string back = "node1/gpu0 * node0/gpu0\n";
    const Topology second = read(own, back + "node0/gpu0 * node1/gpu0#2\n");
    const Topology all = read(own, back + "node0/gpu0 * node1/gpu0\n");
    std::set<std::string> named;
    std::set<std::string> used;
    for (std::int32_t channel = 0; channel < 50; ++channel) {
      named.insert(own.link_name(route_of(second, 0, 1, channel)[0]));
      used.insert(own.link_name(route_of(all, 0, 1, channel)[0]));
    }
    CHECK(named == std::set<std::string>{"node0/gpu0 -> node1/gpu0#2"});
    CHECK(used.size() == 3);
  }

  TEST_CASE("Lines of a routing table that cannot be understood are errors at their place") {
    struct Case {
      const char* line;
      const char* error;
    };
    const Topology own = small_tree();
    for (
        const Case& test :
        {Case{"leaf0 node0",
              "25:1: an entry has at least three columns, this one 2; at, destination, next vertices"},
         Case{"leef0 node2 spine0",
              "25:1: the cluster has no vertex 'leef0'; a name such as node0/gpu0; leaf0"},
         Case{" leaf0 nodde2 spine0",
              "25:8: the cluster has no destination 'nodde2'; a GPU, a NIC, a node such as node0, or *; "
              "node2"},
         Case{
             "leaf0 node4 spine0",
             "25:7: the cluster has no destination 'node4'; a GPU, a NIC, a node such as node0, or *; node0"},
         Case{
             "leaf0 spine0 spine0",
             "25:7: 'spine0' is a switch, and messages do not end there; a GPU, a NIC, a node such as node0, "
             "or *"},
         Case{"leaf0 node2 leaf1",
              "25:13: no link leads from leaf0 to leaf1; one of node0/nic0, node1/nic0, spine0, spine1"},
         Case{"leaf0 node2 spine7",
              "25:13: the cluster has no vertex 'spine7'; a name such as node0/gpu0; spine0"},
         Case{"leaf0 node0 node0/nic0",
              "25:7: a second entry at leaf0 for the same destination; the first is in line 13; one entry, "
              "with "
              "several next vertices if there are several ways"},
         Case{"leaf0 node2 spine0#2", "25:13: leaf0 has only 1 link to spine0; at most #1"},
         Case{"leaf0 node2 spine0#0",
              "25:19: 'spine0#0' has no number of a link; a number from 1 on, such as spine0#1"},
         Case{"leaf0 node2 spine0 spine0", "25:20: 'spine0' is there already; each way once"},
         Case{"node0/gpu0 node0/gpu0 node0/nic0",
              "25:12: 'node0/gpu0' is where the message would be already; another destination"}}) {
      CAPTURE(test.line);
      CHECK(errors_in(own, with_line(25, test.line)) == std::vector<std::string>{test.error});
    }
  }
  TEST_CASE("Holes of a routing table are reported where they are run into") {
    const Topology own = small_tree();
    CHECK(
        errors_in(own, with_line(15, "# nothing")) ==
        std::vector<std::string>{"6:14: there is no entry at leaf0 for node2/gpu0 (and 1 other GPU); a line "
                                 "such as 'leaf0  *  node0/nic0'"});
    CHECK(
        errors_in(own, with_line(1, "")) ==
        std::vector<std::string>{"25:1: there is no entry at node0/gpu0 for node1/gpu0 (and 2 other GPUs); a "
                                 "line such as 'node0/gpu0  *  node0/nic0'"});
    for (const char* empty : {"", "# at destination next\n"})
      CHECK(errors_in(own, empty) ==
            std::vector<std::string>{
                "1:1: the table has no entries; lines such as 'node0/gpu0  *  node0/nic0'"});
  }
  TEST_CASE("Loops of a routing table are reported with the way round, also those of one ECMP way") {
    const Topology own = small_tree();
    CHECK(
        errors_in(own, with_line(21, "spine0 * leaf0")) ==
        std::vector<std::string>{"21:10: messages to node2/gpu0 (and 1 other GPU) come back: leaf0 -> spine0 "
                                 "-> leaf0; a next vertex that leads on"});
    CHECK(
        errors_in(own, with_line(21, "spine0 * leaf1 leaf0")) ==
        std::vector<std::string>{"21:16: messages to node2/gpu0 (and 1 other GPU) come back: leaf0 -> spine0 "
                                 "-> leaf0; a next vertex that leads on, as the other ones of this entry"});
  }
  TEST_CASE("At most 20 errors of a routing table are reported, by line") {
    const Topology own = small_tree();
    std::string text;
    for (int line = 0; line < 100; ++line) text += "nowhere at all\n";
    const auto errors = errors_in(own, text);
    REQUIRE(errors.size() == 20);
    CHECK(errors[19].substr(0, 5) == "10:9:");  // two a line
    // 256 GPUs that have no entry at all, but one.
    const Topology large = built(tree_of(FabricKind::fat_tree, 2, 32, 256, 1, 1));
    CHECK(errors_in(large, "node0/gpu0 * node0/nic0\n").size() == 20);
  }
  TEST_CASE("Damaged bytes in a routing table are read as something or are errors") {
    const Topology own = small_tree();
    const std::string whole = with_line(15, "leaf0 * spine0#1 spine1");
    std::int32_t bad = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      std::string text = whole;
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
        text[random.below(text.size())] = static_cast<char>(random.below(256));
      text.resize(random.below(8) == 0 ? random.below(text.size()) : text.size());
      const auto errors = errors_in(own, text);
      bad += errors.empty() ? 0 : 1;
      REQUIRE(errors.size() <= 20);
    }
    CHECK(bad > 1000);
    CHECK(errors_in(own, std::string(100'000, 'x')).size() == 1);
    CHECK(errors_in(own, "leaf0 * " + std::string(100'000, '#')).size() == 1);
  }
  TEST_CASE("Whatever a routing table says, either all its routes are paths or there are errors") {
    const Topology own = small_tree();
    std::int32_t good = 0;
    std::int32_t bad = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      std::string text;
      for (std::string line : small_table()) {
        // Another neighbour, or none.
        const std::uint64_t drawn = random.below(60);
        if (drawn == 0) continue;
        if (drawn == 1)
          line.replace(line.rfind(' ') + 1, std::string::npos, "leaf" + std::to_string(seed % 2));
        if (drawn == 2) line += random.below(2) == 0 ? " spine0" : " spine1";
        text += line + "\n";
      }
      const auto result = with_routing_table(own, text, seed);
      if (const auto* errors = std::get_if<std::vector<TableError>>(&result)) {
        ++bad;
        REQUIRE(!errors->empty());
        for (std::size_t i = 1; i < errors->size(); ++i) REQUIRE((*errors)[i - 1].line <= (*errors)[i].line);
        continue;
      }
      ++good;
      const auto& table = std::get<Topology>(result);
      for (Rank source = 0; source < 4; ++source)
        for (Rank target = 0; target < 4; ++target)
          for (std::int32_t channel = 0; source != target && channel < 3; ++channel)
            REQUIRE(path_fault(own, source, target, route_of(table, source, target, channel)) == "");
    }
    CHECK(good > 300);
    CHECK(bad > 300);
  }
}

}  // namespace
}  // namespace collsim::testing
