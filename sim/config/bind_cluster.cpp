#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "sim/config/bind.hpp"

namespace collsim::config {
namespace {

ReductionSpec reduction_from(const Value& value) {
  ReductionSpec spec;
  spec.enabled = value["enabled"].number != 0;
  if (!spec.enabled) return spec;
  spec.bandwidth = optional_bandwidth(value["bandwidth"]);
  spec.operations = optional_int(value["operations"]);
  spec.radix = optional_int(value["radix"]);
  spec.message_size_max =
      optional_of<Bytes>(value["message_size"], [](const Value& v) { return Bytes(v.number); });
  return spec;
}

InterconnectSpec interconnect_from(const Value& value) {
  using Kind = InterconnectKind;
  static constexpr std::array kinds = {Kind::none, Kind::nvswitch,         Kind::full_mesh,    Kind::ring,
                                       Kind::pcie, Kind::hybrid_cube_mesh, Kind::shared_memory};
  InterconnectSpec spec;
  spec.kind = kind_of(value["kind"], kinds, Kind::none);
  spec.bandwidth = bandwidth_of(value["bandwidth"]);
  spec.latency = duration_of(value["latency"]);
  spec.reduction = reduction_from(value["reduction"]);
  spec.planes = int_of(value["planes"]);
  spec.gpus_per_switch = int_of(value["gpus_per_switch"]);
  if (spec.kind != Kind::shared_memory) return spec;
  spec.total = optional_bandwidth(value["total"]);
  spec.reduce_total = optional_bandwidth(value["reduce_total"]);
  return spec;
}

NodeSpec node_from(const Value& value) {
  NodeSpec spec;
  spec.gpus = int_of(value["gpus"]);
  spec.interconnect = interconnect_from(value["interconnect"]);
  const Value& nics = value["nics"];
  if (nics.given)
    spec.nics = {int_of(nics["count"]), bandwidth_of(nics["bandwidth"]), duration_of(nics["latency"])};
  const Value& gpu = value["gpu"];
  spec.gpu.reduce_bandwidth = optional_bandwidth(gpu["reduce_bandwidth"]);
  spec.gpu.copy_bandwidth = optional_bandwidth(gpu["copy_bandwidth"]);
  spec.gpu.send_overhead = duration_of(gpu["send_overhead"]);
  spec.gpu.receive_overhead = duration_of(gpu["receive_overhead"]);
  return spec;
}

FabricSpec fabric_from(const Value& value) {
  using Kind = FabricKind;
  static constexpr std::array kinds = {Kind::none,  Kind::single_switch, Kind::fat_tree,  Kind::rail_fat_tree,
                                       Kind::torus, Kind::mesh,          Kind::dragonfly, Kind::hypercube,
                                       Kind::ring,  Kind::full_mesh,     Kind::custom};
  FabricSpec spec;
  spec.kind = kind_of(value["kind"], kinds, Kind::none);
  spec.bandwidth = bandwidth_of(value["bandwidth"]);
  spec.latency = duration_of(value["latency"]);
  spec.reduction = reduction_from(value["reduction"]);
  spec.levels = int_of(value["levels"]);
  spec.radix = int_of(value["radix"]);
  spec.oversubscription_numerator = int_of(value["oversubscription"]);
  spec.oversubscription_denominator = static_cast<int>(value["oversubscription"].denominator);
  for (const Value& side : value["dimensions"].items) spec.dimensions.push_back(int_of(side));
  spec.dragonfly_routers = int_of(value["routers"]);
  spec.dragonfly_nodes = int_of(value["nodes_per_router"]);
  spec.dragonfly_global_links = int_of(value["global_links"]);
  for (const Value& link : value["links"].items)
    spec.links.push_back({int_of(link["from"]), int_of(link["to"]), optional_bandwidth(link["bandwidth"]),
                          optional_of<Duration>(link["latency"], duration_of)});
  return spec;
}

RoutingSpec routing_from(const Value& value) {
  using Kind = RoutingKind;
  static constexpr std::array kinds = {Kind::minimal, Kind::d_mod_k,  Kind::dimension_order, Kind::ecmp,
                                       Kind::spray,   Kind::adaptive, Kind::valiant,         Kind::table};
  RoutingSpec spec;
  spec.kind = kind_of(value["kind"], kinds, Kind::minimal);
  spec.polarised = value["polarised"].number != 0;
  spec.rail_local = value["rail_local"].number != 0;
  spec.paths = int_of(value["paths"]);
  if (value["file"].given) spec.file = path_of(value["file"]);
  return spec;
}

class ClusterBinder {
 public:
  ClusterBinder(const Value& root, Findings& findings) : root_(root), findings_(findings) {}

  ClusterSpec bind() {
    const Value& cluster = root_["cluster"];
    spec_.preset = cluster["preset"].text;
    spec_.fabric = fabric_from(cluster["fabric"]);
    spec_.routing = routing_from(root_["routing"]);
    bind_nodes(cluster);
    if (!spec_.fabric.dimensions.empty()) bind_dimensions();
    check_links();
    bind_sites(cluster["sites"]);
    warn_unused();
    if (spec_.groups.size() == 1) spec_.groups.clear();
    return std::move(spec_);
  }

 private:
  // The nodes, and how many ranks they are.
  void bind_nodes(const Value& cluster) {
    const Value& nodes = cluster["nodes"];
    spec_.nodes = int_of(nodes);
    spec_.node = node_from(cluster["node"]);
    if (!nodes.items.empty()) return bind_groups(nodes);
    if (std::int64_t{spec_.nodes} * spec_.node.gpus > ranks_max)
      findings_.error_at(
          findings_.place(findings_.is_written("cluster.nodes") ? "cluster.nodes" : "cluster.node.gpus"),
          "cluster",
          std::to_string(spec_.nodes) + " nodes of " + std::to_string(spec_.node.gpus) +
              " GPUs are too many ranks",
          "at most " + std::to_string(ranks_max));
  }

  void bind_groups(const Value& nodes) {
    std::int64_t count = 0;
    std::int64_t ranks = 0;
    for (const Value& group : nodes.items) {
      spec_.groups.push_back({int_of(group["count"]), group["preset"].text, node_from(group["node"])});
      count += spec_.groups.back().count;
      ranks += std::int64_t{spec_.groups.back().count} * spec_.groups.back().node.gpus;
    }
    if (ranks > ranks_max)
      findings_.error("cluster.nodes", "the groups have too many ranks, " + std::to_string(ranks),
                      "at most " + std::to_string(ranks_max));
    spec_.nodes = static_cast<int>(std::min(count, ranks_max));
    spec_.node = spec_.groups.front().node;
  }

  // The dimensions give the number of nodes; a preset's number gives way to the file's dimensions.
  void bind_dimensions() {
    std::int64_t product = 1;
    for (const int side : spec_.fabric.dimensions) {
      product *= side;
      if (product > ranks_max)
        return findings_.error("cluster.fabric.dimensions", "the dimensions have too many nodes",
                               "at most " + std::to_string(ranks_max));
    }
    const Where& nodes = findings_.place("cluster.nodes");
    const Where& dimensions = findings_.place("cluster.fabric.dimensions");
    const bool gives_way = spec_.groups.empty() && nodes.source && nodes.source->layer == Layer::preset &&
                           dimensions.source->layer != Layer::preset;
    if (nodes.source && !gives_way && spec_.nodes != product)
      findings_.error("cluster.nodes",
                      std::to_string(spec_.nodes) + " nodes do not fill the " +
                          root_["cluster"]["fabric"]["kind"].text + ", whose dimensions have " +
                          std::to_string(product),
                      "no nodes, or cluster.fabric.dimensions with that product");
    spec_.nodes = static_cast<int>(product);
  }

  void check_links() {
    for (std::size_t i = 0; i < spec_.fabric.links.size(); ++i) {
      const CustomLink& link = spec_.fabric.links[i];
      const std::string path = indexed_path("cluster.fabric.links", i);
      for (const auto& [name, end] : {std::pair{".from", link.from}, std::pair{".to", link.to}})
        if (end >= spec_.nodes)
          findings_.error(path + name, "there is no node " + std::to_string(end),
                          "a node from 0 to " + std::to_string(spec_.nodes - 1));
      if (link.from == link.to) findings_.error(path, "the link leads from a node to itself", "two nodes");
    }
  }

  void bind_sites(const Value& sites) {
    if (!sites.given) return;
    spec_.sites.count = int_of(sites["count"]);
    spec_.sites.bandwidth = bandwidth_of(sites["bandwidth"]);
    spec_.sites.latency = duration_of(sites["latency"]);
    spec_.sites.links = int_of(sites["links"]);
    for (const Value& nodes : sites["nodes"].items) spec_.sites.nodes.push_back(int_of(nodes));
    if (spec_.sites.count == 1) return findings_.warn("cluster.sites", "has no effect with one site");
    if (spec_.fabric.kind == FabricKind::none)
      findings_.error("cluster.sites", "a site needs a fabric",
                      "cluster.fabric, which each site has for itself");
    if (spec_.sites.count > spec_.nodes)
      return findings_.error("cluster.sites.count",
                             std::to_string(spec_.sites.count) + " sites are more than the " +
                                 std::to_string(spec_.nodes) + (spec_.nodes == 1 ? " node" : " nodes"),
                             "a node for each site");
    check_nodes_of_sites();
  }

  void check_nodes_of_sites() {
    const SitesSpec& sites = spec_.sites;
    if (sites.nodes.empty()) return;
    const std::string key = "cluster.sites.nodes";
    const std::int64_t sum = std::accumulate(sites.nodes.begin(), sites.nodes.end(), std::int64_t{0});
    if (static_cast<int>(sites.nodes.size()) != sites.count)
      findings_.error(key, "has " + std::to_string(sites.nodes.size()) + " entries",
                      "one for each of the " + std::to_string(sites.count) + " sites");
    else if (sum != spec_.nodes)
      findings_.error(key, "the sites have " + std::to_string(sum) + " nodes",
                      "the " + std::to_string(spec_.nodes) + " nodes of the cluster");
  }

  void warn_unused() {
    const bool joined_nodes = spec_.fabric.kind != FabricKind::none;
    if (joined_nodes && spec_.nodes == 1 && spec_.fabric.dimensions.empty())
      findings_.warn("cluster.fabric", "has no effect with one node");
    const Value& cluster = root_["cluster"];
    if (spec_.groups.empty()) warn_unused_of_node(spec_.node, cluster["node"], "cluster.node");
    for (std::size_t i = 0; i < spec_.groups.size(); ++i)
      warn_unused_of_node(spec_.groups[i].node, cluster["nodes"].items[i]["node"],
                          indexed_path("cluster.nodes", i) + ".node");
    warn_unused_limits(cluster["fabric"]["reduction"], "cluster.fabric.reduction");
    if (!joined_nodes && root_["routing"].node)
      findings_.warn("routing", "has no effect without cluster.fabric");
  }

  void warn_unused_of_node(const NodeSpec& node, const Value& value, const std::string& path) {
    if (spec_.fabric.kind == FabricKind::none && node.nics.count > 0)
      findings_.warn(path + ".nics", "has no effect without cluster.fabric");
    if (node.interconnect.kind != InterconnectKind::none && node.gpus == 1)
      findings_.warn(path + ".interconnect", "has no effect with one GPU a node");
    warn_unused_limits(value["interconnect"]["reduction"], path + ".interconnect.reduction");
  }

  void warn_unused_limits(const Value& reduction, const std::string& path) {
    if (!reduction.given || reduction["enabled"].number != 0) return;
    for (const char* limit : {"bandwidth", "operations", "radix", "message_size"})
      if (reduction[limit].node)
        findings_.warn(path + "." + limit, "has no effect, because the switches do not reduce");
  }

  const Value& root_;
  Findings& findings_;
  ClusterSpec spec_;
};

}  // namespace

ClusterSpec cluster_from(const Value& root, Findings& findings) {
  return ClusterBinder(root, findings).bind();
}

std::int64_t gpus_of(const ClusterSpec& cluster) {
  std::int64_t gpus = std::int64_t{cluster.nodes} * cluster.node.gpus;
  if (!cluster.groups.empty()) gpus = 0;
  for (const NodeGroup& group : cluster.groups) gpus += std::int64_t{group.count} * group.node.gpus;
  return std::min(gpus, ranks_max);
}

PlacementSpec placement_from(const Value& root, std::int64_t gpus, Findings& findings) {
  const Value& value = root["placement"];
  PlacementSpec spec;
  if (value.text == "round_robin") spec.kind = PlacementKind::round_robin;
  if (value.items.empty()) return spec;
  spec.kind = PlacementKind::list;
  spec.gpus = distinct_numbers(value, "placement", gpus, "GPU", findings);
  return spec;
}

}  // namespace collsim::config
