#include <utility>

#include "sim/config/table_parts.hpp"
#include "sim/model/cluster.hpp"

namespace collsim::config {
namespace {

using namespace parts;

Key reduction(std::vector<std::string> kinds) {
  Key key = table("reduction",
                  "whether the switches reduce (true or false), or their limits; limits not given are none",
                  {boolean("enabled", "true", "whether the switches reduce"),
                   bandwidth("bandwidth", "rate of one aggregation through the switches"),
                   integer("operations", 1, 1 << 20, "aggregations in flight for one group of ranks"),
                   integer("radix", 2, 1 << 20, "children of one switch in an aggregation tree"),
                   size("message_size", 1, "largest aggregation")});
  key.short_form = "enabled";
  key.fallback = "false";
  return used_by(std::move(key), std::move(kinds));
}

std::vector<std::string> interconnect_kinds() {
  std::vector<std::string> names;
  for (const InterconnectKind kind :
       {InterconnectKind::nvswitch, InterconnectKind::full_mesh, InterconnectKind::ring,
        InterconnectKind::pcie, InterconnectKind::hybrid_cube_mesh, InterconnectKind::shared_memory,
        InterconnectKind::none})
    names.emplace_back(name_of(kind));
  return names;
}

std::vector<std::string> fabric_kinds() {
  std::vector<std::string> names;
  for (const FabricKind kind :
       {FabricKind::fat_tree, FabricKind::rail_fat_tree, FabricKind::torus, FabricKind::mesh,
        FabricKind::dragonfly, FabricKind::hypercube, FabricKind::ring, FabricKind::full_mesh,
        FabricKind::single_switch, FabricKind::custom, FabricKind::none})
    names.emplace_back(name_of(kind));
  return names;
}

std::vector<std::string> without(std::vector<std::string> names, const std::vector<std::string>& excluded) {
  std::erase_if(names, [&](const std::string& name) { return contains(excluded, name); });
  return names;
}

Key interconnect_table() {
  const std::vector<std::string> linked = without(interconnect_kinds(), {"none"});
  return table(
      "interconnect", "the links between the GPUs of a node",
      {required(choice("kind", interconnect_kinds(), "how the GPUs of a node are joined")),
       needed_by(bandwidth("bandwidth",
                           "of one link in one direction; nvswitch: of a GPU to the switches; "
                           "shared_memory: of a rank into the memory, and out of it"),
                 linked),
       used_by(duration("latency", "of one link in one direction"), linked), reduction({"nvswitch"}),
       used_by(with_default(integer("planes", 1, 1 << 10, "switch planes that share a GPU's bandwidth"), "1"),
               {"nvswitch"}),
       used_by(with_default(integer("gpus_per_switch", 1, 1 << 10, "GPUs under one PCIe switch"), "2"),
               {"pcie"}),
       needed_by(bandwidth("total",
                           "bytes per second that all ranks of the node together can copy, messages and "
                           "local work together"),
                 {"shared_memory"}),
       used_by(bandwidth("reduce_total",
                         "bytes per second that all ranks of the node together can reduce; "
                         "default: as total"),
               {"shared_memory"})});
}

Key node_table() {
  return table(
      "node", "one node",
      {with_default(integer("gpus", 1, ranks_max, "GPUs of a node"), "1"), interconnect_table(),
       table("nics", "the network ports of a node; GPU g of G uses NIC floor(g * count / G)",
             {with_default(integer("count", 1, 1 << 16, "NICs of a node"), "1"),
              required(bandwidth("bandwidth", "GPU to NIC, one direction")),
              duration("latency", "GPU to NIC, one direction")}),
       table("gpu", "what a GPU does beside its links",
             {bandwidth("reduce_bandwidth", "received bytes reduced per second; not given: takes no time"),
              bandwidth("copy_bandwidth", "bytes copied per second; not given: takes no time"),
              duration("send_overhead", "keeps the stream busy before each message"),
              duration("receive_overhead", "from a message's arrival to its receive being complete")})});
}

Key links_table() {
  return list_of(
      table("links", "the cables between nodes; one cable is a link each way",
            {required(integer("from", 0, ranks_max - 1, "number of a node")),
             required(integer("to", 0, ranks_max - 1, "number of a node")),
             bandwidth("bandwidth", "of one direction; default: that of the fabric"),
             with_default(duration("latency", "of one direction; default: that of the fabric"), "")}));
}

Key fabric_table() {
  const std::vector<std::string> kinds = fabric_kinds();
  const std::vector<std::string> trees = {"fat_tree", "rail_fat_tree"};
  const std::vector<std::string> grids = {"torus", "mesh"};
  Key oversubscription =
      with_default(integer("oversubscription", 1, 1'000, "ports down to ports up of a leaf"), "1");
  oversubscription.form = Form::fraction;
  return table(
      "fabric", "the network between the nodes",
      {required(choice("kind", kinds, "shape of the network")),
       used_by(with_default(integer("levels", 1, 3, "levels of switches"), "2"), trees),
       needed_by(integer("radix", 1, 1 << 16, "ports of a switch"), trees),
       used_by(std::move(oversubscription), trees),
       needed_by(bandwidth("bandwidth", "of one link in one direction"), without(kinds, {"none"})),
       used_by(duration("latency", "of one link in one direction"), without(kinds, {"none"})),
       reduction({"fat_tree", "rail_fat_tree", "switch"}),
       needed_by(list_of(integer("dimensions", 1, ranks_max,
                                 "nodes along x, y, z, ...; gives the number of nodes")),
                 grids),
       needed_by(integer("routers", 1, 1 << 16, "routers of a group"), {"dragonfly"}),
       needed_by(integer("nodes_per_router", 1, 1 << 16, "nodes of a router"), {"dragonfly"}),
       needed_by(integer("global_links", 1, 1 << 16, "links of a router to other groups"), {"dragonfly"}),
       needed_by(links_table(), {"custom"}),
       moved("routing", "the key routing beside cluster; hash is ecmp there")});
}

Key preset_key(const Registries& registries, std::string description) {
  Key key = choice("preset", registries.presets, std::move(description));
  key.file_suffix = registries.preset_suffix;
  return key;
}

// Groups of unlike nodes.
Key groups_table(const Registries& registries) {
  Key node = node_table();
  node.description = "laid over cluster.node, or over the node of the preset beside it";
  return list_of(table("nodes", "groups of equal nodes, one after the other",
                       {required(integer("count", 1, ranks_max, "nodes of the group")),
                        preset_key(registries, "hardware whose node it is"), std::move(node)}),
                 groups_max);
}

Key sites_table() {
  return table(
      "sites", "clusters joined by long links; the nodes are dealt out in order",
      {required(integer("count", 1, sites_max, "number of sites")),
       list_of(integer("nodes", 1, ranks_max, "nodes of each site; default: as even as can be")),
       required(bandwidth("bandwidth", "of a long link, one direction")),
       duration("latency", "of a long link, one direction"),
       with_default(integer("links", 1, 1 << 10, "parallel long links between two sites, taken by channel"),
                    "1")});
}

}  // namespace

Key cluster_table(const Registries& registries) {
  Key nodes = with_default(integer("nodes", 1, ranks_max,
                                   "nodes of the cluster; a torus or mesh has as many as its dimensions say"),
                           "1");
  nodes.list = {groups_table(registries)};
  return table("cluster", "the machine that is simulated",
               {preset_key(registries, "hardware to start from; the keys beside it override it"),
                std::move(nodes), node_table(), fabric_table(), sites_table()});
}

}  // namespace collsim::config
