#include "topologies/check.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "topologies/check_routing.hpp"
#include "topologies/cube_mesh.hpp"
#include "topologies/direct_networks.hpp"
#include "topologies/dragonfly.hpp"
#include "topologies/endpoints.hpp"
#include "topologies/node_layout.hpp"
#include "topologies/sites.hpp"

namespace collsim::topologies {
namespace {

using Finding = std::optional<BuildError>;

constexpr std::int64_t ranks_max = std::int64_t{1} << 24;
constexpr std::int64_t cables_max = std::int64_t{1} << 25;
constexpr std::int32_t full_mesh_gpus_max = 1024;  // of one node; the rings published grow with the square
constexpr int radix_max = 65'536;

std::string text(std::int64_t number) { return std::to_string(number); }
std::string wide_text(Int128 number) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  return number > largest ? "over " + text(largest) : text(static_cast<std::int64_t>(number));
}
std::string counted(std::int64_t count, const std::string& noun) {
  return text(count) + " " + noun + (count == 1 ? "" : "s");
}

Finding positive(const std::string& key, const std::string& what, std::int64_t value) {
  if (value >= 1) return std::nullopt;
  return BuildError{key, what + " is " + text(value), "a whole number of at least 1"};
}

Finding usable(const std::string& key, const std::string& what, Bandwidth bandwidth) {
  if (bandwidth == Bandwidth())
    return BuildError{key, what + " has no bandwidth", "a bandwidth such as 50 GB/s"};
  if (bandwidth > Bandwidth()) return std::nullopt;
  return BuildError{key, what + " has a negative bandwidth", "a bandwidth such as 50 GB/s"};
}

Finding not_negative(const std::string& key, const std::string& what, Duration latency) {
  if (latency >= Duration()) return std::nullopt;
  return BuildError{key, what + " has a negative latency", "a latency such as 500 ns"};
}

// The first finding of several.
template <class... Findings>
Finding first_of(Findings&&... findings) {
  Finding result;
  ((result = result ? result : std::forward<Findings>(findings)), ...);
  return result;
}

Finding check_reduction(const ReductionSpec& reduction, const std::string& key, bool has_switches,
                        const std::string& kind, const std::string& expected) {
  if (!reduction.enabled) return std::nullopt;
  if (!has_switches)
    return BuildError{key, "an interconnect or fabric of kind " + kind + " has no switches that reduce",
                      expected};
  Finding bandwidth;
  if (reduction.bandwidth) bandwidth = usable(key + ".bandwidth", "the reduction", *reduction.bandwidth);
  Finding radix;
  if (reduction.radix && *reduction.radix < 2)
    radix = BuildError{key + ".radix", "the radix of a reducing switch is " + text(*reduction.radix),
                       "a whole number of at least 2"};
  Finding operations;
  if (reduction.operations)
    operations = positive(key + ".operations", "the number of operations in flight", *reduction.operations);
  Finding size;
  if (reduction.message_size_max && *reduction.message_size_max < Bytes(1))
    size =
        BuildError{key + ".message_size_max", "the largest aggregation has no bytes", "a size such as 1 GiB"};
  return first_of(bandwidth, operations, radix, size);
}

Finding check_gpu(const GpuSpec& gpu, const std::string& node_key) {
  Finding reduce;
  Finding copy;
  if (gpu.reduce_bandwidth)
    reduce = usable(node_key + ".gpu.reduce_bandwidth", "a GPU", *gpu.reduce_bandwidth);
  if (gpu.copy_bandwidth) copy = usable(node_key + ".gpu.copy_bandwidth", "a GPU", *gpu.copy_bandwidth);
  const auto overhead = [&](const std::string& key, Duration duration) -> Finding {
    if (duration >= Duration()) return std::nullopt;
    return BuildError{node_key + ".gpu." + key, "a GPU has a negative " + key, "a duration such as 500 ns"};
  };
  return first_of(reduce, copy, overhead("send_overhead", gpu.send_overhead),
                  overhead("receive_overhead", gpu.receive_overhead));
}

Finding check_planes(const InterconnectSpec& spec, const std::string& interconnect_key) {
  const std::string key = interconnect_key + ".planes";
  if (Finding finding = positive(key, "the number of switch planes", spec.planes)) return finding;
  if (spec.planes == 1) return std::nullopt;
  if (spec.kind != InterconnectKind::nvswitch)
    return BuildError{key,
                      std::string("an interconnect of kind ") + name_of(spec.kind) + " has no switch planes",
                      "planes only with kind nvswitch"};
  if (spec.bandwidth.bytes_per_second() >= spec.planes) return std::nullopt;
  return BuildError{key, text(spec.planes) + " planes leave less than one byte per second each",
                    "fewer planes"};
}

// What a shared memory has beside links.
Finding check_memory(const InterconnectSpec& spec, const std::string& key) {
  const std::string what = "the memory that the ranks of a node share";
  if (spec.kind == InterconnectKind::shared_memory) {
    if (Finding finding = usable(key + ".total", what, spec.total.value_or(Bandwidth()))) return finding;
    return spec.reduce_total ? usable(key + ".reduce_total", what, *spec.reduce_total) : std::nullopt;
  }
  for (const auto& [name, given] :
       {std::pair{".total", spec.total.has_value()}, {".reduce_total", spec.reduce_total.has_value()}})
    if (given)
      return BuildError{
          key + name, std::string("an interconnect of kind ") + name_of(spec.kind) + " has no shared memory",
          std::string(name).substr(1) + " only with kind shared_memory"};
  return std::nullopt;
}

Finding check_interconnect(const NodeSpec& node, const std::string& node_key) {
  const InterconnectSpec& spec = node.interconnect;
  const std::string key = node_key + ".interconnect";
  if (spec.kind == InterconnectKind::hybrid_cube_mesh && node.gpus != cube_mesh_gpus)
    return BuildError{node_key + ".gpus", "a hybrid_cube_mesh has 8 GPUs, not " + text(node.gpus), "8"};
  if (spec.kind == InterconnectKind::none || node.gpus == 1) return std::nullopt;
  if (spec.kind == InterconnectKind::full_mesh && node.gpus > full_mesh_gpus_max)
    return BuildError{node_key + ".gpus",
                      "a full_mesh of " + text(node.gpus) + " GPUs in one node is too large",
                      "at most " + text(full_mesh_gpus_max)};
  const std::string what = "the interconnect of a node";
  Finding per_switch;
  if (spec.kind == InterconnectKind::pcie)
    per_switch =
        positive(key + ".gpus_per_switch", "the number of GPUs under a PCIe switch", spec.gpus_per_switch);
  return first_of(usable(key + ".bandwidth", what, spec.bandwidth),
                  not_negative(key + ".latency", what, spec.latency), check_planes(spec, key), per_switch,
                  check_memory(spec, key),
                  check_reduction(spec.reduction, key + ".reduction", spec.kind == InterconnectKind::nvswitch,
                                  name_of(spec.kind), "reduction only with kind nvswitch"));
}

Finding check_nics(const NodeSpec& node, const std::string& node_key) {
  const NicSpec& nics = node.nics;
  if (nics.count == 0) return std::nullopt;
  if (nics.count < 0)
    return BuildError{node_key + ".nics.count", "the number of NICs is " + text(nics.count),
                      "a whole number of at least 0"};
  if (nics.count > node.gpus)
    return BuildError{node_key + ".nics.count",
                      counted(nics.count, "NIC") + " for " + counted(node.gpus, "GPU") +
                          " leave some without a GPU, since every GPU uses one",
                      "at most " + text(node.gpus)};
  return first_of(usable(node_key + ".nics.bandwidth", "a NIC", nics.bandwidth),
                  not_negative(node_key + ".nics.latency", "a NIC", nics.latency));
}

// The nodes that one fabric joins: all, or those of a site.
struct Joined {
  Endpoints endpoints;
  std::string text;  // "16 nodes of 8 NICs"
};

// As a fabric sees them; the vertices do not matter here.
NodeLayout layout_of(const ClusterSpec& cluster) {
  std::vector<NodeLayout::Group> groups;
  for (const NodeGroup& group : node_groups(cluster)) {
    NodeLayout::Group& laid = groups.emplace_back();
    laid.nodes = group.count;
    laid.each = {group.node.gpus, group.node.nics.count, 0, 0};
  }
  return NodeLayout(std::move(groups));
}

std::string endpoints_text(const ClusterSpec& cluster, const Endpoints& endpoints) {
  const std::string nodes = counted(endpoints.nodes(), "node");
  if (endpoints.groups().size() > 1) return nodes + " with " + counted(endpoints.count(), "endpoint");
  const std::int32_t per_node = endpoints.per_node_max();
  if (per_node == 1) return nodes;
  return nodes + " of " + counted(per_node, node_groups(cluster)[0].node.nics.count > 0 ? "NIC" : "GPU");
}

std::vector<Joined> joined_nodes(const ClusterSpec& cluster) {
  const NodeLayout layout = layout_of(cluster);
  std::vector<std::int32_t> sites = {cluster.nodes};
  if (cluster.sites.count > 1) sites = nodes_of_sites(cluster);
  std::vector<Joined> result;
  std::int32_t first = 0;
  for (std::size_t site = 0; site < sites.size(); ++site) {
    const Endpoints endpoints(layout, first, sites[site]);
    const std::string where = sites.size() > 1 ? "site " + std::to_string(site) + ": " : "";
    result.push_back({endpoints, where + endpoints_text(cluster, endpoints)});
    first += sites[site];
  }
  return result;
}

// Ports down of a leaf, or 0 if that is not whole.
std::int64_t ports_down(const FabricSpec& fabric, std::int64_t radix) {
  const std::int64_t parts =
      std::int64_t{fabric.oversubscription_numerator} + fabric.oversubscription_denominator;
  const std::int64_t product = radix * fabric.oversubscription_numerator;
  return product % parts == 0 ? product / parts : 0;
}

bool tree_fits(const FabricSpec& fabric, const Endpoints& endpoints, std::int64_t radix) {
  if (fabric.levels == 1) return endpoints.count() <= radix;
  const std::int64_t down = ports_down(fabric, radix);
  if (down < 1 || down >= radix) return false;
  const FatTreeShape shape{fabric.levels, down, radix - down, fabric.kind == FabricKind::rail_fat_tree};
  const std::int64_t leaves = leaves_needed(shape, endpoints);
  return (fabric.levels == 2 ? leaves : (leaves + down - 1) / down) <= radix;
}

BuildError tree_too_small(const FabricSpec& fabric, const Joined& joined) {
  const std::int64_t endpoints = joined.endpoints.count();
  const std::int64_t down = fabric.levels == 1 ? fabric.radix : ports_down(fabric, fabric.radix);
  const std::string tree = "a " + text(fabric.levels) + "-level " + name_of(fabric.kind) + " of radix " +
                           text(fabric.radix) + " has ";
  std::string message = joined.text + " need " + text(endpoints) + " ports, " + tree;
  std::int64_t ports = down;
  for (int level = 2; level <= fabric.levels; ++level) ports *= level == 2 ? fabric.radix : down;
  if (endpoints > ports) {
    message += text(ports);
  } else {
    const FatTreeShape shape{fabric.levels, down, fabric.radix - down, true};
    message = joined.text + " need " + text(leaves_needed(shape, joined.endpoints)) +
              " leaf switches, since every NIC number starts on a new one; " + tree + text(ports / down);
  }
  for (std::int64_t radix = fabric.radix + 1; radix <= radix_max; ++radix)
    if (tree_fits(fabric, joined.endpoints, radix))
      return {"cluster.fabric.radix", message, "a radix of at least " + text(radix)};
  return {"cluster.fabric.radix", message, "more levels"};
}

Finding check_tree(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  if (fabric.levels < 1 || fabric.levels > 3)
    return BuildError{"cluster.fabric.levels", "a fat tree of " + counted(fabric.levels, "level"),
                      "1, 2 or 3"};
  if (fabric.radix < 2 || fabric.radix > radix_max)
    return BuildError{"cluster.fabric.radix",
                      "the switches of the fat tree have " + counted(fabric.radix, "port"),
                      "a radix from 2 to " + text(radix_max)};
  const std::int64_t numerator = fabric.oversubscription_numerator;
  const std::int64_t denominator = fabric.oversubscription_denominator;
  if (numerator < 1 || denominator < 1)
    return BuildError{"cluster.fabric.oversubscription", "the oversubscription is not positive",
                      "a number above 0, such as 1 or 2"};
  if (fabric.levels > 1 && ports_down(fabric, fabric.radix) == 0) {
    const std::int64_t parts = (numerator + denominator) / std::gcd(numerator, denominator);
    return BuildError{"cluster.fabric.radix",
                      counted(fabric.radix, "port") + " with an oversubscription of " + text(numerator) +
                          ":" + text(denominator) + " do not split into whole numbers of ports down and up",
                      "a multiple of " + text(parts)};
  }
  for (const Joined& joined : joined_nodes(cluster))
    if (!tree_fits(fabric, joined.endpoints, fabric.radix)) return tree_too_small(fabric, joined);
  return std::nullopt;
}

Finding check_grid(const ClusterSpec& cluster) {
  const std::string kind = name_of(cluster.fabric.kind);
  const std::string key = "cluster.fabric.dimensions";
  if (cluster.fabric.dimensions.empty())
    return BuildError{key, "a " + kind + " has no dimensions", "a list such as [4, 4, 4]"};
  std::int64_t product = 1;
  for (const int side : cluster.fabric.dimensions) {
    if (Finding finding = positive(key, "a side of the " + kind, side)) return finding;
    product *= side;
    if (product > ranks_max)
      return BuildError{key, "the " + kind + " has more than " + text(ranks_max) + " nodes", "smaller sides"};
  }
  if (cluster.nodes == product) return std::nullopt;
  return BuildError{"cluster.nodes",
                    "the dimensions make " + counted(product, "node") + ", not " + text(cluster.nodes),
                    text(product) + ", or no nodes at all"};
}

Finding check_hypercube(const ClusterSpec& cluster) {
  const auto nodes = static_cast<std::uint64_t>(cluster.nodes);
  if (std::has_single_bit(nodes)) return std::nullopt;
  const auto below = static_cast<std::int64_t>(std::bit_floor(nodes));
  return BuildError{"cluster.nodes", "a hypercube cannot have " + counted(cluster.nodes, "node"),
                    "a power of two, such as " + text(below) + " or " + text(2 * below)};
}

std::int64_t dragonfly_groups(const ClusterSpec& cluster) {
  const std::int64_t nodes_per_group =
      std::int64_t{cluster.fabric.dragonfly_routers} * cluster.fabric.dragonfly_nodes;
  return (cluster.nodes + nodes_per_group - 1) / nodes_per_group;
}

Finding check_dragonfly(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  const std::string key = "cluster.fabric.";
  if (Finding finding = first_of(
          positive(key + "routers", "the number of routers in a group", fabric.dragonfly_routers),
          positive(key + "nodes_per_router", "the number of nodes on a router", fabric.dragonfly_nodes)))
    return finding;
  if (fabric.dragonfly_global_links < 0)
    return BuildError{key + "global_links",
                      "the number of global links of a router is " + text(fabric.dragonfly_global_links),
                      "a whole number of at least 0"};
  const std::int64_t groups = dragonfly_groups(cluster);
  const std::int64_t ports = std::int64_t{fabric.dragonfly_routers} * fabric.dragonfly_global_links;
  if (groups <= ports + 1) return std::nullopt;
  return BuildError{key + "global_links",
                    counted(cluster.nodes, "node") + " make " + counted(groups, "group") + ", a group with " +
                        counted(ports, "global link") + " reaches " + counted(ports, "other"),
                    "at least " +
                        text((groups - 1 + fabric.dragonfly_routers - 1) / fabric.dragonfly_routers) +
                        " global links a router"};
}

Finding check_custom_link(const ClusterSpec& cluster, std::size_t index) {
  const CustomLink& link = cluster.fabric.links[index];
  const std::string key = "cluster.fabric.links[" + std::to_string(index) + "]";
  for (const auto& [end, node] : {std::pair{".from", link.from}, std::pair{".to", link.to}})
    if (node < 0 || node >= cluster.nodes)
      return BuildError{key + end, "there is no node " + text(node),
                        "a node from 0 to " + text(cluster.nodes - 1)};
  if (link.from == link.to)
    return BuildError{key, "the link joins node " + text(link.from) + " to itself", "two different nodes"};
  return first_of(usable(key + ".bandwidth", "the link", link.bandwidth.value_or(cluster.fabric.bandwidth)),
                  not_negative(key + ".latency", "the link", link.latency.value_or(Duration())));
}

Finding check_custom(const ClusterSpec& cluster) {
  if (cluster.nodes > custom_nodes_max)
    return BuildError{"cluster.nodes", "a custom fabric of " + text(cluster.nodes) + " nodes is too large",
                      "at most " + text(custom_nodes_max)};
  for (std::size_t index = 0; index < cluster.fabric.links.size(); ++index)
    if (Finding finding = check_custom_link(cluster, index)) return finding;
  // Sweep the links until no more nodes are reached; a list has few.
  std::vector<bool> reached(static_cast<std::size_t>(cluster.nodes), false);
  reached[0] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (const CustomLink& link : cluster.fabric.links) {
      const auto from = static_cast<std::size_t>(link.from);
      const auto to = static_cast<std::size_t>(link.to);
      if (reached[from] == reached[to]) continue;
      reached[from] = reached[to] = grew = true;
    }
  }
  for (std::size_t node = 0; node < reached.size(); ++node)
    if (!reached[node])
      return BuildError{"cluster.fabric.links", "no links lead from node 0 to node " + std::to_string(node),
                        "links that connect all nodes"};
  return std::nullopt;
}

Finding check_kind(const ClusterSpec& cluster) {
  switch (cluster.fabric.kind) {
    case FabricKind::fat_tree:
    case FabricKind::rail_fat_tree:
      return check_tree(cluster);
    case FabricKind::torus:
    case FabricKind::mesh:
      return check_grid(cluster);
    case FabricKind::hypercube:
      return check_hypercube(cluster);
    case FabricKind::dragonfly:
      return check_dragonfly(cluster);
    case FabricKind::custom:
      return check_custom(cluster);
    case FabricKind::none:
    case FabricKind::single_switch:
    case FabricKind::ring:
    case FabricKind::full_mesh:
      return std::nullopt;
  }
  return std::nullopt;
}

bool has_several_gpus(const ClusterSpec& cluster) {
  const std::vector<NodeGroup> groups = node_groups(cluster);
  return std::any_of(groups.begin(), groups.end(), [&](const NodeGroup& group) {
    return group.node.gpus > 1 || group.node.nics.count != groups[0].node.nics.count;
  });
}

// Custom links can state their bandwidths one by one.
bool needs_fabric_bandwidth(const ClusterSpec& cluster) {
  if (cluster.fabric.kind != FabricKind::custom) return true;
  return has_several_gpus(cluster);  // for the routers; links without one are found one by one
}

Finding check_no_fabric(const ClusterSpec& cluster) {
  if (cluster.nodes > 1)
    return BuildError{"cluster.fabric", counted(cluster.nodes, "node") + " have no fabric between them",
                      "a fabric, or 1 node"};
  if (cluster.node.gpus > 1 && cluster.node.interconnect.kind == InterconnectKind::none)
    return BuildError{"cluster.node.interconnect",
                      counted(cluster.node.gpus, "GPU") + " have neither an interconnect nor a fabric",
                      "an interconnect or a fabric"};
  return std::nullopt;
}

Finding check_fabric(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  const bool reduces = fabric.kind == FabricKind::single_switch || fabric.kind == FabricKind::fat_tree ||
                       fabric.kind == FabricKind::rail_fat_tree;
  const Finding reduction =
      check_reduction(fabric.reduction, "cluster.fabric.reduction", reduces, name_of(fabric.kind),
                      "reduction only with kind switch, fat_tree or rail_fat_tree");
  if (fabric.kind == FabricKind::none) return first_of(check_no_fabric(cluster), reduction);
  Finding bandwidth;
  if (needs_fabric_bandwidth(cluster))
    bandwidth = usable("cluster.fabric.bandwidth", "the fabric", fabric.bandwidth);
  return first_of(bandwidth, not_negative("cluster.fabric.latency", "the fabric", fabric.latency), reduction,
                  check_kind(cluster));
}

Int128 pairs(Int128 count) { return count * (count - 1) / 2; }

Int128 interior_cables(const NodeSpec& node) {
  switch (node.interconnect.kind) {
    case InterconnectKind::nvswitch:
      return Int128{node.gpus} * node.interconnect.planes;
    case InterconnectKind::full_mesh:
      return pairs(node.gpus);
    case InterconnectKind::none:
      return 0;
    case InterconnectKind::shared_memory:
    case InterconnectKind::ring:
    case InterconnectKind::pcie:
    case InterconnectKind::hybrid_cube_mesh:
      break;
  }
  return Int128{3} * node.gpus;
}

Int128 fabric_cables(const ClusterSpec& cluster) {
  const FabricSpec& fabric = cluster.fabric;
  const Int128 nodes = cluster.nodes;
  switch (fabric.kind) {
    case FabricKind::full_mesh:
      return pairs(nodes);
    case FabricKind::torus:
    case FabricKind::mesh:
      return nodes * static_cast<std::int64_t>(fabric.dimensions.size());
    case FabricKind::hypercube:
      return nodes * std::bit_width(static_cast<std::uint64_t>(cluster.nodes));
    case FabricKind::dragonfly: {
      const Int128 groups = dragonfly_groups(cluster);
      return groups * (pairs(fabric.dragonfly_routers) +
                       Int128{fabric.dragonfly_routers} * fabric.dragonfly_global_links + 1);
    }
    case FabricKind::fat_tree:
    case FabricKind::rail_fat_tree: {
      Int128 cables = 0;
      for (const Joined& joined : joined_nodes(cluster)) {
        const FatTreeShape shape = tree_shape(fabric, joined.endpoints.count());
        const Int128 leaves = leaves_needed(shape, joined.endpoints);
        const Int128 pods = (leaves + shape.down - 1) / shape.down;
        cables += leaves * shape.up + (fabric.levels == 3 && pods > 1 ? pods * shape.up * shape.up : 0);
        if (cluster.sites.count > 1) cables += Int128{shape.up} * shape.up;
      }
      return cables;
    }
    case FabricKind::custom:
      return static_cast<std::int64_t>(fabric.links.size());
    case FabricKind::none:
    case FabricKind::single_switch:
    case FabricKind::ring:
      break;
  }
  return nodes;
}

Finding check_size(const ClusterSpec& cluster) {
  Int128 ranks = 0;
  Int128 cables = fabric_cables(cluster) + pairs(cluster.sites.count) * cluster.sites.links;
  for (const NodeGroup& group : node_groups(cluster)) {
    ranks += Int128{group.count} * group.node.gpus;
    cables += group.count * (interior_cables(group.node) + group.node.gpus * 2);
  }
  if (cables <= cables_max) return std::nullopt;
  return BuildError{"cluster.nodes",
                    wide_text(ranks) + " GPUs joined like this need about " + wide_text(cables) +
                        " cables, more than the limit of " + text(cables_max),
                    "a smaller cluster"};
}

// Where a node is described: of a group, or the only one.
std::string node_key(const ClusterSpec& cluster, std::size_t group) {
  return cluster.groups.empty() ? "cluster.node" : "cluster.nodes[" + std::to_string(group) + "].node";
}

Finding check_counts(const ClusterSpec& cluster) {
  if (Finding finding = positive("cluster.nodes", "the number of nodes", cluster.nodes)) return finding;
  const std::vector<NodeGroup> groups = node_groups(cluster);
  Int128 ranks = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string group_key = "cluster.nodes[" + std::to_string(i) + "].count";
    if (Finding finding = first_of(
            positive(group_key, "the number of nodes in a group", groups[i].count),
            positive(node_key(cluster, i) + ".gpus", "the number of GPUs in a node", groups[i].node.gpus)))
      return finding;
    ranks += Int128{groups[i].count} * groups[i].node.gpus;
  }
  if (ranks <= ranks_max) return std::nullopt;
  const std::string each =
      groups.size() > 1 ? wide_text(ranks) + " GPUs" : counted(groups[0].node.gpus, "GPU");
  return BuildError{"cluster.nodes",
                    counted(cluster.nodes, "node") + (groups.size() > 1 ? " with " : " of ") + each +
                        " are more than the limit of " + text(ranks_max) + " GPUs",
                    "a smaller cluster"};
}

Finding check_nodes(const ClusterSpec& cluster) {
  const std::vector<NodeGroup> groups = node_groups(cluster);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const NodeSpec& node = groups[i].node;
    const std::string key = node_key(cluster, i);
    if (Finding finding =
            first_of(check_interconnect(node, key), check_nics(node, key), check_gpu(node.gpu, key)))
      return finding;
  }
  return std::nullopt;
}

Finding check_site_nodes(const ClusterSpec& cluster) {
  const SitesSpec& sites = cluster.sites;
  if (sites.count > cluster.nodes)
    return BuildError{"cluster.sites.count",
                      counted(sites.count, "site") + " for " + counted(cluster.nodes, "node") +
                          " leave some without a node",
                      "at most " + text(cluster.nodes)};
  if (sites.nodes.empty()) return std::nullopt;
  const std::string key = "cluster.sites.nodes";
  if (sites.nodes.size() != static_cast<std::size_t>(sites.count))
    return BuildError{key,
                      counted(static_cast<std::int64_t>(sites.nodes.size()), "number") + " of nodes for " +
                          counted(sites.count, "site"),
                      "one number for each site"};
  std::int64_t sum = 0;
  for (const int nodes : sites.nodes) {
    if (Finding finding = positive(key, "the number of nodes of a site", nodes)) return finding;
    sum += nodes;
  }
  if (sum == cluster.nodes) return std::nullopt;
  return BuildError{
      key, "the sites have " + counted(sum, "node") + " together, the cluster has " + text(cluster.nodes),
      "numbers that sum to " + text(cluster.nodes)};
}

Finding check_sites(const ClusterSpec& cluster) {
  const SitesSpec& sites = cluster.sites;
  const std::string key = "cluster.sites";
  if (Finding finding = positive(key + ".count", "the number of sites", sites.count)) return finding;
  if (sites.count == 1) return std::nullopt;
  const FabricKind kind = cluster.fabric.kind;
  if (kind != FabricKind::single_switch && kind != FabricKind::fat_tree && kind != FabricKind::rail_fat_tree)
    return BuildError{
        key, std::string("a fabric of kind ") + name_of(kind) + " has no highest switches to join sites by",
        "sites only with a fabric of kind switch, fat_tree or rail_fat_tree"};
  return first_of(check_site_nodes(cluster),
                  positive(key + ".links", "the number of links between sites", sites.links),
                  usable(key + ".bandwidth", "a link between sites", sites.bandwidth),
                  not_negative(key + ".latency", "a link between sites", sites.latency));
}

}  // namespace

std::vector<NodeGroup> node_groups(const ClusterSpec& cluster) {
  if (!cluster.groups.empty()) return cluster.groups;
  return {{cluster.nodes, cluster.preset, cluster.node}};
}

FatTreeShape tree_shape(const FabricSpec& fabric, std::int64_t endpoints) {
  const bool rails = fabric.kind == FabricKind::rail_fat_tree;
  if (fabric.kind == FabricKind::single_switch || fabric.levels == 1) return {1, endpoints, 0, rails};
  const std::int64_t down = ports_down(fabric, fabric.radix);
  return {fabric.levels, down, fabric.radix - down, rails};
}

ClusterSpec completed(const ClusterSpec& cluster) {
  ClusterSpec result = cluster;
  // A list of one group is the short form.
  if (cluster.groups.size() == 1) {
    result.node = cluster.groups[0].node;
    result.preset = cluster.groups[0].preset;
    result.groups.clear();
  }
  if (!cluster.groups.empty()) {
    std::int64_t nodes = 0;
    for (const NodeGroup& group : cluster.groups) nodes += std::max(group.count, 0);
    result.nodes = static_cast<int>(std::min(nodes, ranks_max + 1));
  }
  const bool is_grid = cluster.fabric.kind == FabricKind::torus || cluster.fabric.kind == FabricKind::mesh;
  if (is_grid && result.nodes == 1) {
    std::int64_t product = 1;
    for (const int side : cluster.fabric.dimensions)
      if (side >= 1 && product <= ranks_max) product *= side;
    if (product <= ranks_max) result.nodes = static_cast<std::int32_t>(product);
  }
  const auto drop_idle = [](NodeSpec& node) {
    if (node.gpus == 1 && node.interconnect.kind != InterconnectKind::hybrid_cube_mesh)
      node.interconnect = InterconnectSpec();
  };
  drop_idle(result.node);
  for (NodeGroup& group : result.groups) drop_idle(group.node);
  return result;
}

std::optional<BuildError> check(const ClusterSpec& cluster) {
  if (Finding finding = check_counts(cluster)) return finding;
  if (Finding finding = first_of(check_nodes(cluster), check_sites(cluster))) return finding;
  if (Finding finding = check_fabric(cluster)) return finding;
  if (Finding finding = check_routing(cluster)) return finding;
  return check_size(cluster);
}

}  // namespace collsim::topologies
