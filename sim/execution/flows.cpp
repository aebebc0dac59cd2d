#include "sim/execution/flows.hpp"

namespace collsim {
namespace {

using Uses = std::vector<FluidNetwork::Use>;

const Uses& uses(const Instance& instance, std::uint32_t first_hop, std::uint32_t hop_end, Uses& route) {
  route.clear();
  for (std::uint32_t hop = first_hop; hop < hop_end; ++hop)
    route.push_back({instance.hops[hop].resource, instance.hops[hop].weight});
  return route;
}

// In the order of their sending streams: flows of one exclusive key lie together.
void add_messages(FluidNetwork& network, const Instance& instance) {
  Uses route;
  for (const Instance::Connection& connection : instance.connections) {
    const Schedule& schedule = *instance.jobs[instance.streams[connection.sender].job].schedule;
    network.add_flow(uses(instance, connection.first_hop, connection.hop_end, route),
                     schedule.channel_bandwidth, connection.sender);
  }
  for (std::size_t id = 0; id < instance.groups.size(); ++id) {
    const Instance::Group& group = instance.groups[id];
    network.add_flow(uses(instance, group.first_hop, group.hop_end, route), group.rate_max,
                     (std::uint64_t{1} << 33) + id);
  }
}

}  // namespace

LocalFlows add_flows(FluidNetwork& network, const Instance& instance, bool messages) {
  const std::size_t count = messages ? instance.connections.size() + instance.groups.size() : 0;
  network.reserve(instance.resources.size(), count, messages ? instance.hops.size() : 0);
  for (const Instance::Resource& resource : instance.resources)
    network.add_resource(resource.capacity, resource.changes);
  if (messages) add_messages(network, instance);
  LocalFlows local;
  local.first = static_cast<FlowId>(count);
  local.reduce.assign(instance.streams.size(), Instance::none);
  local.copy.assign(instance.streams.size(), Instance::none);
  const auto add = [&](std::uint32_t id, ResourceId unit) {
    const FluidNetwork::Use use[] = {{unit, instance.streams[id].unit_weight}};
    local.owner.push_back(id);
    return network.add_flow(use, std::nullopt, (std::uint64_t{1} << 34) + id);
  };
  for (std::uint32_t id = 0; id < instance.streams.size(); ++id) {
    const Instance::Stream& stream = instance.streams[id];
    if (stream.reduce_unit != Instance::none) local.reduce[id] = add(id, stream.reduce_unit);
    if (stream.copy_unit != Instance::none) local.copy[id] = add(id, stream.copy_unit);
  }
  return local;
}

}  // namespace collsim
