// verify: proofs on ideal clusters and on given ones.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

TEST_CASE("verify sweeps an algorithm with options, and each collective of it") {
  const WorkFolder folder;
  Run run = folder.run({"verify", "ring", "--ranks", "2:4", "--set", "algorithm.channels=2"});
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "ring on 2 ranks (1 node of 2): proven, 8 messages\n"
        "ring on 3 ranks (1 node of 3): proven, 24 messages\n"
        "ring on 4 ranks (1 node of 4): proven, 48 messages\n"
        "# 3 of 3 proven\n");
  run = folder.run({"verify", "direct", "--collective", "all_to_all", "--ranks", "1:9"});
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("# 9 of 9 proven\n") != std::string::npos);
  CHECK(folder.run({"verify", "synthesized", "--ranks", "4,5"}).exit_code == 0);
  run = folder.run({"verify", "ring", "--ranks", "4", "--set", "algorithm.chanels=2"});
  CHECK(run.exit_code == 65);
  CHECK(run.err.find("did you mean 'channels'?") != std::string::npos);
  CHECK(folder.run({"verify", "ring", "--ranks", "4", "--set", "cluster.nodes=2"}).exit_code == 2);
  run = folder.run({"verify", "auto", "--ranks", "4"});
  CHECK(run.exit_code == 65);
  CHECK(run.err.find("'auto' chooses an algorithm and is none") != std::string::npos);
}

TEST_CASE("verify proves barriers, which have no size") {
  const WorkFolder folder;
  for (const char* name : {"ring", "tree", "recursive_doubling", "bruck", "one_shot", "nvls"}) {
    CAPTURE(name);
    const Run run = folder.run({"verify", name, "--collective", "barrier", "--ranks", "1-9,16"});
    CHECK(run.out.find("# 10 of 10 proven\n") != std::string::npos);
  }
  // Dissemination: each of 8 tells the ranks at distances 1, 2 and 4.
  CHECK(folder.run({"verify", "bruck", "--collective", "barrier", "--ranks", "8"}).out ==
        "bruck on 8 ranks (1 node of 8): proven, 24 messages\n");
  CHECK(
      folder.run({"verify", "ring", "--collective", "barrier", "--ranks", "8", "--size", "0 B"}).exit_code ==
      0);
  CHECK(folder.run({"verify", "ring", "--collective", "barrier", "--cluster", "dgx-h100", "--nodes", "1"})
            .exit_code == 0);
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"--ranks", "8"}, {"--cluster", "dgx-h100", "--nodes", "1"}}) {
    std::vector<std::string> words = {"verify", "ring", "--collective", "barrier", "--size", "4 KiB"};
    words.insert(words.end(), where.begin(), where.end());
    const Run run = folder.run(words);
    CHECK(run.exit_code == 65);
    CHECK(run.err.find("a barrier moves no data\n  expected no size, or 0 B") != std::string::npos);
  }
}

TEST_CASE("verify says what it does not know") {
  const WorkFolder folder;
  Run run = folder.run({"verify", "rng", "--ranks", "4"});
  CHECK(run.exit_code == 65);
  CHECK(run.err ==
        "<command line>: error: ALGORITHM: unknown algorithm 'rng'\n"
        "  expected one of " +
            algorithm_names(true) +
            "\n"
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
