// The experiment files of experiments/ that show networks as they are: each runs, and says what it is there
// to say.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

namespace {

using Json = nlohmann::json;

Json points_of(const std::string& name, const std::vector<std::string>& options = {}) {
  const WorkFolder folder;
  std::vector<std::string> arguments = {"run", COLLSIM_SOURCE_DIR "/experiments/" + name, "--json", "-",
                                        "--quiet"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = folder.run(arguments);
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  return Json::parse(run.out).at("points");
}

double time_of(const Json& point) { return point.at("time_ps").get<double>(); }

}  // namespace

TEST_CASE("congestion.yaml: hashed routes cost most of a ring's bandwidth, minimal and spray nothing") {
  const double hashed = time_of(points_of("congestion.yaml")[0]);
  const double minimal =
      time_of(points_of("congestion.yaml", {"--set", "routing=minimal", "--set", "repeat=1"})[0]);
  const double spray =
      time_of(points_of("congestion.yaml", {"--set", "routing=spray", "--set", "repeat=1"})[0]);
  // 2 * 31 steps of 64 MiB / 32 at 50 GB/s and 4 hops of 500 ns.
  CHECK(minimal == doctest::Approx(62 * (2097152.0 / 50e9 + 2e-6) * 1e12).epsilon(1e-3));
  CHECK(spray == doctest::Approx(minimal).epsilon(1e-6));
  CHECK(hashed > 2 * minimal);
}

TEST_CASE("faults.yaml: every condition has its cost, and sharp ends as a ring") {
  const Json points = points_of("faults.yaml");
  REQUIRE(points.size() == 2);
  for (const Json& point : points) {
    REQUIRE(point.at("conditions").size() == 5);
    for (const Json& condition : point.at("conditions")) {
      CAPTURE(condition.dump());
      if (condition.at("status") == "ok") CHECK(condition.at("time_ps") >= point.at("healthy_time_ps"));
    }
    CHECK(point.at("conditions")[0].at("status") == "ok");
    CHECK(time_of(point) > point.at("healthy_time_ps").get<double>());
  }
  CHECK(points[0].at("conditions")[4].at("time_ps") > points[0].at("healthy_time_ps"));
  // Without the NIC there is no tree: by itself that fails sharp; with the fallback it is the ring.
  CHECK(points[1].at("conditions")[1].at("status") == "failed");
  CHECK(points[1].at("time_ps") == points[0].at("time_ps"));
}

TEST_CASE("sites.yaml: the slots of a ring limit it on long links, levels cross them only twice") {
  const Json points = points_of("sites.yaml");
  REQUIRE(points.size() == 8);
  // 64 MiB: a ring of 64 ranks sends 126 messages over each long link, 8 (its slots) a round trip of 10 ms.
  CHECK(time_of(points[0]) > 126 / 8 * 10e9);
  CHECK(time_of(points[4]) < 0.1 * time_of(points[0]));
}

TEST_CASE("jobs.yaml: two rings slow each other down, the third collective begins when the first is done") {
  const Json points = points_of("jobs.yaml");
  REQUIRE(points.size() == 3);
  CHECK(points[0].at("job").at("slow_down") > 1.2);
  CHECK(points[1].at("job").at("slow_down") > 1.2);
  CHECK(points[2].at("job").at("start_ps") == points[0].at("job").at("finish_ps"));
}

TEST_SUITE_END();

}  // namespace collsim
