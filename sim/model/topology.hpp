// Topology: the GPUs, NICs, switches and links of one cluster, and the rules by which messages cross them.
// Immutable once built.
//
// Vertices and links are dense ids, 0 .. count-1, in the order in which the builder added them, so any
// per-link fact of a caller is an array beside the topology. Links are directed; a cable is two links.
// Parallel links are allowed. Routes are computed from coordinates by the route rule; no table of all pairs
// exists.
//
// Invariants (the constructor checks I1 and I2; tests check I3 for every shape)
//   I1  every link joins two different existing vertices, has bandwidth > 0 and latency >= 0
//   I2  vertex r is the GPU of rank r, for r in [0, ranks)
//   I3  route(a, b) is a path of links from GPU a to GPU b, and always the same one for the same channel
// Threads     Immutable: share freely.
// Units       Link::latency is one way. Link::bandwidth is one direction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/cluster.hpp"
#include "sim/model/placement.hpp"
#include "sim/model/translation.hpp"

namespace collsim {

enum class VertexKind : std::uint8_t { gpu, nic, node_switch, fabric_switch };

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  std::int8_t level = 0;   // fabric switches: 1 = leaf, 2, 3; else 0
  std::int32_t node = -1;  // of a GPU, NIC or node switch; -1 for a fabric switch
  std::int32_t index =
      0;  // GPU in its node, NIC in its node, plane; a fabric switch: number within its level
};

struct Link {
  VertexId source;
  VertexId target;
  Bandwidth bandwidth;
  Duration latency;
};

// How a connection uses its routes, where it has several.
enum class Spreading : std::uint8_t { none, even, shortest_queue };

// Where messages go. Implementations live in topologies/, one per kind of network.
class RouteRule {
 public:
  virtual ~RouteRule() = default;
  // Appends the links from the GPU of `source` to the GPU of `target`. REQUIRES: source != target
  virtual void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const = 0;
  // A connection may spread its packets over several routes, all different; route() is number 0 of them.
  virtual Spreading spreading() const { return Spreading::none; }
  virtual std::int32_t route_count(Rank, Rank, std::int32_t /*channel*/) const { return 1; }
  // REQUIRES: 0 <= number < route_count(source, target, channel)
  virtual void numbered_route(Rank source, Rank target, std::int32_t channel, std::int32_t /*number*/,
                              std::vector<LinkId>& links) const {
    route(source, target, channel, links);
  }
};

// In-network aggregation asked for by a schedule: the members' contributions go up a tree of switches, the
// result comes down. `root` is an index into `members`.
enum class AggregationScope : std::uint8_t { node, fabric };
enum class AggregationMode : std::uint8_t { all_reduce, reduce, multicast };
struct AggregationGroup {
  AggregationScope scope = AggregationScope::node;
  AggregationMode mode = AggregationMode::all_reduce;
  std::vector<Rank> members;  // at least 2, distinct
  std::int32_t root = 0;      // reduce: the only receiver; multicast: the only sender
  std::int32_t rail = 0;      // fabric: which tree
};

// The links of one aggregation. It drains as one flow that occupies all `links` at one rate.
struct AggregationPath {
  std::vector<LinkId> links;                   // distinct; each carries the whole message once
  std::vector<Duration> up_latency;            // per member, to the root of the tree
  std::vector<Duration> down_latency;          // per member, from the root of the tree
  VertexId root;                               // of the tree that `links` are: up to it, and down from it
  std::optional<Bandwidth> rate_max;           // of the switches
  std::optional<std::int32_t> operations_max;  // in flight
};

struct Impossible {
  std::string reason;
};

class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  virtual std::variant<AggregationPath, Impossible> path(const AggregationGroup& group) const = 0;
};

// One way of cutting the cluster into groups of ranks: what all groups together can send (and receive) across
// their borders. For lower bounds (sim/model/bounds.hpp).
struct Cut {
  std::string name;          // "rank", "memory", "node", "leaf", "pod", "x planes", "bisection"
  std::int64_t groups = 0;   // that hold ranks; at least 2
  Int128 total_exit = 0;     // bytes/s leaving all groups together
  Int128 smallest_exit = 0;  // bytes/s leaving the worst-connected group
  Int128 pairs = 0;          // ordered pairs of ranks in different groups; 0 = not counted
};

// The memory that the ranks of a node share (InterconnectKind::shared_memory). Every message between them
// crosses `link`. Their copies and reductions draw on it too, each beside the rank's own unit, max-min fairly
// with the messages: a copy of m bytes as m bytes, a reduction as reduction(m) bytes.
struct SharedMemory {
  LinkId link;  // does not exist: the node has no such memory
  Bandwidth total;
  Bandwidth reduce_total;

  // What a reduction of m bytes is as bytes copied: ceil(m * total / reduce_total). REQUIRES: at most 2^62.
  Bytes reduction(Bytes bytes) const;
  // A rate of reductions as one of such bytes: floor(rate * total / reduce_total), from 1 to 2^62 bytes/s.
  Bandwidth reduction(Bandwidth rate) const;
};

// Default names of switches, without their node: "nvswitch0", "pcie_root", "memory_in"; "leaf3", "switch0",
// "router7".
std::string node_switch_name(InterconnectKind kind, std::int32_t index);
std::string fabric_switch_name(FabricKind kind, std::int8_t level, std::int32_t index);

class Topology {
 public:
  struct Parts {
    std::string name;  // "4 x dgx-h100 on fat_tree"
    Placement placement;
    GpuSpec gpu;  // of every rank
    // Unlike nodes: the GPU of every node; else empty.
    std::vector<GpuSpec> node_gpus;
    // The memory that the ranks of each node share; empty where no node has one.
    std::vector<SharedMemory> node_memories;
    std::vector<Vertex> vertices;
    std::vector<Link> links;
    std::shared_ptr<const RouteRule> routes;              // may be null if there is one rank
    std::shared_ptr<const AggregationRule> aggregations;  // null: nothing reduces
    std::vector<Cut> cuts;
    Duration latency_max;  // largest over pairs of ranks of the shortest-path latency
    // Translations of the ranks (of all of them: modulo ranks()) that are symmetries of the whole: routes map
    // onto routes, for every channel, and links that join vertices of the same kinds and levels onto each
    // other, any of them onto any other. Claims of the builder, with its reasons; tests hold all pairs of
    // small shapes against them.
    std::vector<TranslationKind> translations;
    bool has_sites = false;
    // Some node's switches reduce; the placement says so only if those of all nodes do.
    bool some_nodes_reduce = false;
    // Names of vertices where the default ("node0/gpu1", "leaf3") does not fit, "" elsewhere; may be empty.
    std::vector<std::string> vertex_names;
  };
  explicit Topology(Parts parts);

  const std::string& name() const { return parts_.name; }
  std::int32_t ranks() const { return parts_.placement.ranks(); }
  const Placement& placement() const { return parts_.placement; }
  const GpuSpec& gpu(Rank rank) const {
    return parts_.node_gpus.empty()
               ? parts_.gpu
               : parts_.node_gpus[static_cast<std::size_t>(parts_.placement.node_of(rank))];
  }
  bool has_unlike_gpus() const { return !parts_.node_gpus.empty(); }
  // The memory that the rank shares with those of its node, on which its local work draws; null: none.
  const SharedMemory* memory_of(Rank rank) const {
    if (parts_.node_memories.empty()) return nullptr;
    const SharedMemory& memory =
        parts_.node_memories[static_cast<std::size_t>(parts_.placement.node_of(rank))];
    return memory.link.exists() ? &memory : nullptr;
  }
  std::size_t vertex_count() const { return parts_.vertices.size(); }
  std::size_t link_count() const { return parts_.links.size(); }
  const Vertex& vertex(VertexId id) const { return parts_.vertices[id.value]; }
  const Link& link(LinkId id) const { return parts_.links[id.value]; }
  const std::vector<Link>& links() const { return parts_.links; }
  const std::vector<Cut>& cuts() const { return parts_.cuts; }
  Duration latency_max() const { return parts_.latency_max; }

  bool has_translation(TranslationKind kind) const;
  // Ranks on different sites: messages between them cross long links.
  bool has_sites() const { return parts_.has_sites; }
  // The switches of at least one node can reduce.
  bool has_node_reduction() const {
    return parts_.some_nodes_reduce || parts_.placement.node_reduction.enabled;
  }

  // Appends the route to `links`. REQUIRES: two different ranks.
  void route(Rank source, Rank target, std::int32_t channel, std::vector<LinkId>& links) const;
  const RouteRule& routes() const { return *parts_.routes; }  // REQUIRES: more than one rank
  // The same cluster with other routes (and no claims of symmetry).
  Topology with_routes(std::shared_ptr<const RouteRule> routes) const;
  std::variant<AggregationPath, Impossible> aggregation(const AggregationGroup& group) const;

  // "node2/gpu3", "node2/nic1", "node2/nvswitch0", "leaf4", "spine1", "core0"
  std::string vertex_name(VertexId id) const;
  // "node2/gpu3 -> node2/nvswitch0"; the n-th parallel link ends in "#n".
  std::string link_name(LinkId id) const;

 private:
  struct Parallel {
    LinkId link;
    std::int32_t number;  // 1, 2, ... among the links with the same two ends
  };
  Parts parts_;
  std::vector<Parallel> parallel_;  // only links that have parallel ones, by increasing link
};

}  // namespace collsim
