// FlowNetwork: the links of a topology between terminals, for maximum flows between sets of them.
//
// A terminal is a rank, or all ranks of a node taken as one. Other vertices are switches and NICs, which
// every minimum cut places as it likes. Capacities are whole numbers of capacity_unit() bytes a second, their
// greatest common divisor, so that scaled flows stay far below 2^63.
//
// Threads     A query changes the network: one thread at a time.
// Complexity  Memory O(vertices + links). Flows by Boykov and Kolmogorov, PAMI 26(9), 2004.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

enum class Terminals { ranks, nodes };
enum class FlowDirection { forward, backward };  // backward: every link turned round

class FlowNetwork {
 public:
  FlowNetwork(const Topology& topology, Terminals terminals, FlowDirection direction);
  ~FlowNetwork();
  FlowNetwork(FlowNetwork&&) noexcept;
  FlowNetwork& operator=(FlowNetwork&&) noexcept;

  std::int32_t terminals() const { return terminals_; }
  std::int64_t capacity_unit() const { return unit_; }
  // Whether capacities times `scale` can be summed in 62 bits.
  bool fits(std::int64_t scale) const;

  // A terminal's supply or demand that nothing limits.
  static constexpr std::int64_t unlimited = -1;
  // The largest flow from all supplies to all demands over links of `scale` times their capacity.
  // REQUIRES: fits(scale); one supply and one demand per terminal, each unlimited or at least 0, which
  // together stay below 2^62; none unlimited in both
  std::int64_t maximum(std::int64_t scale, const std::vector<std::int64_t>& supply,
                       const std::vector<std::int64_t>& demand);
  // Whether a terminal is on the source's side of the minimum cut that the last maximum() found.
  bool on_source_side(std::int32_t terminal) const;

 private:
  struct Storage;
  std::unique_ptr<Storage> storage_;
  std::int32_t terminals_ = 0;
  std::int64_t unit_ = 1;
  std::int64_t total_ = 0;  // of all capacities, in units
};

// `share` / `parts` of the bytes of a collective must pass `capacity` bytes a second.
struct FlowLimit {
  Int128 share = 0;
  Int128 parts = 1;
  Int128 capacity = 1;
  // a / b > c / d
  friend bool operator>(const FlowLimit& a, const FlowLimit& b) {
    return a.share * b.parts * b.capacity > b.share * a.parts * a.capacity;
  }
};

}  // namespace collsim::topologies
