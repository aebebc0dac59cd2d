#include "topologies/forest_arcs.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace collsim::topologies {
namespace {

constexpr std::int32_t channels_tried = 8;  // more parallel ways between two ranks are not looked for

// The route, or nothing where it passes another rank: data could as well stop there.
std::vector<LinkId> straight(const Topology& topology, Rank from, Rank to, std::int32_t channel) {
  std::vector<LinkId> route;
  topology.route(from, to, channel, route);
  const auto ranks = static_cast<std::uint32_t>(topology.ranks());
  const bool passes = std::any_of(route.begin(), route.end() - 1,
                                  [&](LinkId link) { return topology.link(link).target.value < ranks; });
  return passes ? std::vector<LinkId>() : route;
}

}  // namespace

ForestArcs::ForestArcs(const Topology& topology, TreeUse use) {
  for (Rank parent = 0; parent < topology.ranks(); ++parent) {
    begin_.push_back(arcs_.size());
    for (Rank child = 0; child < topology.ranks(); ++child)
      if (child != parent) add_arcs(topology, use, parent, child);
  }
  begin_.push_back(arcs_.size());
}

void ForestArcs::add_arcs(const Topology& topology, TreeUse use, Rank parent, Rank child) {
  std::vector<std::vector<LinkId>> known;
  for (std::int32_t channel = 0; channel < channels_tried; ++channel) {
    std::vector<LinkId> links;
    if (use != TreeUse::up) links = straight(topology, parent, child, channel);
    if (use != TreeUse::down) {
      const std::vector<LinkId> back = straight(topology, child, parent, channel);
      if (back.empty() || (use == TreeUse::both && links.empty())) continue;
      links.insert(links.end(), back.begin(), back.end());
    }
    if (links.empty() || std::find(known.begin(), known.end(), links) != known.end()) continue;
    known.push_back(links);
    const auto begin = static_cast<std::uint32_t>(links_.size());
    links_.insert(links_.end(), links.begin(), links.end());
    arcs_.push_back({parent, child, channel, begin, static_cast<std::uint32_t>(links_.size())});
  }
}

bool ForestArcs::share_links() const {
  std::map<LinkId, std::pair<Rank, Rank>> user;
  for (const Arc& arc : arcs_)
    for (std::uint32_t i = arc.links_begin; i < arc.links_end; ++i) {
      const auto ends = std::minmax(arc.parent, arc.child);
      if (user.emplace(links_[i], ends).first->second != std::pair<Rank, Rank>(ends)) return true;
    }
  return false;
}

LinkFill::LinkFill(const Topology& topology, const FlowLimit& limit, std::int64_t pieces) {
  fill_.assign(topology.link_count(), 0);
  // Busy for 1 / (pieces * bandwidth), against share / (parts * capacity) of the tightest cut; rounded up.
  const Int128 dividend = Int128{full} * limit.parts * limit.capacity;
  for (const Link& link : topology.links()) {
    const Int128 divisor = limit.share * pieces * link.bandwidth.bytes_per_second();
    constexpr Int128 most = Int128{1} << 36;
    step_.push_back(static_cast<std::int64_t>(std::min((dividend + divisor - 1) / divisor, most)));
  }
  narrow_step_ = 4 * *std::min_element(step_.begin(), step_.end());
}

std::int64_t LinkFill::fullest() const { return *std::max_element(fill_.begin(), fill_.end()); }

}  // namespace collsim::topologies
