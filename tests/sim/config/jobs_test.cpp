// Jobs, as an experiment says them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/sim/config/accepted.hpp"
#include "tests/sim/config/full_experiment.hpp"

using namespace collsim;

namespace {

const std::string cluster = "cluster: {nodes: 8, fabric: {kind: switch, bandwidth: 50 GB/s}}\n";

}  // namespace

TEST_CASE("A job has what it says, and else what the experiment says") {
  const Experiment experiment = accepted(experiment_of_jobs());
  REQUIRE(experiment.jobs.size() == 8);
  CHECK(experiment.algorithms.empty());
  CHECK(experiment.sizes.empty());
  const JobSpec& forward = experiment.jobs[0];
  CHECK(forward.name == "forward");
  CHECK(forward.ranks == std::vector<Rank>{0, 2, 4, 6});
  CHECK(forward.collective.kind == CollectiveKind::broadcast);
  CHECK(forward.collective.root == 2);
  CHECK(forward.collective.bytes == Bytes(1 << 20));
  CHECK(forward.algorithm.name == "double_binary_tree");
  CHECK(forward.after == -1);
  const JobSpec& second = experiment.jobs[1];
  CHECK(second.name == "job1");
  CHECK(second.ranks == std::vector<Rank>{1, 3, 5, 7});
  CHECK(second.collective.kind == CollectiveKind::all_reduce);
  CHECK(second.collective.bytes == Bytes(64 << 10));
  CHECK(second.collective.datatype == Datatype::float16);
  CHECK(second.collective.reduction == ReductionOp::max);
  CHECK(second.start == Instant::picoseconds(1'000'000));
  CHECK(second.algorithm.name == "ring");
}

TEST_CASE("A job can wait for an earlier one, by name or number") {
  const Experiment experiment = accepted(experiment_of_jobs());
  REQUIRE(experiment.jobs.size() == 8);
  const JobSpec& third = experiment.jobs[2];
  CHECK(third.after == 0);
  CHECK(third.ranks.empty());  // all
  CHECK(third.algorithm.options.channels == 2);
  const JobSpec& barrier = experiment.jobs[3];
  CHECK(barrier.after == 1);
  CHECK(barrier.collective.kind == CollectiveKind::barrier);
  CHECK(barrier.collective.bytes == Bytes());
  const Experiment both = accepted(cluster +
                                   "algorithm: ring\nsize: 4 B\n"
                                   "jobs: [{}, {after: job0, start: 5 us}]\n");
  CHECK(both.jobs[1].after == 0);
  CHECK(both.jobs[1].start == Instant::picoseconds(5'000'000));
}

TEST_CASE("Jobs need no algorithm and no size of the experiment") {
  const Experiment experiment =
      accepted(cluster + "jobs:\n  - {algorithm: mine/a.xml, size: 8 B}\n  - {algorithm: ring, size: 4 B}\n");
  CHECK(experiment.jobs[0].algorithm.name == "mine/a.xml");
  CHECK(experiment.jobs[1].collective.bytes == Bytes(4));
  CHECK(accepted(cluster + "algorithm: [ring]\nsize: [4 B]\njobs: [{}]\n").jobs[0].collective.bytes ==
        Bytes(4));
}

TEST_CASE("A job's size is rounded to equal parts for its own ranks") {
  const ReadResult result = read(cluster +
                                 "algorithm: ring\nsize: 100 B\ncollective: all_gather\n"
                                 "jobs: [{ranks: 0-2}, {ranks: 3-7}, {ranks: [0, 7]}]\n");
  REQUIRE(result.experiment.has_value());
  CHECK(result.diagnostics.items().size() == 2);
  CHECK(result.experiment->jobs[0].collective.bytes == Bytes(96));
  CHECK(result.experiment->jobs[1].collective.bytes == Bytes(100));
  CHECK(result.experiment->jobs[2].collective.bytes == Bytes(96));
}

TEST_CASE("Ranks of jobs are those of the placement") {
  const std::string text =
      cluster + "algorithm: ring\nsize: 4 B\nplacement: [7, 5, 3]\njobs: [{ranks: [2]}]\n";
  CHECK(accepted(text).jobs[0].ranks == std::vector<Rank>{2});
  CHECK(read(text, {{"jobs[0].ranks", "[3]"}})
            .diagnostics.text()
            .find("jobs[0].ranks[0]: there is no rank 3") != std::string::npos);
}

TEST_CASE("--set reaches into jobs") {
  const std::string text = cluster + "algorithm: ring\nsize: 4 B\njobs: [{algorithm: ring}, {}]\n";
  CHECK(accepted(text, {{"jobs[1].size", "8 B"}}).jobs[1].collective.bytes == Bytes(8));
  CHECK(accepted(text, {{"jobs[0].algorithm.channels", "2"}}).jobs[0].algorithm.options.channels == 2);
}
