#include <doctest/doctest.h>

#include "sim/report/table.hpp"
#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

Point explained_point() {
  Point point = ring_point();
  CriticalPath path;
  path.bandwidth = Duration::picoseconds(146'800'640);
  path.latency = Duration::microseconds(14);
  path.messages = 14;
  path.last_rank = 7;
  point.critical_path = path;
  return point;
}

}  // namespace

TEST_CASE("explanation_text says where the time goes, what limits it, and how near the bound it is") {
  CHECK(explanation_text({explained_point()}) ==
        "ring, 8388608 B: 160.80 us\n"
        "  where the time goes, along the chain of 14 messages that ends at rank 7:\n"
        "    launch        0.00 us   0.0 %\n"
        "    overhead      0.00 us   0.0 %\n"
        "    bandwidth   146.80 us  91.3 %\n"
        "    contention    0.00 us   0.0 %\n"
        "    latency      14.00 us   8.7 %\n"
        "    reduction     0.00 us   0.0 %\n"
        "    waiting       0.00 us   0.0 %\n"
        "  bottleneck: node0/gpu0 -> node0/nvswitch0, used to 91.3 %\n"
        "  bound: no algorithm takes less than 146.80 us here (what must cross the cut 'rank'); "
        "this one reaches 91.3 % of it\n"
        "  112 messages, 224 events, fingerprint 0123456789abcdef; channels 1, slices 1\n");
}

TEST_CASE("explanation_text leaves out points that have nothing to explain") {
  CHECK(explanation_text({impossible_point(Bytes(8)), ring_point()}).empty());
  const std::string two =
      explanation_text({explained_point(), impossible_point(Bytes(8)), explained_point()});
  CHECK(two == explanation_text({explained_point()}) + "\n" + explanation_text({explained_point()}));
}

TEST_CASE("explanation_text names latency as the cause of a bound, and of none that nothing moves") {
  Point point = explained_point();
  point.bound = {Duration::microseconds(1), "latency"};
  CHECK(explanation_text({point}).find(
            "(latency between the farthest ranks); this one reaches 0.6 % of it\n") != std::string::npos);
  point.bound = {Duration(), "nothing to move"};
  CHECK(explanation_text({point}).find(
            "  bound: nothing has to move, so an algorithm may take no time at all\n") != std::string::npos);
}

TEST_CASE("links_text shows the links that carry data, busiest first") {
  Point point = ring_point();
  point.links = {{"a -> b", Bytes(1000), Bandwidth::gigabytes_per_second(50)},
                 {"b -> c", Bytes(0), Bandwidth::gigabytes_per_second(50)},
                 {"c -> a", Bytes(8'040'032), Bandwidth::gigabytes_per_second(100)}};
  CHECK(links_text({point}) ==
        "ring, 8388608 B: 2 of 3 links carry data\n"
        "  link      bytes    GB/s  used(%)\n"
        "  c -> a  8040032  100.00     50.0\n"
        "  a -> b     1000   50.00      0.0\n");
}

TEST_CASE("links_text caps the list and says how many are left out") {
  Point point = ring_point();
  point.links.emplace(40, LinkUse{"a -> b", Bytes(1000), Bandwidth::gigabytes_per_second(50)});
  CHECK(links_text({point}).find("\n  ... and 8 more (--json has all)\n") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace collsim
