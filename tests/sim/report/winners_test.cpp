#include "sim/report/winners.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

Point timed(const std::string& algorithm, std::int64_t kibibytes, std::int64_t microseconds) {
  Point point = ring_point();
  point.algorithm = algorithm;
  point.collective.bytes = Bytes(kibibytes * 1024);
  point.time = Duration::microseconds(microseconds);
  return point;
}

Point without_time(Point point) {
  point.time.reset();
  point.status = PointStatus::impossible;
  point.reason = "no switch of the fabric reduces";
  return point;
}

std::vector<std::string> winning(const std::vector<Point>& points) {
  const std::vector<std::string> labels = labels_of(points);
  std::vector<std::string> names;
  for (const SizeWinner& winner : winners_of(points, labels)) names.push_back(labels[winner.fastest]);
  return names;
}

}  // namespace

TEST_CASE("winners_text shows who is the fastest at each size, and where that changes") {
  const std::vector<Point> points = {timed("ring", 1, 40),    timed("ring", 64, 60),
                                     timed("ring", 1024, 90), timed("tree", 1, 10),
                                     timed("tree", 64, 50),   timed("tree", 1024, 180),
                                     timed("nvls", 1, 12),    without_time(timed("nvls", 64, 1)),
                                     timed("nvls", 1024, 95)};
  CHECK(winners_text(points) ==
        "#\n"
        "# time in us by algorithm and size; * = the fastest\n"
        "#         1 KiB     64 KiB      1 MiB\n"
        "#   ring  40.00      60.00      90.00  *\n"
        "#   tree  10.00  *   50.00  *  180.00\n"
        "#   nvls  12.00          -      95.00\n"
        "#\n"
        "# which algorithm wins where\n"
        "#   up to 64 KiB  tree  1.20 times as fast as the next\n"
        "#   from 1 MiB    ring  1.06 times as fast as the next\n");
}

TEST_CASE("winners_text has a line for each size where the times of all do not fit a line") {
  std::vector<Point> points;
  for (const char* name : {"ring", "tree"})
    for (std::int64_t size = 1; size <= 1 << 14; size *= 2)
      points.push_back(timed(name, size, *name == 'r' ? 1000 : 500 + size));
  const std::string text = winners_text(points);
  CAPTURE(text);
  CHECK(
      text.find("# the fastest of each size\n#      1 KiB   501.00 us  tree  2.00 times as fast as ring\n") !=
      std::string::npos);
  CHECK(text.find("#   up to 256 KiB  tree  1.32 to 2.00 times as fast as the next\n"
                  "#   from 512 KiB   ring  1.01 to 16.88 times as fast as the next\n") != std::string::npos);
}

TEST_CASE("winners_of keeps the winner of the size before at a tie, else takes the first") {
  CHECK(winning({timed("ring", 1, 5), timed("ring", 2, 5), timed("tree", 1, 5), timed("tree", 2, 5)}) ==
        std::vector<std::string>{"ring", "ring"});
  CHECK(winning({timed("ring", 1, 9), timed("ring", 2, 5), timed("tree", 1, 5), timed("tree", 2, 5)}) ==
        std::vector<std::string>{"tree", "tree"});
}

TEST_CASE("winners_of sorts sizes and leaves out those at which nothing ran") {
  const std::vector<Point> points = {timed("ring", 8, 5), without_time(timed("ring", 4, 1)),
                                     timed("ring", 2, 5)};
  const auto winners = winners_of(points, labels_of(points));
  REQUIRE(winners.size() == 2);
  CHECK(winners[0].bytes == Bytes(2048));
  CHECK(winners[1].bytes == Bytes(8192));
  CHECK_FALSE(winners[0].next);
}

TEST_CASE("A selection wins where nothing in the table is as fast, and is named with what it takes") {
  Point small = timed("auto", 1, 10);
  small.chosen = "tree";
  Point large = timed("auto", 2, 20);
  large.chosen = "one_shot";
  const std::vector<Point> both = {small, large, timed("tree", 1, 10), timed("tree", 2, 30)};
  CHECK(winning(both) == std::vector<std::string>{"tree", "auto"});
  CHECK(winners_text(both) ==
        "#\n"
        "# time in us by algorithm and size; * = the fastest\n"
        "#         1 KiB     2 KiB\n"
        "#   auto  10.00  *  20.00  *\n"
        "#   tree  10.00  *  30.00\n"
        "#\n"
        "# which algorithm wins where\n"
        "#   up to 1 KiB  tree\n"
        "#   from 2 KiB   auto (one_shot)  1.50 times as fast as the next\n"
        "#\n"
        "# auto takes\n"
        "#   up to 1 KiB  tree\n"
        "#   from 2 KiB   one_shot\n");
  CHECK(winners_text({large, timed("tree", 2, 30)})
            .starts_with("#\n# the fastest: auto (one_shot), 1.50 times as fast as tree\n"));
}

TEST_CASE("A selection that is slower than the fastest is the next where nothing else is as fast as it") {
  Point nccl = timed("nccl", 1, 15);
  nccl.chosen = "ring, ll";
  CHECK(winners_text({nccl, timed("tree", 1, 10), timed("nvls", 1, 20)})
            .starts_with("#\n# the fastest: tree, 1.50 times as fast as nccl (ring, ll)\n"));
  CHECK(winners_text({nccl, timed("tree", 1, 10), timed("ring", 1, 15)})
            .starts_with("#\n# the fastest: tree, 1.50 times as fast as ring\n"));
}

TEST_CASE("A selection by itself wins nothing, and says what it takes") {
  Point small = timed("auto", 1, 10);
  small.chosen = "tree";
  Point large = timed("auto", 2, 20);
  large.chosen = "ring";
  CHECK(winning({small, large}) == std::vector<std::string>{"auto", "auto"});
  CHECK(winners_text({small, large}) == "#\n# auto takes\n#   up to 1 KiB  tree\n#   from 2 KiB   ring\n");
}

TEST_CASE("winners_text shows what the model of a selection predicts beside the simulated times") {
  Point small = timed("nccl", 1, 10);
  small.chosen = "ring, ll";
  small.predicted = Duration::microseconds(15);
  Point large = timed("nccl", 2, 40);
  large.chosen = "ring, ll";
  large.predicted = Duration::microseconds(30);
  CHECK(winners_text({small, large}) ==
        "#\n# nccl takes\n#   all sizes  ring, ll\n#\n# nccl predicts\n"
        "#           predicted (us)  simulated (us)  predicted / simulated\n"
        "#    1 KiB           15.00           10.00  1.50\n"
        "#    2 KiB           30.00           40.00  0.75\n");
}

TEST_CASE("winners_text names the fastest of one size") {
  CHECK(winners_text({timed("ring", 1, 5), timed("tree", 1, 4), timed("nvls", 1, 8)}) ==
        "#\n# the fastest: tree, 1.25 times as fast as ring\n");
  CHECK(winners_text({timed("ring", 1, 5), timed("tree", 1, 5)}) ==
        "#\n# the fastest: ring, as fast as tree\n");
}

TEST_CASE("winners_text is empty where one algorithm runs") {
  CHECK(winners_text({timed("ring", 1, 5), timed("ring", 2, 6), without_time(timed("tree", 1, 5))}).empty());
}

TEST_CASE("labels_of tells requests of one algorithm apart by their options, and leaves out folders") {
  Point wide = timed("ring", 1, 5);
  wide.options = "channels: 8";
  Point file = timed("mine/ring.xml", 1, 5);
  CHECK(labels_of({timed("ring", 1, 5), wide, file}) ==
        std::vector<std::string>{"ring", "ring{channels: 8}", "ring.xml"});
  CHECK(labels_of({wide}) == std::vector<std::string>{"ring"});
}

TEST_SUITE_END();

}  // namespace collsim
