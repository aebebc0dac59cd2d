// The kinds of interconnect and fabric, with what they are, for `collsim list topologies`.
#pragma once

#include <string_view>
#include <vector>

namespace collsim::topologies {

struct KindInfo {
  std::string_view name;     // as in an experiment file
  std::string_view key;      // "cluster.node.interconnect.kind" or "cluster.fabric.kind"
  std::string_view summary;  // one line
};

// Interconnects, then fabrics.
std::vector<KindInfo> kinds();

}  // namespace collsim::topologies
