// NCCL's own cost model: which algorithm and protocol NCCL takes for a size, and the time that it expects.
//
// The arithmetic of NCCL 2.30 (src/graph/tuning.cc), in double: time = latency + bytes / bandwidth, each from
// tables of constants and from what NCCL's search of the topology found (channels and the bandwidth of one).
// It decides what is simulated and what is shown beside; it never decides a simulated time.
//
// Units       microseconds and GB/s (10^9 bytes per second), as NCCL's tables are.
// Not in it   several operations in one launch (one is assumed), IBM Power, environment variables and tuner
//             plugins, PXN and C2C paths (LL128 is taken as allowed over NVLink).
// Complexity  O(1) a question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/placement.hpp"

namespace collsim::algorithms {

// In NCCL's order, by which equal times are decided.
enum class NcclAlgorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };
constexpr int nccl_algorithm_count = 7;
constexpr int nccl_protocol_count = 3;
std::string_view name_of(NcclAlgorithm algorithm);  // as in tuner files: "collnet_direct"
std::string_view name_of(NcclProtocol protocol);    // "ll128"
// The name in our registry: tree is double_binary_tree, and NVLS over several nodes, which reduces inside
// them by multicast and between them by the fabric's switches, is sharp.
std::string_view registry_name_of(NcclAlgorithm algorithm, int nodes);

enum class NcclGeneration { volta, ampere, hopper, blackwell };
enum class NcclCpu { intel, amd, other };
std::optional<NcclGeneration> nccl_generation_from_name(std::string_view name);
// From the name of a preset ("dgx-h100", "gb200-nvl72"); nothing where it names no NVIDIA GPU.
std::optional<NcclGeneration> nccl_generation_of_preset(std::string_view preset);
NcclCpu nccl_cpu_of_preset(std::string_view preset);

// What NCCL's search found for one kind of pattern.
struct NcclGraph {
  int channels = 0;
  double intra = 0;  // GB/s of one channel inside a node, and
  double inter = 0;  // between nodes
};

struct NcclSystem {
  int ranks = 1;
  int nodes = 1;
  NcclGeneration generation = NcclGeneration::hopper;
  NcclCpu cpu = NcclCpu::intel;
  bool nvlink = true;          // else PCI inside a node
  bool switched = true;        // a node has an NVSwitch
  bool multicast = false;      // whose switches reduce
  bool collnet = false;        // the fabric reduces
  bool even = true;            // all nodes have as many GPUs
  bool same_channels = false;  // all channels have the same order of GPUs
  bool plain_tree = false;     // the search fell back to a tree that enters a node at one GPU
  double network_latency = 0;  // of the net plugin, added to each hop between nodes
  int heads = 0;               // GPUs of a node that have a NIC
  NcclGraph ring;              // also tree and PAT in a single node
  NcclGraph tree;
  NcclGraph nvls;
  NcclGraph collnet_graph;
};

// The system that NCCL would find on such a cluster. Where the numbers come from:
//   node        The bandwidth of a GPU into the interconnect, times what NCCL believes of an NVLink of this
//               generation and its nominal 25 (Blackwell: 50) GB/s: 20, 20, 20.6 and 40.1 GB/s. A PCIe
//               interconnect as it is.
//   network     Bandwidth of a NIC as it is; one channel for each NIC, or more if it holds them.
//   channels    The speed of NCCL's list (src/graph/search.cc) that makes channels * speed largest, the
//               fastest at ties, doubled and halved as ncclTopoDupChannels does.
// Nodes of unequal numbers of GPUs: latencies are those of the mean number, rounded up; what our schedules do
// with equal nodes only (nvls_tree, nvls over several nodes, CollNet) is not enabled. `channels`, if given,
// replaces the number of channels; channels * speed stays.
NcclSystem nccl_system(const Placement& placement, NcclGeneration generation, NcclCpu cpu,
                       std::optional<std::int32_t> channels);

struct NcclCost {
  double latency = 0;    // us
  double bandwidth = 0;  // GB/s of the collective's bytes; 0: NCCL does not use this
};
// Before the corrections by size. REQUIRES: ranks >= 2
NcclCost nccl_cost(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                   NcclProtocol protocol);

// Microseconds, with the corrections by size; nothing where NCCL does not use the two for this collective.
std::optional<double> nccl_time(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                                NcclProtocol protocol, Bytes bytes);

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  double time = 0;  // us
};
// The least time; the first in NCCL's order at ties. Nothing for collectives that NCCL makes of sends and
// receives (scatter, gather, all_to_all, send_recv, barrier), and for one rank.
std::optional<NcclChoice> nccl_choice(const NcclSystem& system, CollectiveKind kind, Bytes bytes);
int nccl_channels_of(const NcclSystem& system, NcclAlgorithm algorithm);

// Bytes that the protocol puts on the wire for `bytes` of data: LL twice, LL128 16/15 (128 for 120).
Bytes nccl_wire_bytes(NcclProtocol protocol, Bytes bytes);

}  // namespace collsim::algorithms
