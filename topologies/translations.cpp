#include "topologies/translations.hpp"

#include <bit>

namespace collsim::topologies {
namespace {

bool is_power_of_two(std::int64_t count) {
  return count > 0 && std::has_single_bit(static_cast<std::uint64_t>(count));
}

// All pairs of endpoints of the fabric are routed alike.
bool has_plain_routes(const ClusterSpec& cluster, const FatTree* tree) {
  switch (cluster.routing.kind) {
    case RoutingKind::minimal:
    case RoutingKind::d_mod_k:
    case RoutingKind::dimension_order:
      return true;
    case RoutingKind::ecmp:
    case RoutingKind::spray:
    case RoutingKind::adaptive:
      return cluster.nodes == 1 || (tree != nullptr && tree->shape().levels == 1);
    case RoutingKind::valiant:
    case RoutingKind::table:
      break;
  }
  return false;
}

// GPUs of a node are interchangeable, and their messages to each other take one way.
bool has_plain_nodes(const ClusterSpec& cluster) {
  const InterconnectSpec& interconnect = cluster.node.interconnect;
  return interconnect.kind == InterconnectKind::none ||
         interconnect.kind == InterconnectKind::shared_memory ||
         (interconnect.kind == InterconnectKind::nvswitch && interconnect.planes == 1);
}

// Every GPU has the same links to the same switches.
bool is_star(InterconnectKind kind) {
  return kind == InterconnectKind::nvswitch || kind == InterconnectKind::shared_memory;
}

bool rotates(const ClusterSpec& cluster, const FatTree* tree) {
  if (cluster.nodes == 1) return is_star(cluster.node.interconnect.kind);
  return cluster.node.gpus == 1 && cluster.node.nics.count <= 1 && tree != nullptr &&
         tree->shape().levels == 1;
}

bool is_made_of_bits(const ClusterSpec& cluster, const FatTree* tree) {
  const NodeSpec& node = cluster.node;
  if (!is_power_of_two(cluster.nodes) || !is_power_of_two(node.gpus)) return false;
  if (cluster.nodes == 1) return is_star(node.interconnect.kind);
  if (tree == nullptr) return false;
  if (node.nics.count > 0 && (!is_power_of_two(node.nics.count) || node.nics.count > node.gpus)) return false;
  const FatTreeShape& shape = tree->shape();
  if (shape.levels == 1) return true;
  return is_power_of_two(shape.down) && is_power_of_two(shape.up) && shape.up <= shape.down &&
         (!shape.rails || cluster.nodes % shape.down == 0);
}

}  // namespace

std::vector<TranslationKind> translations_of(const ClusterSpec& cluster, const FatTree* tree) {
  std::vector<TranslationKind> result;
  if (!cluster.groups.empty() || cluster.sites.count > 1) return result;
  if (!has_plain_nodes(cluster) || !has_plain_routes(cluster, tree)) return result;
  if (rotates(cluster, tree)) result.push_back(TranslationKind::rotation);
  if (is_made_of_bits(cluster, tree)) result.push_back(TranslationKind::exclusive_or);
  return result;
}

}  // namespace collsim::topologies
