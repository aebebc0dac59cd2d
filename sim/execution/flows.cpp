#include "sim/execution/flows.hpp"

#include <algorithm>
#include <optional>

namespace collsim {
namespace {

using Uses = std::vector<FluidNetwork::Use>;

template <class User>
const Uses& uses(const Instance& instance, const User& user, Uses& route) {
  route.clear();
  for (std::uint32_t hop = user.first_hop; hop < user.hop_end; ++hop)
    route.push_back({instance.hops[hop].resource, instance.hops[hop].weight});
  return route;
}

// The largest rate of each part.
std::optional<Bandwidth> part_rate(std::optional<Bandwidth> rate, std::int32_t parts) {
  if (!rate || parts == 1) return rate;
  return Bandwidth::bytes_per_second(std::max<std::int64_t>(1, rate->bytes_per_second() / parts));
}

// In the order of their sending streams: flows of one exclusive key lie together.
void add_messages(FluidNetwork& network, const Instance& instance) {
  Uses route;
  std::size_t detour = 0;
  for (std::uint32_t id = 0; id < instance.connections.size(); ++id) {
    const Instance::Connection& connection = instance.connections[id];
    const Schedule& schedule = *instance.jobs[instance.streams[connection.sender].job].schedule;
    const auto add = [&](const Instance::Way& way) {
      network.add_flow(uses(instance, way, route), part_rate(schedule.channel_bandwidth, way.parts),
                       connection.sender, instance.flow_weight(way));
    };
    add(connection);
    for (; detour < instance.detours.size() && instance.detours[detour].connection == id; ++detour)
      add(instance.detours[detour]);
  }
  for (std::size_t id = 0; id < instance.groups.size(); ++id) {
    const Instance::Group& group = instance.groups[id];
    network.add_flow(uses(instance, group, route), group.rate_max, (std::uint64_t{1} << 33) + id,
                     instance.shares_unit);
  }
}

void add_background(FluidNetwork& network, const Instance& instance) {
  Uses route;
  for (std::size_t id = 0; id < instance.background.size(); ++id) {
    const Instance::BackgroundFlow& flow = instance.background[id];
    network.add_flow(uses(instance, flow, route), flow.rate, (std::uint64_t{1} << 35) + id,
                     instance.shares_unit);
  }
}

}  // namespace

LocalFlows add_flows(FluidNetwork& network, const Instance& instance, bool messages) {
  const std::size_t count =
      messages ? instance.connections.size() + instance.detours.size() + instance.groups.size() : 0;
  network.reserve(instance.resources.size(), count, messages ? instance.hops.size() : 0);
  for (const Instance::Resource& resource : instance.resources)
    network.add_resource(resource.capacity, resource.changes);
  if (messages) add_messages(network, instance);
  LocalFlows local;
  local.first = static_cast<FlowId>(count);
  local.reduce.assign(instance.streams.size(), Instance::none);
  local.copy.assign(instance.streams.size(), Instance::none);
  Uses route;
  const auto add = [&](std::uint32_t id, ResourceId unit) {
    const Instance::Stream& stream = instance.streams[id];
    const bool shares = stream.memory != Instance::none;
    route.clear();
    if (unit != Instance::none) route.push_back({unit, stream.unit_weight});
    if (shares) route.push_back({instance.memories[stream.memory].resource, stream.memory_weight});
    if (route.empty()) return Instance::none;
    local.owner.push_back(id);
    return network.add_flow(route, std::nullopt, (std::uint64_t{1} << 34) + id,
                            shares ? instance.shares_unit : 1);
  };
  for (std::uint32_t id = 0; id < instance.streams.size(); ++id) {
    const Instance::Stream& stream = instance.streams[id];
    const CompiledProgram& program = instance.programs.programs[stream.program];
    if (program.reduces) local.reduce[id] = add(id, stream.reduce_unit);
    if (program.copies) local.copy[id] = add(id, stream.copy_unit);
  }
  local.first_background = static_cast<FlowId>(count + local.owner.size());
  if (messages) add_background(network, instance);
  return local;
}

}  // namespace collsim
