#include "sim/core/spelling.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace collsim;

TEST_CASE("nearest finds a word with one letter too few, too many or wrong") {
  const std::vector<std::string> words = {"latency", "bandwidth", "kind"};
  CHECK(nearest("latncy", words) == "latency");
  CHECK(nearest("latencyy", words) == "latency");
  CHECK(nearest("latensy", words) == "latency");
  CHECK(nearest("bandwdith", words) == "bandwidth");  // two letters swapped are two changes
}

TEST_CASE("nearest finds nothing beyond a third of the word") {
  CHECK(nearest("abcdef", {"abcdxy"}) == "abcdxy");
  CHECK(nearest("abcdef", {"abcxyz"}).empty());
  CHECK(nearest("ab", {"xb"}) == "xb");  // one change is always allowed
  CHECK(nearest("ab", {"xy"}).empty());
}

TEST_CASE("nearest prefers the smaller distance, then the earlier word") {
  CHECK(nearest("nodes", {"node", "nodes"}) == "nodes");
  CHECK(nearest("nodex", {"nodes", "nodey"}) == "nodes");
}

TEST_CASE("nearest finds nothing for an empty list or an overlong word") {
  CHECK(nearest("x", {}).empty());
  CHECK(nearest(std::string(65, 'a'), {std::string(64, 'a')}).empty());
  CHECK(nearest(std::string(64, 'a'), {std::string(63, 'a')}) == std::string(63, 'a'));
  CHECK(nearest(std::string(1'000'000, 'a'), {"a"}).empty());
}
