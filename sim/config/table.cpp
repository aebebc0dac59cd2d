#include "sim/config/table.hpp"

#include <limits>
#include <utility>

#include "sim/core/quantity_text.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/collective.hpp"

namespace collsim::config {
namespace {

Key integer(std::string name, std::int64_t minimum, std::int64_t maximum, std::string description) {
  Key key;
  key.name = std::move(name);
  key.form = Form::integer;
  key.minimum = minimum;
  key.maximum = maximum;
  key.description = std::move(description);
  return key;
}

Key bandwidth(std::string name, std::string description) {
  Key key = integer(std::move(name), 1, bandwidth_max, std::move(description));
  key.form = Form::bandwidth;
  return key;
}

Key duration(std::string name, std::string description) {
  Key key = integer(std::move(name), 0, duration_max, std::move(description));
  key.form = Form::duration;
  key.fallback = "0 ns";
  return key;
}

Key size(std::string name, std::int64_t minimum, std::string description) {
  Key key = integer(std::move(name), minimum, bytes_max, std::move(description));
  key.form = Form::size;
  return key;
}

Key boolean(std::string name, std::string fallback, std::string description) {
  Key key = integer(std::move(name), 0, 1, std::move(description));
  key.form = Form::boolean;
  key.fallback = std::move(fallback);
  return key;
}

Key choice(std::string name, std::vector<std::string> names, std::string description) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::name;
  key.names = std::move(names);
  return key;
}

Key table(std::string name, std::string description, std::vector<Key> keys) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::table;
  key.keys = std::move(keys);
  return key;
}

Key later(std::string name, std::string description, std::string instead) {
  Key key = integer(std::move(name), 0, 0, std::move(description));
  key.form = Form::later;
  key.instead = std::move(instead);
  return key;
}

Key with_default(Key key, std::string fallback) {
  key.fallback = std::move(fallback);
  return key;
}
Key required(Key key) {
  key.required = true;
  return key;
}
Key automatic(Key key) {
  key.automatic = true;
  key.fallback = "auto";
  return key;
}
Key list_of(Key key) {
  key.count = Count::many;
  return key;
}
Key one_or_list_of(Key key) {
  key.count = Count::one_or_many;
  return key;
}
Key used_by(Key key, std::vector<std::string> kinds) {
  key.used_by = std::move(kinds);
  return key;
}
// Used by these kinds, and needed by them.
Key needed_by(Key key, std::vector<std::string> kinds) {
  key.used_by = kinds;
  key.required_by = std::move(kinds);
  return key;
}

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
        InterconnectKind::pcie, InterconnectKind::hybrid_cube_mesh, InterconnectKind::none})
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
       needed_by(bandwidth("bandwidth", "of one link in one direction; nvswitch: of a GPU to the switches"),
                 linked),
       used_by(duration("latency", "of one link in one direction"), linked), reduction({"nvswitch"}),
       used_by(with_default(integer("planes", 1, 1 << 10, "switch planes that share a GPU's bandwidth"), "1"),
               {"nvswitch"}),
       used_by(with_default(integer("gpus_per_switch", 1, 1 << 10, "GPUs under one PCIe switch"), "2"),
               {"pcie"})});
}

Key node_table() {
  return table(
      "node", "one node; all nodes are alike",
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
       used_by(
           with_default(choice("routing", {"minimal", "hash"},
                               "the kind's own minimal route, or a seeded choice among all shortest ones"),
                        "minimal"),
           without(kinds, {"none"}))});
}

Key cluster_table(const Registries& registries) {
  Key nodes = with_default(integer("nodes", 1, ranks_max,
                                   "nodes of the cluster; a torus or mesh has as many as its dimensions say"),
                           "1");
  nodes.list_later = true;
  return table(
      "cluster", "the machine that is simulated",
      {choice("preset", registries.presets, "hardware to start from; the keys beside it override it"),
       std::move(nodes), node_table(), fabric_table(),
       later("sites", "clusters joined by long links", "one cluster")});
}

Key algorithm_table(const Registries& registries) {
  Key name = required(choice("name", {}, "name or alias of an algorithm"));
  name.file_suffix = registries.file_suffix;
  Key form = choice("form", {}, "which form of the algorithm; default: its first");
  form.open = true;
  for (const Registries::Algorithm& algorithm : registries.algorithms) {
    name.names.push_back(algorithm.name);
    if (!algorithm.alias.empty()) name.aliases.push_back(algorithm.alias);
    for (const std::string& each : algorithm.forms)
      if (!contains(form.names, each)) form.names.push_back(each);
  }
  Key order = with_default(
      choice("order", {"auto", "rank"}, "order of the ranks: neighbours close, or by number"), "auto");
  Key result = table(
      "algorithm", "what is run; one, or a list",
      {std::move(name), automatic(integer("channels", 1, 64, "copies of the algorithm that share the data")),
       automatic(integer("slices", 1, 1024, "pieces that follow each other through the algorithm")),
       with_default(integer("slots", 1, 1 << 20, "messages that a connection holds"), "8"),
       bandwidth("channel_bandwidth", "of one channel; not given: unlimited"), std::move(order),
       list_of(integer("levels", 1, ranks_max, "sizes of the groups, innermost first")),
       list_of(bandwidth("level_bandwidths", "of a rank at each level, for form: themis")),
       integer("root", 0, ranks_max - 1, "rank at the root of the trees of an all-reduce"),
       integer("radix", 2, ranks_max, "children of a rank in a tree, or the base of an exchange"),
       integer("servers", 1, ranks_max, "parameter servers"), std::move(form)});
  result.short_form = "name";
  return required(one_or_list_of(std::move(result)));
}

Key size_key() {
  Key key = size("size", 0, "bytes of the vector, as nccl-tests counts them; one, a list, or a range");
  key.keys = {required(size("from", 1, "smallest size")), required(size("to", 1, "largest size")),
              with_default(integer("factor", 2, 1 << 20, "from one size to the next"), "2")};
  return required(one_or_list_of(std::move(key)));
}

template <class Enum>
std::vector<std::string> enum_names(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(name_of(value));
  return names;
}

Key datatype_key() {
  return with_default(
      choice("datatype",
             enum_names<Datatype>({Datatype::int8, Datatype::uint8, Datatype::int32, Datatype::uint32,
                                   Datatype::int64, Datatype::uint64, Datatype::float16, Datatype::bfloat16,
                                   Datatype::float32, Datatype::float64, Datatype::float8_e4m3,
                                   Datatype::float8_e5m2}),
             "type of an element"),
      "float32");
}

}  // namespace

Key experiment_table(const Registries& registries) {
  Key collective =
      with_default(choice("collective", enum_names(collective_kinds()), "what is computed"), "all_reduce");
  Key root = with_default(
      integer("root", 0, ranks_max - 1, "rank at the root of broadcast, reduce, scatter and gather"), "0");
  Key network =
      with_default(choice("network", {"fluid"}, "how messages share links: fluid = max-min fair"), "fluid");
  network.later = {"packet"};
  Key seed = with_default(
      integer("seed", 0, std::numeric_limits<std::int64_t>::max(), "of every random choice"), "1");
  const std::string healthy = "a cluster that is the same all the time";
  return table(
      "", "an experiment of collsim",
      {required(cluster_table(registries)), std::move(collective), std::move(root),
       algorithm_table(registries), size_key(), datatype_key(),
       with_default(choice("reduction",
                           enum_names<ReductionOp>({ReductionOp::sum, ReductionOp::prod, ReductionOp::min,
                                                    ReductionOp::max, ReductionOp::avg}),
                           "operation of the reduction"),
                    "sum"),
       std::move(network), duration("launch_overhead", "paid once per collective"),
       duration("credit_latency", "from a completed receive to the sender seeing the free slot"),
       std::move(seed), later("placement", "where ranks sit", "ranks numbered node by node"),
       later("jobs", "several collectives", "one collective, with the keys collective, algorithm and size"),
       later("routing", "routes of messages", "cluster.fabric.routing"),
       later("faults", "links and ranks that fail", healthy), later("skew", "ranks that start late", healthy),
       later("background", "traffic of others", healthy)});
}

const Key* find_key(const std::vector<Key>& keys, std::string_view name) {
  for (const Key& key : keys)
    if (key.name == name) return &key;
  return nullptr;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ", ") + word;
  return result;
}

std::string names_of(const std::vector<Key>& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys)
    if (key.form != Form::later) names.push_back(key.name);
  return joined(names);
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  for (const std::string& candidate : words)
    if (candidate == word) return true;
  return false;
}

std::string form_text(const Key& key) {
  std::string one;
  switch (key.form) {
    case Form::integer:
      one = "a whole number from " + std::to_string(key.minimum) + " to " + std::to_string(key.maximum);
      break;
    case Form::size:
      one = "a size such as '8 MiB'";
      break;
    case Form::bandwidth:
      one = "a bandwidth such as '400 Gbit/s'";
      break;
    case Form::duration:
      one = "a time such as '500 ns'";
      break;
    case Form::boolean:
      one = "true or false";
      break;
    case Form::name:
      one = key.names.empty() ? "a name" : (key.names.size() > 1 ? "one of " : "") + joined(key.names);
      if (!key.file_suffix.empty()) one += ", or a file whose name ends in " + key.file_suffix;
      break;
    case Form::fraction:
      one = "a ratio such as 2, 1.5 or '3:2'";
      break;
    case Form::table:
      one = "a map with " + names_of(key.keys);
      break;
    case Form::later:
      return key.instead;
  }
  if (key.automatic) one += ", or auto";
  if (key.form == Form::table && !key.short_form.empty())
    one = form_text(*find_key(key.keys, key.short_form)) + ", or " + one;
  if (key.form != Form::table && !key.keys.empty()) one += ", or a map with " + names_of(key.keys);
  if (key.count == Count::many) return "a list of: " + one;
  if (key.count == Count::one_or_many) return one + ", or a list of these";
  return one;
}

}  // namespace collsim::config
