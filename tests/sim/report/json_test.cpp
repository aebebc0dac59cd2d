#include "sim/report/json.hpp"

#include <doctest/doctest.h>

#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

TEST_CASE("json_text holds every field of the contract, exact and in order") {
  CHECK(json_text({ring_point()}, "0.1.0") == R"({
  "collsim": "0.1.0",
  "seed": 1,
  "points": [
    {
      "collective": "all_reduce",
      "algorithm": "ring",
      "options": "",
      "cluster": "1 node of 8 GPUs on nvswitch",
      "ranks": 8,
      "nodes": 1,
      "bytes": 8388608,
      "datatype": "float32",
      "reduction": "sum",
      "root": null,
      "network": "fluid",
      "seed": 1,
      "channels": 1,
      "slices": 1,
      "chosen": null,
      "predicted_ps": null,
      "time_ps": 160800640,
      "algbw_gb_per_s": 52.16775256615894,
      "busbw_gb_per_s": 91.29356699077815,
      "lower_bound_ps": 146800640,
      "bound_reason": "rank",
      "optimality": 0.9129356699077814,
      "bottleneck": {
        "link": "node0/gpu0 -> node0/nvswitch0",
        "utilization": 0.9129356699077814
      },
      "messages": 112,
      "events": 224,
      "executor": "sweeps",
      "streams": 8,
      "classes": 1,
      "fingerprint": "0123456789abcdef",
      "proven": true,
      "numerics": null,
      "status": "ok",
      "reason": "",
      "warnings": []
    }
  ]
}
)");
}

TEST_CASE("json_text has nulls, not zeros, for what an impossible point does not have") {
  const std::string text = json_text({impossible_point(Bytes(1024))}, "0.1.0");
  for (const char* part :
       {"\"time_ps\": null", "\"algbw_gb_per_s\": null", "\"busbw_gb_per_s\": null", "\"optimality\": null",
        "\"bottleneck\": null", "\"executor\": null", "\"streams\": null", "\"classes\": null",
        "\"fingerprint\": null", "\"proven\": false", "\"status\": \"impossible\"",
        "\"reason\": \"no switch of the fabric reduces\"", "\"lower_bound_ps\": 146800640"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE(
    "json_text has the links, the critical path, the blocked streams and the findings where there are any") {
  Point point = ring_point();
  point.links = {{"a -> b", Bytes(8'040'032), Bandwidth::gigabytes_per_second(100)}};
  CriticalPath path;
  path.launch = Duration::picoseconds(1);
  path.overhead = Duration::picoseconds(2);
  path.bandwidth = Duration::picoseconds(3);
  path.contention = Duration::picoseconds(4);
  path.latency = Duration::picoseconds(5);
  path.reduction = Duration::picoseconds(6);
  path.waiting = Duration::picoseconds(7);
  path.messages = 8;
  path.last_rank = 9;
  point.critical_path = path;
  const std::string text = json_text({point}, "0.1.0");
  CHECK(text.find(R"(      "links": [
        {
          "name": "a -> b",
          "bytes": 8040032,
          "utilization": 0.5
        }
      ],
      "critical_path": {
        "launch_ps": 1,
        "overhead_ps": 2,
        "bandwidth_ps": 3,
        "contention_ps": 4,
        "latency_ps": 5,
        "reduction_ps": 6,
        "waiting_ps": 7,
        "messages": 8,
        "last_rank": 9
      },
)") != std::string::npos);

  Point stuck = deadlock_point();
  stuck.proof_failures = {{1, 0, 4, "rank 1 is stuck"}};
  CHECK(json_text({stuck}, "0.1.0").find(R"(      "blocked": [
        {
          "rank": 0,
          "stream": 1,
          "operation": 5,
          "waits_for": "chunk from rank 2 on channel 0"
        },
        {
          "rank": 1,
          "stream": 0,
          "operation": 4,
          "waits_for": "a free slot to rank 2"
        }
      ],
      "proof_failures": [
        {
          "rank": 1,
          "stream": 0,
          "step": 4,
          "text": "rank 1 is stuck"
        }
      ]
)") != std::string::npos);
}

TEST_CASE("json_text survives text that is no UTF-8") {
  Point point = impossible_point(Bytes(4));
  point.reason = "a \xff b \"c\"";
  CHECK(json_text({point}, "0.1.0").find("\"reason\": \"a \xef\xbf\xbd b \\\"c\\\"\"") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace collsim
