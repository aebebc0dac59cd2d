#include "algorithms/common.hpp"

#include <algorithm>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

std::optional<Impossible> check_range(const char* name, const std::optional<std::int32_t>& value,
                                      std::int32_t least, std::int32_t most) {
  if (!value || (*value >= least && *value <= most)) return std::nullopt;
  return Impossible{std::string(name) + " is " + std::to_string(*value) + "; it must be " +
                    std::to_string(least) + " to " + std::to_string(most)};
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

std::int32_t first_gpu_of_nic(const Placement& placement, std::int32_t index) {
  const std::int32_t nics = placement.nics_per_node;
  if (nics < 1) return 0;
  const std::int64_t nic = index % nics;
  // The smallest g with floor(g * nics / gpus) >= nic. With fewer GPUs than NICs it may use a later NIC.
  const auto gpu = static_cast<std::int32_t>((nic * placement.gpus_per_node + nics - 1) / nics);
  return std::min(gpu, placement.gpus_per_node - 1);
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
