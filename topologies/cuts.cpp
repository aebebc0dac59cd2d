#include "topologies/cuts.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace collsim::topologies {

Grouping node_grouping(std::int32_t nodes) {
  Grouping result{"node", {}, {}};
  for (std::int32_t node = 0; node < nodes; ++node) result.node_group.push_back(node);
  return result;
}

Grouping bisection_of(std::int32_t nodes, const std::vector<Grouping>& finer) {
  constexpr std::int32_t split = -1;  // a group with nodes in both halves
  Grouping result{"bisection", {}, {}};
  for (std::int32_t node = 0; node < nodes; ++node) result.node_group.push_back(node < nodes / 2 ? 0 : 1);
  for (const Grouping& grouping : finer) {
    std::map<std::int32_t, std::int32_t> half_of;  // of groups
    for (std::size_t node = 0; node < result.node_group.size(); ++node) {
      const auto [entry, is_new] = half_of.emplace(grouping.node_group[node], result.node_group[node]);
      if (entry->second != result.node_group[node]) entry->second = split;
    }
    for (const std::vector<std::int32_t>& switches : grouping.stages) {
      std::vector<std::int32_t>& stage = result.stages.emplace_back();
      for (const std::int32_t group : switches) {
        const auto entry = half_of.find(group);
        stage.push_back(entry == half_of.end() ? split : entry->second);
      }
    }
  }
  return result;
}

namespace {

using Labels = std::vector<std::int32_t>;  // [vertex]: group or -1

// Bytes a second that leave each group, over the first `links` links.
std::vector<Int128> exits(const Wiring& wiring, std::size_t links, const Labels& labels, std::size_t groups) {
  std::vector<Int128> result(groups, 0);
  for (std::size_t i = 0; i < links; ++i) {
    const Link& link = wiring.links[i];
    const std::int32_t group = labels[link.source.value];
    if (group >= 0 && group != labels[link.target.value])
      result[static_cast<std::size_t>(group)] += link.bandwidth.bytes_per_second();
  }
  return result;
}

// Groups may be numbered with gaps; ranks[group] says how many each holds.
std::optional<Cut> cut_from(const std::string& name, const std::vector<std::int64_t>& ranks,
                            const std::vector<std::vector<Int128>>& stages) {
  std::vector<Int128> least;  // of the groups that hold ranks
  Int128 sum = 0;
  Int128 all_ranks = 0;
  Int128 pairs = 0;  // within groups
  for (std::size_t group = 0; group < ranks.size(); ++group) {
    if (ranks[group] == 0) continue;
    all_ranks += ranks[group];
    pairs += Int128{ranks[group]} * ranks[group];
    least.push_back(stages[0][group]);
    for (const std::vector<Int128>& stage : stages) least.back() = std::min(least.back(), stage[group]);
    sum += least.back();
  }
  if (least.size() < 2) return std::nullopt;
  Cut cut{name, static_cast<std::int64_t>(least.size()), 0, least[0], all_ranks * all_ranks - pairs};
  for (Int128 exit : least) {
    // What leaves a group enters the others, and cables carry as much each way.
    exit = std::min(exit, sum - exit);
    cut.smallest_exit = std::min(cut.smallest_exit, exit);
    cut.total_exit += exit;
  }
  return cut;
}

Cut rank_cut(const CutInput& input) {
  const auto ranks = static_cast<std::size_t>(input.layout->ranks());
  Labels labels(input.wiring->vertices.size(), -1);
  for (std::size_t rank = 0; rank < ranks; ++rank) labels[rank] = static_cast<std::int32_t>(rank);
  // Where all ranks share a node with an interconnect, no message ever takes its NIC.
  const std::size_t links = input.uses_fabric ? input.wiring->links.size()
                                              : static_cast<std::size_t>(2 * input.layout->interior_cables());
  return *cut_from("rank", std::vector<std::int64_t>(ranks, 1), {exits(*input.wiring, links, labels, ranks)});
}

// Single ranks again, where memories let less through than the links of the ranks.
std::optional<Cut> memory_cut(const CutInput& input, const Cut& by_links) {
  const std::vector<SharedMemory>& memories = *input.memories;
  if (memories.empty()) return std::nullopt;
  const auto ranks = static_cast<std::size_t>(input.layout->ranks());
  std::vector<Int128> into(ranks, 0);    // the memory of its node
  std::vector<Int128> beside(ranks, 0);  // over a NIC, or whatever else leaves the GPU
  for (const Link& link : input.wiring->links) {
    if (link.source.value >= ranks) continue;
    const Vertex& target = input.wiring->vertices[link.target.value];
    if (target.kind == VertexKind::nic && !input.uses_fabric) continue;
    const bool inside = target.kind == VertexKind::node_switch &&
                        memories[static_cast<std::size_t>(target.node)].link.exists();
    (inside ? into : beside)[link.source.value] += link.bandwidth.bytes_per_second();
  }
  std::vector<Int128> through(memories.size(), 0);  // what all ranks of each node together may bring
  Cut cut = by_links;
  cut.name = "memory";
  Int128 total = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto node = static_cast<std::size_t>(input.wiring->vertices[rank].node);
    through[node] += into[rank];
    if (memories[node].link.exists())
      into[rank] = std::min(into[rank], Int128{memories[node].total.bytes_per_second()});
    cut.smallest_exit = std::min(cut.smallest_exit, into[rank] + beside[rank]);
    total += beside[rank];
  }
  for (std::size_t node = 0; node < memories.size(); ++node)
    if (memories[node].link.exists())
      total += std::min(through[node], Int128{memories[node].total.bytes_per_second()});
  cut.total_exit = std::min(cut.total_exit, total);
  const bool says_more = cut.total_exit < by_links.total_exit || cut.smallest_exit < by_links.smallest_exit;
  return says_more ? std::optional(cut) : std::nullopt;
}

// The NICs of a node, of group `group`, that belong to the inside of the smallest cut around it: those that
// their GPUs can bring more than the fabric can take.
std::vector<bool> nics_inside(const CutInput& input, std::size_t group) {
  const NodeParts& parts = input.layout->groups()[group].each;
  std::vector<std::int64_t> gpus(static_cast<std::size_t>(parts.nics), 0);
  for (std::int64_t gpu = 0; gpu < parts.gpus && parts.nics > 0; ++gpu)
    ++gpus[static_cast<std::size_t>(parts.endpoint_of(gpu))];
  std::vector<bool> inside;
  for (const std::int64_t count : gpus)
    inside.push_back(Int128{count} * input.nic_bandwidth[group].bytes_per_second() >
                     input.fabric_bandwidth.bytes_per_second());
  return inside;
}

Labels label_nodes(const CutInput& input, const Grouping& grouping, bool all_nics) {
  Labels labels(input.wiring->vertices.size(), -1);
  for (std::size_t number = 0; number < input.layout->groups().size(); ++number) {
    const NodeLayout::Group& group = input.layout->groups()[number];
    const std::vector<bool> inside = nics_inside(input, number);
    for (std::int32_t node = group.first_node; node < group.first_node + group.nodes; ++node) {
      const std::int32_t label = grouping.node_group[static_cast<std::size_t>(node)];
      const auto fill = [&](VertexId first, std::int32_t count) {
        std::fill_n(labels.begin() + static_cast<std::ptrdiff_t>(first.value), count, label);
      };
      fill(VertexId(input.layout->first_rank(node)), group.each.gpus);
      fill(input.layout->first_switch(node), group.each.switches);
      for (std::int32_t nic = 0; nic < group.each.nics; ++nic)
        if (all_nics || inside[static_cast<std::size_t>(nic)])
          labels[after(input.layout->first_nic(node), nic).value] = label;
    }
  }
  return labels;
}

std::optional<Cut> grouping_cut(const CutInput& input, const Grouping& grouping) {
  const std::int32_t last = *std::max_element(grouping.node_group.begin(), grouping.node_group.end());
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(last) + 1, 0);
  for (std::size_t node = 0; node < grouping.node_group.size(); ++node)
    ranks[static_cast<std::size_t>(grouping.node_group[node])] +=
        input.layout->parts_of(static_cast<std::int32_t>(node)).gpus;
  const std::size_t links = input.wiring->links.size();
  std::vector<std::vector<Int128>> stages = {
      exits(*input.wiring, links, label_nodes(input, grouping, false), ranks.size())};
  for (const std::vector<std::int32_t>& switches : grouping.stages) {
    Labels labels = label_nodes(input, grouping, true);
    for (std::size_t i = 0; i < switches.size(); ++i)
      // Switches of groups without ranks stay outside.
      if (switches[i] >= 0 && switches[i] <= last && ranks[static_cast<std::size_t>(switches[i])] > 0)
        labels[input.layout->first_fabric_switch().value + i] = switches[i];
    stages.push_back(exits(*input.wiring, links, labels, ranks.size()));
  }
  return cut_from(grouping.name, ranks, stages);
}

}  // namespace

std::vector<Cut> cuts_of(const CutInput& input, const std::vector<Grouping>& groupings) {
  if (input.layout->ranks() < 2) return {};
  std::vector<Cut> result = {rank_cut(input)};
  if (const std::optional<Cut> cut = memory_cut(input, result.front())) result.push_back(*cut);
  if (!input.uses_fabric || input.layout->nodes() < 2) return result;
  for (const Grouping& grouping : groupings)
    if (const std::optional<Cut> cut = grouping_cut(input, grouping)) result.push_back(*cut);
  return result;
}

}  // namespace collsim::topologies
