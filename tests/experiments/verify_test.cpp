// verify: proofs on ideal clusters and on given ones.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/experiments/program_runner.hpp"

namespace collsim {

TEST_SUITE_BEGIN("experiments");

TEST_CASE("verify proves a sweep of rank counts and says so, one line a count") {
  const WorkFolder folder;
  const Run run = folder.run({"verify", "ring", "--ranks", "1-3,16"});
  CHECK(run.exit_code == 0);
  CHECK(run.err.empty());
  CHECK(run.out ==
        "ring on 1 rank (1 node of 1): proven, 0 messages\n"
        "ring on 2 ranks (1 node of 2): proven, 4 messages\n"
        "ring on 3 ranks (1 node of 3): proven, 12 messages\n"
        "ring on 16 ranks (2 nodes of 8): proven, 3840 messages\n"
        "# 4 of 4 proven\n");
}

TEST_CASE("verify gives every algorithm an ideal cluster on which it can run") {
  const WorkFolder folder;
  for (const char* name :
       {"ring", "tree", "double_binary_tree", "binomial_tree", "cascade", "two_shot", "nvls", "sharp"}) {
    CAPTURE(name);
    const Run run = folder.run({"verify", name, "--ranks", "1-9,12"});
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("# 10 of 10 proven\n") != std::string::npos);
  }
}

TEST_CASE("verify on a given cluster says what is impossible there") {
  const WorkFolder folder;
  const Run run = folder.run({"verify", "nvls", "--cluster", "dgx-h100", "--nodes", "2"});
  CHECK(run.exit_code == 1);
  CHECK(run.out ==
        "nvls on 16 ranks (2 nodes of 8): impossible: nvls works inside one node; this cluster has 2\n");
  CHECK(folder.run({"verify", "cascade", "--cluster", "dgx-h100", "--nodes", "2"}).exit_code == 0);
}

TEST_CASE("verify writes JSON") {
  const WorkFolder folder;
  const Run run = folder.run({"verify", "tree", "--ranks", "5", "--json", "-"});
  REQUIRE(run.exit_code == 0);
  const auto proofs = nlohmann::json::parse(run.out).at("proofs");
  REQUIRE(proofs.size() == 1);
  CHECK(proofs[0].at("algorithm") == "double_binary_tree");
  CHECK(proofs[0].at("ranks") == 5);
  CHECK(proofs[0].at("status") == "proven");
  CHECK(proofs[0].at("failures").empty());
}

TEST_CASE("verify does not call a schedule refuted when its proof would cost too much") {
  const WorkFolder folder;
  const Run run = folder.run({"verify", "two_shot", "--ranks", "32768"});
  CHECK(run.exit_code == 1);
  CHECK(run.out ==
        "two_shot on 32768 ranks (4096 nodes of 8): undecided\n"
        "  executing all cells of 1073774592 streams is beyond what a proof attempts\n");
}

TEST_CASE("verify says what it does not know") {
  const WorkFolder folder;
  Run run = folder.run({"verify", "rng", "--ranks", "4"});
  CHECK(run.exit_code == 65);
  CHECK(run.err ==
        "<command line>: error: ALGORITHM: unknown algorithm 'rng'\n"
        "  expected one of ring, double_binary_tree, tree, binomial_tree, cascade, two_shot, nvls, sharp\n"
        "  did you mean 'ring'?\n");
  run = folder.run({"verify", "ring", "--ranks", "8-4"});
  CHECK(run.exit_code == 2);
  CHECK(run.err ==
        "collsim: --ranks 8-4: expected numbers of ranks such as 8 or 1-33,64, from 1 to 16777216\n");
  for (const char* ranks : {"0", "x", "1-", "-3", "1,,2", "99999999999999999999"}) {
    CAPTURE(ranks);
    CHECK(folder.run({"verify", "ring", "--ranks", ranks}).exit_code == 2);
  }
}

TEST_SUITE_END();

}  // namespace collsim
