// Ways and Gpus: what an Instance takes from a topology and the conditions of a run: how connections cross
// links, now and after changes of routes and latencies, and what the GPU of each rank is.
//
// Changes at time 0 are not changes: the run starts with what they leave. (A link without bandwidth is one:
// the network begins with the link as it was and changes it before anything happens.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/execution/instance.hpp"

namespace collsim {

class Ways {
 public:
  // All three must outlive it.
  Ways(const Topology& topology, const Conditions& conditions, Instance& instance);

  std::uint32_t resource_of(LinkId link);
  // Fills in how the connection begins. REQUIRES: source, target and channel are set
  void find(Instance::Connection& connection, std::optional<Bandwidth> rate_max);
  // Detours, changes of latency, background flows and weights. REQUIRES: no connection is added any more
  void finish();

 private:
  Instance::Way way_by(const RouteRule& routes, const Instance::Connection& connection,
                       std::optional<Bandwidth> rate_max);
  Duration latency_by(const RouteRule& routes, const Instance::Connection& connection);
  bool same(const Instance::Way& a, const Instance::Way& b) const;
  void add_detours(std::uint32_t id);
  void add_latency_changes();
  void add_latency_change(std::uint32_t number);
  void find_tree_latencies();
  Instance::TreeChange tree_latencies(std::uint32_t group) const;
  void add_background();
  void choose_weights();

  const Topology& topology_;
  const Conditions& conditions_;
  Instance& instance_;
  const RouteRule* routes_ = nullptr;         // at the start
  std::vector<std::uint32_t> later_;          // route changes after the start
  std::vector<std::uint32_t> link_resource_;  // [LinkId]
  std::vector<Duration> latency_;             // [LinkId], at the time that is being looked at
  std::vector<LinkId> links_;
};

// Numbers the GPUs of ranks.
class Gpus {
 public:
  Gpus(const Topology& topology, const Conditions& conditions, std::vector<Instance::Gpu>& gpus);
  std::uint32_t of(Rank rank) const { return number_.empty() ? 0 : number_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::uint32_t> number_;  // [rank]; empty: all 0
};

// The unit of such a GPU that copies or reduces, beside that memory or none; nothing if its work takes no
// time of its own.
std::optional<Instance::Resource> unit_of(const Instance& instance, std::uint32_t gpu, bool copies,
                                          std::uint32_t memory = Instance::none);
// Of a unit of `spec`, the largest there is where the work takes no time of its own. Beside a memory a rate
// of reductions is one of bytes copied.
Bandwidth unit_bandwidth(const Instance& instance, const GpuSpec& spec, bool copies, std::uint32_t memory);

// The routes that a run begins with.
const RouteRule& first_routes(const Topology& topology, const Conditions& conditions);

}  // namespace collsim
