#include "algorithms/common.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

std::optional<Impossible> check_range(const char* name, const std::optional<std::int32_t>& value,
                                      std::int32_t least, std::int32_t most) {
  if (!value || (*value >= least && *value <= most)) return std::nullopt;
  return Impossible{std::string(name) + " is " + std::to_string(*value) + "; it must be " +
                    std::to_string(least) + " to " + std::to_string(most)};
}

// The different numbers of GPUs of a node, largest first: "8 and 4", "5, 2 and 1"; of many "64 to 1".
std::string counts_of_nodes(const Placement& placement) {
  std::set<std::int32_t, std::greater<>> counts;
  for (std::int32_t node = 0; node < placement.nodes; ++node) counts.insert(placement.gpus_of(node));
  if (counts.size() > 4) return std::to_string(*counts.begin()) + " to " + std::to_string(*counts.rbegin());
  std::string text;
  for (auto count = counts.begin(); count != counts.end(); ++count) {
    const bool last = std::next(count) == counts.end();
    text += (text.empty() ? "" : last ? " and " : ", ") + std::to_string(*count);
  }
  return text;
}

std::string need_no_equal_nodes(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::barrier:
      return "ring, double_binary_tree and hierarchical in the form leader";
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return "ring, double_binary_tree and hierarchical";
    case CollectiveKind::all_to_all:
      return "direct and pairwise";
    default:
      return "ring and pairwise";
  }
}

}  // namespace

std::optional<Impossible> check_options(const AlgorithmOptions& options, std::int32_t ranks) {
  if (auto wrong = check_range("channels", options.channels, 1, channels_max)) return wrong;
  if (auto wrong = check_range("slices", options.slices, 1, slices_max)) return wrong;
  if (auto wrong = check_range("slots", options.slots, 1, slots_max)) return wrong;
  if (auto wrong = check_range("root", options.root, 0, ranks - 1)) return wrong;
  if (options.channel_bandwidth && options.channel_bandwidth->bytes_per_second() <= 0)
    return Impossible{"channel_bandwidth must be greater than 0"};
  return std::nullopt;
}

Schedule schedule_frame(const char* algorithm, const Collective& collective, const Placement& placement,
                        const AlgorithmOptions& options, const std::vector<std::int32_t>& region_factors,
                        std::int32_t blocks) {
  Schedule schedule = empty_schedule(algorithm, collective, placement.ranks());
  const std::int32_t size = element_bytes(collective.datatype);
  if (in_parts(collective.kind)) {
    COLLSIM_CHECK(blocks == placement.ranks());
    schedule.layout = Layout::in_parts(collective.elements(), size, region_factors, blocks);
  } else {
    schedule.layout = Layout(collective.elements(), size, region_factors, blocks);
  }
  schedule.slots = options.slots.value_or(slots_default);
  schedule.channel_bandwidth = options.channel_bandwidth;
  return schedule;
}

std::optional<Impossible> check_equal_nodes(const Placement& placement, CollectiveKind kind) {
  if (placement.is_even()) return std::nullopt;
  return Impossible{"the nodes have unequal numbers of GPUs: " + counts_of_nodes(placement) + "; " +
                    need_no_equal_nodes(kind) + " need no equal nodes"};
}

std::int32_t first_gpu_of_nic(const Placement& placement, std::int32_t index, std::int32_t gpus) {
  const std::int32_t nics = placement.nics_per_node;
  if (nics < 1) return 0;
  const std::int64_t nic = index % nics;
  // The smallest g with floor(g * nics / gpus) >= nic. With fewer GPUs than NICs it may use a later NIC.
  const auto gpu = static_cast<std::int32_t>((nic * gpus + nics - 1) / nics);
  return std::min(gpu, gpus - 1);
}

std::int32_t nic_of_gpu(const Placement& placement, std::int32_t gpu) {
  return static_cast<std::int32_t>(std::int64_t{gpu} * placement.nics_per_node / placement.gpus_per_node);
}

std::int32_t channels_automatic(const Placement& placement, std::int32_t inside) {
  const std::int32_t wanted = placement.nodes > 1 ? placement.nics_per_node : inside;
  return std::clamp(wanted, 1, channels_max);
}

std::int32_t slices_needed(const Collective& collective, std::int32_t parts, const ReductionSpec& reduction) {
  if (!reduction.message_size_max || reduction.message_size_max->count() < 1) return 1;
  // Whole elements: a part is at most ceil(elements / parts) of them.
  const std::int64_t most =
      std::max<std::int64_t>(1, reduction.message_size_max->count() / element_bytes(collective.datatype));
  const std::int64_t largest = std::max<std::int64_t>(1, (collective.elements() + parts - 1) / parts);
  return static_cast<std::int32_t>(std::min<std::int64_t>((largest + most - 1) / most, slices_max));
}

std::optional<Impossible> check_message_size(Bytes size, const ReductionSpec& reduction) {
  if (!reduction.message_size_max || size <= *reduction.message_size_max) return std::nullopt;
  return Impossible{"an aggregation of " + std::to_string(size.count()) + " bytes is above the " +
                    std::to_string(reduction.message_size_max->count()) +
                    " bytes that the switches take; more slices make it smaller"};
}

OperationTemplate make_operation(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk) {
  OperationTemplate operation;
  operation.kind = kind;
  operation.peer = peer;
  operation.chunk = chunk;
  return operation;
}

}  // namespace collsim::algorithms
