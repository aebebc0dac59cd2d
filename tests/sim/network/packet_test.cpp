// Packets on one route, at one port, and in each other's way: closed forms.
#include "sim/network/packet.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/sim/network/packet_support.hpp"

namespace {

using namespace collsim;
using collsim::testing::PacketRun;
using Route = PacketNetwork::Route;

constexpr std::int64_t ns = 1000;
constexpr std::int64_t us = 1000 * ns;

Bandwidth gb(std::int64_t count) { return Bandwidth::gigabytes_per_second(count); }
Duration nanoseconds(std::int64_t count) { return Duration::nanoseconds(count); }
std::int64_t ceil_time(std::int64_t bytes, std::int64_t rate) {
  return transfer_time(Bytes(bytes), Bandwidth::bytes_per_second(rate)).picoseconds();
}

// A route of `rates.size()` links with latency 500 ns each.
Route chain(PacketRun& run, const std::vector<Bandwidth>& rates) {
  Route route;
  for (std::uint32_t hop = 0; hop < rates.size(); ++hop)
    route.push_back(run.network.add_link(rates[hop], nanoseconds(500), hop, hop + 1));
  return route;
}

TEST_CASE("Packets alone, cut-through: m/B + h*l, to within a picosecond a link") {
  for (const std::int64_t rate :
       {std::int64_t{50'000'000'000}, std::int64_t{12'345'678'901}, std::int64_t{7}})
    for (const std::size_t hops : {1U, 2U, 5U})
      for (const std::int64_t bytes : {0, 1, 4095, 4096, 4097, 1'000'003}) {
        if (rate == 7 && bytes > 10'000) continue;
        PacketRun run;
        const Route route = chain(run, std::vector<Bandwidth>(hops, Bandwidth::bytes_per_second(rate)));
        const auto flow = run.flow(route);
        run.network.freeze();
        run.send(flow, bytes, 7);
        CAPTURE(rate);
        CAPTURE(hops);
        CAPTURE(bytes);
        REQUIRE(run.run());
        const auto links = static_cast<std::int64_t>(hops);
        const std::int64_t expected = 7 + ceil_time(bytes, rate) + links * 500 * ns;
        CHECK(run.sent[flow].front() == 7 + ceil_time(bytes, rate));
        CHECK(std::abs(run.delivered[flow].front() - expected) <= links);
        CHECK(run.network.alone(flow, Bytes(bytes)).picoseconds() == expected - 7);
        CHECK(run.network.packets() == std::max<std::int64_t>(1, (bytes + 4095) / 4096));
        CHECK(run.network.hops() == run.network.packets() * links);
        for (const auto link : route) {
          CHECK(run.network.facts(link).payload == bytes);
          CHECK(run.network.facts(link).arrived == bytes);
        }
      }
}

TEST_CASE("Packets alone, store-and-forward: m/B + (h-1)*p/B + h*l, the last packet shorter") {
  PacketSpec spec;
  spec.switching = Switching::store_and_forward;
  for (const std::size_t hops : {1U, 2U, 4U})
    for (const std::int64_t bytes : {0, 100, 4096, 40'960, 1'000'003}) {
      PacketRun run(spec);
      const Route route = chain(run, std::vector<Bandwidth>(hops, gb(50)));
      const auto flow = run.flow(route);
      run.network.freeze();
      run.send(flow, bytes);
      REQUIRE(run.run());
      const auto links = static_cast<std::int64_t>(hops);
      // A last packet that is shorter follows close behind the last full one, unless it is the only one.
      const std::int64_t packet = bytes < 4096 ? bytes : 4096;
      const std::int64_t expected =
          ceil_time(bytes + (links - 1) * packet, 50'000'000'000) + links * 500 * ns;
      CAPTURE(hops);
      CAPTURE(bytes);
      CHECK(std::abs(run.delivered[flow].front() - expected) <= links);
      CHECK(std::abs(run.network.alone(flow, Bytes(bytes)).picoseconds() - expected) <= links);
    }
}

TEST_CASE("Packets alone over links of unlike speed: the slowest decides, whatever the order") {
  const std::vector<std::vector<Bandwidth>> orders = {{gb(50), gb(25), gb(100)},
                                                      {gb(100), gb(50), gb(25)},
                                                      {gb(25), gb(50), gb(100)},
                                                      {gb(25), gb(100), gb(25), gb(100)}};
  for (const auto& rates : orders) {
    PacketRun run;
    const auto flow = run.flow(chain(run, rates));
    run.network.freeze();
    run.send(flow, 1'000'003);
    REQUIRE(run.run());
    const auto links = static_cast<std::int64_t>(rates.size());
    const std::int64_t expected = ceil_time(1'000'003, 25'000'000'000) + links * 500 * ns;
    // A packet that a fast link carries between two slow ones comes to the second when all of it has crossed
    // the first, but for what the fast one takes.
    const bool waits = rates.size() == 4;
    const std::int64_t more = waits ? ceil_time(4096, 25'000'000'000) - ceil_time(4096, 100'000'000'000) : 0;
    CHECK(std::abs(run.delivered[flow].front() - expected - more) <= 2 * links);
    CHECK(run.delivered[flow].front() >= expected - links);
    CHECK(run.network.alone(flow, Bytes(1'000'003)).picoseconds() == expected);
  }
}

TEST_CASE("A packet never ends before its tail has arrived") {
  PacketRun run;
  const auto flow = run.flow(chain(run, {gb(1), gb(1000)}));
  run.network.freeze();
  run.send(flow, 4096);
  REQUIRE(run.run());
  CHECK(run.delivered[flow].front() == 4096 * ns + 2 * 500 * ns);
}

TEST_CASE("Headers travel with every packet") {
  PacketSpec spec;
  spec.header = Bytes(64);
  PacketRun run(spec);
  const auto flow = run.flow(chain(run, {gb(1), gb(1)}));
  run.network.freeze();
  run.send(flow, 10'000);  // 3 packets
  REQUIRE(run.run());
  CHECK(run.delivered[flow].front() == (10'000 + 3 * 64) * ns + 2 * 500 * ns);
  CHECK(run.network.facts(0).payload == 10'000);
  CHECK(run.network.facts(0).busy == Duration::nanoseconds(10'192));
}

TEST_CASE("Messages of a connection follow each other without a gap and arrive in order") {
  PacketRun run;
  const auto flow = run.flow(chain(run, {gb(50), gb(50)}));
  run.network.freeze();
  for (int message = 0; message < 20; ++message) run.send(flow, 5000 + 7 * message);
  REQUIRE(run.run());
  std::int64_t bytes = 0;
  for (std::size_t message = 0; message < 20; ++message) {
    bytes += 5000 + 7 * static_cast<std::int64_t>(message);
    CHECK(std::abs(run.delivered[flow][message] - (ceil_time(bytes, 50'000'000'000) + 1000 * ns)) <= 2);
  }
}

TEST_CASE("A connection sends at no more than its rate") {
  PacketRun run;
  const Route route = chain(run, {gb(50), gb(50)});
  const Route routes[] = {route};
  const auto flow = run.network.add_flow(routes, PathChoice::first, gb(10));
  run.network.freeze();
  run.send(flow, 1'000'000);
  run.send(flow, 1'000'000);
  REQUIRE(run.run());
  CHECK(std::abs(run.sent[flow][0] - 100 * us) <= 1);
  CHECK(std::abs(run.delivered[flow][1] - (200 * us + 1 * us)) <= 4);
}

TEST_CASE("Input buffers throttle a link to what fits into a round trip") {
  // With room for b packets, b packets pass in each (packet time + 2 latencies + the crossing of the last).
  for (const std::int64_t packets : {1, 2, 3, 8}) {
    PacketSpec spec;
    spec.buffer = Bytes(packets * 4096);
    PacketRun run(spec);
    const auto link =
        run.network.add_link(Bandwidth::bytes_per_second(4'096'000'000), nanoseconds(2000), 0, 1);
    const auto flow = run.flow({link});
    run.network.freeze();
    const std::int64_t count = 240;
    run.send(flow, count * 4096);
    REQUIRE(run.run());
    // A packet takes 1 us, its room comes back 1 us + 2 * 2 us after it began.
    const std::int64_t cycle = std::max<std::int64_t>(5 * us, packets * us);
    const std::int64_t expected = (count / packets - 1) * cycle + packets * us + 2 * us;
    CAPTURE(packets);
    CHECK(run.delivered[flow].front() == expected);
  }
}

TEST_CASE("The default buffer keeps links busy, cut-through and store-and-forward") {
  for (const Switching switching : {Switching::cut_through, Switching::store_and_forward}) {
    PacketSpec spec;
    spec.switching = switching;
    PacketRun run(spec);
    Route route;
    for (std::uint32_t hop = 0; hop < 3; ++hop)
      route.push_back(run.network.add_link(gb(50), Duration::microseconds(100), hop, hop + 1));
    const auto flow = run.flow(route);
    run.network.freeze();
    run.send(flow, 100'000'000);
    REQUIRE(run.run());
    CHECK(run.delivered[flow].front() <= 2000 * us + 300 * us + 2 * ceil_time(4096, 50'000'000'000) + 3);
  }
}

TEST_CASE("Incast: senders share a port evenly and it is never idle") {
  for (const std::uint32_t senders : {2U, 3U, 8U}) {
    PacketRun run;
    const auto down = run.network.add_link(gb(50), nanoseconds(500), 100, 101);
    std::vector<PacketNetwork::FlowId> flows;
    for (std::uint32_t sender = 0; sender < senders; ++sender)
      flows.push_back(run.flow({run.network.add_link(gb(50), nanoseconds(500), sender, 100), down}));
    run.network.freeze();
    for (const auto flow : flows) run.send(flow, 4'096'000);
    REQUIRE(run.run());
    const std::int64_t all = ceil_time(senders * 4'096'000, 50'000'000'000) + us;
    std::int64_t last = 0;
    for (const auto flow : flows) {
      CHECK(run.delivered[flow].front() >= all - senders * ceil_time(4096, 50'000'000'000));
      last = std::max(last, run.delivered[flow].front());
    }
    CHECK(std::abs(last - all) <= 2);
    CHECK(run.network.facts(down).queue_max > 0);
  }
}

// Three senders to a busy port of one switch; one of them also sends to a free port.
TEST_CASE("Head-of-line blocking: a victim waits behind packets for a busy port") {
  const auto victim_time = [](std::int64_t buffer) {
    PacketSpec spec;
    spec.buffer = Bytes(buffer);
    PacketRun run(spec);
    const auto busy = run.network.add_link(gb(50), nanoseconds(500), 9, 20);
    const auto free = run.network.add_link(gb(50), nanoseconds(500), 9, 21);
    Route up;
    for (std::uint32_t sender = 0; sender < 3; ++sender) {
      up.push_back(run.network.add_link(gb(50), nanoseconds(500), sender, 9));
      run.send(run.flow({up.back(), busy}), 10'240'000);
    }
    const auto victim = run.flow({up.back(), free});
    run.send(victim, 2'560'000);
    run.network.freeze();
    REQUIRE(run.run());
    CHECK(run.network.facts(free).queue_max == 0);
    return run.delivered[victim].front();
  };
  // Both connections of the third sender take turns. While the switch has room each gets a half of 50 GB/s;
  // once it is full the victim gets no more than the other one, a third of the busy port.
  CHECK(std::abs(victim_time(100'000'000) - (ceil_time(2'560'000, 25'000'000'000) + us)) < us);
  CHECK(victim_time(100'000) > ceil_time(2'560'000 - 100'000, 50'000'000'000 / 3));
}

TEST_CASE("A full queue spreads to the switch before it, and to flows that do not use it") {
  // Three senders to one slow port behind two switches; a fourth flow shares only the link between them.
  const auto victim_time = [](std::int64_t buffer_packets) {
    PacketSpec spec;
    spec.buffer = Bytes(buffer_packets * 4096);
    PacketRun run(spec);
    const auto between = run.network.add_link(gb(100), nanoseconds(100), 8, 9);
    const auto slow = run.network.add_link(gb(5), nanoseconds(100), 9, 20);
    const auto fast = run.network.add_link(gb(50), nanoseconds(100), 9, 21);
    for (std::uint32_t sender = 0; sender < 3; ++sender) {
      const auto up = run.network.add_link(gb(50), nanoseconds(100), sender, 8);
      run.send(run.flow({up, between, slow}), 1'000'000);
    }
    const auto victim = run.flow({run.network.add_link(gb(25), nanoseconds(100), 3, 8), between, fast});
    run.send(victim, 1'000'000, 20 * us);
    run.network.freeze();
    REQUIRE(run.run());
    CHECK(run.network.facts(between).queue_max > 0);
    return run.delivered[victim].front() - 20 * us;
  };
  const std::int64_t alone = 40 * us + 300 * ns;
  CHECK(victim_time(100'000) < alone + 2 * us);  // nothing fills up
  CHECK(victim_time(16) > 5 * alone);            // held back by a port that it does not use
}

TEST_CASE("A ring with one virtual channel stands still, and says where") {
  PacketSpec spec;
  spec.virtual_channels = 1;
  spec.buffer = Bytes(2 * 4096);
  for (const bool background : {false, true}) {
    PacketRun run(spec);
    Route ring;
    for (std::uint32_t hop = 0; hop < 4; ++hop)
      ring.push_back(run.network.add_link(gb(50), nanoseconds(500), hop, (hop + 1) % 4));
    const Route apart = {run.network.add_link(gb(50), nanoseconds(500), 10, 11)};
    if (background) run.network.add_background(apart, gb(20));
    for (std::uint32_t hop = 0; hop < 4; ++hop)
      run.send(run.flow({ring[hop], ring[(hop + 1) % 4], ring[(hop + 2) % 4]}), 1'000'000);
    run.network.freeze();
    CHECK(run.network.virtual_channels() == 1);
    CHECK_FALSE(run.run());
    CHECK_FALSE(run.network.has_event());
    const auto blocked = run.network.blocked();
    REQUIRE(blocked.size() == 4);
    for (std::size_t place = 0; place < 4; ++place) {
      CHECK(blocked[place].second == (blocked[place].first + 1) % 4);
      CHECK(blocked[place].second == blocked[(place + 1) % 4].first);
    }
  }
}

TEST_CASE("With the virtual channels that routes need the same ring goes on") {
  PacketSpec spec;
  spec.buffer = Bytes(2 * 4096);
  PacketRun run(spec);
  Route ring;
  for (std::uint32_t hop = 0; hop < 4; ++hop)
    ring.push_back(run.network.add_link(gb(50), nanoseconds(500), hop, (hop + 1) % 4));
  for (std::uint32_t hop = 0; hop < 4; ++hop)
    run.send(run.flow({ring[hop], ring[(hop + 1) % 4], ring[(hop + 2) % 4]}), 1'000'000);
  run.network.freeze();
  CHECK(run.network.virtual_channels() == 2);
  CHECK(run.run());
  CHECK(run.network.blocked().empty());
}

// Two switches joined by `paths` links through one switch each; senders and receivers at their two ends.
struct Spine {
  PacketRun run;
  std::vector<std::vector<Route>> routes;  // [pair]
  std::vector<PacketNetwork::LinkIndex> up;
};

void build_spine(Spine& spine, std::uint32_t pairs, std::uint32_t paths) {
  std::vector<PacketNetwork::LinkIndex> down;
  for (std::uint32_t path = 0; path < paths; ++path) {
    spine.up.push_back(spine.run.network.add_link(gb(50), nanoseconds(500), 100, 200 + path));
    down.push_back(spine.run.network.add_link(gb(50), nanoseconds(500), 200 + path, 101));
  }
  for (std::uint32_t pair = 0; pair < pairs; ++pair) {
    const auto in = spine.run.network.add_link(gb(50), nanoseconds(500), pair, 100);
    const auto out = spine.run.network.add_link(gb(50), nanoseconds(500), 101, 50 + pair);
    std::vector<Route>& routes = spine.routes.emplace_back();
    for (std::uint32_t path = 0; path < paths; ++path)
      routes.push_back({in, spine.up[path], down[path], out});
  }
}

std::int64_t spine_time(PathChoice choice, const PacketSpec& spec = {}) {
  Spine spine{PacketRun(spec), {}, {}};
  build_spine(spine, 4, 4);
  for (const auto& routes : spine.routes)
    spine.run.send(spine.run.network.add_flow(routes, choice, std::nullopt), 4'096'000);
  spine.run.network.freeze();
  REQUIRE(spine.run.run());
  std::int64_t last = 0;
  for (const auto& [flow, times] : spine.run.delivered) last = std::max(last, times.back());
  return last;
}

TEST_CASE("Spraying spreads packets evenly, least-queue too, where one path collides") {
  const std::int64_t alone = ceil_time(4'096'000, 50'000'000'000) + 2 * us;
  const std::int64_t packet = ceil_time(4096, 50'000'000'000);
  CHECK(std::abs(spine_time(PathChoice::first) - (alone + 3 * (alone - 2 * us))) < 4 * packet);
  CHECK(spine_time(PathChoice::round_robin) < alone + 20 * packet);
  CHECK(spine_time(PathChoice::least_queue) < alone + 8 * packet);
  CHECK(spine_time(PathChoice::least_queue) < spine_time(PathChoice::first) / 3);
}

TEST_CASE("Least-queue goes round a slow path where spraying does not") {
  const auto time = [](PathChoice choice) {
    Spine spine{PacketRun(), {}, {}};
    build_spine(spine, 2, 3);
    for (const auto& routes : spine.routes)
      spine.run.send(spine.run.network.add_flow(routes, choice, std::nullopt), 4'096'000);
    spine.run.network.freeze();
    spine.run.network.set_link(spine.up[1], gb(5), nanoseconds(500), Instant());
    REQUIRE(spine.run.run());
    return std::max(spine.run.delivered[0].back(), spine.run.delivered[1].back());
  };
  // Spraying sends a third of 8 MB over 5 GB/s.
  CHECK(time(PathChoice::round_robin) > ceil_time(8'192'000 / 3, 5'000'000'000));
  CHECK(time(PathChoice::least_queue) < time(PathChoice::round_robin) / 4);
}

TEST_CASE("Messages over several paths arrive in order though their packets do not") {
  Spine spine{PacketRun(), {}, {}};
  build_spine(spine, 1, 3);
  const auto flow = spine.run.network.add_flow(spine.routes[0], PathChoice::round_robin, std::nullopt);
  spine.run.network.freeze();
  spine.run.network.set_link(spine.up[0], gb(1), nanoseconds(500), Instant());
  for (int message = 0; message < 6; ++message) spine.run.send(flow, 4096);
  REQUIRE(spine.run.run());
  const auto& times = spine.run.delivered[flow];
  REQUIRE(times.size() == 6);
  for (std::size_t place = 1; place < 6; ++place) CHECK(times[place] >= times[place - 1]);
  CHECK(times[0] == times[2]);  // the first one took the slow path, the next two wait for it
}

TEST_CASE("ECN marks packets of a long queue, and rates that it controls keep the queue short") {
  PacketSpec spec;
  spec.ecn = EcnSpec{Bytes(20 * 4096), Bytes(80 * 4096), 200'000};
  spec.buffer = Bytes(40'000'000);
  std::int64_t queue[2] = {0, 0};
  for (const bool controlled : {false, true}) {
    if (controlled) spec.rate_control = RateControlSpec();
    PacketRun run(spec);
    const auto down = run.network.add_link(gb(5), nanoseconds(500), 100, 101);
    for (std::uint32_t sender = 0; sender < 4; ++sender)
      run.send(run.flow({run.network.add_link(gb(5), nanoseconds(500), sender, 100), down}), 20'000'000);
    run.network.freeze();
    REQUIRE(run.run());
    CHECK(run.network.marks() > 0);
    queue[controlled] = run.network.facts(down).queue_max;
    const std::int64_t ideal = ceil_time(80'000'000, 5'000'000'000);
    // Cuts cost some of the port's time, but rates come back: it is used for most of it.
    CHECK(run.now < (controlled ? 2 * ideal : ideal + 2 * us));
  }
  CHECK(queue[0] > 30'000'000);
  CHECK(queue[1] < queue[0] / 10);
}

TEST_CASE("A rate that congestion has cut recovers when the others are done") {
  PacketSpec spec;
  spec.ecn = EcnSpec{Bytes(20 * 4096), Bytes(80 * 4096), 200'000};
  spec.rate_control = RateControlSpec();
  spec.rate_control->additive = Bandwidth::bytes_per_second(100'000'000);
  PacketRun run(spec);
  const auto down = run.network.add_link(gb(5), nanoseconds(500), 100, 101);
  const auto add = [&](std::uint32_t sender) {
    return run.flow({run.network.add_link(gb(5), nanoseconds(500), sender, 100), down});
  };
  const auto lasting = add(0);
  for (int message = 0; message < 60; ++message) run.send(lasting, 1'000'000);
  for (std::uint32_t sender = 1; sender < 4; ++sender) run.send(add(sender), 5'000'000);
  run.network.freeze();
  REQUIRE(run.run());
  const auto took = [&](std::size_t message) {
    return run.delivered[lasting][message] - run.delivered[lasting][message - 1];
  };
  const std::int64_t alone = ceil_time(1'000'000, 5'000'000'000);
  CHECK(took(2) > 2 * alone);
  CHECK(std::abs(took(59) - alone) < alone / 100);
}

TEST_CASE("Without a queue nothing is marked") {
  PacketSpec spec;
  spec.ecn = EcnSpec{Bytes(4096), Bytes(8192), 1'000'000};
  spec.rate_control = RateControlSpec();
  PacketRun run(spec);
  const auto flow = run.flow(chain(run, {gb(50), gb(50)}));
  run.network.freeze();
  run.send(flow, 1'000'000);
  REQUIRE(run.run());
  CHECK(run.network.marks() == 0);
  CHECK(std::abs(run.delivered[flow].front() - (20 * us + us)) <= 2);
}

TEST_CASE("Background traffic takes its share and keeps no run alive") {
  PacketRun run;
  const Route route = chain(run, {gb(50)});
  run.network.add_background(route, gb(20));
  const auto flow = run.flow(route);
  run.network.freeze();
  CHECK_FALSE(run.network.has_event());
  run.send(flow, 3'000'000, 100 * us);
  REQUIRE(run.run());
  CHECK_FALSE(run.network.has_event());
  // 30 GB/s are left: 100 us.
  CHECK(std::abs(run.delivered[flow].front() - (200 * us + 500 * ns)) < 1 * us);
  CHECK(std::abs(run.network.facts(0).payload - (3'000'000 + 20'000 * 200)) < 20 * 4096);
}

TEST_CASE("A message can be delayed, and those behind it wait") {
  PacketRun run;
  const auto flow = run.flow(chain(run, {gb(1)}));
  run.network.freeze();
  std::vector<PacketNetwork::Notice> notices;
  run.network.start(flow, Bytes(1000), Instant());
  run.network.delay_message(flow, Duration::microseconds(9));
  run.send(flow, 1000, us);
  run.outstanding = 1;
  REQUIRE(run.run());
  CHECK(run.delivered[flow] == std::vector<std::int64_t>{10'500 * ns, 10'500 * ns});
}

TEST_CASE("A link that degrades in the middle of a message slows what is left of it") {
  PacketRun run;
  const auto flow = run.flow(chain(run, {gb(50), gb(50)}));
  run.network.freeze();
  run.send(flow, 4'096'000);  // 81.92 us
  run.run(41 * us);
  run.network.set_link(1, gb(5), nanoseconds(500), Instant::picoseconds(41 * us));
  REQUIRE(run.run());
  // At 41 us 40.5 us have drained over the second link.
  const std::int64_t expected = 41 * us + ceil_time(4'096'000 - 2'025'000, 5'000'000'000) + 500 * ns;
  CHECK(std::abs(run.delivered[flow].front() - expected) < 2 * ceil_time(4096, 5'000'000'000));
}

TEST_CASE("A link that is down stops its flows, which new routes bring round it") {
  for (const bool re_route : {false, true}) {
    Spine spine{PacketRun(), {}, {}};
    build_spine(spine, 2, 2);
    PacketRun& run = spine.run;
    std::vector<PacketNetwork::FlowId> flows;
    for (const auto& routes : spine.routes) {
      flows.push_back(run.network.add_flow(std::span(routes).first(1), PathChoice::first, std::nullopt));
      run.send(flows.back(), 4'096'000);
    }
    std::vector<Route> later;
    for (const auto& routes : spine.routes) later.push_back(routes[1]);
    run.network.freeze(later);
    run.run(20 * us);
    run.network.set_link(spine.up[0], Bandwidth(), nanoseconds(500), Instant::picoseconds(run.now));
    CHECK_FALSE(run.run(30 * us));
    run.network.check_conservation(Instant::picoseconds(30 * us));
    if (!re_route) {
      CHECK_FALSE(run.run());
      CHECK_FALSE(run.network.has_event());
      const auto blocked = run.network.blocked();
      REQUIRE_FALSE(blocked.empty());
      CHECK(std::count(blocked.begin(), blocked.end(), std::pair(spine.up[0], spine.up[0])) == 1);
      continue;
    }
    for (std::size_t pair = 0; pair < 2; ++pair)
      run.network.set_routes(flows[pair], std::span(later).subspan(pair, 1), Instant::picoseconds(30 * us));
    REQUIRE(run.run());
    CHECK(run.network.blocked().empty());
    CHECK(run.delivered[flows[0]].size() == 1);
    CHECK(run.delivered[flows[1]].size() == 1);
    // Half of 8.2 MB had not crossed the link when it went down.
    CHECK(run.now < 30 * us + ceil_time(8'192'000, 50'000'000'000));
  }
}

TEST_CASE("Packets that go on their old route are not sent again") {
  Spine spine{PacketRun(), {}, {}};
  build_spine(spine, 1, 2);
  PacketRun& run = spine.run;
  const auto flow =
      run.network.add_flow(std::span(spine.routes[0]).first(1), PathChoice::first, std::nullopt);
  run.send(flow, 4'096'000);
  run.network.freeze(std::span(spine.routes[0]).subspan(1));
  run.run(20 * us);
  run.network.set_routes(flow, std::span(spine.routes[0]).subspan(1), Instant::picoseconds(20 * us));
  REQUIRE(run.run());
  CHECK(run.network.facts(spine.routes[0][0][0]).payload == 4'096'000);
  CHECK(run.network.facts(spine.up[0]).payload + run.network.facts(spine.up[1]).payload == 4'096'000);
}

}  // namespace
