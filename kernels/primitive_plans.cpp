#include "kernels/primitive_plans.hpp"

#include <algorithm>
#include <utility>

#include "sim/core/check.hpp"

namespace collsim::kernels {
namespace {

// Streams of a rank: what it sends, and what it receives.
constexpr std::int32_t sending = 0;
constexpr std::int32_t receiving = 1;

constexpr std::int64_t smallest_area = 4;

Plan plan_with_areas(std::int32_t ranks) {
  Plan plan;
  plan.collective.kind = CollectiveKind::all_reduce;
  plan.collective.bytes = Bytes(smallest_area);
  plan.ranks = ranks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    plan.areas.push_back({AreaKind::output, rank, smallest_area});
    plan.output.push_back(rank);
  }
  plan.input.assign(static_cast<std::size_t>(ranks), -1);
  plan.scratch.assign(static_cast<std::size_t>(ranks), -1);
  for (Rank rank = 0; rank < ranks; ++rank) plan.areas.push_back({AreaKind::staging, rank, smallest_area});
  return plan;
}

// Builds the tasks of chains, one after the other.
class Chains {
 public:
  explicit Chains(const ChainsSpec& spec)
      : spec_(spec),
        shape_(shape_of(spec.kind)),
        plan_(plan_with_areas(spec.ranks)),
        steps_(static_cast<std::size_t>(spec.ranks) * 2, 0) {}

  // Row by row: an operation of every chain, each after the whole row before; its parts one after the other.
  Plan built() {
    for (std::int64_t i = 0; i < spec_.length; ++i) {
      if (before_.size() > 2) join();
      for (std::int32_t part = 0; part < shape_.tasks; ++part) {
        const std::vector<std::int32_t> parts = std::exchange(added_, {});
        for (std::int32_t chain = 0; chain < spec_.chains; ++chain) {
          if (part > 0) before_ = {parts[static_cast<std::size_t>(chain)]};
          add_task(chain, i, part);
        }
      }
      before_ = std::exchange(added_, {});
    }
    return std::move(plan_);
  }

  // Of all areas. Those of the last slot reach as far as all.
  std::int64_t memory_bytes() {
    for (std::int32_t part = 0; part < shape_.tasks; ++part)
      for (std::int32_t chain = 0; chain < spec_.chains; ++chain) add_task(chain, spec_.slots - 1, part);
    return plan_.memory_bytes();
  }

 private:
  using Places = std::vector<Place>;

  Place output(Rank rank, std::int64_t slot, std::int32_t index = 0) const {
    return {rank, (slot * shape_.outputs + index) * spec_.bytes};
  }
  Place staging(Rank rank, std::int64_t slot, std::int32_t index = 0) const {
    return {spec_.ranks + rank, (slot * shape_.stagings + index) * spec_.bytes};
  }
  Rank next_on_device(Rank rank) const {
    const Rank next = (rank + 1) % spec_.ranks;
    return device(next) == device(rank) ? next : rank;
  }
  // The first rank after `rank` on another device.
  Rank next_elsewhere(Rank rank) const {
    for (std::int32_t step = 1; step < spec_.ranks; ++step) {
      const Rank other = (rank + step) % spec_.ranks;
      if (device(other) != device(rank)) return other;
    }
    return rank;
  }
  int device(Rank rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return index < spec_.device.size() ? spec_.device[index] : 0;
  }

  void add_task(std::int32_t chain, std::int64_t index, std::int32_t part) {
    const Rank rank = chain;
    const std::int64_t slot = index % spec_.slots;
    switch (spec_.kind) {
      case PrimitiveKind::copy:
        return add(rank, sending, {output(rank, slot)}, {staging(rank, slot)});
      case PrimitiveKind::peer_copy:
        return add(rank, sending, {output(rank, slot)}, {staging(next_elsewhere(rank), slot)});
      case PrimitiveKind::reduce:
        return add(rank, receiving, {output(rank, slot), staging(rank, slot)}, {output(rank, slot)});
      case PrimitiveKind::reduce_many: {
        Places sources = {output(rank, slot)};
        for (std::int32_t i = 0; i < shape_.stagings; ++i) sources.push_back(staging(rank, slot, i));
        return add(rank, receiving, sources, {output(rank, slot)});
      }
      case PrimitiveKind::fused:
        return add(rank, receiving, {output(rank, slot), staging(rank, slot)},
                   {output(rank, slot), staging(rank, slot, 1)});
      case PrimitiveKind::round: {
        const Rank other = next_on_device(rank);
        const Place sent = output(rank, slot);
        const Place local = output(other, slot, 1);
        if (part == 0) return add(rank, sending, {sent}, {staging(other, slot)});
        if (part == 1) return add(other, receiving, {local, staging(other, slot)}, {local});
        return add(other, sending, {local}, {sent});
      }
    }
  }

  // Puts one task without work after the row before: k edges to it and k from it, not k * k.
  void join() {
    Task task;
    const Task& first = plan_.tasks[static_cast<std::size_t>(before_.front())];
    task.rank = first.rank;
    task.stream = first.stream;
    append(task);
    before_ = std::exchange(added_, {});
  }

  void add(Rank rank, std::int32_t stream, const Places& sources, const Places& destinations) {
    Task task;
    task.kind = TaskKind::combine;
    task.sources = static_cast<std::uint8_t>(sources.size());
    task.destinations = static_cast<std::uint8_t>(destinations.size());
    task.rank = rank;
    task.stream = stream;
    task.first_place = static_cast<std::int32_t>(plan_.places.size());
    plan_.places.insert(plan_.places.end(), sources.begin(), sources.end());
    plan_.places.insert(plan_.places.end(), destinations.begin(), destinations.end());
    task.bytes = spec_.bytes;
    for (const Place& place : plan_.places_of(task)) reach(place);
    append(task);
  }

  // The next task of its stream, after the row before.
  void append(Task task) {
    task.step = steps_[static_cast<std::size_t>(task.rank * 2 + task.stream)]++;
    task.first_predecessor = static_cast<std::int32_t>(plan_.predecessors.size());
    task.predecessor_count = static_cast<std::int32_t>(before_.size());
    plan_.predecessors.insert(plan_.predecessors.end(), before_.begin(), before_.end());
    added_.push_back(static_cast<std::int32_t>(plan_.tasks.size()));
    plan_.tasks.push_back(task);
  }

  // Makes the area of a place as large as it must be.
  void reach(const Place& place) {
    std::int64_t& bytes = plan_.areas[static_cast<std::size_t>(place.area)].bytes;
    bytes = std::max(bytes, place.offset + spec_.bytes);
  }

  const ChainsSpec& spec_;
  PrimitiveShape shape_;
  Plan plan_;
  std::vector<std::int32_t> before_;  // of the next task: its predecessors
  std::vector<std::int32_t> added_;
  std::vector<std::int64_t> steps_;  // [rank * 2 + stream]
};

}  // namespace

PrimitiveShape shape_of(PrimitiveKind kind) {
  switch (kind) {
    case PrimitiveKind::copy:
    case PrimitiveKind::peer_copy:
      return {1, 1, 1, 2};
    case PrimitiveKind::reduce:
      return {1, 1, 1, 3};
    case PrimitiveKind::reduce_many:
      return {1, sources_max - 1, 1, sources_max + 1};
    case PrimitiveKind::fused:
      return {1, 2, 1, 4};
    case PrimitiveKind::round:
      return {2, 1, 3, 7};
  }
  return {};
}

Plan chains_plan(const ChainsSpec& spec) {
  COLLSIM_CHECK(spec.chains >= 1 && spec.chains <= spec.ranks && spec.length >= 1 && spec.slots >= 1);
  return Chains(spec).built();
}

std::int64_t memory_bytes(const ChainsSpec& spec) { return Chains(spec).memory_bytes(); }

Plan empty_plan(std::int32_t ranks) {
  Plan plan = plan_with_areas(ranks);
  plan.tasks.emplace_back();
  return plan;
}

}  // namespace collsim::kernels
