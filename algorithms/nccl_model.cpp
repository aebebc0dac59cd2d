#include "algorithms/nccl_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "sim/core/check.hpp"

namespace collsim::algorithms {
namespace {

using Protocols = std::array<double, nccl_protocol_count>;
using ByAlgorithm = std::array<Protocols, nccl_algorithm_count>;
using ByNodes = std::array<double, 3>;  // 1, 2 and more nodes
using ByGeneration = std::array<ByNodes, 4>;

// Microseconds (src/graph/tuning.cc), in the order of the enums.
constexpr ByAlgorithm base_latency = {
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8.0, 8.0, 8.0}}};
constexpr ByAlgorithm nvlink_latency = {
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr ByAlgorithm pci_latency = {
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}}};
constexpr ByAlgorithm network_latency = {
    {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s. In one node the row is the generation, over several Intel's is the first and AMD's the second.
constexpr ByGeneration ll_most = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr ByGeneration ring_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr ByGeneration tree_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr ByGeneration tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr ByGeneration nvls_tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array<double, 4> nvls_efficiency = {0, 0, 0.85, 0.74};

// By powers of two from 64 bytes.
constexpr std::array<std::array<double, 24>, nccl_protocol_count> tree_correction = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

// Speeds of a channel that the search tries, from the fastest (src/graph/search.cc).
const std::vector<double>& speeds(NcclGeneration generation, bool between_nodes) {
  static const std::vector<double> inside = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
  static const std::vector<double> between = {48, 30, 28, 24, 20, 18,  15,  12,  10, 9,
                                              7,  6,  5,  4,  3,  2.4, 1.2, .24, .12};
  static const std::vector<double> inside_hopper = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  static const std::vector<double> between_hopper = {48, 45, 42, 40, 30,  24,  22,  20, 17.5,
                                                     15, 12, 6,  3,  2.4, 1.2, .24, .12};
  static const std::vector<double> inside_blackwell = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  static const std::vector<double> between_blackwell = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,  22,
                                                        20, 17.5, 15, 12, 6,    3,  2.4, 1.2, .24, .12};
  switch (generation) {
    case NcclGeneration::hopper:
      return between_nodes ? between_hopper : inside_hopper;
    case NcclGeneration::blackwell:
      return between_nodes ? between_blackwell : inside_blackwell;
    default:
      return between_nodes ? between : inside;
  }
}

std::size_t at(NcclAlgorithm algorithm) { return static_cast<std::size_t>(algorithm); }
std::size_t at(NcclProtocol protocol) { return static_cast<std::size_t>(protocol); }
std::size_t at(NcclGeneration generation) { return static_cast<std::size_t>(generation); }
std::size_t scale_of(int nodes) { return static_cast<std::size_t>(std::clamp(nodes, 1, 3) - 1); }

// floor(log2 n); -1 for 0, as NCCL's log2i.
int log2_of(std::uint64_t number) { return static_cast<int>(std::bit_width(number)) - 1; }

constexpr int graph_channels_max = 32;  // MAXCHANNELS / 2

bool in_network(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::collnet_direct || algorithm == NcclAlgorithm::collnet_chain;
}
bool by_multicast(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
}
// reduce_scatter and all_gather
bool is_half(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather;
}

const NcclGraph& graph_of(const NcclSystem& system, NcclAlgorithm algorithm) {
  if (in_network(algorithm)) return system.collnet_graph;
  if (by_multicast(algorithm)) return system.nvls;
  return algorithm == NcclAlgorithm::tree ? system.tree : system.ring;
}

int steps_of(const NcclSystem& system, CollectiveKind kind) {
  if (kind == CollectiveKind::all_reduce) return 2 * (system.ranks - 1);
  return is_half(kind) ? system.ranks - 1 : system.ranks;
}

// Whether the algorithm is there for the collective, on any system.
bool does(NcclAlgorithm algorithm, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return algorithm != NcclAlgorithm::pat;
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_gather:
      return algorithm == NcclAlgorithm::ring || algorithm == NcclAlgorithm::pat ||
             algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::collnet_direct;
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return algorithm == NcclAlgorithm::ring;
    default:
      return false;
  }
}

// Whether NCCL enables the algorithm on this system.
bool is_enabled(const NcclSystem& system, NcclAlgorithm algorithm, CollectiveKind kind) {
  const bool several = system.nodes > 1;
  // All-gather and reduce-scatter over the fabric need a NIC for each GPU.
  const bool has_nics = !is_half(kind) || !several || system.heads * system.nodes >= system.ranks;
  switch (algorithm) {
    case NcclAlgorithm::pat:
      return system.nodes == system.ranks;  // one GPU a node
    case NcclAlgorithm::collnet_direct:
      return several && system.even && system.collnet && system.switched && has_nics;
    case NcclAlgorithm::collnet_chain:
      return several && system.even && system.collnet;
    case NcclAlgorithm::nvls:
      return system.multicast && system.nvls.channels >= 2 && (!several || (system.even && system.collnet)) &&
             has_nics;
    case NcclAlgorithm::nvls_tree:
      return system.multicast && system.nvls.channels >= 2 && several && system.even;
    default:
      return true;
  }
}

bool is_enabled(const NcclSystem& system, NcclAlgorithm algorithm, NcclProtocol protocol) {
  if (protocol == NcclProtocol::simple) return true;
  if (algorithm != NcclAlgorithm::tree && algorithm != NcclAlgorithm::ring) return false;
  return protocol == NcclProtocol::ll || system.nvlink;
}

double nvls_bandwidth(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm) {
  const NcclGraph& graph = system.nvls;
  const double per_node = static_cast<double>(system.ranks) / system.nodes;
  double intra = graph.intra * nvls_efficiency[at(system.generation)] * (graph.channels - 1) / graph.channels;
  intra *= kind == CollectiveKind::all_reduce ? 2 : (per_node - 1) / per_node;
  if (algorithm == NcclAlgorithm::nvls) return std::min(intra, graph.inter);
  const double inter = graph.inter * (system.nodes <= 2 ? 2 : 1);
  return std::min({intra, inter, nvls_tree_most[at(system.generation)][scale_of(system.nodes)]});
}

double collnet_direct_bandwidth(const NcclSystem& system, CollectiveKind kind, double bus) {
  const NcclGraph& graph = system.collnet_graph;
  const double per_node = static_cast<double>(system.ranks) / system.nodes;
  if (is_half(kind)) return per_node * std::min(graph.intra, graph.inter * 0.9);
  double factor = per_node / graph.channels;
  factor -= (factor - 1) / 2;
  return bus / factor * (system.generation >= NcclGeneration::hopper ? 0.85 : 1);
}

// What the links of all channels carry together, as NCCL's busbw.
double bus_bandwidth(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                     NcclProtocol protocol) {
  const NcclGraph& graph = graph_of(system, algorithm);
  const std::size_t scale = scale_of(system.nodes);
  const bool is_amd = system.cpu == NcclCpu::amd;
  const double ll = ll_most[system.nodes == 1 ? at(system.generation) : (is_amd ? 1 : 0)][scale];
  const double channels = graph.channels;
  double bus = channels * (system.nodes <= 2 || in_network(algorithm) ? graph.intra : graph.inter);
  switch (algorithm) {
    case NcclAlgorithm::ring:
      if (protocol == NcclProtocol::ll) return std::min(ll, bus * 0.5);
      if (protocol == NcclProtocol::ll128)
        return std::min(bus * 0.92, channels * ring_ll128_most[at(system.generation)][scale]);
      return bus;
    case NcclAlgorithm::tree:
      bus = std::min(bus * 0.92, channels * tree_most[at(system.generation)][scale]);
      if (protocol == NcclProtocol::ll) bus = std::min(bus / 3.8, ll);
      if (protocol == NcclProtocol::ll128)
        bus = std::min(bus * (system.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                       channels * tree_ll128_most[at(system.generation)][scale]);
      return system.plain_tree ? bus * 0.85 : bus;
    case NcclAlgorithm::collnet_direct:
      return collnet_direct_bandwidth(system, kind, bus);
    case NcclAlgorithm::collnet_chain:
      return bus;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return channels * nvls_bandwidth(system, kind, algorithm);
    case NcclAlgorithm::pat:
      return bus * 0.75;
  }
  return 0;
}

// busbw -> bytes of the collective per time.
double algorithm_share(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm) {
  if (is_half(kind) && algorithm != NcclAlgorithm::ring) return 1;
  if (algorithm == NcclAlgorithm::ring || by_multicast(algorithm))
    return static_cast<double>(system.ranks) / steps_of(system, kind);
  return 0.5;
}

double ring_latency(const NcclSystem& system, CollectiveKind kind, NcclProtocol protocol, double intra,
                    double inter) {
  const int steps = steps_of(system, kind);
  if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce) {
    const ByAlgorithm& inside = system.nvlink ? nvlink_latency : pci_latency;
    const ByAlgorithm& table = system.nodes == 1 ? inside : network_latency;
    if (system.same_channels) return table[at(NcclAlgorithm::ring)][at(protocol)];
    const bool is_simple = protocol == NcclProtocol::simple;
    return steps * table[at(is_simple ? NcclAlgorithm::tree : NcclAlgorithm::ring)][at(protocol)];
  }
  double overhead = 0;
  if (system.nodes > 1) overhead = (system.cpu == NcclCpu::amd ? 2 : 1);
  if (protocol == NcclProtocol::simple) overhead *= 3;
  const int between = (kind == CollectiveKind::all_reduce ? 2 : 1) * (system.nodes - 1);
  return (steps - between) * std::max(intra, overhead) + between * inter;
}

double latency_of(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                  NcclProtocol protocol) {
  const int per_node = (system.ranks + system.nodes - 1) / system.nodes;
  const double base = base_latency[at(algorithm)][at(protocol)];
  const double intra = (system.nvlink ? nvlink_latency : pci_latency)[at(algorithm)][at(protocol)];
  const NcclAlgorithm row = system.nodes == system.ranks ? NcclAlgorithm::tree : algorithm;
  const bool is_simple = protocol == NcclProtocol::simple;  // which flushes as well
  const double inter = network_latency[at(row)][at(protocol)] + system.network_latency * (is_simple ? 2 : 1);
  const int levels = log2_of(static_cast<std::uint64_t>(system.nodes));
  switch (algorithm) {
    case NcclAlgorithm::ring:
      return base + ring_latency(system, kind, protocol, intra, inter);
    case NcclAlgorithm::tree:
      return base + 2 * ((per_node - 1) * intra + levels * inter);
    case NcclAlgorithm::collnet_direct:
      return base + 2 * (std::min(1, per_node - 1) * intra + (per_node - 1) * 0.4) + inter;
    case NcclAlgorithm::collnet_chain:
      return base + 2 * (per_node - 1) * intra + inter;
    case NcclAlgorithm::nvls:
      return intra + (system.nodes > 1 ? inter : 0);
    case NcclAlgorithm::nvls_tree:
      return base + intra + 2 * levels * inter;
    case NcclAlgorithm::pat:
      return base + levels * (inter / 3.5) + system.ranks * 2.8;
  }
  return 0;
}

// Channels of one speed that `limit` GB/s hold, if each takes `share` of its speed.
struct Found {
  int channels = 0;
  double speed = 0;
};

// The search: from the fastest speed on, as many channels as the bandwidths hold; the largest sum wins.
Found search(const std::vector<double>& list, double node, double network, int most) {
  Found best;
  for (const double speed : list) {
    const int inside = static_cast<int>(node / speed);
    const int between = network > 0 ? static_cast<int>(network / speed) : most;
    const int channels = std::min({inside, between, most});
    if (channels * speed > best.channels * best.speed) best = {channels, speed};
  }
  return best;
}

// The fastest speed of the list above `speed`, but below twice `other`, of which `limit` holds one, for each
// of the channels.
double raised(const std::vector<double>& list, double speed, double other, double limit) {
  double best = speed;
  for (auto next = list.rbegin(); next != list.rend(); ++next)
    if (*next > best && best < 2 * other && *next <= limit) best = *next;
  return best;
}

// ncclTopoDupChannels (src/graph/search.cc).
void double_channels(NcclGraph& graph, NcclGeneration generation) {
  if (graph.intra < 25) return;
  if (generation >= NcclGeneration::hopper && graph.intra < 50 && graph.channels > 4) return;
  const int doubled = std::min(graph.channels * 2, graph_channels_max);
  const int parts = (doubled + graph.channels - 1) / graph.channels;
  graph.intra /= parts;
  graph.inter /= parts;
  graph.channels = doubled;
}

void set_channels(NcclGraph& graph, int channels) {
  if (graph.channels < 1) return;
  graph.intra *= static_cast<double>(graph.channels) / channels;
  graph.inter *= static_cast<double>(graph.channels) / channels;
  graph.channels = channels;
}

double gb(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bytes_per_second()) / 1e9; }

// What NCCL believes that a GPU can send into its node.
double believed_node_bandwidth(const Placement& placement, NcclGeneration generation) {
  const double nominal = gb(placement.node_bandwidth);
  if (placement.interconnect == InterconnectKind::pcie) return nominal;
  constexpr std::array<double, 4> of_link = {20.0 / 25, 20.0 / 25, 20.6 / 25, 40.1 / 50};
  return nominal * of_link[at(generation)];
}

}  // namespace

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, nccl_algorithm_count> names = {
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
  return names[at(algorithm)];
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, nccl_protocol_count> names = {"ll", "ll128", "simple"};
  return names[at(protocol)];
}

std::string_view registry_name_of(NcclAlgorithm algorithm, int nodes) {
  if (algorithm == NcclAlgorithm::nvls && nodes > 1) return "sharp";
  return algorithm == NcclAlgorithm::tree ? "double_binary_tree" : name_of(algorithm);
}

std::optional<NcclGeneration> nccl_generation_from_name(std::string_view name) {
  if (name == "volta") return NcclGeneration::volta;
  if (name == "ampere") return NcclGeneration::ampere;
  if (name == "hopper") return NcclGeneration::hopper;
  if (name == "blackwell") return NcclGeneration::blackwell;
  return std::nullopt;
}

std::optional<NcclGeneration> nccl_generation_of_preset(std::string_view preset) {
  struct Word {
    std::string_view text;
    NcclGeneration generation;
  };
  constexpr std::array words = {
      Word{"v100", NcclGeneration::volta},     Word{"dgx2", NcclGeneration::volta},
      Word{"a100", NcclGeneration::ampere},    Word{"h100", NcclGeneration::hopper},
      Word{"h200", NcclGeneration::hopper},    Word{"b200", NcclGeneration::blackwell},
      Word{"b300", NcclGeneration::blackwell},
  };
  for (const Word& word : words)
    if (preset.find(word.text) != std::string_view::npos) return word.generation;
  return std::nullopt;
}

NcclCpu nccl_cpu_of_preset(std::string_view preset) {
  if (preset.find("dgx-a100") != std::string_view::npos) return NcclCpu::amd;  // EPYC
  if (preset.find("gb200") != std::string_view::npos) return NcclCpu::other;   // Grace
  return NcclCpu::intel;
}

NcclSystem nccl_system(const Placement& placement, NcclGeneration generation, NcclCpu cpu,
                       std::optional<std::int32_t> channels) {
  NcclSystem system;
  system.ranks = placement.ranks();
  system.nodes = placement.nodes;
  system.generation = generation;
  system.cpu = cpu;
  system.nvlink = placement.interconnect != InterconnectKind::pcie;
  system.switched = placement.interconnect == InterconnectKind::nvswitch;
  system.multicast = placement.node_reduction.enabled && placement.gpus_per_node > 1;
  system.collnet = placement.fabric_reduction.enabled;
  system.even = placement.is_even();
  // A GPU without NIC is on the fabric itself.
  system.heads = placement.nics_per_node > 0 ? std::min(placement.nics_per_node, placement.gpus_per_node)
                                             : placement.gpus_per_node;
  const bool several = placement.nodes > 1;
  const double endpoint = gb(placement.fabric_bandwidth) * placement.gpus_per_node / system.heads;
  // Without an interconnect only the network limits.
  const double believed = believed_node_bandwidth(placement, generation);
  const double node = believed > 0 ? believed : std::numeric_limits<float>::max();
  const std::vector<double>& list = speeds(generation, several);

  // Channels are spread over the NICs: each holds so many.
  Found found = search(list, several ? node / system.heads : node, several ? endpoint : 0,
                       several ? graph_channels_max / system.heads : graph_channels_max);
  if (several) found.channels *= system.heads;
  system.ring = {found.channels, found.speed, found.speed};
  system.tree = system.ring;
  if (several && found.channels > 0)
    system.tree.intra = raised(list, found.speed, found.speed, node / found.channels);
  system.collnet_graph = system.tree;
  system.same_channels = !several || system.ring.channels == 1;

  // NVLS: a channel for each head, whose GPU takes part twice, the others once.
  if (system.multicast && system.heads > 1) {
    const int heads = several ? system.heads : placement.gpus_per_node;
    const double inside = node / (heads + 1);
    const Found one = search(list, inside, several ? endpoint : 0, 1);
    system.nvls = {heads, one.speed, one.speed};
    const double limit = several ? endpoint : std::numeric_limits<double>::max();
    system.nvls.inter = raised(list, one.speed, one.speed, limit);
  }
  for (NcclGraph* graph : {&system.ring, &system.tree, &system.collnet_graph})
    if (graph->channels > 0) double_channels(*graph, generation);
  if (channels)
    for (NcclGraph* graph : {&system.ring, &system.tree, &system.collnet_graph, &system.nvls})
      set_channels(*graph, *channels);
  return system;
}

NcclCost nccl_cost(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                   NcclProtocol protocol) {
  COLLSIM_CHECK(system.ranks >= 2 && system.nodes >= 1);
  NcclCost cost;
  if (graph_of(system, algorithm).channels < 1) return cost;
  if (!does(algorithm, kind) || !is_enabled(system, algorithm, kind) ||
      !is_enabled(system, algorithm, protocol))
    return cost;
  cost.latency = latency_of(system, kind, algorithm, protocol);
  cost.bandwidth =
      bus_bandwidth(system, kind, algorithm, protocol) * algorithm_share(system, kind, algorithm);
  return cost;
}

std::optional<double> nccl_time(const NcclSystem& system, CollectiveKind kind, NcclAlgorithm algorithm,
                                NcclProtocol protocol, Bytes bytes) {
  NcclCost cost = nccl_cost(system, kind, algorithm, protocol);
  if (cost.bandwidth <= 0) return std::nullopt;
  const int size = log2_of(static_cast<std::uint64_t>(bytes.count()) >> 6);
  const bool is_all_reduce = kind == CollectiveKind::all_reduce;
  const bool corrected_nvls_tree = algorithm == NcclAlgorithm::nvls_tree && size < 24 &&
                                   system.generation == NcclGeneration::blackwell &&
                                   system.cpu != NcclCpu::other;
  const bool corrected_tree = algorithm == NcclAlgorithm::tree && size < 23;
  if (is_all_reduce && size >= 0 && (corrected_tree || corrected_nvls_tree))
    cost.bandwidth *= tree_correction[at(protocol)][static_cast<std::size_t>(size)];
  if (is_all_reduce && algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple &&
      system.nodes > 1 && bytes.count() / (std::int64_t{system.ring.channels} * system.ranks) >= 64)
    cost.latency *= system.generation == NcclGeneration::volta ? 1.9 : 1.4;  // the plateau of rings
  return cost.latency + static_cast<double>(bytes.count()) / (1000 * cost.bandwidth);
}

std::optional<NcclChoice> nccl_choice(const NcclSystem& system, CollectiveKind kind, Bytes bytes) {
  std::optional<NcclChoice> best;
  if (system.ranks < 2) return best;
  for (int a = 0; a < nccl_algorithm_count; ++a)
    for (int p = 0; p < nccl_protocol_count; ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<NcclProtocol>(p);
      const std::optional<double> time = nccl_time(system, kind, algorithm, protocol, bytes);
      if (time && (!best || *time < best->time)) best = NcclChoice{algorithm, protocol, *time};
    }
  return best;
}

int nccl_channels_of(const NcclSystem& system, NcclAlgorithm algorithm) {
  return graph_of(system, algorithm).channels;
}

Bytes nccl_wire_bytes(NcclProtocol protocol, Bytes bytes) {
  switch (protocol) {
    case NcclProtocol::ll:
      return Bytes(2 * bytes.count());
    case NcclProtocol::ll128:
      return Bytes(bytes.count() + (bytes.count() + 14) / 15);
    case NcclProtocol::simple:
      return bytes;
  }
  return bytes;
}

}  // namespace collsim::algorithms
