#include "sim/model/cluster.hpp"

#include "sim/core/check.hpp"

namespace collsim {

const char* name_of(InterconnectKind kind) {
  switch (kind) {
    case InterconnectKind::none:
      return "none";
    case InterconnectKind::nvswitch:
      return "nvswitch";
    case InterconnectKind::full_mesh:
      return "full_mesh";
    case InterconnectKind::ring:
      return "ring";
    case InterconnectKind::pcie:
      return "pcie";
    case InterconnectKind::hybrid_cube_mesh:
      return "hybrid_cube_mesh";
    case InterconnectKind::shared_memory:
      return "shared_memory";
  }
  check_failed(__FILE__, __LINE__, "interconnect kind is named", "");
}

const char* name_of(RoutingKind kind) {
  switch (kind) {
    case RoutingKind::minimal:
      return "minimal";
    case RoutingKind::d_mod_k:
      return "d_mod_k";
    case RoutingKind::dimension_order:
      return "dimension_order";
    case RoutingKind::ecmp:
      return "ecmp";
    case RoutingKind::spray:
      return "spray";
    case RoutingKind::adaptive:
      return "adaptive";
    case RoutingKind::valiant:
      return "valiant";
    case RoutingKind::table:
      return "table";
  }
  check_failed(__FILE__, __LINE__, "routing kind is named", "");
}

const char* name_of(FabricKind kind) {
  switch (kind) {
    case FabricKind::none:
      return "none";
    case FabricKind::single_switch:
      return "switch";
    case FabricKind::fat_tree:
      return "fat_tree";
    case FabricKind::rail_fat_tree:
      return "rail_fat_tree";
    case FabricKind::torus:
      return "torus";
    case FabricKind::mesh:
      return "mesh";
    case FabricKind::dragonfly:
      return "dragonfly";
    case FabricKind::hypercube:
      return "hypercube";
    case FabricKind::ring:
      return "ring";
    case FabricKind::full_mesh:
      return "full_mesh";
    case FabricKind::custom:
      return "custom";
  }
  check_failed(__FILE__, __LINE__, "fabric kind is named", "");
}

}  // namespace collsim
