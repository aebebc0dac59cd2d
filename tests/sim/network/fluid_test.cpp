#include "sim/network/fluid.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/core/random.hpp"
#include "tests/support/max_min.hpp"

using namespace collsim;

namespace {

Bandwidth rate_of(std::int64_t bytes_per_second) { return Bandwidth::bytes_per_second(bytes_per_second); }

using Network = testing::SharedResources;
using testing::integer_rates;
using testing::real_rates;

Network random_network(Random& random) {
  Network network;
  const auto resources = 1 + random.below(8);
  const auto flows = 1 + random.below(12);
  for (std::uint64_t index = 0; index < resources; ++index)
    network.capacity.push_back(random.below(2) == 0
                                   ? 1 + static_cast<std::int64_t>(random.below(1'000'000'000'000))
                                   : static_cast<std::int64_t>(1 + random.below(4)) * 25'000'000'000);
  for (std::uint64_t index = 0; index < flows; ++index) {
    std::vector<ResourceId> route(resources);
    std::iota(route.begin(), route.end(), 0U);
    for (std::size_t place = route.size(); place > 1; --place)
      std::swap(route[place - 1], route[random.below(place)]);
    route.resize(1 + random.below(std::min<std::uint64_t>(4, resources)));
    network.routes.push_back(route);
    network.rate_max.push_back(
        random.below(4) == 0 ? 1 + static_cast<std::int64_t>(random.below(60'000'000'000)) : 0);
  }
  return network;
}

std::vector<FluidNetwork::Use> uses(const std::vector<ResourceId>& route) {
  std::vector<FluidNetwork::Use> result;
  for (const ResourceId resource : route) result.push_back({resource, 1});
  return result;
}

FluidNetwork fluid_of(const Network& network) {
  FluidNetwork fluid;
  for (const std::int64_t capacity : network.capacity) fluid.add_resource(rate_of(capacity));
  for (std::size_t flow = 0; flow < network.routes.size(); ++flow)
    fluid.add_flow(uses(network.routes[flow]),
                   network.rate_max[flow] > 0 ? std::optional(rate_of(network.rate_max[flow])) : std::nullopt,
                   flow);
  fluid.freeze();
  return fluid;
}

// Runs messages to their end; returns when each had drained, in ps.
std::vector<std::int64_t> drain_times(FluidNetwork& fluid, const std::vector<std::int64_t>& bytes,
                                      const std::vector<std::int64_t>& start_ps) {
  std::vector<std::int64_t> planned(bytes.size(), -1);
  std::vector<std::int64_t> done(bytes.size(), -1);
  std::vector<FluidNetwork::Scheduled> scheduled;
  for (;;) {
    std::int64_t next = -1;
    for (std::size_t flow = 0; flow < bytes.size(); ++flow) {
      if (done[flow] >= 0) continue;
      const std::int64_t at = planned[flow] >= 0 ? planned[flow] : start_ps[flow];
      if (next < 0 || at < next) next = at;
    }
    if (next < 0) return done;
    const Instant now = Instant::picoseconds(next);
    for (std::size_t flow = 0; flow < bytes.size(); ++flow) {
      if (done[flow] >= 0) continue;
      if (planned[flow] < 0 && start_ps[flow] == next)
        fluid.start(static_cast<FlowId>(flow), Bytes(bytes[flow]));
      if (planned[flow] == next) {
        REQUIRE(fluid.drained(static_cast<FlowId>(flow), now));
        fluid.finish(static_cast<FlowId>(flow));
        done[flow] = next;
      }
    }
    scheduled.clear();
    fluid.settle(now, scheduled);
    for (std::size_t flow = 0; flow < bytes.size(); ++flow)
      if (const auto at = fluid.drain_time(static_cast<FlowId>(flow))) planned[flow] = at->picoseconds();
  }
}

}  // namespace

TEST_SUITE("sim/network") {
  TEST_CASE("FluidNetwork gives the integer max-min rates on random networks with flows coming and going") {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      const Network network = random_network(random);
      FluidNetwork fluid = fluid_of(network);
      std::vector<char> active(network.routes.size());
      std::vector<std::int64_t> planned(active.size(), 0);
      std::vector<FluidNetwork::Scheduled> scheduled;
      std::int64_t now = 0;
      for (int round = 0; round < 6; ++round) {
        // Advance to some planned drain, or start idle flows, or both.
        std::int64_t next = -1;
        for (std::size_t flow = 0; flow < active.size(); ++flow)
          if (active[flow] != 0 && (next < 0 || planned[flow] < next)) next = planned[flow];
        if (next > 0 && random.below(2) == 0) {
          now = next;
          for (std::size_t flow = 0; flow < active.size(); ++flow)
            if (active[flow] != 0 && planned[flow] == now) {
              REQUIRE(fluid.drained(static_cast<FlowId>(flow), Instant::picoseconds(now)));
              fluid.finish(static_cast<FlowId>(flow));
              active[flow] = 0;
            }
        }
        for (std::size_t flow = 0; flow < active.size(); ++flow)
          if (active[flow] == 0 && random.below(2) == 0) {
            fluid.start(static_cast<FlowId>(flow),
                        Bytes(1 + static_cast<std::int64_t>(random.below(1'000'000))));
            active[flow] = 1;
          }
        scheduled.clear();
        fluid.settle(Instant::picoseconds(now), scheduled);
        for (std::size_t flow = 0; flow < active.size(); ++flow)
          if (const auto at = fluid.drain_time(static_cast<FlowId>(flow))) planned[flow] = at->picoseconds();
        const std::vector<Int128> expected = integer_rates(network, active);
        const std::vector<long double> real = real_rates(network, active);
        for (std::size_t flow = 0; flow < active.size(); ++flow) {
          REQUIRE(static_cast<long double>(fluid.rate(static_cast<FlowId>(flow))) ==
                  static_cast<long double>(expected[flow]));
          if (real[flow] > 1'000'000) {
            const long double ratio = static_cast<long double>(expected[flow]) / (real[flow] * 1e6L);
            REQUIRE(std::abs(ratio - 1) < 1e-9L);
          }
        }
      }
    }
  }

  TEST_CASE("FluidNetwork drains messages as an integration from scratch does, to the picosecond") {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      CAPTURE(seed);
      Random random(1000 + seed);
      const Network network = random_network(random);
      std::vector<std::int64_t> bytes;
      std::vector<std::int64_t> start;
      for (std::size_t flow = 0; flow < network.routes.size(); ++flow) {
        bytes.push_back(1 + static_cast<std::int64_t>(random.below(1 << 20)));
        start.push_back(static_cast<std::int64_t>(random.below(5)) * 3'000'000);
      }
      FluidNetwork fluid = fluid_of(network);
      const std::vector<std::int64_t> fast = drain_times(fluid, bytes, start);

      // Slow: all rates anew at every instant at which something starts or drains.
      std::vector<Int128> left;
      for (const std::int64_t size : bytes) left.push_back(Int128{size} * 1'000'000'000'000'000'000);
      std::vector<char> active(bytes.size());
      std::vector<std::int64_t> slow(bytes.size(), -1);
      std::int64_t now = 0;
      for (;;) {
        for (std::size_t flow = 0; flow < bytes.size(); ++flow) {
          if (active[flow] != 0 && left[flow] <= 0) {
            active[flow] = 0;
            slow[flow] = now;
          }
          if (start[flow] == now && slow[flow] < 0) active[flow] = 1;
        }
        const std::vector<Int128> rates = integer_rates(network, active);
        std::int64_t next = -1;
        for (std::size_t flow = 0; flow < bytes.size(); ++flow) {
          std::int64_t at = -1;
          if (active[flow] != 0)
            at = now + static_cast<std::int64_t>((left[flow] + rates[flow] - 1) / rates[flow]);
          if (slow[flow] < 0 && active[flow] == 0) at = start[flow];
          if (at >= 0 && (next < 0 || at < next)) next = at;
        }
        if (next < 0) break;
        for (std::size_t flow = 0; flow < bytes.size(); ++flow)
          if (active[flow] != 0) left[flow] -= rates[flow] * (next - now);
        now = next;
      }
      CHECK(fast == slow);
    }
  }

  TEST_CASE("FluidNetwork does not depend on the order in which flows are added") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      Random random(5000 + seed);
      const Network network = random_network(random);
      Network reversed = network;
      std::reverse(reversed.routes.begin(), reversed.routes.end());
      std::reverse(reversed.rate_max.begin(), reversed.rate_max.end());
      std::vector<std::int64_t> bytes;
      for (std::size_t flow = 0; flow < network.routes.size(); ++flow)
        bytes.push_back(1 + static_cast<std::int64_t>(random.below(1 << 20)));
      std::vector<std::int64_t> start(bytes.size(), 0);
      FluidNetwork one = fluid_of(network);
      FluidNetwork two = fluid_of(reversed);
      const std::vector<std::int64_t> forward = drain_times(one, bytes, start);
      std::reverse(bytes.begin(), bytes.end());
      std::vector<std::int64_t> backward = drain_times(two, bytes, start);
      std::reverse(backward.begin(), backward.end());
      CHECK(forward == backward);
    }
  }

  TEST_CASE("FluidNetwork shares two links among three flows as the textbook says") {
    // Capacities ab = 10, bc = 4; flows AC, AB, BC get 2, 8, 2.
    Network network{{10, 4}, {{0, 1}, {0}, {1}}, {0, 0, 0}, {}, {}};
    FluidNetwork fluid = fluid_of(network);
    std::vector<FluidNetwork::Scheduled> scheduled;
    for (FlowId flow = 0; flow < 3; ++flow) fluid.start(flow, Bytes(100));
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(0) == 2'000'000);
    CHECK(fluid.rate(1) == 8'000'000);
    CHECK(fluid.rate(2) == 2'000'000);
  }

  TEST_CASE("FluidNetwork gives the known rates of a parking lot and of an incast") {
    std::vector<FluidNetwork::Scheduled> scheduled;
    const Network parking_lot{{12, 12, 12}, {{0, 1, 2}, {0}, {1}, {2}}, {0, 0, 0, 0}, {}, {}};
    FluidNetwork fluid = fluid_of(parking_lot);
    for (FlowId flow = 0; flow < 4; ++flow) fluid.start(flow, Bytes(100));
    fluid.settle(Instant(), scheduled);
    for (FlowId flow = 0; flow < 4; ++flow) CHECK(fluid.rate(flow) == 6'000'000);
    const Network incast{
        {100}, std::vector<std::vector<ResourceId>>(8, {0}), std::vector<std::int64_t>(8, 0), {}, {}};
    FluidNetwork into_one = fluid_of(incast);
    for (FlowId flow = 0; flow < 8; ++flow) into_one.start(flow, Bytes(100));
    into_one.settle(Instant(), scheduled);
    for (FlowId flow = 0; flow < 8; ++flow) CHECK(into_one.rate(flow) == 12'500'000);
  }

  TEST_CASE("FluidNetwork shares a link in proportion to the weights, and gives a lone flow all of it") {
    FluidNetwork fluid;
    const ResourceId link = fluid.add_resource(rate_of(100));
    const FlowId light = fluid.add_flow(uses({link}), std::nullopt, 0, 1);
    const FlowId heavy = fluid.add_flow(uses({link}), std::nullopt, 1, 3);
    const FlowId limited = fluid.add_flow(uses({link}), rate_of(20), 2, 3);
    fluid.freeze();
    std::vector<FluidNetwork::Scheduled> scheduled;
    fluid.start(heavy, Bytes(1000));
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(heavy) == 100'000'000);  // not 3 * floor(10^8 / 3)
    fluid.start(light, Bytes(1000));
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(light) == 25'000'000);
    CHECK(fluid.rate(heavy) == 75'000'000);
    fluid.start(limited, Bytes(1000));
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(light) == 20'000'000);
    CHECK(fluid.rate(heavy) == 60'000'000);
    CHECK(fluid.rate(limited) == 20'000'000);
  }

  TEST_CASE("FluidNetwork lets a connection spread over four paths compete as one connection") {
    // Two senders behind one port of 100; the spread one is one flow for each of its four equal parts, which
    // all cross the port and cross one spine link of 100 each.
    FluidNetwork fluid;
    const ResourceId port = fluid.add_resource(rate_of(100));
    const ResourceId spine = fluid.add_resource(rate_of(100));
    const std::vector<FluidNetwork::Use> parts = {{port, 4}, {spine, 1}};
    const FlowId whole = fluid.add_flow(uses({port, spine}), std::nullopt, 0, 4);
    const FlowId spread = fluid.add_flow(parts, std::nullopt, 1, 1);
    fluid.freeze();
    std::vector<FluidNetwork::Scheduled> scheduled;
    fluid.start(spread, Bytes(250));  // a quarter of 1000
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(spread) == 25'000'000);
    REQUIRE(scheduled.size() == 1);  // alone: nothing is contended
    CHECK(scheduled[0].delay == Duration::picoseconds(10'000'000'000'000));
    CHECK(fluid.alone(spread, Bytes(250)) == scheduled[0].delay);
    fluid.start(whole, Bytes(1000));
    fluid.settle(Instant(), scheduled);
    CHECK(fluid.rate(spread) == 12'500'000);  // 4 * 12.5 at the port
    CHECK(fluid.rate(whole) == 50'000'000);
  }

  TEST_CASE(
      "FluidNetwork takes a message off a flow, whole or in part, and goes on with the rest elsewhere") {
    FluidNetwork fluid;
    const ResourceId slow = fluid.add_resource(rate_of(3));
    const ResourceId fast = fluid.add_resource(rate_of(30));
    const FlowId one = fluid.add_flow(uses({slow}), std::nullopt, 0);
    const FlowId two = fluid.add_flow(uses({slow}), std::nullopt, 1);
    const FlowId other = fluid.add_flow(uses({fast}), std::nullopt, 2);
    fluid.freeze();
    std::vector<FluidNetwork::Scheduled> scheduled;
    const auto at = [](std::int64_t ps) { return Instant::picoseconds(ps); };
    const auto is_left = [](FluidNetwork::Work left, std::int64_t bytes, Int128 drained) {
      return left == FluidNetwork::work_of(Bytes(bytes)) - drained;
    };
    // Just started: all of it, and as if it had never been there.
    fluid.start(one, Bytes(7));
    CHECK(is_left(fluid.abort(one, at(0)), 7, 0));
    fluid.settle(at(0), scheduled);
    CHECK(scheduled.empty());
    // Alone: after 1 ps at 3 B/s, 3 * 10^6 of 10^-18 byte are gone, no more and no less.
    fluid.start(one, Bytes(7));
    fluid.settle(at(0), scheduled);
    const FluidNetwork::Work left = fluid.abort(one, at(1));
    CHECK(is_left(left, 7, 3'000'000));
    CHECK_FALSE(fluid.drain_time(one).has_value());
    // Shared: half of the rate. The one that stays has the whole rate again.
    fluid.start_rest(one, left, at(1));
    fluid.start(two, Bytes(7));
    fluid.settle(at(1), scheduled);
    CHECK(fluid.rate(one) == 1'500'000);
    const FluidNetwork::Work rest = fluid.abort(one, at(3));
    CHECK(is_left(rest, 7, 6'000'000));
    fluid.start_rest(other, rest, at(3));
    scheduled.clear();
    fluid.settle(at(3), scheduled);
    CHECK(fluid.rate(two) == 3'000'000);
    CHECK(fluid.rate(other) == 30'000'000);
    CHECK(scheduled.empty());
    // 7 bytes less 6 * 10^-12 at 30 B/s: 233,333,333,333.13 ps.
    CHECK(fluid.next_drained() == other);
    CHECK(fluid.next_drain() == at(3 + 233'333'333'334));
  }

  TEST_CASE("FluidNetwork reproduces the known completion times of shared links") {
    constexpr std::int64_t second = 1'000'000'000'000;
    SUBCASE("parking lot: three links of 12, one flow over all, one over each") {
      Network network{{12, 12, 12}, {{0, 1, 2}, {0}, {1}, {2}}, {0, 0, 0, 0}, {}, {}};
      FluidNetwork fluid = fluid_of(network);
      CHECK(drain_times(fluid, {60, 60, 60, 60}, {0, 0, 0, 0}) ==
            std::vector<std::int64_t>{10 * second, 10 * second, 10 * second, 10 * second});
    }
    SUBCASE("incast of eight into 100") {
      Network network{
          {100}, std::vector<std::vector<ResourceId>>(8, {0}), std::vector<std::int64_t>(8, 0), {}, {}};
      FluidNetwork fluid = fluid_of(network);
      CHECK(drain_times(fluid, std::vector<std::int64_t>(8, 25), std::vector<std::int64_t>(8, 0)) ==
            std::vector<std::int64_t>(8, 2 * second));
    }
    SUBCASE("dumbbell of 10 GB/s with a late flow") {
      // A third of 10 GB/s is no whole number of microbytes: the rounding may cost a picosecond.
      constexpr std::int64_t giga = 1'000'000'000;
      Network network{{10 * giga}, {{0}, {0}, {0}}, {0, 0, 0}, {}, {}};
      FluidNetwork fluid = fluid_of(network);
      const auto times = drain_times(fluid, {100 * giga, 100 * giga, 50 * giga}, {0, 5 * second, 0});
      const std::vector<std::int64_t> expected = {22'500'000'000'000, 25 * second, 12'500'000'000'000};
      for (std::size_t flow = 0; flow < 3; ++flow) {
        CHECK(times[flow] >= expected[flow]);
        CHECK(times[flow] <= expected[flow] + 1);
      }
    }
    SUBCASE("two links, flows that end free capacity for the others") {
      Network network{{10, 4}, {{0, 1}, {0}, {1}}, {0, 0, 0}, {}, {}};
      FluidNetwork fluid = fluid_of(network);
      CHECK(drain_times(fluid, {40, 100, 12}, {0, 0, 0}) ==
            std::vector<std::int64_t>{13 * second, 14 * second, 6 * second});
    }
  }

  TEST_CASE("FluidNetwork replans running flows when a capacity changes") {
    FluidNetwork fluid;
    const ResourceId link = fluid.add_resource(rate_of(100), true);
    const FlowId one = fluid.add_flow(uses({link}), std::nullopt, 0);
    const FlowId two = fluid.add_flow(uses({link}), std::nullopt, 1);
    fluid.freeze();
    std::vector<FluidNetwork::Scheduled> scheduled;
    const auto at = [](std::int64_t seconds) { return Instant::picoseconds(seconds * 1'000'000'000'000); };
    fluid.start(one, Bytes(1000));
    fluid.settle(at(0), scheduled);
    CHECK(fluid.drain_time(one) == at(10));
    // After 2 s 800 B are left; at 50 B/s they take 16 s.
    fluid.set_capacity(link, rate_of(50), at(2));
    fluid.settle(at(2), scheduled);
    CHECK(fluid.drain_time(one) == at(18));
    CHECK_FALSE(fluid.drained(one, at(10)));
    // Shared with a second flow from 4 s on: 700 B left at 25 B/s.
    fluid.start(two, Bytes(25));
    fluid.settle(at(4), scheduled);
    CHECK(fluid.rate(one) == 25'000'000);
    CHECK(fluid.rate(two) == 25'000'000);
    // Down: nothing moves. Up again at 100: 50 each.
    fluid.set_capacity(link, rate_of(0), at(4));
    fluid.settle(at(4), scheduled);
    CHECK_FALSE(fluid.drain_time(one).has_value());
    CHECK_FALSE(fluid.has_drain());
    CHECK(fluid.rate(one) == 0);
    fluid.set_capacity(link, rate_of(100), at(9));
    fluid.settle(at(9), scheduled);
    CHECK(fluid.rate(one) == 50'000'000);
    CHECK(fluid.drain_time(one) == at(9 + 14));
    CHECK(fluid.next_drained() == two);
  }

  TEST_CASE("FluidNetwork treats a flow of weight w as w flows that drain alike") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      Random random(9000 + seed);
      const Network network = random_network(random);
      FluidNetwork classes;
      FluidNetwork singles;
      for (const std::int64_t capacity : network.capacity) {
        classes.add_resource(rate_of(capacity));
        singles.add_resource(rate_of(capacity));
      }
      std::vector<FlowId> first;
      FlowId count = 0;
      for (const auto& route : network.routes) {
        const auto weight = static_cast<std::uint32_t>(1 + random.below(5));
        std::vector<FluidNetwork::Use> use = uses(route);
        for (auto& entry : use) entry.weight = weight;
        classes.add_flow(use, std::nullopt, first.size());
        first.push_back(count);
        for (std::uint32_t copy = 0; copy < weight; ++copy)
          singles.add_flow(uses(route), std::nullopt, count++);
      }
      classes.freeze();
      singles.freeze();
      std::vector<FluidNetwork::Scheduled> scheduled;
      for (FlowId flow = 0; flow < first.size(); ++flow) classes.start(flow, Bytes(1000));
      for (FlowId flow = 0; flow < count; ++flow) singles.start(flow, Bytes(1000));
      classes.settle(Instant(), scheduled);
      singles.settle(Instant(), scheduled);
      for (FlowId flow = 0; flow < first.size(); ++flow) {
        CHECK(classes.drain_time(flow) == singles.drain_time(first[flow]));
        CHECK(classes.rate(flow) == singles.rate(first[flow]));
      }
    }
  }

  TEST_CASE("FluidNetwork shares a resource among a class even if the class before it, of one key, fits") {
    for (const bool small_first : {true, false}) {
      FluidNetwork fluid;
      fluid.add_resource(rate_of(1000));
      const std::vector<FluidNetwork::Use> one = {{0, 1}};
      const std::vector<FluidNetwork::Use> two = {{0, 2}};
      fluid.add_flow(small_first ? one : two, std::nullopt, 7);
      fluid.add_flow(small_first ? two : one, std::nullopt, 7);
      fluid.freeze();
      std::vector<FluidNetwork::Scheduled> scheduled;
      const FlowId large = small_first ? 1 : 0;
      fluid.start(large, Bytes(1000));
      fluid.settle(Instant(), scheduled);
      CHECK(fluid.drain_time(large) == Instant::picoseconds(2'000'000'000'000));
    }
  }

  TEST_CASE("FluidNetwork reports a message that would outlast simulated time instead of planning it") {
    Network network{{1}, {{0}}, {0}, {}, {}};
    FluidNetwork fluid = fluid_of(network);
    std::vector<FluidNetwork::Scheduled> scheduled;
    fluid.start(0, Bytes(std::int64_t{1} << 50));
    fluid.settle(Instant(), scheduled);
    CHECK(scheduled.empty());
    CHECK(fluid.overflowed());
  }
}
