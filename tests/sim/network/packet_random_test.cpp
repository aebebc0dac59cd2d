// Random networks with random traffic: everything arrives, once, in order, conserved, and the same each time.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/sim/network/packet_support.hpp"

namespace {

using namespace collsim;
using collsim::testing::PacketRun;
using Route = PacketNetwork::Route;

struct Made {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  std::vector<PacketNetwork::FlowId> flows;
  std::vector<Route> routes;  // parallel to flows: the first one
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
    made.routes.push_back(route);
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

// A tree over vertices of its own, with members at any of them but the root.
PacketNetwork::FlowId random_tree(PacketRun& run, Random& random,
                                  std::vector<PacketNetwork::LinkIndex>& links) {
  std::vector<PacketNetwork::TreeVertex> tree(1);
  const auto first = static_cast<std::uint32_t>(1000 + 100 * random.below(20));
  const auto link = [&](std::uint32_t source, std::uint32_t target) {
    const auto rate = static_cast<std::int64_t>(1 + random.below(60)) * 999'999'937;
    links.push_back(run.network.add_link(Bandwidth::bytes_per_second(rate), Duration::nanoseconds(300),
                                         first + source, first + target));
    return links.back();
  };
  const std::uint64_t ways = random.below(3);  // up and down, up to one, down from one
  const std::size_t count = 3 + random.below(8);
  std::int32_t member = 0;
  for (std::uint32_t place = 1; place < count; ++place) {
    PacketNetwork::TreeVertex vertex;
    // A chain of two switches, and members below any of the three.
    const bool is_switch = place < 3;
    vertex.parent = is_switch ? place - 1 : static_cast<std::uint32_t>(random.below(3));
    if (place == 3) vertex.parent = 2;
    if (!is_switch) vertex.member = member++;
    const bool is_one = is_switch || place == 3;
    if (ways != 2 || is_one) vertex.up = link(place, vertex.parent);
    if (ways != 1 || is_one) vertex.down = link(vertex.parent, place);
    tree.push_back(vertex);
  }
  // Every switch that sends up has something below it that does.
  if (count < 4) {
    tree.back().member = 0;
    if (tree.back().up == PacketNetwork::TreeVertex::none) tree.back().up = link(2, 1);
    if (tree.back().down == PacketNetwork::TreeVertex::none) tree.back().down = link(1, 2);
  }
  std::optional<Bandwidth> rate_max;
  if (random.below(3) == 0) rate_max = Bandwidth::gigabytes_per_second(2);
  return run.network.add_aggregation(tree, rate_max);
}

TEST_CASE("Random trees end every operation, in order, however small their buffers") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    PacketSpec spec = random_spec(random);
    if (random.below(2) == 0)
      spec.reduction_buffer = spec.mtu * static_cast<std::int64_t>(1 + random.below(5));
    PacketRun run(spec, seed);
    std::vector<PacketNetwork::LinkIndex> links;
    std::map<PacketNetwork::FlowId, std::size_t> messages;
    for (std::size_t trees = 1 + random.below(3); trees > 0; --trees) {
      const auto flow = random_tree(run, random, links);
      for (std::size_t message = 1 + random.below(5); message > 0; --message, ++messages[flow])
        run.send(flow, static_cast<std::int64_t>(random.below(100'000)),
                 static_cast<std::int64_t>(random.below(20'000'000)));
    }
    run.network.freeze();
    // One link is down for a while.
    run.run(5'000'000);
    const auto victim = links[random.below(links.size())];
    run.network.set_link(victim, Bandwidth(), Duration::nanoseconds(300), Instant::picoseconds(5'000'000));
    run.run(9'000'000);
    run.network.set_link(victim, Bandwidth::gigabytes_per_second(7), Duration::nanoseconds(200),
                         Instant::picoseconds(9'000'000));
    REQUIRE(run.run());
    for (const auto& entry : messages) {
      const auto flow = entry.first;
      CHECK(run.delivered[flow].size() == entry.second);
      CHECK(run.sent[flow].size() == entry.second);
      CHECK(std::is_sorted(run.delivered[flow].begin(), run.delivered[flow].end()));
    }
    for (const auto& entry : run.results) CHECK(entry.second.size() == messages[entry.first.first]);
  }
}

TEST_CASE("Links that change, fail and come back lose and repeat nothing") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    PacketRun run(random_spec(random), seed);
    const Made made = build(run, random);
    std::vector<std::uint32_t> down;
    for (std::int64_t at = 1'000'000; at < 20'000'000; at += 3'000'000) {
      run.run(at);
      const auto link = static_cast<PacketNetwork::LinkIndex>(random.below(made.links.size()));
      const bool fails = random.below(2) == 0;
      if (fails) down.push_back(link);
      run.network.set_link(link, Bandwidth::gigabytes_per_second(fails ? 0 : 3),
                           Duration::nanoseconds(static_cast<std::int64_t>(random.below(2'000))),
                           Instant::picoseconds(at));
      // A connection goes another way between the same vertices, if there is one.
      if (made.flows.empty()) continue;
      const std::size_t place = random.below(made.flows.size());
      Route other = made.routes[place];
      for (std::uint32_t& hop : other)
        for (std::uint32_t candidate = 0; candidate < made.links.size(); ++candidate)
          if (made.links[candidate] == made.links[hop] && random.below(2) == 0) hop = candidate;
      const Route routes[] = {other};
      run.network.set_routes(made.flows[place], routes, Instant::picoseconds(at));
      run.network.check_conservation(Instant::picoseconds(at));
    }
    run.run(25'000'000);
    for (const auto link : down)
      run.network.set_link(link, Bandwidth::gigabytes_per_second(9), Duration::nanoseconds(100),
                           Instant::picoseconds(25'000'000));
    REQUIRE(run.run());
    for (const auto flow : made.flows) {
      CHECK(run.delivered[flow].size() == made.messages.at(flow));
      CHECK(run.sent[flow].size() == made.messages.at(flow));
    }
  }
}

TEST_CASE("All pairs of a torus arrive with the least buffers, over few virtual channels") {
  for (const Switching switching : {Switching::cut_through, Switching::store_and_forward}) {
    PacketSpec spec;
    spec.switching = switching;
    spec.buffer = Bytes(4096);
    PacketRun run(spec);
    const std::uint32_t side = 5;
    // [vertex][+x, -x, +y, -y]
    std::vector<std::vector<PacketNetwork::LinkIndex>> out(side * side);
    const auto neighbour = [&](std::uint32_t vertex, std::uint32_t way) {
      const std::uint32_t x = vertex % side;
      const std::uint32_t y = vertex / side;
      const std::uint32_t step = way % 2 == 0 ? 1 : side - 1;
      return way < 2 ? (x + step) % side + side * y : x + side * ((y + step) % side);
    };
    for (std::uint32_t vertex = 0; vertex < side * side; ++vertex)
      for (std::uint32_t way = 0; way < 4; ++way)
        out[vertex].push_back(run.network.add_link(
            Bandwidth::gigabytes_per_second(50), Duration::nanoseconds(100), vertex, neighbour(vertex, way)));
    for (std::uint32_t source = 0; source < side * side; ++source)
      for (std::uint32_t target = 0; target < side * side; ++target) {
        if (source == target) continue;
        Route route;
        std::uint32_t at = source;
        const auto go = [&](std::uint32_t distance, std::uint32_t way) {
          const std::uint32_t back = side - distance;
          for (std::uint32_t step = std::min(distance, back); step > 0; --step) {
            route.push_back(out[at][distance <= back ? way : way + 1]);
            at = neighbour(at, distance <= back ? way : way + 1);
          }
        };
        go((target % side + side - source % side) % side, 0);
        go((target / side + side - source / side) % side, 2);
        REQUIRE(at == target);
        run.send(run.flow(route), 40'000);
      }
    run.network.freeze();
    CHECK(run.network.virtual_channels() <= 3);
    CHECK(run.run());
  }
}

}  // namespace
