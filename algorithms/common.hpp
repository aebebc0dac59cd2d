// What the algorithms share: the frame of a schedule, checks of options, which GPU serves which NIC.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

constexpr std::int32_t channels_max = 64;  // MAXCHANNELS (NCCL src/include/device.h)
constexpr std::int32_t slices_max = 1024;
constexpr std::int32_t slots_max = 1 << 20;

// Why the options cannot be used by any algorithm on `ranks` ranks ("channels is 0; it must be 1 to 64"), or
// nothing.
std::optional<Impossible> check_options(const AlgorithmOptions& options, std::int32_t ranks);

// A schedule of `channels` x `slices` (and more) regions with `blocks` blocks each; no streams yet.
// REQUIRES: where the collective has parts, blocks is the number of ranks (and `owner` is the caller's to set
// if block b is not rank b's)
Schedule schedule_frame(const char* algorithm, const Collective& collective, const Placement& placement,
                        const AlgorithmOptions& options, const std::vector<std::int32_t>& region_factors,
                        std::int32_t blocks);

// Why an algorithm that needs nodes of equally many GPUs cannot run ("the nodes have unequal numbers of GPUs:
// 8 and 4; ring, ..."), or nothing.
std::optional<Impossible> check_equal_nodes(const Placement& placement, CollectiveKind kind);

// The first GPU of a node of `gpus` that uses NIC (index mod NICs); 0 where a node has no NIC. GPU g of G
// uses NIC floor(g * n / G) of n.
std::int32_t first_gpu_of_nic(const Placement& placement, std::int32_t index, std::int32_t gpus);
std::int32_t nic_of_gpu(const Placement& placement, std::int32_t gpu);

// One channel per NIC where there are several nodes, `inside` otherwise.
std::int32_t channels_automatic(const Placement& placement, std::int32_t inside);

// The number of slices that an in-network algorithm takes by itself: 1, or what the switches' largest message
// demands of a vector cut into `parts` first.
std::int32_t slices_needed(const Collective& collective, std::int32_t parts, const ReductionSpec& reduction);
// Why an aggregation of `size` cannot run, or nothing.
std::optional<Impossible> check_message_size(Bytes size, const ReductionSpec& reduction);

// The operation `kind` with `peer` (an index into Binding::peers) on `chunk`.
OperationTemplate make_operation(OperationKind kind, std::int32_t peer, const ChunkExpression& chunk);

}  // namespace collsim::algorithms
