// What only some experiments ask for: jobs, quantiles, the cost of conditions, packets, no bound.
#include <doctest/doctest.h>

#include "sim/report/json.hpp"
#include "sim/report/table.hpp"
#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

Duration us(std::int64_t count) { return Duration::microseconds(count); }

Point repeated_point() {
  Point point = ring_point();
  point.time = us(160);
  point.routing = "ecmp";
  point.repeats = Repeats{20, us(150), us(151), us(160), us(190), us(200), 7};
  return point;
}

Point costly_point() {
  Point point = ring_point();
  point.time = us(300);
  point.healthy_time = us(200);
  point.fault_costs = {{"rank 3 late by 50 us", PointStatus::ok, "", us(250)},
                       {"a -> b down from the start", PointStatus::failed, "a -> b is down", std::nullopt}};
  return point;
}

Point job_point(const std::string& name, std::int64_t start, std::int64_t time) {
  Point point = ring_point();
  point.time = us(time);
  point.job = JobFacts{name, Instant() + us(start), Instant() + us(start + time), us(150)};
  return point;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("A repeated point has the median and two percentiles in its row, and says how many seeds") {
  const std::string text = table_text({repeated_point()});
  CHECK(has(text, ": 8 ranks, 1 node, network fluid, routing ecmp, 20 seeds from 1\n"));
  CHECK(has(text, "     type  algorithm  median      p5     p95   algbw"));
  CHECK(has(text, "  8388608  float32  ring       160.00  151.00  190.00   52.43"));
  CHECK(has(json_text({repeated_point()}, "0.1.0"), R"(      "repeats": {
        "count": 20,
        "min_ps": 150000000,
        "p5_ps": 151000000,
        "median_ps": 160000000,
        "p95_ps": 190000000,
        "max_ps": 200000000,
        "median_seed": 7
      },
)"));
}

TEST_CASE("costs_text compares each condition with the healthy run, with a sign and a unit") {
  CHECK(costs_text({ring_point()}).empty());
  CHECK(costs_text({costly_point()}) ==
        "# cost of each condition against the healthy run\n"
        "#   ring, 8 MiB                   time (us)     more\n"
        "#     healthy                        200.00     none\n"
        "#     rank 3 late by 50 us           250.00  +25.0 %\n"
        "#     a -> b down from the start     failed           a -> b is down\n"
        "#     all of these                   300.00  +50.0 %\n");
  Point better = costly_point();
  better.fault_costs = {{"a -> b at 2 GB/s from the start", PointStatus::ok, "", us(150)}};
  CHECK(has(costs_text({better}), "150.00  -25.0 %\n"));
  CHECK(!has(costs_text({better}), "all of these"));
}

TEST_CASE("json_text has the healthy time and the conditions, with nulls where a run failed") {
  CHECK(has(json_text({costly_point()}, "0.1.0"), R"(      "healthy_time_ps": 200000000,
      "conditions": [
        {
          "what": "rank 3 late by 50 us",
          "status": "ok",
          "reason": "",
          "time_ps": 250000000
        },
        {
          "what": "a -> b down from the start",
          "status": "failed",
          "reason": "a -> b is down",
          "time_ps": null
        }
      ],
)"));
}

TEST_CASE("Jobs of a run have a table of their own, each with its start and its slow-down") {
  const std::string text = table_text({job_point("a", 0, 300), job_point("b", 10, 150)});
  CHECK(text.rfind("# 2 jobs on 1 node of 8 GPUs on nvswitch: network fluid, seed 1\n", 0) == 0);
  CHECK(has(text,
            "\n  a    all_reduce      8  8388608  ring        0.00  300.00   48.93  146.80    48.9  150.00  "
            "     2.00\n"));
  CHECK(has(text,
            "\n  b    all_reduce      8  8388608  ring       10.00  150.00   97.87  146.80    97.9  150.00  "
            "     1.00\n"));
  CHECK(has(text, "# 2 points ok, each schedule proven"));
  // The same name again is another run.
  CHECK(has(table_text({job_point("a", 0, 300), job_point("a", 0, 300)}), "\n\n# 1 job on "));
}

TEST_CASE("json_text has when a job ran, and nulls where it did not") {
  CHECK(has(json_text({job_point("a", 10, 300)}, "0.1.0"), R"(      "job": {
        "name": "a",
        "start_ps": 10000000,
        "finish_ps": 310000000,
        "alone_ps": 150000000,
        "slow_down": 2.0
      },
)"));
  Point failed = job_point("a", 10, 300);
  failed.time.reset();
  failed.status = PointStatus::failed;
  failed.reason = "a -> b is down";
  CHECK(has(json_text({failed}, "0.1.0"), "\"start_ps\": null"));
}

TEST_CASE("Without a bound there is none in any report") {
  Point point = ring_point();
  point.bound = {};
  CHECK(has(table_text({point}), "  n/a       -  "));
  CHECK(has(json_text({point}, "0.1.0"), "\"lower_bound_ps\": null"));
  CHECK(has(json_text({point}, "0.1.0"), "\"optimality\": null"));
  check_bound(point, Duration());
}

TEST_CASE("json_text says what packets did") {
  Point point = ring_point();
  PacketFacts facts;
  facts.packets = 10;
  facts.hops = 30;
  facts.queue_max = 8192;
  point.packets = facts;
  point.packet_queue_link = "a -> b";
  CHECK(has(json_text({point}, "0.1.0"), R"(      "packets": {
        "count": 10,
        "hops": 30,
        "marks": 0,
        "queue_max_bytes": 8192,
        "queue_link": "a -> b",
        "virtual_channels": 1
      },
)"));
}

TEST_SUITE_END();

}  // namespace collsim
