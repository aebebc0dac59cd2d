#include "topologies/flow_cuts.hpp"

#include <algorithm>

#include "sim/core/check.hpp"

namespace collsim::topologies {
namespace {

constexpr std::int64_t unlimited = FlowNetwork::unlimited;

std::vector<std::int64_t> constant(const FlowNetwork& network, std::int64_t value) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(network.terminals()), value);
}

std::int64_t& at(std::vector<std::int64_t>& values, std::int32_t terminal) {
  return values[static_cast<std::size_t>(terminal)];
}

// Terminals of the last flow's source side.
std::int64_t source_side(const FlowNetwork& network) {
  std::int64_t count = 0;
  for (std::int32_t terminal = 0; terminal < network.terminals(); ++terminal)
    count += network.on_source_side(terminal);
  return count;
}

// A cut that `count` parts must pass, and what can pass it, in units.
struct Ratio {
  std::int64_t count = 0;
  std::int64_t capacity = 1;
};

FlowLimit limit_of(const FlowNetwork& network, const Ratio& ratio) {
  return {ratio.count, network.terminals(), Int128{ratio.capacity} * network.capacity_unit()};
}

}  // namespace

FlowLimit gather_limit(FlowNetwork& network, std::int32_t& sink) {
  const std::int64_t others = network.terminals() - 1;
  Ratio best;
  for (std::int32_t target = 0; target < network.terminals(); ++target) {
    std::vector<std::int64_t> demand = constant(network, 0);
    at(demand, target) = unlimited;
    while (true) {
      // With links of count times their capacity, can every other terminal send `capacity` to the target?
      std::vector<std::int64_t> supply = constant(network, best.count == 0 ? unlimited : best.capacity);
      at(supply, target) = 0;
      const std::int64_t scale = std::max<std::int64_t>(best.count, 1);
      const std::int64_t flow = network.maximum(scale, supply, demand);
      if (best.count > 0 && flow == others * best.capacity) break;
      sink = target;
      const std::int64_t inside = best.count == 0 ? others : source_side(network);
      // The cut passes scale * exit, and the supply of every terminal outside.
      best = {inside, best.count == 0 ? flow : (flow - (others - inside) * best.capacity) / scale};
    }
  }
  return limit_of(network, best);
}

FlowLimit broadcast_limit(FlowNetwork& network, std::int32_t root, std::int32_t& sink) {
  std::int64_t least = -1;
  std::vector<std::int64_t> supply = constant(network, 0);
  at(supply, root) = unlimited;
  for (std::int32_t target = 0; target < network.terminals(); ++target) {
    if (target == root) continue;
    std::vector<std::int64_t> demand = constant(network, 0);
    at(demand, target) = unlimited;
    const std::int64_t flow = network.maximum(1, supply, demand);
    if (least >= 0 && flow >= least) continue;
    least = flow;
    sink = target;
  }
  return {1, 1, Int128{least} * network.capacity_unit()};
}

FlowLimit scatter_limit(FlowNetwork& network, std::int32_t root) {
  const std::int64_t others = network.terminals() - 1;
  std::vector<std::int64_t> supply = constant(network, 0);
  at(supply, root) = unlimited;
  std::vector<std::int64_t> demand = constant(network, unlimited);
  at(demand, root) = 0;
  Ratio best{others, network.maximum(1, supply, demand)};
  while (true) {
    demand = constant(network, best.capacity);
    at(demand, root) = 0;
    const std::int64_t flow = network.maximum(best.count, supply, demand);
    if (flow == others * best.capacity) return limit_of(network, best);
    const std::int64_t inside = source_side(network) - 1;  // without the root
    best = {others - inside, (flow - inside * best.capacity) / best.count};
  }
}

namespace {

// The partition of the terminals that minimises the sum of (groups' exits * scale - price), by greedy
// Dilworth truncation: value[v] is the most that v can be given such that no set of the terminals up to v
// gets more than its exit * scale - price.
class Partitioner {
 public:
  explicit Partitioner(FlowNetwork& network)
      : network_(network), group_(static_cast<std::size_t>(network.terminals())) {}

  // Runs the greedy algorithm; true if a partition into several groups beats the one into a single group.
  bool improve(std::int64_t scale, std::int64_t price) {
    std::vector<std::int64_t> value = constant(network_, 0);
    Int128 sum = 0;
    for (std::int32_t terminal = 0; terminal < network_.terminals(); ++terminal) {
      at(value, terminal) = tightest(value, terminal, scale) - price;
      sum += at(value, terminal);
      merge(terminal);
    }
    return sum + price < 0;
  }
  // The members of each group of the last partition.
  std::vector<std::vector<std::int32_t>> groups() const {
    std::vector<std::vector<std::int32_t>> result(group_.size());
    for (std::size_t terminal = 0; terminal < group_.size(); ++terminal)
      result[static_cast<std::size_t>(group_[terminal])].push_back(static_cast<std::int32_t>(terminal));
    std::erase_if(result, [](const auto& members) { return members.empty(); });
    return result;
  }

 private:
  // The least exit * scale - value(set without `last`) of a set of terminals up to `last` that holds it.
  std::int64_t tightest(std::vector<std::int64_t>& value, std::int32_t last, std::int64_t scale) {
    std::vector<std::int64_t> supply = constant(network_, 0);
    std::vector<std::int64_t> demand = constant(network_, 0);
    std::int64_t rewards = 0;
    for (std::int32_t terminal = 0; terminal < network_.terminals(); ++terminal) {
      if (terminal > last) {
        at(demand, terminal) = unlimited;
      } else if (terminal == last) {
        at(supply, terminal) = unlimited;
      } else if (at(value, terminal) > 0) {
        at(supply, terminal) = at(value, terminal);
        rewards += at(value, terminal);
      } else {
        at(demand, terminal) = -at(value, terminal);
      }
    }
    return network_.maximum(scale, supply, demand) - rewards;
  }
  // `last` joins all groups that its tightest set touches.
  void merge(std::int32_t last) {
    group_[static_cast<std::size_t>(last)] = last;
    for (std::int32_t terminal = 0; terminal < last; ++terminal) {
      if (!network_.on_source_side(terminal)) continue;
      const std::int32_t old = group_[static_cast<std::size_t>(terminal)];
      if (old == last) continue;
      for (std::int32_t other = 0; other < last; ++other)
        if (group_[static_cast<std::size_t>(other)] == old) group_[static_cast<std::size_t>(other)] = last;
    }
  }

  FlowNetwork& network_;
  std::vector<std::int32_t> group_;  // [terminal]: the last terminal that joined its group
};

// The least capacity out of the set, in units.
std::int64_t exit_of(FlowNetwork& network, const std::vector<std::int32_t>& members) {
  std::vector<std::int64_t> supply = constant(network, 0);
  std::vector<std::int64_t> demand = constant(network, unlimited);
  for (const std::int32_t terminal : members) {
    at(supply, terminal) = unlimited;
    at(demand, terminal) = 0;
  }
  return network.maximum(1, supply, demand);
}

}  // namespace

FlowLimit partition_limit(FlowNetwork& network, std::int32_t& groups) {
  Partitioner partitioner(network);
  std::vector<std::vector<std::int32_t>> best;
  for (std::int32_t terminal = 0; terminal < network.terminals(); ++terminal) best.push_back({terminal});
  while (true) {
    std::int64_t exits = 0;
    for (const auto& members : best) exits += exit_of(network, members);
    groups = static_cast<std::int32_t>(best.size());
    if (!partitioner.improve(groups - 1, exits))
      return {2 * (Int128{groups} - 1), 1, Int128{exits} * network.capacity_unit()};
    best = partitioner.groups();
    COLLSIM_CHECK(best.size() > 1);
  }
}

FlowLimit exchange_limit(FlowNetwork& network, const std::vector<std::int64_t>& weight, std::int64_t parts,
                         std::int32_t all_max) {
  const std::int32_t terminals = network.terminals();
  std::int64_t all = 0;
  for (const std::int64_t each : weight) all += each;
  FlowLimit best;
  const auto try_set = [&](const std::vector<std::int32_t>& members) {
    Int128 inside = 0;
    for (const std::int32_t terminal : members) inside += weight[static_cast<std::size_t>(terminal)];
    const FlowLimit limit{inside * (all - inside), parts,
                          Int128{exit_of(network, members)} * network.capacity_unit()};
    if (limit > best) best = limit;
  };
  if (terminals <= all_max) {
    for (std::uint32_t set = 1; set + 1 < 1U << terminals; ++set) {
      std::vector<std::int32_t> members;
      for (std::int32_t terminal = 0; terminal < terminals; ++terminal)
        if (set >> terminal & 1U) members.push_back(terminal);
      try_set(members);
    }
    return best;
  }
  std::vector<std::int32_t> first;
  for (std::int32_t terminal = 0; terminal + 1 < terminals; ++terminal) {
    first.push_back(terminal);
    try_set(first);
    if (terminal > 0) try_set({terminal});
  }
  try_set({terminals - 1});
  return best;
}

}  // namespace collsim::topologies
