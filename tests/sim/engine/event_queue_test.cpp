#include "sim/engine/event_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/core/random.hpp"
#include "sim/engine/fingerprint.hpp"

using namespace collsim;

TEST_SUITE("sim/engine") {
  TEST_CASE("EventQueue pops like a stable sort by time, whatever the pushes") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      Random random(seed);
      EventQueue queue;
      std::multimap<std::int64_t, std::uint32_t> reference;  // keeps the order of insertion among equals
      // Few delays fill lanes, many delays overflow them into the heap.
      const std::uint64_t delays = seed % 2 == 0 ? 5 : 1000;
      Instant now;
      std::uint32_t next = 0;
      for (int action = 0; action < 2000; ++action) {
        if (reference.empty() || random.below(5) < 3) {
          const auto delay = static_cast<std::int64_t>(random.below(delays)) * 7;
          queue.push(now, Duration::picoseconds(delay), {next, static_cast<std::uint8_t>(next % 200)});
          reference.emplace(now.picoseconds() + delay, next);
          ++next;
        } else {
          REQUIRE(queue.size() == reference.size());
          REQUIRE(queue.next_time().picoseconds() == reference.begin()->first);
          now = queue.next_time();
          const Event event = queue.pop();
          REQUIRE(event.subject == reference.begin()->second);
          REQUIRE(event.kind == event.subject % 200);
          reference.erase(reference.begin());
        }
      }
      while (!reference.empty()) {
        REQUIRE(queue.pop().subject == reference.begin()->second);
        reference.erase(reference.begin());
      }
      CHECK(queue.empty());
    }
  }

  TEST_CASE("EventQueue gives a lane to another delay when it has run empty") {
    EventQueue queue;
    Instant now;
    for (std::int64_t delay = 1; delay < 500; ++delay) {
      queue.push(now, Duration::picoseconds(delay), {static_cast<std::uint32_t>(delay), 0});
      queue.push(now, Duration::picoseconds(delay), {static_cast<std::uint32_t>(delay) + 1000, 0});
      now = queue.next_time();
      CHECK(queue.pop().subject == delay);
      CHECK(queue.pop().subject == delay + 1000);
    }
    CHECK(queue.empty());
  }

  TEST_CASE(
      "Fingerprint does not depend on the order of events, counts weights and tells different streams "
      "apart") {
    const auto at = [](std::int64_t time) { return Instant::picoseconds(time); };
    Fingerprint one;
    Fingerprint two;
    Fingerprint weighted;
    Fingerprint other;
    for (const std::int64_t time : {5'000'000'000, 6'000'000'000, 6'000'000'000}) one.add(at(time), 1);
    for (const std::int64_t time : {6'000'000'000, 5'000'000'000, 6'000'000'000}) two.add(at(time), 1);
    weighted.add(at(5'000'000'000), 1);
    weighted.add(at(6'000'000'000), 2);
    // Same sum of times.
    for (const std::int64_t time : {5'000'000'001, 6'000'000'000, 5'999'999'999}) other.add(at(time), 1);
    CHECK(one.value() == two.value());
    CHECK(one.value() == weighted.value());
    CHECK(one.value() != other.value());
  }
}
