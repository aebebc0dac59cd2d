#include "sim/network/packet_channels.hpp"

#include <algorithm>

#include "sim/network/packet_parts.hpp"

namespace collsim::packet {

void ChannelOrder::add_route(std::span<const std::uint32_t> route) {
  for (std::size_t hop = 1; hop < route.size(); ++hop)
    arcs_.push_back(std::uint64_t{route[hop - 1]} << 32 | route[hop]);
  // Most routes repeat the arcs of others.
  if (arcs_.size() > 2 * distinct_ + 100'000) remove_repeated();
}

void ChannelOrder::remove_repeated() {
  std::sort(arcs_.begin(), arcs_.end());
  arcs_.erase(std::unique(arcs_.begin(), arcs_.end()), arcs_.end());
  distinct_ = arcs_.size();
}

void ChannelOrder::number(std::size_t links) {
  remove_repeated();
  first_.assign(links + 1, 0);
  for (const std::uint64_t arc : arcs_) ++first_[(arc >> 32) + 1];
  for (std::size_t link = 0; link < links; ++link) first_[link + 1] += first_[link];
  number_.assign(links, none);
  std::vector<std::uint32_t> left;  // links in the order in which the search leaves them
  left.reserve(links);
  for (std::uint32_t link = 0; link < links; ++link)
    if (number_[link] == none) visit(link, left);
  for (std::size_t place = 0; place < links; ++place)
    number_[left[place]] = static_cast<std::uint32_t>(links - place);
}

void ChannelOrder::visit(std::uint32_t root, std::vector<std::uint32_t>& left) {
  struct Step {
    std::uint32_t link;
    std::size_t arc;
  };
  std::vector<Step> path{{root, first_[root]}};
  number_[root] = 0;
  while (!path.empty()) {
    Step& step = path.back();
    if (step.arc == first_[step.link + 1]) {
      left.push_back(step.link);
      path.pop_back();
      continue;
    }
    const auto next = static_cast<std::uint32_t>(arcs_[step.arc++]);
    if (number_[next] != none) continue;
    number_[next] = 0;
    path.push_back({next, first_[next]});
  }
}

std::int32_t ChannelOrder::channels(std::span<const std::uint32_t> route) const {
  std::int32_t count = 1;
  for (std::size_t hop = 1; hop < route.size(); ++hop) count += goes_back(route[hop - 1], route[hop]) ? 1 : 0;
  return count;
}

}  // namespace collsim::packet
