// Random networks with random traffic: everything arrives, once, in order, conserved, and the same each time.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/core/random.hpp"
#include "tests/sim/network/packet_support.hpp"

namespace {

using namespace collsim;
using collsim::testing::PacketRun;
using Route = PacketNetwork::Route;

struct Made {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  std::vector<PacketNetwork::FlowId> flows;
  std::map<PacketNetwork::FlowId, std::int64_t> bytes;
  std::map<PacketNetwork::FlowId, std::size_t> messages;
};

// A walk that visits no vertex twice.
Route random_route(Random& random, const Made& made, std::uint32_t source) {
  Route route;
  std::vector<std::uint32_t> seen{source};
  std::uint32_t at = source;
  for (std::size_t steps = 1 + random.below(4); steps > 0; --steps) {
    std::vector<std::uint32_t> ways;
    for (std::uint32_t link = 0; link < made.links.size(); ++link)
      if (made.links[link].first == at &&
          std::find(seen.begin(), seen.end(), made.links[link].second) == seen.end())
        ways.push_back(link);
    if (ways.empty()) break;
    route.push_back(ways[random.below(ways.size())]);
    at = made.links[route.back()].second;
    seen.push_back(at);
  }
  return route;
}

PacketSpec random_spec(Random& random) {
  PacketSpec spec;
  spec.mtu = Bytes(static_cast<std::int64_t>(256 << random.below(5)));
  spec.header = Bytes(random.below(2) == 0 ? 0 : 30);
  spec.switching = random.below(2) == 0 ? Switching::cut_through : Switching::store_and_forward;
  if (random.below(2) == 0) spec.buffer = spec.mtu * static_cast<std::int64_t>(1 + random.below(6));
  if (random.below(3) == 0) {
    spec.ecn = EcnSpec{spec.mtu * 2, spec.mtu * 8, 300'000};
    if (random.below(2) == 0) spec.rate_control = RateControlSpec();
  }
  return spec;
}

Made build(PacketRun& run, Random& random) {
  Made made;
  const auto vertices = static_cast<std::uint32_t>(3 + random.below(8));
  for (std::uint32_t count = 3 * vertices; count > 0; --count) {
    const auto source = static_cast<std::uint32_t>(random.below(vertices));
    const auto target = static_cast<std::uint32_t>((source + 1 + random.below(vertices - 1)) % vertices);
    run.network.add_link(
        Bandwidth::bytes_per_second(static_cast<std::int64_t>(1 + random.below(90)) * 999'999'937),
        Duration::picoseconds(static_cast<std::int64_t>(random.below(2'000'000))), source, target);
    made.links.emplace_back(source, target);
  }
  for (std::size_t count = 1 + random.below(12); count > 0; --count) {
    const Route route = random_route(random, made, static_cast<std::uint32_t>(random.below(vertices)));
    if (route.empty()) continue;
    // Other routes: the same with links that lie beside those.
    std::vector<Route> routes{route};
    for (std::size_t other = random.below(3); other > 0; --other) {
      Route beside = route;
      for (std::uint32_t& link : beside)
        for (std::uint32_t candidate = 0; candidate < made.links.size(); ++candidate)
          if (made.links[candidate] == made.links[link] && random.below(2) == 0) link = candidate;
      routes.push_back(beside);
    }
    const auto choice = static_cast<PathChoice>(random.below(3));
    std::optional<Bandwidth> rate_max;
    if (random.below(4) == 0) rate_max = Bandwidth::gigabytes_per_second(3);
    const auto flow = run.network.add_flow(routes, choice, rate_max);
    made.flows.push_back(flow);
    for (std::size_t message = 1 + random.below(4); message > 0; --message) {
      const auto bytes =
          static_cast<std::int64_t>(random.below(3) == 0 ? random.below(2'000) : random.below(200'000));
      run.send(flow, bytes, static_cast<std::int64_t>(random.below(20'000'000)));
      made.bytes[flow] += bytes;
      ++made.messages[flow];
    }
    if (random.below(6) == 0) run.network.add_background(route, Bandwidth::gigabytes_per_second(2));
  }
  run.network.freeze();
  return made;
}

TEST_CASE("Random networks deliver everything once, in order, and conserve bytes") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    PacketRun run(random_spec(random), seed);
    const Made made = build(run, random);
    // In the middle as well.
    run.run(static_cast<std::int64_t>(random.below(30'000'000)));
    REQUIRE(run.run());
    for (const auto flow : made.flows) {
      const auto& times = run.delivered[flow];
      CHECK(times.size() == made.messages.at(flow));
      CHECK(std::is_sorted(times.begin(), times.end()));
      CHECK(run.sent[flow].size() == times.size());
      for (std::size_t message = 0; message < times.size(); ++message)
        CHECK(run.sent[flow][message] <= times[message]);
    }
    CHECK(run.network.blocked().empty());
  }
}

TEST_CASE("The same network and seed give the same times, and other seeds only other marks") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    std::map<PacketNetwork::FlowId, std::vector<std::int64_t>> times[2];
    std::int64_t marks[2];
    for (int round = 0; round < 2; ++round) {
      Random random(seed);
      PacketRun run(random_spec(random), seed);
      build(run, random);
      REQUIRE(run.run());
      times[round] = run.delivered;
      marks[round] = run.network.marks();
    }
    CHECK(times[0] == times[1]);
    CHECK(marks[0] == marks[1]);
  }
}

TEST_CASE("Alone, a random message takes what alone() says to within a packet for each change of speed") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    PacketSpec spec = random_spec(random);
    spec.buffer.reset();
    spec.ecn.reset();
    spec.rate_control.reset();
    PacketRun run(spec, seed);
    Route route;
    std::int64_t slowest = INT64_MAX;
    for (std::uint32_t hop = 0; hop < 4; ++hop) {
      const auto rate = static_cast<std::int64_t>(1 + random.below(60)) * 999'999'937;
      slowest = std::min(slowest, rate);
      route.push_back(
          run.network.add_link(Bandwidth::bytes_per_second(rate), Duration::nanoseconds(300), hop, hop + 1));
    }
    const auto flow = run.flow(route);
    run.network.freeze();
    const auto bytes = static_cast<std::int64_t>(random.below(300'000));
    run.send(flow, bytes);
    REQUIRE(run.run());
    const std::int64_t packet =
        transfer_time(spec.mtu + spec.header, Bandwidth::bytes_per_second(slowest)).picoseconds();
    const std::int64_t alone = run.network.alone(flow, Bytes(bytes)).picoseconds();
    CHECK(run.delivered[flow].front() >= alone - 8);
    CHECK(run.delivered[flow].front() <= alone + 3 * packet);
  }
}

}  // namespace
