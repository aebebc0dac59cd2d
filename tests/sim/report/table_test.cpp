#include "sim/report/table.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

const std::string heading =
    "# all_reduce on 1 node of 8 GPUs on nvswitch: 8 ranks, 1 node, network fluid, seed 1\n"
    "# algbw and busbw as nccl-tests defines them, GB = 10^9 bytes; bound: no algorithm is faster on this "
    "cluster\n"
    "#\n";

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("table_text shows a point in the columns of nccl-tests, with bound and bottleneck") {
  CHECK(table_text({ring_point()}) ==
        heading +
            "#    size       count     type  redop  algorithm    time   algbw   busbw   bound  %bound  "
            "bottleneck\n"
            "#     (B)  (elements)                               (us)  (GB/s)  (GB/s)    (us)          "
            "(utilization)\n"
            "  8388608     2097152  float32    sum  ring       160.80   52.17   91.29  146.80    91.3  "
            "node0/gpu0->nvswitch0 91.3%\n"
            "# 1 point ok, each schedule proven; fingerprint of all points 157a3807a48faa9d\n");
}

TEST_CASE(
    "table_text has a column for the root where the collective has one, and no redop where nothing is "
    "reduced") {
  Point point = ring_point();
  point.collective = {CollectiveKind::broadcast, Bytes(8 << 20), Datatype::float32, ReductionOp::sum, 3};
  point.bottleneck.reset();
  const std::string text = table_text({point});
  CHECK(text.find("\n#    size       count     type  redop  root  algorithm    time   algbw   busbw") !=
        std::string::npos);
  CHECK(text.find("\n  8388608     2097152  float32   none     3  ring       160.80   52.17   52.17") !=
        std::string::npos);
}

TEST_CASE("table_text shows the time of a barrier and nothing about data") {
  Point point = ring_point();
  point.collective = {CollectiveKind::barrier, Bytes(), Datatype::float32, ReductionOp::sum};
  point.bottleneck.reset();
  Point impossible = impossible_point(Bytes());
  impossible.collective = point.collective;
  CHECK(table_text({point, impossible}) ==
        "# barrier on 1 node of 8 GPUs on nvswitch: 8 ranks, 1 node, network fluid, seed 1\n"
        "# bound: no algorithm is faster on this cluster\n"
        "#\n"
        "# algorithm    time   bound  %bound  bottleneck\n"
        "#              (us)    (us)          (utilization)\n"
        "  ring       160.80  146.80    91.3  -\n"
        "  sharp           -  146.80       -  impossible, see below\n"
        "# sharp: impossible: no switch of the fabric reduces\n"
        "# 1 of 2 points ok, each schedule proven; fingerprint of all points 021c88d0a3fd73b6\n");
}

TEST_CASE("table_text says what a selection took, and tells requests of one algorithm apart") {
  Point plain = ring_point();
  plain.bottleneck.reset();
  Point chosen = plain;
  chosen.algorithm = "auto";
  chosen.chosen = "ring";
  Point wide = plain;
  wide.options = "channels: 8";
  const std::string text = table_text({chosen, plain, wide});
  CHECK(text.find("  sum  auto (ring)        160.80") != std::string::npos);
  CHECK(text.find("  sum  ring               160.80") != std::string::npos);
  CHECK(text.find("  sum  ring{channels: 8}  160.80") != std::string::npos);
}

TEST_CASE("table_text keeps within 120 columns for the longest usual names and sizes") {
  Point point = ring_point();
  point.algorithm = "double_binary_tree";
  point.collective.bytes = Bytes(std::int64_t{4} << 30);
  point.time = Duration::picoseconds(171'812'691'840);
  point.bound.time = Duration::picoseconds(85'900'345'920);
  CHECK(longest_line(table_text({point})) <= 120);
}

TEST_CASE("table_text gives one reason for neighbouring sizes that fail for the same reason") {
  const std::string text =
      table_text({impossible_point(Bytes(1024)), impossible_point(Bytes(2048)), ring_point()});
  CHECK(text.find("     1024         256  float32    sum  sharp           -       -       -  146.80       -  "
                  "impossible, see below\n") != std::string::npos);
  CHECK(text.find("\n# sharp, 1024 B to 2048 B: impossible: no switch of the fabric reduces\n"
                  "# 1 of 3 points ok, each schedule proven; ") != std::string::npos);
}

TEST_CASE("table_text lists who waits for what after a deadlock") {
  const std::string text = table_text({deadlock_point()});
  CHECK(text.find("\n# ring, 12 B: deadlock: 2 streams wait for ever\n"
                  "#   rank 0, stream 1, operation 5: waits for chunk from rank 2 on channel 0\n"
                  "#   rank 1, stream 0, operation 4: waits for a free slot to rank 2\n"
                  "# 0 of 1 point ok, ") != std::string::npos);
}

TEST_CASE("table_text caps the list of waiting streams and says how many are left out") {
  Point point = deadlock_point();
  point.blocked.assign(100, point.blocked.front());
  const std::string text = table_text({point});
  std::size_t lines = 0;
  for (std::size_t at = text.find("waits for chunk"); at != std::string::npos;
       at = text.find("waits for chunk", at + 1)) {
    ++lines;
  }
  CHECK(lines == 32);
  CHECK(text.find("\n#   ... and 68 more\n") != std::string::npos);
}

TEST_CASE("table_text shows what a proof found") {
  Point point = impossible_point(Bytes(12));
  point.status = PointStatus::unproven;
  point.reason = "the schedule does not compute its collective";
  point.proof_failures = {{3, 0, 7, "rank 3: block 2 of region 0 holds rank 1 twice and lacks rank 5"}};
  CHECK(table_text({point}).find("\n# sharp, 12 B: unproven: the schedule does not compute its collective\n"
                                 "#   rank 3: block 2 of region 0 holds rank 1 twice and lacks rank 5\n") !=
        std::string::npos);
}

TEST_CASE("table_text says once what a proof found at neighbouring sizes") {
  std::vector<Point> points = {impossible_point(Bytes(12)), impossible_point(Bytes(24)),
                               impossible_point(Bytes(48))};
  for (Point& point : points) point.proof_failures = {{3, 0, 7, "rank 3: block 2 lacks rank 5"}};
  points[2].proof_failures[0].text = "rank 3: block 2 lacks rank 6";
  const std::string text = table_text(points);
  CHECK(text.find("\n# sharp, 12 B to 24 B: impossible: no switch of the fabric reduces\n"
                  "#   rank 3: block 2 lacks rank 5\n"
                  "# sharp, 48 B: impossible: no switch of the fabric reduces\n"
                  "#   rank 3: block 2 lacks rank 6\n") != std::string::npos);
}

TEST_CASE("table_text starts a new table where the cluster changes") {
  Point other = ring_point();
  other.cluster = "another cluster";
  const std::string text = table_text({ring_point(), other});
  CHECK(text.find("\n\n# all_reduce on another cluster: 8 ranks") != std::string::npos);
  CHECK(text.rfind(heading, 0) == 0);
}

TEST_CASE("table_text gives the same bytes every time") {
  const std::vector<Point> points = {ring_point(), impossible_point(Bytes(4)), deadlock_point()};
  CHECK(table_text(points) == table_text(points));
}

TEST_CASE("short_link_name leaves out what both ends share") {
  CHECK(short_link_name("node0/gpu0 -> node0/nvswitch0") == "node0/gpu0->nvswitch0");
  CHECK(short_link_name("node0/nic3 -> leaf12") == "node0/nic3->leaf12");
  CHECK(short_link_name("node1/gpu0 -> node10/gpu0") == "node1/gpu0->node10/gpu0");
  CHECK(short_link_name("leaf0 -> spine1#2") == "leaf0->spine1#2");
  CHECK(short_link_name("a cable") == "a cable");
}

TEST_SUITE_END();

}  // namespace collsim
