#include "algorithms/msccl_channels.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace collsim::algorithms {
namespace {

struct Connection {
  Rank source;
  Rank target;
  std::int32_t channel;
  auto key() const { return std::tuple(channel, source, target); }
};

// How many thread blocks of each gpu send and receive on each channel, and which channels two gpus use.
class Use {
 public:
  bool has_room(const Connection& connection, std::int32_t channel) const {
    const auto count = [channel](const auto& counts, Rank gpu) {
      const auto found = counts.find({gpu, channel});
      return found == counts.end() ? 0 : found->second;
    };
    const auto pair = pairs_.find({connection.source, connection.target});
    return (pair == pairs_.end() || (pair->second >> channel & 1) == 0) &&
           count(sends_, connection.source) < msccl_tbs_a_channel &&
           count(receives_, connection.target) < msccl_tbs_a_channel;
  }
  void add(const Connection& connection, std::int32_t channel) {
    ++sends_[{connection.source, channel}];
    ++receives_[{connection.target, channel}];
    pairs_[{connection.source, connection.target}] |= std::uint32_t{1} << channel;
  }
  void remove(const Connection& connection, std::int32_t channel) {
    --sends_[{connection.source, channel}];
    --receives_[{connection.target, channel}];
    pairs_[{connection.source, connection.target}] &= ~(std::uint32_t{1} << channel);
  }

 private:
  std::map<std::pair<Rank, std::int32_t>, std::int32_t> sends_;
  std::map<std::pair<Rank, std::int32_t>, std::int32_t> receives_;
  std::map<std::pair<Rank, Rank>, std::uint32_t> pairs_;
};

bool place(const std::vector<Connection>& set, std::int32_t channel, Use& use) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (use.has_room(set[i], channel)) {
      use.add(set[i], channel);
      continue;
    }
    while (i-- > 0) use.remove(set[i], channel);
    return false;
  }
  return true;
}

std::int32_t first_channel(const std::vector<Connection>& set, Use& use) {
  const std::int32_t own = set.front().channel;
  if (own < msccl_channels_max && place(set, own, use)) return own;
  for (std::int32_t channel = 0; channel < msccl_channels_max; ++channel)
    if (channel != own && place(set, channel, use)) return channel;
  return -1;
}

std::vector<Connection> connections_of(const std::vector<MscclEnds>& tbs) {
  std::vector<Connection> connections;
  for (const MscclEnds& tb : tbs) {
    if (tb.send >= 0) connections.push_back({tb.gpu, tb.send, tb.channel});
    if (tb.receive >= 0) connections.push_back({tb.receive, tb.gpu, tb.channel});
  }
  const auto before = [](const Connection& a, const Connection& b) { return a.key() < b.key(); };
  const auto same = [](const Connection& a, const Connection& b) { return a.key() == b.key(); };
  std::sort(connections.begin(), connections.end(), before);
  connections.erase(std::unique(connections.begin(), connections.end(), same), connections.end());
  return connections;
}

}  // namespace

bool fit_channels(std::vector<MscclEnds>& tbs) {
  const std::vector<Connection> connections = connections_of(tbs);
  Use as_they_are;
  if (std::all_of(connections.begin(), connections.end(), [&](const Connection& connection) {
        if (connection.channel >= msccl_channels_max || !as_they_are.has_room(connection, connection.channel))
          return false;
        as_they_are.add(connection, connection.channel);
        return true;
      }))
    return true;
  const auto number_of = [&connections](Rank source, Rank target, std::int32_t channel) {
    const Connection wanted{source, target, channel};
    return static_cast<std::size_t>(
        std::lower_bound(connections.begin(), connections.end(), wanted,
                         [](const Connection& a, const Connection& b) { return a.key() < b.key(); }) -
        connections.begin());
  };
  // Union-find; the smallest connection stands for its set.
  std::vector<std::size_t> parent(connections.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&parent](std::size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const MscclEnds& tb : tbs) {
    if (tb.send < 0 || tb.receive < 0) continue;
    const std::size_t a = root(number_of(tb.gpu, tb.send, tb.channel));
    const std::size_t b = root(number_of(tb.receive, tb.gpu, tb.channel));
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<std::vector<Connection>> sets(connections.size());
  for (std::size_t i = 0; i < connections.size(); ++i) sets[root(i)].push_back(connections[i]);
  Use use;
  std::vector<std::int32_t> channel_of(connections.size());
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].empty()) continue;
    channel_of[i] = first_channel(sets[i], use);
    if (channel_of[i] < 0) return false;
  }
  for (MscclEnds& tb : tbs) {
    if (tb.send >= 0)
      tb.channel = channel_of[root(number_of(tb.gpu, tb.send, tb.channel))];
    else if (tb.receive >= 0)
      tb.channel = channel_of[root(number_of(tb.receive, tb.gpu, tb.channel))];
    else
      tb.channel = 0;
  }
  return true;
}

}  // namespace collsim::algorithms
