#include "tests/support/mutations.hpp"

#include <optional>
#include <utility>

#include "sim/model/proof.hpp"
#include "tests/sim/model/unrolled_schedule.hpp"

namespace collsim::testing {
namespace {

using Operations = std::vector<Operation>;

bool is(const Operation& item, OperationKind a, OperationKind b) { return item.kind == a || item.kind == b; }

bool set_kind(Operation& item, OperationKind from, OperationKind to) {
  if (item.kind != from || item.from_source) return false;
  item.kind = to;
  return true;
}

bool move_on(const Schedule& schedule, Chunk& chunk) {
  const Layout& layout = schedule.layout;
  const std::int32_t blocks = chunk.buffer == Buffer::scratch ? layout.scratch_blocks() : layout.blocks();
  if (chunk.span >= blocks) return false;
  chunk.block = chunk.block + chunk.span < blocks ? chunk.block + 1 : 0;
  return true;
}

bool forget(Operation& item) {
  if (item.kind == OperationKind::wait) return false;
  item.kind = OperationKind::wait;
  return true;
}

bool swap_with_next(Operations& stream, std::size_t index) {
  if (index + 1 >= stream.size()) return false;
  std::swap(stream[index], stream[index + 1]);
  return true;
}

bool repeat(Operations& stream, std::size_t index) {
  const Operation item = stream[index];
  if (!is(item, OperationKind::reduce, OperationKind::copy) || index + 1 != stream.size()) return false;
  stream.push_back(item);  // at the end, so that no dependency counts otherwise
  return true;
}

// Whether the fault can be made there.
bool make(const Schedule& schedule, Fault fault, Operations& stream, std::size_t index) {
  using enum OperationKind;
  Operation& item = stream[index];
  switch (fault) {
    case Fault::not_added:
      return set_kind(item, receive_reduce, receive) || set_kind(item, reduce, copy);
    case Fault::added:
      return set_kind(item, receive, receive_reduce) || set_kind(item, copy, reduce);
    case Fault::other_block:
      return item.kind != wait && move_on(schedule, item.chunk);
    case Fault::other_source:
      return (is(item, copy, reduce) || item.from_source) && move_on(schedule, item.source);
    case Fault::swapped_operations:
      return swap_with_next(stream, index);
    case Fault::forgotten_wait:
      if (item.waits.empty()) return false;
      item.waits.clear();
      return true;
    case Fault::forgotten_operation:
      return forget(item);
    case Fault::twice:
      return repeat(stream, index);
    case Fault::few_slots:
      return false;
  }
  return false;
}

std::vector<Mutant> with_few_slots(const Schedule& schedule) {
  const SmallestSlots smallest = smallest_slots(schedule);
  if (!smallest.known || !smallest.slots || *smallest.slots < 2) return {};
  Mutant mutant{Fault::few_slots, std::to_string(*smallest.slots - 1) + " slots", schedule};
  mutant.schedule.slots = *smallest.slots - 1;
  return {mutant};
}

}  // namespace

const std::vector<Fault>& all_faults() {
  static const std::vector<Fault> faults = {
      Fault::not_added,          Fault::added,          Fault::other_block,         Fault::other_source,
      Fault::swapped_operations, Fault::forgotten_wait, Fault::forgotten_operation, Fault::twice,
      Fault::few_slots};
  return faults;
}

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::not_added:
      return "not added";
    case Fault::added:
      return "added";
    case Fault::other_block:
      return "other block";
    case Fault::other_source:
      return "other source";
    case Fault::swapped_operations:
      return "swapped operations";
    case Fault::forgotten_wait:
      return "forgotten wait";
    case Fault::forgotten_operation:
      return "forgotten operation";
    case Fault::twice:
      return "twice";
    case Fault::few_slots:
      return "few slots";
  }
  return "";
}

std::vector<Mutant> mutants_of(const Schedule& schedule, Fault fault, std::size_t most, Random& random) {
  if (fault == Fault::few_slots) return with_few_slots(schedule);
  struct Where {
    std::size_t rank;
    std::size_t stream;
    std::size_t index;
  };
  const Streams streams = unroll(schedule);
  std::vector<Where> places;
  for (std::size_t rank = 0; rank < streams.size(); ++rank)
    for (std::size_t stream = 0; stream < streams[rank].size(); ++stream)
      for (std::size_t index = 0; index < streams[rank][stream].size(); ++index)
        places.push_back(Where{rank, stream, index});
  std::vector<Mutant> mutants;
  while (!places.empty() && mutants.size() < most) {
    const std::size_t drawn = random.below(places.size());
    const Where where = places[drawn];
    places[drawn] = places.back();
    places.pop_back();
    Streams changed = streams;
    const std::string kind = name_of(streams[where.rank][where.stream][where.index].kind);
    if (!make(schedule, fault, changed[where.rank][where.stream], where.index)) continue;
    mutants.push_back(Mutant{fault,
                             std::string(name_of(fault)) + ": " + kind + " in rank " +
                                 std::to_string(where.rank) + ", stream " + std::to_string(where.stream) +
                                 ", step " + std::to_string(where.index),
                             roll(schedule, changed)});
  }
  return mutants;
}

}  // namespace collsim::testing
