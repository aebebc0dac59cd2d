// add_flows(): the resources and flows of an instance in a network. Flow numbers: connections, each followed
// by its detours, then groups, then the local work of streams in their order, the reductions of a stream
// before its copies, then background flows.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/instance.hpp"
#include "sim/network/fluid.hpp"

namespace collsim {

struct LocalFlows {
  std::vector<FlowId> reduce;  // [stream], Instance::none where reductions take no time or there are none
  std::vector<FlowId> copy;
  std::vector<std::uint32_t> owner;  // [flow - first]: stream
  FlowId first = 0;
  FlowId first_background = 0;
};

inline FlowId flow_of_detour(const Instance& instance, std::uint32_t detour) {
  return instance.detours[detour].connection + detour + 1;
}

// Without `messages`, those of local work alone, from number 0 on.
// REQUIRES: the network is empty. It is not frozen yet.
LocalFlows add_flows(FluidNetwork& network, const Instance& instance, bool messages = true);

}  // namespace collsim
