// ClusterSpec: a cluster as its owner writes it down, before anything is built.
//
// Plain values, filled by sim/config (or by hand through the API) and read by topologies::build. Every
// bandwidth and latency is that of one link in one direction. Latencies and overheads default to 0; a
// bandwidth that is needed and missing is an error of build().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim {

// shared_memory  ranks of a node that share one device or one machine's memory: every message is a copy in it
enum class InterconnectKind { none, nvswitch, full_mesh, ring, pcie, hybrid_cube_mesh, shared_memory };
enum class FabricKind {
  none,
  single_switch,
  fat_tree,
  rail_fat_tree,
  torus,
  mesh,
  dragonfly,
  hypercube,
  ring,
  full_mesh,
  custom
};
// minimal          the fabric's own: d-mod-k on trees, dimension order on grids, ...
// d_mod_k          the same, and an error where the fabric is no fat tree or switch
// dimension_order  the same, and an error where the fabric is no torus, mesh or ring
// ecmp             at every vertex a seeded hash of the flow (source, target, channel) among shortest ways
// spray, adaptive  over all shortest routes: evenly; each packet by the shortest queue (fluid: as spray)
// valiant          over a drawn point (torus, mesh, ring, hypercube) or group (dragonfly), minimal around it
// table            what a file says (topologies/routing_table.hpp)
enum class RoutingKind { minimal, d_mod_k, dimension_order, ecmp, spray, adaptive, valiant, table };
const char* name_of(RoutingKind kind);

struct RoutingSpec {
  RoutingKind kind = RoutingKind::minimal;
  bool polarised = false;   // ecmp: every switch hashes alike (one seed), so that choices repeat tier by tier
  bool rail_local = false;  // between nodes: first over the interconnect to the GPU at the target's NIC
                            // number, then by its NIC (NCCL's PXN)
  int paths = 64;           // spray, adaptive: at most so many routes of a connection
  std::string file;         // table: path from the current folder
};

// The names used in files and messages ("nvswitch", "switch", "fat_tree", ...).
const char* name_of(InterconnectKind kind);
const char* name_of(FabricKind kind);

// In-network reduction by the switches of an interconnect or fabric. The limits are optional: absent =
// unlimited.
struct ReductionSpec {
  bool enabled = false;
  std::optional<Bandwidth> bandwidth;     // rate of one aggregation through the switches
  std::optional<int> operations;          // aggregations in flight for one group of ranks
  std::optional<int> radix;               // children of one switch in a tree
  std::optional<Bytes> message_size_max;  // largest aggregation
};

struct InterconnectSpec {
  InterconnectKind kind = InterconnectKind::none;
  Bandwidth bandwidth;  // one link, one direction; 0 = not given
  Duration latency;
  ReductionSpec reduction;
  int planes = 1;           // nvswitch: switch planes; a GPU has bandwidth / planes to each
  int gpus_per_switch = 2;  // pcie: GPUs under one PCIe switch; the switches hang under one root complex
  // shared_memory: what all ranks of the node together can copy, and reduce. Messages, copies and reductions
  // draw on one resource: a reduction of m bytes takes as much of it as a copy of m * total / reduce_total.
  std::optional<Bandwidth> total;         // required of shared_memory
  std::optional<Bandwidth> reduce_total;  // absent: as total
};

struct NicSpec {
  int count = 0;  // per node; GPU g of G uses NIC floor(g * count / G)
  Bandwidth bandwidth;
  Duration latency;
};

struct GpuSpec {
  std::optional<Bandwidth> reduce_bandwidth;  // received bytes reduced per second; absent = takes no time
  std::optional<Bandwidth> copy_bandwidth;
  Duration send_overhead;
  Duration receive_overhead;
};

struct NodeSpec {
  int gpus = 1;
  InterconnectSpec interconnect;
  NicSpec nics;
  GpuSpec gpu;
};

struct CustomLink {
  int from = 0;  // node numbers; one cable = a link each way
  int to = 0;
  std::optional<Bandwidth> bandwidth;  // absent = that of the fabric
  std::optional<Duration> latency;
};

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  Bandwidth bandwidth;
  Duration latency;
  ReductionSpec reduction;
  int levels = 2;                      // fat trees: 1, 2 or 3
  int radix = 0;                       // fat trees: ports of a switch
  int oversubscription_numerator = 1;  // fat trees: o = numerator / denominator, ports down : ports up
  int oversubscription_denominator = 1;
  std::vector<int> dimensions;     // torus, mesh: nodes along x, y, z, ...
  int dragonfly_routers = 0;       // routers of a group
  int dragonfly_nodes = 0;         // nodes of a router
  int dragonfly_global_links = 0;  // links of a router to other groups
  std::vector<CustomLink> links;   // custom
};

// Clusters joined by long links: the nodes are dealt out in order, and each site has the fabric for itself. A
// border switch of each site hangs on all its highest switches; border switches are joined pair by pair.
struct SitesSpec {
  int count = 1;
  std::vector<int> nodes;  // of each site; empty: as even as can be
  Bandwidth bandwidth;     // of a long link, one direction
  Duration latency;
  int links = 1;  // parallel long links between two sites, taken by channel
};

// So many equal nodes in a row of a cluster with unlike ones.
struct NodeGroup {
  int count = 1;
  std::string preset;  // or empty
  NodeSpec node;
};

struct ClusterSpec {
  std::string preset;             // name of the hardware file that it came from, or empty
  int nodes = 1;                  // a torus or mesh gives this by its dimensions
  NodeSpec node;                  // of every node; where there are groups, of the first group
  std::vector<NodeGroup> groups;  // unlike nodes: at least 2, their counts sum to `nodes`; else empty
  FabricSpec fabric;
  SitesSpec sites;
  RoutingSpec routing;
};

}  // namespace collsim
