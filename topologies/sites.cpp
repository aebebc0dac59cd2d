#include "topologies/sites.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "topologies/interior.hpp"

namespace collsim::topologies {

Sites::Sites(std::vector<Site> sites, const CableSpec& long_cable, std::int32_t long_cables,
             const Choice& choice)
    : sites_(std::move(sites)), long_cable_(long_cable), long_cables_(long_cables), choice_(choice) {
  std::int64_t endpoints = 0;
  for (const Site& site : sites_) {
    first_endpoint_.push_back(endpoints);
    endpoints += site.endpoints;
  }
}

std::int32_t Sites::site_of(std::int64_t endpoint) const {
  const auto above = std::upper_bound(first_endpoint_.begin(), first_endpoint_.end(), endpoint);
  return static_cast<std::int32_t>(above - first_endpoint_.begin()) - 1;
}

void Sites::lay(const CableSpec& cable, Wiring& wiring) {
  for (const Site& site : sites_) {
    first_switch_.push_back(wiring.next_vertex());
    site.tree->lay(cable, wiring);
  }
  first_border_ = wiring.next_vertex();
  first_switch_.push_back(first_border_);
  for (std::int32_t site = 0; site < count(); ++site)
    wiring.add_vertex(VertexKind::fabric_switch, border_level, -1, site);
  for (std::int32_t site = 0; site < count(); ++site) {
    first_up_.push_back(wiring.next_cable());
    for (std::int64_t top = 0; top < tree(site).tops(); ++top)
      wiring.add_cable(tree(site).top(top), border(site), cable);
  }
  first_long_ = wiring.next_cable();
  for (std::int32_t a = 0; a < count(); ++a)
    for (std::int32_t b = a + 1; b < count(); ++b)
      for (std::int32_t i = 0; i < long_cables_; ++i) wiring.add_cable(border(a), border(b), long_cable_);
}

void Sites::route(std::int64_t source, std::int64_t target, const Flow& flow,
                  std::vector<LinkId>& links) const {
  numbered_route(source, target, flow, 0, links);
}

Alternatives Sites::ways_between(std::int32_t from, std::int32_t to) const {
  return Alternatives({tree(from).tops(), tree(to).tops(), long_cables_});
}

std::int32_t Sites::route_count(std::int64_t source, std::int64_t target) const {
  const std::int32_t from = site_of(source);
  const std::int32_t to = site_of(target);
  if (from == to) return tree(from).route_count(source - first_endpoint(from), target - first_endpoint(from));
  return choice_.paths(ways_between(from, to).count());
}

void Sites::numbered_route(std::int64_t source, std::int64_t target, const Flow& flow, std::int32_t number,
                           std::vector<LinkId>& links) const {
  const std::int32_t from = site_of(source);
  const std::int32_t to = site_of(target);
  const std::int64_t start = source - first_endpoint(from);
  const std::int64_t end = target - first_endpoint(to);
  if (from == to) return tree(from).numbered_route(start, end, flow, number, links);
  const std::int64_t slot = tree(to).slot(end);
  std::int64_t up = tree(from).top_towards(start, slot, flow);
  std::int64_t down = tree(to).top_of_slot(slot);
  if (choice_.is_ecmp()) down = choice_.by_hash(flow, {4, border(to).value}, tree(to).tops());
  std::int64_t cable = choice_.by_channel(flow, {3, border(from).value}, long_cables_);
  if (number > 0) {
    const std::vector<std::int64_t> turned = ways_between(from, to).decisions(number);
    up = (up + turned[0]) % tree(from).tops();
    down = (down + turned[1]) % tree(to).tops();
    cable = (cable + turned[2]) % long_cables_;
  }
  tree(from).climb(start, up, links);
  links.push_back(forward(first_up_[static_cast<std::size_t>(from)] + up));
  const auto [low, high] = std::minmax(from, to);
  cable += first_long_ + pair_cable(low, high, count()) * long_cables_;
  links.push_back(from < to ? forward(cable) : backward(cable));
  links.push_back(backward(first_up_[static_cast<std::size_t>(to)] + down));
  tree(to).descend(down, end, links);
}

Grouping Sites::combined(const std::string& name, const std::vector<std::vector<Grouping>>& of_sites) const {
  std::vector<Grouping> parts;
  std::size_t stages = 0;
  for (const std::vector<Grouping>& groupings : of_sites) {
    const auto same = std::find_if(groupings.begin(), groupings.end(),
                                   [&](const Grouping& grouping) { return grouping.name == name; });
    parts.push_back(same != groupings.end() ? *same : groupings.front());
    stages = std::max(stages, parts.back().stages.size());
  }
  Grouping result{name, {}, {}};
  result.stages.resize(stages);
  std::int32_t groups = 0;
  for (std::size_t site = 0; site < parts.size(); ++site) {
    for (const std::int32_t group : parts[site].node_group) result.node_group.push_back(groups + group);
    const std::size_t switches = first_switch_[site + 1].value - first_switch_[site].value;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      std::vector<std::int32_t> labels(switches, -1);
      if (stage < parts[site].stages.size()) {
        const std::vector<std::int32_t>& of_part = parts[site].stages[stage];
        for (std::size_t i = 0; i < of_part.size(); ++i)
          labels[i] = of_part[i] < 0 ? -1 : groups + of_part[i];
      }
      result.stages[stage].insert(result.stages[stage].end(), labels.begin(), labels.end());
    }
    const std::vector<std::int32_t>& own = parts[site].node_group;
    groups += *std::max_element(own.begin(), own.end()) + 1;
  }
  return result;
}

Grouping Sites::by_site() const {
  Grouping result{"site", {}, {{}}};
  for (std::int32_t site = 0; site < count(); ++site) {
    const auto number = static_cast<std::size_t>(site);
    result.node_group.insert(result.node_group.end(), static_cast<std::size_t>(sites_[number].nodes), site);
    result.stages[0].insert(result.stages[0].end(),
                            first_switch_[number + 1].value - first_switch_[number].value, site);
  }
  result.stages.push_back(result.stages[0]);  // once without the borders, once with them
  for (std::int32_t site = 0; site < count(); ++site) result.stages[1].push_back(site);
  return result;
}

std::vector<Grouping> Sites::groupings() const {
  std::vector<std::vector<Grouping>> of_sites;
  std::vector<std::string> names;
  std::int32_t nodes = 0;
  for (const Site& site : sites_) {
    nodes += site.nodes;
    of_sites.push_back(site.tree->groupings());
    for (const Grouping& grouping : of_sites.back())
      if (grouping.name != "bisection" && std::find(names.begin(), names.end(), grouping.name) == names.end())
        names.push_back(grouping.name);
  }
  std::vector<Grouping> result;
  for (const std::string& name : names) result.push_back(combined(name, of_sites));
  result.push_back(by_site());
  result.push_back(bisection_of(nodes, result));
  return result;
}

std::vector<std::int32_t> nodes_of_sites(const ClusterSpec& cluster) {
  const SitesSpec& sites = cluster.sites;
  if (!sites.nodes.empty()) return {sites.nodes.begin(), sites.nodes.end()};
  std::vector<std::int32_t> result;
  for (std::int32_t site = 0; site < sites.count; ++site)
    result.push_back(cluster.nodes / sites.count + (site < cluster.nodes % sites.count ? 1 : 0));
  return result;
}

}  // namespace collsim::topologies
