#include "topologies/check_routing.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace collsim::topologies {
namespace {

using Finding = std::optional<BuildError>;

// The fabrics that a kind of routing takes; empty: any, or none.
std::vector<FabricKind> fabrics_of(RoutingKind kind) {
  using enum FabricKind;
  switch (kind) {
    case RoutingKind::d_mod_k:
      return {single_switch, fat_tree, rail_fat_tree};
    case RoutingKind::dimension_order:
      return {torus, mesh, ring};
    case RoutingKind::valiant:
      return {torus, mesh, ring, hypercube, dragonfly};
    case RoutingKind::minimal:
    case RoutingKind::ecmp:
    case RoutingKind::spray:
    case RoutingKind::adaptive:
    case RoutingKind::table:
      break;
  }
  return {};
}

std::string listed(const std::vector<FabricKind>& kinds) {
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == kinds.size() ? " or " : ", ") + name_of(kinds[i]);
  return text;
}

Finding check_kind(const ClusterSpec& cluster) {
  const RoutingKind kind = cluster.routing.kind;
  const std::vector<FabricKind> fits = fabrics_of(kind);
  const FabricKind fabric = cluster.fabric.kind;
  if (fits.empty() || std::find(fits.begin(), fits.end(), fabric) != fits.end()) return std::nullopt;
  const std::string what = fabric == FabricKind::none
                               ? "there is no fabric"
                               : std::string("the fabric is of kind ") + name_of(fabric);
  return BuildError{"routing", std::string("routing ") + name_of(kind) + " does not fit: " + what,
                    std::string(name_of(kind)) + " on a fabric of kind " + listed(fits)};
}

Finding check_options(const RoutingSpec& routing) {
  const auto only_with = [&](const std::string& key, bool is_set, const std::string& kinds) -> Finding {
    if (!is_set) return std::nullopt;
    return BuildError{"routing." + key,
                      std::string(key) + " has no effect with routing " + name_of(routing.kind),
                      key + " only with routing " + kinds};
  };
  const RoutingSpec plain;
  if (routing.kind != RoutingKind::ecmp)
    if (Finding finding = only_with("polarised", routing.polarised, "ecmp")) return finding;
  if (routing.kind != RoutingKind::table)
    if (Finding finding = only_with("file", !routing.file.empty(), "table")) return finding;
  if (routing.kind != RoutingKind::spray && routing.kind != RoutingKind::adaptive)
    if (Finding finding = only_with("paths", routing.paths != plain.paths, "spray or adaptive"))
      return finding;
  if (routing.kind == RoutingKind::table)
    if (Finding finding = only_with("rail_local", routing.rail_local, "of another kind")) return finding;
  if (routing.paths >= 1 && routing.paths <= paths_max) return std::nullopt;
  return BuildError{"routing.paths", "a connection takes " + std::to_string(routing.paths) + " routes",
                    "a whole number from 1 to " + std::to_string(paths_max)};
}

Finding check_rail_local(const ClusterSpec& cluster) {
  if (!cluster.routing.rail_local) return std::nullopt;
  const std::string key = "routing.rail_local";
  const std::string expected = "rail_local where nodes have an interconnect and NICs";
  std::vector<NodeSpec> nodes = {cluster.node};
  if (!cluster.groups.empty()) nodes.clear();
  for (const NodeGroup& group : cluster.groups) nodes.push_back(group.node);
  bool relays = false;
  for (const NodeSpec& node : nodes) {
    if (node.nics.count == 0)
      return BuildError{key, "rail-local routes lead over NICs, and a node has none", expected};
    relays = relays || node.interconnect.kind != InterconnectKind::none;
  }
  if (relays) return std::nullopt;
  return BuildError{key, "rail-local routes lead over an interconnect, and no node has one", expected};
}

}  // namespace

std::optional<BuildError> check_routing(const ClusterSpec& cluster) {
  if (Finding finding = check_kind(cluster)) return finding;
  if (Finding finding = check_options(cluster.routing)) return finding;
  return check_rail_local(cluster);
}

}  // namespace collsim::topologies
