#include "experiments/seating.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "algorithms/registry.hpp"
#include "sim/core/check.hpp"

namespace collsim::program {

namespace {

std::vector<Rank> round_robin(const Placement& cluster) {
  std::vector<Rank> gpus;
  for (std::int32_t turn = 0; turn < cluster.gpus_per_node; ++turn)
    for (std::int32_t node = 0; node < cluster.nodes; ++node)
      if (turn < cluster.gpus_of(node)) gpus.push_back(cluster.first_rank_of(node) + turn);
  return gpus;
}

// Rank i on GPU i is what an empty list means.
Seats simplified(std::vector<Rank> gpus, std::int32_t all) {
  std::vector<Rank> plain(static_cast<std::size_t>(all));
  std::iota(plain.begin(), plain.end(), 0);
  return gpus == plain ? Seats{} : Seats{std::move(gpus)};
}

// Where the user's rank sits among those of a renumbered group.
Rank renumbered(Rank rank, const Seats& seats, const std::vector<Rank>& rank_map) {
  const auto found = std::find(rank_map.begin(), rank_map.end(), seats.gpu_of(rank));
  COLLSIM_CHECK(found != rank_map.end());
  return static_cast<Rank>(found - rank_map.begin());
}

// A forest is packed for all GPUs, whoever they are.
SeatedOrReason on_the_whole(const AlgorithmRequest& request, Collective collective, const Topology& topology,
                            const Seats& seats, ScheduleCache& cache) {
  if (seats.ranks(topology) != topology.ranks())
    return Impossible{request.name + " needs all GPUs of the cluster; " +
                      std::to_string(seats.ranks(topology)) + " of " + std::to_string(topology.ranks()) +
                      " take part"};
  if (has_root(collective.kind)) collective.root = seats.gpu_of(collective.root);
  auto made = schedule_of(request, collective, topology, cache);
  if (auto* impossible = std::get_if<Impossible>(&made)) return std::move(*impossible);
  return SeatedSchedule{std::get<Schedule>(std::move(made)), {}};
}

SeatedOrReason seated(ScheduleOrReason made, std::vector<Rank> rank_map, const Topology& topology) {
  if (auto* impossible = std::get_if<Impossible>(&made)) return std::move(*impossible);
  return SeatedSchedule{std::get<Schedule>(std::move(made)),
                        simplified(std::move(rank_map), topology.ranks()).gpus};
}

SeatedOrReason from_registry(AlgorithmRequest request, Collective collective, const Topology& topology,
                             const Seats& seats) {
  const algorithms::AlgorithmInfo& info = *find_algorithm(request.name);
  const bool by_number =
      collective.kind == CollectiveKind::send_recv || algorithms::goes_by_number(info, request.options);
  PartPlacement part = part_of(topology.placement(), seats.gpus, by_number);
  const auto ranks = static_cast<std::int32_t>(seats.gpus.size());
  if (has_root(collective.kind) && collective.root < ranks)
    collective.root = renumbered(collective.root, seats, part.rank_map);
  std::optional<std::int32_t>& root = request.options.root;
  if (root && *root >= 0 && *root < ranks) root = renumbered(*root, seats, part.rank_map);
  return seated(algorithms::make_schedule(request, collective, part.placement), std::move(part.rank_map),
                topology);
}

}  // namespace

Seats seats_of(const PlacementSpec& spec, const Placement& cluster) {
  if (spec.kind == PlacementKind::packed) return {};
  return simplified(spec.kind == PlacementKind::list ? spec.gpus : round_robin(cluster), cluster.ranks());
}

Seats seats_of_group(const Seats& seats, const std::vector<Rank>& ranks, const Topology& topology) {
  if (ranks.empty()) return seats;
  std::vector<Rank> gpus;
  for (const Rank rank : ranks) gpus.push_back(seats.gpu_of(rank));
  return simplified(std::move(gpus), topology.ranks());
}

std::int32_t nodes_of(const Seats& seats, const Placement& cluster) {
  if (seats.is_plain()) return cluster.nodes;
  std::set<std::int32_t> nodes;
  for (const Rank gpu : seats.gpus) nodes.insert(cluster.node_of(gpu));
  return static_cast<std::int32_t>(nodes.size());
}

SeatedOrReason seated_schedule_of(const AlgorithmRequest& request, const Collective& collective,
                                  const Topology& topology, const Seats& seats, ScheduleCache& cache) {
  if (seats.is_plain()) return seated(schedule_of(request, collective, topology, cache), {}, topology);
  if (is_algorithm_file(request.name)) {
    return seated(schedule_of_file(request, collective, seats.ranks(topology), cache), seats.gpus, topology);
  }
  const algorithms::AlgorithmInfo* info = find_algorithm(request.name);
  COLLSIM_CHECK_MSG(info != nullptr, request.name);
  if (info->make == nullptr) return on_the_whole(request, collective, topology, seats, cache);
  return from_registry(request, collective, topology, seats);
}

LowerBound bound_of(const Collective& collective, const Topology& topology, const Seats& seats,
                    const topologies::FlowBounds& bounds) {
  if (seats.is_plain()) return bounds.of(collective);
  const bool all = seats.ranks(topology) == topology.ranks();
  if (!all || collective.kind == CollectiveKind::send_recv)
    return lower_bound(collective, topology, seats.gpus);
  Collective moved = collective;
  if (has_root(moved.kind)) moved.root = seats.gpu_of(moved.root);
  return bounds.of(moved);
}

}  // namespace collsim::program
